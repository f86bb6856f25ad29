// Whatever is in an archive of torch.export, import gives a graph or a sentence. The input is the archive's members
// with a byte of 1 between them: the program, the table of weights, and the weights; so that checksums fit.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "imported.h"
#include "tensor_files/zip.h"

namespace {

std::string archive_of(std::string_view members) {
  whet::ZipWriter zip;
  (void)zip.add("m/archive_format", "pt2");
  for (int number = 0;; ++number) {
    const std::size_t end = members.find('\1');
    const std::string name = number == 0   ? "models/model.json"
                             : number == 1 ? "data/weights/model_weights_config.json"
                                           : "data/weights/weight_" + std::to_string(number - 2);
    (void)zip.add("m/" + name, members.substr(0, end));
    if (end == std::string_view::npos) break;
    members.remove_prefix(end + 1);
  }
  return std::move(zip).finish().value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string archive = archive_of({reinterpret_cast<const char*>(data), size});
  for (const bool native_types : {false, true}) {
    whet::ImportOptions options;
    options.native_types = native_types;
    whet::fuzz::follow(whet::import_model_bytes(archive, "fuzzed", options));
  }
  return 0;
}
