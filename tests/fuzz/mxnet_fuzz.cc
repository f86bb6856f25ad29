// Whatever a symbol of MXNet or a file of its parameters holds, import gives a graph or a sentence. The first byte says which of
// the two follows.

#include <cstddef>
#include <cstdint>
#include <string>

#include "import_mxnet/params.h"
#include "imported.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 1) {
    const auto params = whet::mxnet::parse_params(bytes, "fuzzed");
    if (!params.ok()) whet::fuzz::require_sentence(params.error().message);
    return 0;
  }
  whet::ImportOptions options;
  options.shapes["data"] = {1, 2, 4, 4};
  whet::fuzz::follow(whet::import_model_bytes(bytes, "fuzzed", options));
  return 0;
}
