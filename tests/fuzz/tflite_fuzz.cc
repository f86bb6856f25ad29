// Whatever the bytes of a TensorFlow Lite model, import gives a graph or a sentence, and what it gives becomes tasks.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "import/import.h"
#include "passes/optimize.h"
#include "task/task.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.size() < 8) return 0;
  bytes.replace(4, 4, "TFL3");
  const auto graph = whet::import_model_bytes(bytes, "fuzzed");
  if (!graph.ok()) {
    const std::string& message = graph.error().message;
    if (message.empty() || message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  constexpr std::size_t kMostNodes = 64;
  constexpr std::int64_t kMostElements = 1 << 16;
  for (const whet::Value& value : graph->values)
    if (whet::num_elements(value.type.shape) > kMostElements) return 0;
  if (graph->nodes.size() > kMostNodes) return 0;
  const auto fused = whet::optimize(*graph, {});
  if (fused.ok()) (void)whet::extract_tasks(*fused, whet::Target{});
  return 0;
}
