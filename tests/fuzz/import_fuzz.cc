// Whatever the bytes, import gives a graph or a sentence; and what it gives passes all the way to tasks.

#include "imported.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  whet::fuzz::follow(whet::import_onnx_bytes(whet::fuzz::text_of(data, size), "fuzzed"));
  return 0;
}
