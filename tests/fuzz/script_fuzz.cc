// Whatever is in a TorchScript archive, import gives a graph or a sentence. The input is the archive's members with
// "=====" between them: the source, the pickle of the modules and that of the constants. Storages are zeros.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "imported.h"
#include "tensor_files/zip.h"

namespace {

std::string archive_of(std::string_view members) {
  constexpr std::string_view kBetween = "=====";
  constexpr const char* kNames[] = {"code/__torch__.py", "data.pkl", "constants.pkl"};
  whet::ZipWriter zip;
  for (const char* name : kNames) {
    const std::size_t end = members.find(kBetween);
    (void)zip.add(std::string("m/") + name, members.substr(0, end));
    members.remove_prefix(end == std::string_view::npos ? members.size() : end + kBetween.size());
  }
  const std::string zeros(1024, '\0');
  for (int key = 0; key < 8; ++key)
    for (const char* folder : {"m/data/", "m/constants/"}) (void)zip.add(folder + std::to_string(key), zeros);
  return std::move(zip).finish().value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  whet::ImportOptions options;
  for (const char* input : {"x", "y"}) options.shapes[input] = {2, 3};
  const std::string bytes = archive_of({reinterpret_cast<const char*>(data), size});
  const auto both = whet::import_model_bytes(bytes, "fuzzed", options);
  whet::fuzz::follow(both);
  // Most programs have one input alone.
  options.shapes.erase("y");
  if (!both.ok()) whet::fuzz::follow(whet::import_model_bytes(bytes, "fuzzed", options));
  return 0;
}
