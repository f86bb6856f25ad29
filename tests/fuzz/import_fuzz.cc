// Whatever the bytes, import gives a graph or a sentence; and what it gives passes all the way to tasks.

#include "import_onnx/import_onnx.h"
#include "imported.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  whet::ModelSource source{"fuzzed", "", std::string(whet::fuzz::text_of(data, size))};
  whet::fuzz::follow(whet::import_read(whet::read_onnx_model(std::move(source)), {}));
  return 0;
}
