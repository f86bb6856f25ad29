// Whatever the bytes, import gives a graph or a sentence; and what it gives passes all the way to tasks. Types of 16 bits are held in
// wider ones, and are not.

#include "import_onnx/import_onnx.h"
#include "imported.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const bool native_types : {false, true}) {
    whet::ImportOptions options;
    options.native_types = native_types;
    whet::ModelSource source{"fuzzed", "", std::string(whet::fuzz::text_of(data, size)), "", &options};
    whet::fuzz::follow(whet::import_read(whet::read_onnx_model(std::move(source)), options));
  }
  return 0;
}
