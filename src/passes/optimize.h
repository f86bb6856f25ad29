#pragma once

#include <span>
#include <string_view>

#include "base/pass_list.h"
#include "base/result.h"
#include "graph/graph.h"
#include "passes/fuse.h"

namespace whet {

struct PassOptions {
  bool channels_last = true;         ///< store activations channels last; off: in the file's order
  bool fuse = true;                  ///< off: each operator is a group of its own (except aliases)
  bool halves = false;               ///< round the operands of products to f16, and store them so (halves.h)
  bool bf16 = false;                 ///< the same to bf16, for CPUs
  bool bf16_of_fixed_sizes = false;  ///< in its place, for a network of these sizes alone
  bool bf16_tensors = false;         ///< the same to bf16, for GPUs
  bool f16_weights = false;          ///< store weights of products of few rows as f16 (half_weights.h)
  bool bf16_weights = false;         ///< the same as bf16
};

/// For a network that runs at all sizes of ranges: without what depends on how many rows or keys there are, so that it has one structure.
PassOptions for_ranges(PassOptions);

struct Pass {
  std::string_view name;
  Result<Graph> (*run)(const Graph&);
  bool (*concerns)(const Graph&) =
      nullptr;                           ///< false: it would change nothing, and is passed over; null: it always runs
  bool PassOptions::* option = nullptr;  ///< without it the pass is left out; null: there is none
};

/// The passes that run before fusion, in order; some run more than once.
std::span<const Pass> graph_passes();

/// Sees the graph that each pass leaves.
using GraphObserver = ObserverOf<Graph>;

/// As `run_pass_list`. A pass does not run again on a graph that it has left as it was.
Result<Graph> run_graph_passes(Graph, std::span<const Pass>, const GraphObserver& observer = {});

/// Runs the passes of the table. The graph computes the same outputs (same names, types and order) from the same
/// inputs, up to rounding.
Result<Graph> run_passes(const Graph&, const PassOptions&, const GraphObserver& observer = {});

FuseOptions fuse_options(const PassOptions&);
/// Runs the passes, then fuses the graph into groups. Each group becomes one kernel.
Result<FusedGraph> optimize(const Graph&, const PassOptions&);

}  // namespace whet
