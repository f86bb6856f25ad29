#include "space/cpu/tile_axes.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "compute/affine.h"
#include "compute/merge.h"
#include "program/intrinsic.h"
#include "space/cpu/scatter.h"
#include "space/padding.h"
#include "target/products_i16.h"

namespace whet {
namespace {

/// Of Intrinsic::dot4, dot2 and dot2_i16, side by side: an op with fewer results is no product by words.
constexpr std::int64_t kSums = 16;

/// Output channels of a group, where the inputs depend on which group it is: floordiv(oc, size) occurs in their index.
std::int64_t group_size(const TileAxes& p) {
  std::int64_t size = 0;
  for_each(p.element.body, [&](const Expr& part) {
    const Binary* division = std::get_if<Binary>(&part->kind);
    if (!division || division->op != BinaryOp::floordiv) return;
    const Var* v = std::get_if<Var>(&division->a->kind);
    if (const std::int64_t* by = as_int(division->b); by && v && v->id.value == p.vec) size = *by;
  });
  return size;
}

/// Bytes from an input to the one that the next element along `axis` reads.
std::int64_t input_step(const ComputeDag& dag, const TileAxes& p, std::int64_t axis) {
  std::int64_t step = 0;
  for_each(p.element.body, [&](const Expr& part) {
    const Load* read = std::get_if<Load>(&part->kind);
    if (!read || axis < 0 || step != 0 || is_constant(dag, OpId(read->source.value))) return;
    const Op& source = dag.op(OpId(read->source.value));
    std::int64_t stride = size_of(source.dtype);
    for (std::size_t k = read->index.size(); k-- > 0; stride *= source.shape[k])
      step += to_affine(read->index[k]).coefficient(axis_var(p.element, axis)) * stride;
  });
  return std::abs(step);
}

/// Reading along the vector axis must be contiguous in at least one operand, or vectors are gathers: then rows are not
/// worth tiling so.
bool vector_axis_is_contiguous(const TileAxes& p) {
  bool contiguous = false, strided = false;
  for_each(p.element.body, [&](const Expr& part) {
    const Load* l = std::get_if<Load>(&part->kind);
    if (!l || l->index.empty()) return;
    for (std::size_t k = 0; k < l->index.size(); ++k)
      for_each(l->index[k], [&](const Expr& e) {
        const Var* v = std::get_if<Var>(&e->kind);
        if (!v || v->id.value != p.vec) return;
        (k + 1 == l->index.size() ? contiguous : strided) = true;
      });
  });
  return contiguous && !strided;
}

/// The most indices of an axis that some tap reads padding at.
std::int64_t most_skipped(const Element& element, std::int64_t axis) {
  const std::int64_t extent = element.axes[static_cast<std::size_t>(axis)].extent;
  std::int64_t most = 0;
  for (const auto& [first, end] : unpadded(element, axis)) most = std::max(most, extent - (end - first));
  return most;
}

/// The window along a spatial axis: the index that both it and one tap occur in.
TapWindow window_along(const ComputeDag& dag, const TileAxes& p, std::int64_t axis) {
  TapWindow window;
  if (axis < 0) return window;
  for_each(p.element.body, [&](const Expr& part) {
    const Load* read = std::get_if<Load>(&part->kind);
    if (!read || window.taps > 1 || is_constant(dag, OpId(read->source.value))) return;
    for (const Expr& index : read->index) {
      const Affine sum = to_affine(index);
      const std::int64_t stride = sum.coefficient(axis_var(p.element, axis));
      if (stride == 0) continue;
      for (std::int64_t tap : p.taps) {
        const auto number = static_cast<std::int64_t>(p.element.axes.size()) + tap;
        const std::int64_t dilation = sum.coefficient(axis_var(p.element, number));
        if (dilation != 0) window = {std::abs(stride), p.reduce_extent(tap), std::abs(dilation)};
      }
    }
  });
  return window;
}

/// The axis whose role is that of the vectorized one: a result in blocks of channels has one over the blocks.
std::int64_t blocks_axis(const TileAxes& p) {
  const AxisRole role = p.element.axes[static_cast<std::size_t>(p.vec)].role;
  if (role != AxisRole::out_channel && role != AxisRole::channel) return -1;
  for (std::int64_t axis = p.vec; axis-- > 0;)
    if (p.element.axes[static_cast<std::size_t>(axis)].role == role && p.extent(axis) > 1) return axis;
  return -1;
}

/// The loads of the factors of a sum of products such as the intrinsic adds up; empty for another op.
std::vector<Expr> factors_of(Intrinsic dot, const Element& element, DType dtype) {
  if (dtype != op_of(dot).dtype || element.reducer != Reducer::sum) return {};
  const Expr body = rewrite(element.body, [](const Expr& part) -> Expr {
    const auto* s = std::get_if<Select>(&part->kind);
    return s && is_const(s->if_false, 0) ? s->if_true : Expr();
  });
  return matching_loads(op_of(dot).element().body, body, 2);
}

std::int64_t terms_of(Intrinsic dot) { return op_of(dot).element().reduce_axes[0].extent; }

/// A sum of products whose factors lie by words as the processor's instruction takes them.
bool goes_by_words(Intrinsic dot, const ComputeDag& dag, OpId op, const TileAxes& p) {
  const Element& element = dag.op(op).element();
  if (p.in < 0 || p.in_blocks >= 0) return false;
  if (p.blocks >= 0 || group_size(p) > 0 || p.extent(p.vec) < kSums || p.reduce_extent(p.in) % terms_of(dot) != 0)
    return false;
  const std::vector<Expr> loads = factors_of(dot, element, dag.op(op).dtype);
  if (loads.empty()) return false;
  const Load &x = std::get<Load>(loads[0]->kind), &w = std::get<Load>(loads[1]->kind);
  const auto in = axis_var(element, static_cast<std::int64_t>(element.axes.size()) + p.in);
  return is_constant(dag, OpId(w.source.value)) && !x.index.empty() && to_affine(x.index.back()).coefficient(in) == 1;
}

/// The intrinsic for such products that pays on the processor, or none.
Intrinsic find_dot(const ComputeDag& dag, OpId op, const TileAxes& p, const CpuTarget& cpu) {
  for (const auto& [dot, has] : {std::pair(Intrinsic::dot4, true),
                                 {Intrinsic::dot2, cpu.bf16_products},
                                 {Intrinsic::dot2_i16, has_products_of_i16(cpu)}})
    if (has && goes_by_words(dot, dag, op, p)) return dot;
  return Intrinsic::none;
}

/// The same of 8 sums, where tiles of 16 would compute more results twice, and half a vector takes half the time.
Intrinsic fitting(Intrinsic dot, std::int64_t results, const CpuTarget& cpu) {
  const bool halves = cpu.vector_bytes == 32 || cpu.pipes.splits_vectors;
  if (dot == Intrinsic::none || !halves || round_up(results, 8) == round_up(results, kSums)) return dot;
  return of_eight_sums(dot);
}

bool reads_constants(const ComputeDag& dag, OpId op) {
  const std::vector<OpId> inputs = inputs_of(dag, op);
  return std::any_of(inputs.begin(), inputs.end(), [&](OpId input) { return is_constant(dag, input); });
}

}  // namespace

std::vector<std::int64_t> merge_pixels(ComputeDag& dag, OpId anchor) {
  std::vector<std::int64_t> merged;
  for (;;) {
    const Shape& shape = dag.op(anchor).shape;
    const auto axis = static_cast<std::int64_t>(shape.size()) - 3;
    if (axis < 0 || shape[static_cast<std::size_t>(axis)] == 1 || shape[static_cast<std::size_t>(axis) + 1] == 1)
      return merged;
    Result<ComputeDag> list = merge_axes(dag, anchor, axis);
    if (!list.ok()) return merged;
    dag = std::move(*list);
    merged.push_back(axis);
  }
}

std::optional<TileAxes> find_tile_axes(const ComputeDag& dag, OpId op, const Target& target) {
  const Element& element = dag.op(op).element();
  if (!element.reducer || element.axes.empty() || find_scatter(dag, op)) return std::nullopt;
  TileAxes p;
  p.element = element;
  // The innermost axis with more than one element is the one to vectorize.
  p.vec = static_cast<std::int64_t>(element.axes.size()) - 1;
  while (p.vec > 0 && p.extent(p.vec) == 1) --p.vec;
  if (p.extent(p.vec) < 4) return std::nullopt;
  p.blocks = blocks_axis(p);
  if (p.vec >= 1 && p.extent(p.vec - 1) > 1 && p.vec - 1 != p.blocks) p.x = p.vec - 1;
  if (p.vec >= 2 && p.extent(p.vec - 2) > 1 && p.vec - 2 != p.blocks && p.vec - 1 != p.blocks) p.y = p.vec - 2;
  for (std::size_t k = 0; k < element.reduce_axes.size(); ++k) {
    if (element.reduce_axes[k].role == AxisRole::in_channel)
      p.in_blocks = std::exchange(p.in, static_cast<std::int64_t>(k));
    else
      p.taps.push_back(static_cast<std::int64_t>(k));
  }
  p.dot = fitting(find_dot(dag, op, p, target.cpu()), p.extent(p.vec), target.cpu());
  const bool by_words = p.dot != Intrinsic::none;
  if (by_words) p.word = terms_of(p.dot);
  p.byte_taps = p.in < 0 && !factors_of(Intrinsic::dot4, element, dag.op(op).dtype).empty();
  const std::int64_t own_lanes = target.cpu().lanes(static_cast<int>(size_of(dag.op(op).dtype)));
  const std::int64_t lanes = by_words ? sums_of(p.dot) : own_lanes;
  p.tiling = {.oc = p.out_channels(),
              .oh = p.extent(p.y),
              .ow = p.extent(p.x),
              .lanes = lanes,
              .registers = target.cpu().vector_registers * std::min(own_lanes, lanes) / lanes,
              .group = group_size(p),
              .block = p.blocks < 0 ? 0 : p.extent(p.vec),
              .column_bytes = input_step(dag, p, p.x),
              .row_bytes = input_step(dag, p, p.y),
              .cache_ways = target.cpu().l1_ways(),
              .pipes = target.cpu().pipes,
              .depthwise = p.in < 0,
              .joins_bytes = p.byte_taps};
  p.tiling.taps =
      std::accumulate(p.taps.begin(), p.taps.end(), std::int64_t{1}, [&](std::int64_t product, std::int64_t k) {
        return product * element.reduce_axes[static_cast<std::size_t>(k)].extent;
      });
  p.tiling.whole_vectors = by_words;
  if (!by_words && p.in >= 0 && dag.op(op).dtype == DType::f32 &&
      p.reduce_extent(p.in) % target.cpu().pipes.input_lanes == 0)
    p.tiling.input_lanes = target.cpu().pipes.input_lanes;
  p.tiling.columns = window_along(dag, p, p.x), p.tiling.rows = window_along(dag, p, p.y);
  if (p.x >= 0) p.tiling.read_columns = unpadded(element, p.x);
  if (p.y >= 0) p.tiling.rows_skipped = most_skipped(element, p.y);
  if (p.in >= 0 && reads_constants(dag, op))
    p.tiling.channel_bytes =
        p.tiling.taps * p.in_channels() * (by_words ? p.element_bytes() : size_of(dag.op(op).dtype));
  const std::int64_t group = p.tiling.group;
  p.tiling.mixes_groups = group > 0 && 4 * group <= lanes && lanes % group == 0 && p.reduce_extent(p.in) == group;
  p.tiling.weights_room = target.cpu().l2_bytes * 3 / 5;
  if (!vector_axis_is_contiguous(p) || p.tiling.oc_options().empty()) return std::nullopt;
  return p;
}

}  // namespace whet
