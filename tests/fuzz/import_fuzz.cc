// Whatever the bytes, import gives a graph or a sentence; and what it gives passes all the way to tasks.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "import/import.h"
#include "passes/optimize.h"
#include "task/task.h"

namespace {

/// A graph this small is followed to its tasks; compiling is not what is fuzzed.
constexpr std::size_t kMostNodes = 64;
constexpr std::int64_t kMostElements = 1 << 16;

bool is_small(const whet::Graph& graph) {
  for (const whet::Value& value : graph.values) {
    if (whet::num_elements(value.type.shape) > kMostElements) return false;
  }
  return graph.nodes.size() <= kMostNodes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto graph = whet::import_onnx_bytes(bytes, "fuzzed");
  if (!graph.ok()) {
    const std::string& message = graph.error().message;
    if (message.empty() || message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  if (!is_small(*graph)) return 0;
  const auto fused = whet::optimize(*graph, {});
  if (fused.ok()) (void)whet::extract_tasks(*fused, whet::Target{});
  return 0;
}
