#include "import/counted.h"

#include <algorithm>
#include <limits>

namespace whet {
namespace {

/// Follows counted dimensions through one operator; each function says whether those of an operand stay apart from padding.
struct Follow {
  const std::vector<Counted>& operands;
  const std::vector<Shape>& shapes;
  const Shape& result;
  CountedResult found = {};

  void keep(std::size_t operand, std::size_t from, std::size_t to) {
    found.dimensions.insert({to, {operands[operand].at(from)}});
  }
  /// `place(d)`: the dimension of the result that dimension `d` becomes, or none where it is mixed.
  template <typename Place>
  void each(std::size_t operand, const Place& place) {
    for (const auto& [from, count] : operands[operand]) {
      const std::optional<std::size_t> to = place(from);
      if (to && *to < result.size() && result[*to] == shapes[operand][from]) {
        keep(operand, from, *to);
      } else {
        found.mixed.insert(operand);
      }
    }
  }
  void same(std::size_t operand) {
    each(operand, [](std::size_t d) { return std::optional(d); });
  }
  void aligned() {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const std::size_t before = result.size() - shapes[i].size();
      each(i, [&](std::size_t d) { return std::optional(d + before); });
    }
  }
  /// Where the padding along `axis` is neutral, the result has as much of it, behind `most`.
  void except(std::int64_t axis, std::optional<std::int64_t> most) {
    for (const auto& [d, count] : operands[0]) {
      found.dimensions.insert({d, {count, d == static_cast<std::size_t>(axis) ? most : std::nullopt}});
      if (d == static_cast<std::size_t>(axis)) found.mixed.insert(0);
    }
  }
  void batch_alone() {
    for (std::size_t i = 0; i < operands.size(); ++i)
      each(i, [&](std::size_t d) { return i == 0 && d == 0 ? std::optional(d) : std::nullopt; });
  }
  void without(const std::vector<std::int64_t>& axes, bool keep_dims) {
    each(0, [&](std::size_t d) -> std::optional<std::size_t> {
      const auto at = static_cast<std::int64_t>(d);
      if (std::find(axes.begin(), axes.end(), at) != axes.end()) return std::nullopt;
      const auto gone = std::count_if(axes.begin(), axes.end(), [&](std::int64_t axis) { return axis < at; });
      return keep_dims ? d : d - static_cast<std::size_t>(gone);
    });
  }
  /// Places that are counted themselves lie among the results of what they choose from.
  bool chooses_results() const { return !operands[1].empty(); }

