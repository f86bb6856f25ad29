// Whatever the bytes of a TensorFlow Lite model, import gives a graph or a sentence, and what it gives becomes tasks.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "imported.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.size() < 8) return 0;
  bytes.replace(4, 4, "TFL3");
  whet::fuzz::follow(whet::import_model_bytes(bytes, "fuzzed"));
  return 0;
}
