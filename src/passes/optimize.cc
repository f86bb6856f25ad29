#include "passes/optimize.h"

#include <algorithm>
#include <variant>

#include "passes/batch_norm.h"
#include "passes/channel_groups.h"
#include "passes/common_subexpressions.h"
#include "passes/concatenations.h"
#include "passes/dead_code.h"
#include "passes/fold_constants.h"
#include "passes/half_weights.h"
#include "passes/halves.h"
#include "passes/integer_products.h"
#include "passes/layout.h"
#include "passes/output_names.h"
#include "passes/rewriter.h"
#include "passes/rolled_loops.h"
#include "passes/scale_shift.h"
#include "passes/simplify.h"

namespace whet {

namespace {

template <typename... Operators>
bool has(const Graph& graph) {
  return std::ranges::any_of(graph.nodes,
                             [](const Node& node) { return (std::holds_alternative<Operators>(node.op) || ...); });
}
/// What the passes for quantized models begin with. (Numbers of 16 bits are i32.)
bool has_bytes(const Graph& graph) {
  return std::ranges::any_of(
      graph.values, [](const Value& value) { return value.type.dtype == DType::u8 || value.type.dtype == DType::i8; });
}
/// A division before a rounding goes into the products before it, of bytes or not.
bool has_bytes_or_rounds(const Graph& graph) {
  return has_bytes(graph) || std::ranges::any_of(graph.nodes, [](const Node& node) {
           const auto* unary = std::get_if<UnaryOperator>(&node.op);
           return unary != nullptr && unary->kind == UnaryKind::round;
         });
}
bool has_dead_code(const Graph& graph) {
  std::vector<int> uses = count_uses(graph);
  for (const ValueId id : graph.inputs) ++uses[id.index()];  // they stay
  return std::ranges::find(uses, 0) != uses.end();
}
bool has_constant_results(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    const auto is_constant = [&](ValueId id) { return graph.value(id).constant.has_value(); };
    return std::ranges::all_of(node.inputs, is_constant) || num_elements(graph.value(node.output).type.shape) == 0;
  });
}

/// A long graph is copied by each pass that runs: those that concern few graphs say which.
constexpr Pass kPasses[] = {
    {"dead code", remove_dead_code, has_dead_code},
    {"unsigned bytes", drop_signs, has_bytes},
    {"move to bytes", move_to_bytes, has_bytes_or_rounds},
    {"integer products", form_integer_products, has_bytes},
    {"move to bytes", move_to_bytes, has_bytes_or_rounds},
    {"clip bytes once", clip_bytes_once, has_bytes},
    {"dead code", remove_dead_code, has_dead_code},
    {"split batch norm", split_batch_norm, has<BatchNormOperator>},
    {"fold constants", fold_constants, has_constant_results},
    {"simplify", simplify_graph},
    {"common subexpressions", share_common_subexpressions},
    {"written parts", join_written_parts},
    {"rolled loops", roll_loops},
    {"channel groups", spread_channel_groups, has<ReshapeOperator>},
    {"channels last", convert_to_channels_last, nullptr, &PassOptions::channels_last},
    {"simplify", simplify_graph},
    {"dead code", remove_dead_code, has_dead_code},
    {"fold scale and shift", fold_scale_shift, has<ConvOperator, MatMulOperator>},
    {"dead code", remove_dead_code, has_dead_code},
    {"fold scale and shift", fold_scale_shift,
     has<ConvOperator, MatMulOperator>},  // x*s + b before a convolution goes in two steps
    {"fold constants", fold_constants, has_constant_results},
    {"simplify", simplify_graph},
    {"common subexpressions", share_common_subexpressions},
    {"tables of bytes", tabulate_bytes, has_bytes},
    {"dead code", remove_dead_code, has_dead_code},
    {"dequantize at readers", dequantize_at_readers, has_bytes},
    {"numbers apart", give_numbers_apart, has_bytes},
    {"long concatenations", split_long_concats, has<ConcatOperator>},
    {"dead code", remove_dead_code},  // which also gives constants the order in which they are read
    {"halves", store_halves, nullptr, &PassOptions::halves},
    {"bf16", store_bf16, nullptr, &PassOptions::bf16},
    {"bf16 of fixed sizes", store_bf16_of_fixed_sizes, nullptr, &PassOptions::bf16_of_fixed_sizes},
    {"f16 weights", store_f16_weights, has<MatMulOperator>, &PassOptions::f16_weights},
    {"bf16 weights", store_bf16_weights, has<MatMulOperator>, &PassOptions::bf16_weights},
};

}  // namespace

PassOptions for_ranges(PassOptions options) {
  options.bf16 |= options.bf16_of_fixed_sizes;
  options.bf16_of_fixed_sizes = options.f16_weights = options.bf16_weights = false;
  return options;
}

std::span<const Pass> graph_passes() { return kPasses; }

Result<Graph> run_graph_passes(Graph graph, std::span<const Pass> passes, const GraphObserver& observer) {
  return run_pass_list(std::move(graph), passes, observer, [](const Pass& pass, Graph now) -> Result<Graph> {
    if (pass.concerns != nullptr && !pass.concerns(now)) return now;
    return pass.run(now);
  });
}

Result<Graph> run_passes(const Graph& graph, const PassOptions& options, const GraphObserver& observer) {
  std::vector<Pass> wanted;
  for (const Pass& pass : kPasses)
    if (pass.option == nullptr || options.*pass.option) wanted.push_back(pass);
  WHET_TRY(Graph optimized, run_graph_passes(graph, wanted, observer));
  return keep_output_names(std::move(optimized), graph);
}

Result<FusedGraph> optimize(const Graph& graph, const PassOptions& options) {
  WHET_TRY(Graph optimized, run_passes(graph, options));
  WHET_RETURN_IF_ERROR(verify(optimized));
  return fuse(std::move(optimized), options.fuse);
}

}  // namespace whet