  void operator()(const UnaryOperator&) { same(0); }
  void operator()(const ClipOperator&) { same(0); }
  void operator()(const HardSigmoidOperator&) { same(0); }
  void operator()(const LeakyReluOperator&) { same(0); }
  void operator()(const CastOperator&) { same(0); }
  void operator()(const BatchNormOperator&) { same(0); }
  void operator()(const BinaryOperator&) { aligned(); }
  void operator()(const WhereOperator&) { aligned(); }
  void operator()(const ExpandOperator&) { aligned(); }
  void operator()(const ConvOperator&) { batch_alone(); }
  void operator()(const PoolOperator&) { batch_alone(); }
  void operator()(const ResizeOperator&) { batch_alone(); }
  void operator()(const CustomOperator& op) {
    if (is_elementwise(op)) aligned();  // else nothing is known of where its padding goes
  }
  void operator()(const MatMulOperator& op) {
    for (std::size_t i = 0; i < 2; ++i) {
      const std::size_t rank = shapes[i].size(), before = result.size() - rank;
      const bool turned = i == 0 ? op.transpose_a : op.transpose_b;
      const std::size_t summed = (i == 0) != turned ? rank - 1 : rank - 2;
      each(i, [&](std::size_t d) -> std::optional<std::size_t> {
        if (d == summed) return std::nullopt;
        return d + 2 < rank ? before + d : result.size() - 2 + i;
      });
    }
  }
  void operator()(const ReduceOperator& op) { without(op.axes, op.keep_dims); }
  void operator()(const ArgReduceOperator& op) { without({op.axis}, op.keep_dims); }
  void operator()(const SoftmaxOperator& op) { except(op.axis, std::nullopt); }
  void operator()(const TopKOperator& op) { except(op.axis, op.k); }
  void operator()(const CumSumOperator& op) { op.reverse ? except(op.axis, std::nullopt) : same(0); }
  void operator()(const TransposeOperator& op) {
    each(0, [&](std::size_t d) {
      const auto to = std::find(op.perm.begin(), op.perm.end(), static_cast<std::int64_t>(d));
      return std::optional(static_cast<std::size_t>(to - op.perm.begin()));
    });
  }
  /// A dimension that stays whole, or is joined with those behind it, has as many elements before it.
  void operator()(const ReshapeOperator& op) {
    const auto before = [](const Shape& shape, std::size_t end) {
      return num_elements(Shape(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(end)));
    };
    const bool alone = operands[0].size() == 1;
    for (const auto& [d, count] : operands[0]) {
      const std::int64_t extent = shapes[0][d], elements = before(shapes[0], d);
      const auto find = [&](bool joined) {
        std::size_t to = 0;
        while (to < op.shape.size() &&
               !(before(op.shape, to) == elements && (joined ? op.shape[to] % extent == 0 : op.shape[to] == extent)))
          ++to;
        return to;
      };
      std::size_t to = find(false);
      if (to == op.shape.size() && alone) to = find(true);
      if (to == op.shape.size() || found.dimensions.contains(to)) {
        found.mixed.insert(0);
      } else {
        found.dimensions.insert({to, {count, std::nullopt, op.shape[to] / extent}});
      }
    }
  }
  void operator()(const ConcatOperator& op) {
    for (std::size_t i = 0; i < operands.size(); ++i)
      each(i, [&](std::size_t d) { return d == static_cast<std::size_t>(op.axis) ? std::nullopt : std::optional(d); });
  }
  void operator()(const SliceOperator& op) {
    for (const auto& [d, count] : operands[0]) {
      if (op.starts[d] != 0 || op.steps[d] != 1) {
        found.mixed.insert(0);
      } else if (op.shape[d] == shapes[0][d]) {
        keep(0, d, d);
      } else {
        found.dimensions.insert({d, {count, op.shape[d]}});
      }
    }
  }
  void operator()(const PadOperator& op) {
    each(0, [&](std::size_t d) { return op.begin[d] == 0 && op.end[d] == 0 ? std::optional(d) : std::nullopt; });
  }
  void operator()(const GatherOperator& op) {
    const auto axis = static_cast<std::size_t>(op.axis);
    for (const auto& [d, count] : operands[0]) {
      if (d != axis) keep(0, d, d < axis ? d : d + shapes[1].size() - 1);
      if (d == axis && !chooses_results()) found.mixed.insert(0);
    }
    each(1, [&](std::size_t d) { return std::optional(d + axis); });
  }
  void operator()(const GatherElementsOperator& op) {
    for (const auto& [d, count] : operands[0]) {
      const bool along = d == static_cast<std::size_t>(op.axis);
      if (!along && shapes[0][d] == result[d]) keep(0, d, d);
      if (along ? !chooses_results() : shapes[0][d] != result[d]) found.mixed.insert(0);
    }
    same(1);
  }
  void operator()(const GatherNdOperator& op) {
    const std::size_t rank = shapes[1].size(), batch = static_cast<std::size_t>(op.batch_dims);
    const std::size_t behind = batch + static_cast<std::size_t>(shapes[1].back());
    for (const auto& [d, count] : operands[0]) {
      if (d < batch) keep(0, d, d);
      if (d >= behind) keep(0, d, rank - 1 + d - behind);
      if (d >= batch && d < behind && !chooses_results()) found.mixed.insert(0);
    }
    each(1, [&](std::size_t d) { return d + 1 < rank ? std::optional(d) : std::nullopt; });
  }
  void operator()(const ScatterElementsOperator&) { scattered(); }
  void operator()(const ScatterNdOperator&) { scattered(); }
  void scattered() {
    same(0);
    for (std::size_t i = 1; i < operands.size(); ++i)
      if (!operands[i].empty()) found.mixed.insert(i);
  }
};

Tensor small_number(DType dtype, int value) { return Tensor::of<std::int64_t>(dtype, {}, {value}); }

}  // namespace

Tensor extreme(DType dtype, bool lowest) {
  Tensor number(dtype, {});
  const double infinity = std::numeric_limits<double>::infinity();
  if (is_float(dtype)) {
    number.set(0, lowest ? -infinity : infinity);
  } else if (dtype == DType::boolean || dtype == DType::u8) {
    number.set_integer(0, lowest ? 0 : dtype == DType::u8 ? 255 : 1);
  } else {
    const int bits = static_cast<int>(size_of(dtype)) * 8;
    const std::int64_t most = std::numeric_limits<std::int64_t>::max() >> (64 - bits);
    number.set_integer(0, lowest ? -most - 1 : most);
  }
  return number;
}

CountedResult counted_result(const Operator& op, const std::vector<Counted>& operands, const std::vector<Shape>& shapes,
                             const Shape& result) {
  Follow follow{operands, shapes, result};
  std::visit(follow, op);
  return std::move(follow.found);
}

std::optional<Tensor> neutral_padding(const Operator& op, std::size_t operand, DType dtype) {
  if (std::holds_alternative<MatMulOperator>(op)) return small_number(dtype, 0);
  if (operand != 0) return std::nullopt;
  if (const auto* top = std::get_if<TopKOperator>(&op)) return extreme(dtype, top->largest);
  if (const auto* arg = std::get_if<ArgReduceOperator>(&op)) {
    // Of equal elements the last would be padding.
    return arg->last ? std::nullopt : std::optional(extreme(dtype, arg->largest));
  }
  if (std::holds_alternative<SoftmaxOperator>(op)) return extreme(dtype, true);
  if (std::holds_alternative<CumSumOperator>(op)) return small_number(dtype, 0);
  const auto* reduce = std::get_if<ReduceOperator>(&op);
  if (reduce == nullptr) return std::nullopt;
  switch (reduce->kind) {
    case ReduceKind::max:
    case ReduceKind::log_sum_exp:
      return extreme(dtype, true);
    case ReduceKind::min:
      return extreme(dtype, false);
    case ReduceKind::prod:
      return small_number(dtype, 1);
    case ReduceKind::mean:  // divides by the extent
      return std::nullopt;
    default:
      return small_number(dtype, 0);
  }
}

}  // namespace whet
