#pragma once

#include "formats/import_model.h"
#include "fuzz.h"
#include "passes/optimize.h"
#include "task/task.h"

namespace whet::fuzz {

/// What import made of a file: a sentence, or a graph that passes all the way to tasks. A large graph is not followed:
/// compiling is not what is fuzzed.
inline void follow(const Result<Graph>& graph) {
  constexpr std::size_t kMostNodes = 64;
  constexpr std::int64_t kMostElements = 1 << 16;
  if (!graph.ok()) return require_sentence(graph.error().message);
  for (const Value& value : graph->values)
    if (num_elements(value.type.shape) > kMostElements) return;
  if (graph->nodes.size() > kMostNodes) return;
  const auto fused = optimize(*graph, {});
  if (fused.ok()) (void)extract_tasks(*fused, Target{});
}

}  // namespace whet::fuzz
