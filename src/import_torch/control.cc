#include <algorithm>
#include <limits>

#include "import/parts/move_axis.h"
#include "import/parts/shape.h"
#include "import/rounds.h"
#include "import_torch/levels.h"
#include "import_torch/rows.h"

namespace whet::torch {
namespace {

/// A program that gets `others` behind its inputs.
Body body_of(TorchSite& site, const Program& program, const ValueIds& others) {
  return [&](ValueIds inputs) {
    inputs.insert(inputs.end(), others.begin(), others.end());
    return site.inlined(*program, inputs);
  };
}

Result<ValueIds> import_cond(TorchSite& site, ValueId condition, const Program& then_program,
                             const Program& else_program, const ValueIds& operands) {
  return if_else(site, condition, body_of(site, then_program, operands), body_of(site, else_program, operands));
}

Result<ValueIds> import_while_loop(TorchSite& site, const Program& condition, const Program& body,
                                   const ValueIds& start, const ValueIds& others) {
  return while_loop(site, start, body_of(site, condition, others), body_of(site, body, others));
}

/// A row of its sequences is a step.
Result<ValueIds> import_scan(TorchSite& site, const Program& body, const ValueIds& carried, const ValueIds& sequences,
                             const ValueIds& others) {
  Scan scan{.states = carried, .sequences = sequences, .in = std::vector<Lane>(sequences.size()), .out = {}};
  WHET_RETURN_IF_ERROR(count_steps(site, scan));
  return scanned(site, scan, body_of(site, body, others));
}
Result<ValueIds> import_map(TorchSite& site, const Program& body, const ValueIds& sequences, const ValueIds& others) {
  return import_scan(site, body, {}, sequences, others);
}
/// The first row, and what the body makes of each one behind it and what it made before.
Result<ValueIds> import_associative_scan(TorchSite& site, const Program& program, const ValueIds& sequences,
                                         const ValueIds& others) {
  Scan scan{.states = {}, .sequences = sequences, .in = std::vector<Lane>(sequences.size()), .out = {}};
  WHET_RETURN_IF_ERROR(count_steps(site, scan));
  if (scan.steps == 1) return sequences;
  ValueIds firsts;
  for (ValueId& sequence : scan.sequences) {
    WHET_TRY(const ValueIds parts, split(site, sequence, 0, {1, scan.steps - 1}));
    WHET_TRY(const ValueId state, squeezed(site, parts[0], Ints{0}));
    firsts.push_back(parts[0]);
    scan.states.push_back(state);
    sequence = parts[1];
  }
  --scan.steps;
  const Body body = body_of(site, program, others);
  WHET_TRY(const ValueIds made, scanned(site, scan, [&](const ValueIds& inputs) -> Result<ValueIds> {
             WHET_TRY(ValueIds values, body(inputs));
             const ValueIds rows = values;
             values.insert(values.end(), rows.begin(), rows.end());
             return values;
           }));
  if (made.size() != 2 * firsts.size())
    return site.error("its body gives " + std::to_string(made.size() / 2) + " values; expected " +
                      std::to_string(firsts.size()));
  for (std::size_t i = 0; i < firsts.size(); ++i) {
    WHET_TRY(firsts[i], joined(site, {firsts[i], made[firsts.size() + i]}, 0));
  }
  return firsts;
}

// ---- vmap (levels.h).

constexpr std::int64_t kMostLevels = 64;

/// The rank that the program sees.
Result<std::size_t> seen_rank(TorchSite& site, std::string_view name, ValueId x) {
  const auto rank = site.said_rank(name);
  if (rank && *rank <= site.rank(x)) return *rank;
  return site.error("the file does not say the dimensions of " + to_string(site.type(x)));
}
Result<ValueId> import_add_batch(TorchSite& site, ValueId x, std::int64_t dim, std::int64_t level) {
  WHET_TRY(const std::size_t rank, seen_rank(site, "self", x));
  const std::size_t before = site.rank(x) - rank;
  WHET_TRY(const std::int64_t d, site.resolve_axis(dim, rank));
  if (level < 1 || level > kMostLevels || static_cast<std::size_t>(level) <= before)
    return site.error("argument \"level\" is " + std::to_string(level));
  const std::size_t at = before + static_cast<std::size_t>(d);
  if (at > 0) {
    WHET_TRY(x, site.add("turned", move_axis(site.rank(x), at, 0), {x}));
  }
  const Ints between = every_axis(static_cast<std::size_t>(level) - before);
  return between.size() < 2 ? Result<ValueId>(x) : unsqueezed(site, x, Ints(between.begin() + 1, between.end()));
}
Result<ValueId> import_remove_batch(TorchSite& site, ValueId x, std::int64_t level, std::int64_t size,
                                    std::int64_t dim) {
  WHET_TRY(const std::size_t rank, seen_rank(site, "self", x));
  WHET_TRY(const std::int64_t d, site.resolve_axis(dim, rank + 1));
  const std::size_t before = site.rank(x) - rank;
  if (level < 1 || level > kMostLevels || before > static_cast<std::size_t>(level))
    return site.error("leaves a level that is not the last one");
  if (before < static_cast<std::size_t>(level)) {
    WHET_TRY(x, unsqueezed(site, x, {0}));
  } else if (before > 1 || d > 0) {
    WHET_TRY(x, site.add("turned", move_axis(site.rank(x), 0, before - 1 + static_cast<std::size_t>(d)), {x}));
    return x;
  }
  Shape shape = site.shape(x);
  shape[0] = size;
  WHET_TRY(x, expanded(site, x, shape));
  const std::size_t behind = site.rank(x) - 1 - rank + static_cast<std::size_t>(d);
  return behind == 0 ? Result<ValueId>(x) : site.add("placed", move_axis(site.rank(x), 0, behind), {x});
}
Status import_level(TorchSite&) { return ok_status(); }

Result<ValueIds> import_program(TorchSite& site, const Program& body, const ValueIds& operands) {
  return site.inlined(*body, operands);
}
/// bfloat16 is computed as f32 anyway; other types would change the answers.
Result<ValueIds> import_autocast(TorchSite& site, std::optional<DType> dtype, bool enabled, const Program& body,
                                 const ValueIds& operands) {
  if (!enabled || dtype == DType::f32) return site.inlined(*body, operands);
  if (dtype == DType::bf16)
    return site.error("computes in bfloat16 where torch chooses to; without --native-types it is computed as f32");
  return site.error("computes in a type that torch chooses; in Python: export the model outside of torch.autocast");
}

/// What gives new tensors by the type or the shape of one, and vmap's own.
constexpr std::string_view kReadLevels =
    "aten.empty_like aten.full_like aten.new_empty aten.new_full aten.new_ones aten.new_zeros aten.ones_like "
    "aten.zeros_like torch._functorch.predispatch";

/// The dimensions of a tensor, and those that the file says.
struct Ranks {
  std::size_t made = 0, seen = 0;
};
Ranks ranks_of(const GrowingGraph& graph, const TorchProgram& program, const std::string& name) {
  if (!graph.defined(name)) return {};
  const ValueId value = graph.find(name);
  const ValueIds* parts = graph.sequence(value);
  const std::size_t made = graph.graph.value(parts != nullptr ? parts->front() : value).type.shape.size();
  const auto said = program.types.find(name);
  return {made, said == program.types.end() ? made : std::min(made, said->second.sizes.size())};
}

/// Whether places with levels are looked up from the first dimension on, in a tensor that has none.
bool looks_up_levels(const GrowingGraph& graph, const TorchNode& node, const TorchProgram& program) {
  if (node.arguments.size() != 2) return false;
  const Name* x = node.arguments[0].second.name();
  const auto* indices = std::get_if<Arguments>(&node.arguments[1].second.value);
  if (x == nullptr || indices == nullptr || indices->empty() || indices->front().is_none()) return false;
  const Ranks ranks = ranks_of(graph, program, x->name);
  return ranks.made == ranks.seen && std::none_of(indices->begin(), indices->end(), [&](const Argument& each) {
           return each.name() != nullptr && graph.defined(each.name()->name) &&
                  graph.graph.value(graph.find(each.name()->name)).type.dtype == DType::boolean;
         });
}

}  // namespace

Status check_levels(const GrowingGraph& graph, const TorchNode& node, const TorchProgram& program) {
  const std::string base = node.op.substr(0, node.op.rfind('.'));
  const bool is_index = base == "aten.index" || base == "aten._unsafe_index";
  std::size_t most = 0, least_with_levels = std::numeric_limits<std::size_t>::max();
  for (const auto& [own, argument] : node.arguments) {
    std::vector<std::string> names;
    collect_names(argument, names);
    for (const std::string& name : names) {
      const Ranks ranks = ranks_of(graph, program, name);
      if (ranks.seen < ranks.made) least_with_levels = std::min(least_with_levels, ranks.seen);
      if (!is_index || own != "self") most = std::max(most, ranks.seen);
    }
  }
  const bool has_levels = least_with_levels != std::numeric_limits<std::size_t>::max();
  if (!has_levels || has_word(kReadLevels, base)) return ok_status();
  if (is_index ? !looks_up_levels(graph, node, program) : !computes_each_element(node.op))
    return Error{node.label + ": " + node.op +
                 " is not supported inside of vmap: it does not compute each element alone"};
  if (least_with_levels == most) return ok_status();
  return Error{node.label + ": tensors of different ranks are not supported inside of vmap"};
}

TorchRows control_rows() {
  static constexpr TorchRow kRows[] = {
      {"higher_order.associative_scan", "", "program sequences operands=[]", calls<import_associative_scan>},
      {"higher_order.cond", "", "condition:bool then_program else_program operands", calls<import_cond>},
      {"higher_order.map_impl", "", "program sequences operands", calls<import_map>},
      {"higher_order.scan", "", "program carried sequences operands", calls<import_scan>},
      {"higher_order.while_loop", "", "condition_program program carried operands", calls<import_while_loop>},
      {"higher_order.wrap_with_autocast", "", "~device dtype? enabled ~cache program operands...",
       calls<import_autocast>},
      {"higher_order.wrap_with_set_grad_enabled", "", "~enabled program operands...", calls<import_program>},
      {"torch._functorch.predispatch._add_batch_dim", "", "self dim level", calls<import_add_batch>},
      {"torch._functorch.predispatch._remove_batch_dim", "", "self level size dim", calls<import_remove_batch>},
      {"torch._functorch.predispatch._vmap_decrement_nesting torch._functorch.predispatch.lazy_load_decompositions", "",
       "", calls<import_level>},
      {"torch._functorch.predispatch._vmap_increment_nesting", "", "~size ~randomness", calls<import_level>},
  };
  return kRows;
}

}  // namespace whet::torch
