#pragma once

#include "formats/import_model.h"
#include "fuzz.h"
#include "import/limits.h"
#include "passes/optimize.h"
#include "task/task.h"

namespace whet::fuzz {

#ifdef WHET_FUZZED
/// While inputs are made by the thousand, files may become little: at the usual limits a mutated loop takes seconds under
/// AddressSanitizer, and ten seconds of fuzzing are nine inputs. The corpus as released runs at the usual limits.
inline const bool kLimitsAreSmall = [] {
  set_import_limits({.inlined_nodes = 1 << 10, .folding_work = 1 << 18});
  return true;
}();
#endif

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
