#include "passes/optimize.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
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
#include "passes/pad_pictures.h"
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

bool has_concat_of(const Graph& graph, std::size_t operands) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    return std::holds_alternative<ConcatOperator>(node.op) && node.inputs.size() >= operands;
  });
}
bool has_written_parts(const Graph& graph) { return has<SliceOperator>(graph) && has<ConcatOperator>(graph); }
bool has_rounds(const Graph& graph) { return has_concat_of(graph, kFewestRounds); }
bool has_long_concat(const Graph& graph) { return has_concat_of(graph, kMostParts + 1); }

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
    {"written parts", join_written_parts, has_written_parts},
    {"rolled loops", roll_loops, has_rounds},
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
    {"long concatenations", split_long_concats, has_long_concat},
    {"dead code", remove_dead_code},  // which also gives constants the order in which they are read
    {"halves", store_halves, nullptr, &PassOptions::halves},
    {"pad pictures", pad_pictures, has<ConvOperator>, &PassOptions::halves},
    {"bf16", store_bf16, nullptr, &PassOptions::bf16},
    {"bf16 of fixed sizes", store_bf16_of_fixed_sizes, nullptr, &PassOptions::bf16_of_fixed_sizes},
    {"bf16 tensors", store_bf16_tensors, nullptr, &PassOptions::bf16_tensors},
    {"pad pictures", pad_pictures, has<ConvOperator>, &PassOptions::bf16_tensors},
    {"f16 weights", store_f16_weights, has<MatMulOperator>, &PassOptions::f16_weights},
    {"bf16 weights", store_bf16_weights, has<MatMulOperator>, &PassOptions::bf16_weights},
};

/// Large constants count as others: they may not be made yet, and nobody makes them for that.
bool are_equal(const Value& a, const Value& b) {
  constexpr std::int64_t kMostBytes = 4096;
  if (a.name != b.name || a.type != b.type || a.contents != b.contents) return false;
  if (!a.constant || !b.constant) return a.constant.has_value() == b.constant.has_value();
  return a.constant->type() == b.constant->type() && a.constant->bytes() <= kMostBytes &&
         a.constant->data() == b.constant->data();
}
bool are_equal(const Node& a, const Node& b) {
  return a.output == b.output && a.inputs == b.inputs && a.name == b.name && a.op == b.op;
}
/// Whether nothing tells them apart, names and numbers of values included.
bool are_equal(const Graph& a, const Graph& b) {
  const auto equal = [](const auto& one, const auto& other) { return are_equal(one, other); };
  return a.name == b.name && a.inputs == b.inputs && a.outputs == b.outputs &&
         std::ranges::equal(a.values, b.values, equal) && std::ranges::equal(a.nodes, b.nodes, equal);
}

/// Runs passes, but none again on a graph that it has left as it was.
class PassRunner {
 public:
  /// Nothing where the pass leaves the graph as it is.
  Result<std::optional<Graph>> operator()(const Pass& pass, const Graph& now) {
    if (pass.concerns != nullptr && !pass.concerns(now)) return std::optional<Graph>();
    const auto idle = idle_.find(pass.run);
    if (idle != idle_.end() && idle->second == graphs_) return std::optional<Graph>();
    WHET_TRY(Graph next, pass.run(now));
    if (are_equal(now, next)) {
      idle_[pass.run] = graphs_;
      return std::optional<Graph>();
    }
    ++graphs_;
    return std::optional(std::move(next));
  }

 private:
  int graphs_ = 0;                                       ///< how many the passes have made
  std::map<Result<Graph> (*)(const Graph&), int> idle_;  ///< the one that a pass has left as it was
};

/// As `run_pass_list`, whose value would be a copy of a long graph. Nothing where all passes leave it as it is.
Result<std::optional<Graph>> run_from(const Graph& graph, std::span<const Pass> passes, const GraphObserver& observer) {
  PassRunner runner;
  std::optional<Graph> made;
  for (const Pass& pass : passes) {
    Result<std::optional<Graph>> next = runner(pass, made ? *made : graph);
    if (!next.ok()) return next.error().at(std::string(pass.name));
    if (*next) made = std::move(**next);
    const Status status = observer ? observer(pass.name, made ? *made : graph) : ok_status();
    if (!status.ok()) return status.error().at(std::string(pass.name));
  }
  return made;
}

}  // namespace

PassOptions for_ranges(PassOptions options) {
  options.bf16 |= options.bf16_of_fixed_sizes;
  options.bf16_of_fixed_sizes = options.f16_weights = options.bf16_weights = false;
  return options;
}

std::span<const Pass> graph_passes() { return kPasses; }

Result<Graph> run_graph_passes(Graph graph, std::span<const Pass> passes, const GraphObserver& observer) {
  WHET_TRY(std::optional<Graph> made, run_from(graph, passes, observer));
  return made ? std::move(*made) : std::move(graph);
}

Result<Graph> run_passes(const Graph& graph, const PassOptions& options, const GraphObserver& observer) {
  std::vector<Pass> wanted;
  for (const Pass& pass : kPasses)
    if (pass.option == nullptr || options.*pass.option) wanted.push_back(pass);
  WHET_TRY(std::optional<Graph> made, run_from(graph, wanted, observer));
  return keep_output_names(made ? std::move(*made) : graph, graph);
}

FuseOptions fuse_options(const PassOptions& options) {
  return {.enabled = options.fuse, .computes_operands = options.halves || options.bf16_tensors};
}

Result<FusedGraph> optimize(const Graph& graph, const PassOptions& options) {
  WHET_TRY(Graph optimized, run_passes(graph, options));
  WHET_RETURN_IF_ERROR(verify(optimized));
  return fuse(std::move(optimized), fuse_options(options));
}

}  // namespace whet
