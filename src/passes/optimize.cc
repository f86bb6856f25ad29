#include "passes/optimize.h"

#include "passes/batch_norm.h"
#include "passes/channel_groups.h"
#include "passes/common_subexpressions.h"
#include "passes/concatenations.h"
#include "passes/dead_code.h"
#include "passes/fold_constants.h"
#include "passes/halves.h"
#include "passes/integer_products.h"
#include "passes/layout.h"
#include "passes/output_names.h"
#include "passes/rolled_loops.h"
#include "passes/scale_shift.h"
#include "passes/simplify.h"

namespace whet {

namespace {

constexpr Pass kPasses[] = {
    {"dead code", remove_dead_code},
    {"unsigned bytes", drop_signs},
    {"move to bytes", move_to_bytes},
    {"integer products", form_integer_products},
    {"move to bytes", move_to_bytes},
    {"clip bytes once", clip_bytes_once},
    {"dead code", remove_dead_code},
    {"split batch norm", split_batch_norm},
    {"fold constants", fold_constants},
    {"simplify", simplify_graph},
    {"common subexpressions", share_common_subexpressions},
    {"written parts", join_written_parts},
    {"rolled loops", roll_loops},
    {"channel groups", spread_channel_groups},
    {"channels last", convert_to_channels_last, &PassOptions::channels_last},
    {"simplify", simplify_graph},
    {"dead code", remove_dead_code},
    {"fold scale and shift", fold_scale_shift},
    {"dead code", remove_dead_code},
    {"fold scale and shift", fold_scale_shift},  // x*s + b before a convolution goes in two steps
    {"fold constants", fold_constants},
    {"simplify", simplify_graph},
    {"common subexpressions", share_common_subexpressions},
    {"tables of bytes", tabulate_bytes},
    {"dead code", remove_dead_code},
    {"dequantize at readers", dequantize_at_readers},
    {"numbers apart", give_numbers_apart},
    {"long concatenations", split_long_concats},
    {"dead code", remove_dead_code},
    {"halves", store_halves, &PassOptions::halves},
};

}  // namespace

std::span<const Pass> graph_passes() { return kPasses; }

Result<Graph> run_graph_passes(Graph graph, std::span<const Pass> passes, const GraphObserver& observer) {
  return run_pass_list(std::move(graph), passes, observer,
                       [](const Pass& pass, const Graph& now) { return pass.run(now); });
}

Result<Graph> run_passes(Graph graph, const PassOptions& options, const GraphObserver& observer) {
  std::vector<Pass> wanted;
  for (const Pass& pass : kPasses)
    if (pass.option == nullptr || options.*pass.option) wanted.push_back(pass);
  WHET_TRY(Graph optimized, run_graph_passes(graph, wanted, observer));
  return keep_output_names(std::move(optimized), graph);
}

Result<FusedGraph> optimize(Graph graph, const PassOptions& options) {
  WHET_TRY(Graph optimized, run_passes(std::move(graph), options));
  WHET_RETURN_IF_ERROR(verify(optimized));
  return fuse(std::move(optimized), options.fuse);
}

}  // namespace whet
