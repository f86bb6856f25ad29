#include "ranges/follow.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <vector>

namespace whet {
namespace {

/// Larger constants that have one shape at both extents are weights, and are not read for this.
constexpr std::int64_t kLargest = 64 << 10;

/// The dimensions whose extents differ.
std::vector<std::int64_t> changed_dimensions(const Shape& a, const Shape& b) {
  std::vector<std::int64_t> changed;
  for (std::size_t d = 0; d < a.size() && d < b.size(); ++d)
    if (a[d] != b[d]) changed.push_back(static_cast<std::int64_t>(d));
  return changed;
}

/// How many rows of dimension `d` a shape has; where there are no elements as if there were one.
std::int64_t rows_of(const Shape& shape, std::int64_t d) {
  std::int64_t rows = 1;
  for (std::int64_t k = 0; k < d; ++k) rows *= std::max<std::int64_t>(1, shape[static_cast<std::size_t>(k)]);
  return rows;
}

/// The dimension of a window that dimension `d` of a picture is; nothing: it is the batch, or channels.
template <typename Window>
std::optional<std::size_t> window_dimension(const Window& op, std::int64_t d) {
  const std::int64_t k = d - (op.layout == Layout::channels_last ? 1 : 2);
  return k >= 0 && k < std::ssize(op.strides) ? std::optional(static_cast<std::size_t>(k)) : std::nullopt;
}
/// Whether a window is one element wide along its dimension `k`, which keeps its extent.
template <typename Window>
bool is_one_wide(const Window& op, std::size_t k, bool keeps_extent) {
  return keeps_extent && op.strides[k] == 1 && op.pads_begin[k] == 0 && op.pads_end[k] == 0;
}

/// Whether a node computes something of several places along dimension `d` of its operand `i`.
bool works_along(const Graph& graph, const Node& node, std::size_t i, std::int64_t d) {
  const Shape &shape = graph.value(node.inputs[i]).type.shape, &result = graph.value(node.output).type.shape;
  const Operator& op = node.op;
  if (const auto* n = std::get_if<ConcatOperator>(&op)) return n->axis == d;
  if (const auto* n = std::get_if<MatMulOperator>(&op)) {
    const bool is_last = i == 0 ? !n->transpose_a : n->transpose_b;
    return d == std::ssize(shape) - (is_last ? 1 : 2);
  }
  if (i > 0) return std::holds_alternative<ConvOperator>(op);
  const auto at = static_cast<std::size_t>(d);
  const bool keeps_extent = at < result.size() && result[at] == shape[at];
  if (const auto* n = std::get_if<ConvOperator>(&op)) {
    const auto k = window_dimension(*n, d);
    return d != 0 && !(k && is_one_wide(*n, *k, keeps_extent));
  }
  if (const auto* n = std::get_if<PoolOperator>(&op)) {
    const auto k = window_dimension(*n, d);
    return k && !is_one_wide(*n, *k, keeps_extent);
  }
  if (const auto* n = std::get_if<ResizeOperator>(&op)) {
    const bool is_whole = n->roi_begin.empty() || (n->roi_begin[at] == 0 && n->roi_end[at] == 1);
    return !keeps_extent || n->scales[at] != 1 || !is_whole;
  }
  if (const auto* n = std::get_if<SoftmaxOperator>(&op)) return n->axis == d;
  if (const auto* n = std::get_if<ReduceOperator>(&op))
    return std::find(n->axes.begin(), n->axes.end(), d) != n->axes.end();
  if (const auto* n = std::get_if<GatherOperator>(&op)) return n->axis == d;
  if (const auto* n = std::get_if<GatherElementsOperator>(&op)) return n->axis == d;
  if (const auto* n = std::get_if<ScatterElementsOperator>(&op)) return n->axis == d;
  if (const auto* n = std::get_if<ArgReduceOperator>(&op)) return n->axis == d;
  if (const auto* n = std::get_if<TopKOperator>(&op)) return n->axis == d;
  if (const auto* n = std::get_if<CumSumOperator>(&op)) return n->axis == d;
  const auto indexed = [&] { return graph.value(node.inputs[1]).type.shape.back(); };  // dimensions by one index
  if (const auto* n = std::get_if<GatherNdOperator>(&op)) return d >= n->batch_dims && d < n->batch_dims + indexed();
  if (std::holds_alternative<ScatterNdOperator>(op)) return d < indexed();
  return false;
}

/// Whether an operator gives along dimension `d` of its operand what it reads there, in this order: all others do.
bool keeps_places(const Operator& op, std::size_t d, std::int64_t extent) {
  if (const auto* n = std::get_if<SliceOperator>(&op))
    return n->starts[d] == 0 && n->steps[d] == 1 && n->shape[d] == extent;
  if (const auto* n = std::get_if<PadOperator>(&op)) return n->begin[d] == 0 && n->end[d] == 0;
  return true;
}

/// Whether two operators are one, apart from the extents that they give.
bool are_alike(const Operator& a, const Operator& b) {
  const bool has_extents = std::holds_alternative<ReshapeOperator>(a) || std::holds_alternative<ExpandOperator>(a) ||
                           std::holds_alternative<SliceOperator>(a) || std::holds_alternative<ResizeOperator>(a);
  return a.index() == b.index() && (has_extents || a == b);
}

/// A constant, which is rows of some places.
struct PlacedConstant {
  const Tensor& tensor;
  std::int64_t places;
};
/// Whether two constants have the same elements at each place of each row, however many places there are.
bool same_at_each_place(const PlacedConstant& a, const PlacedConstant& b, std::int64_t rows) {
  const std::int64_t bytes = a.tensor.bytes() / (rows * a.places);
  if (bytes * rows * a.places != a.tensor.bytes() || bytes * rows * b.places != b.tensor.bytes()) return false;
  const auto at = [&](const PlacedConstant& c, std::int64_t row, std::int64_t place) {
    return static_cast<const std::byte*>(c.tensor.data()) + (row * c.places + place) * bytes;
  };
  for (std::int64_t row = 0; row < rows; ++row)
    for (const PlacedConstant* c : {&a, &b})
      for (std::int64_t place = 0; place < c->places; ++place)
        if (std::memcmp(at(a, row, 0), at(*c, row, place), static_cast<std::size_t>(bytes)) != 0) return false;
  return true;
}

class Follower {
 public:
  Follower(const std::string& size, const FollowedGraph& a, const FollowedGraph& b)
      : size_(size), a_(a), b_(b), rows_(a.graph.values.size(), 0) {}

  Status run() {
    if (a_.graph.nodes.size() != b_.graph.nodes.size())
      return Error{"the model has " + std::to_string(a_.graph.nodes.size()) + " nodes" + at(a_) + " and " +
                   std::to_string(b_.graph.nodes.size()) + at(b_)};
    for (std::size_t k = 0; k < a_.graph.inputs.size(); ++k) {
      const ValueId id = a_.graph.inputs[k];
      const auto dimensions = changed(id, b_.graph.inputs[k]);
      if (!dimensions.empty()) rows_[id.index()] = rows_of(shape(id), dimensions.front());
    }
    for (std::size_t n = 0; n < a_.graph.nodes.size(); ++n) WHET_RETURN_IF_ERROR(node(n));
    for (std::size_t k = 0; k < a_.graph.outputs.size(); ++k) {
      const Value& output = a_.graph.value(a_.graph.outputs[k]);
      if (!changed(a_.graph.outputs[k], b_.graph.outputs[k]).empty()) continue;
      return Error{"output \"" + output.name + "\" is " + to_string(output.type.shape) + " whatever " + size_ + " is"};
    }
    return ok_status();
  }

 private:
  std::string at(const FollowedGraph& opened) const { return " at " + size_ + " = " + std::to_string(opened.extent); }
  const Shape& shape(ValueId id) const { return a_.graph.value(id).type.shape; }
  std::vector<std::int64_t> changed(ValueId a, ValueId b) const {
    return changed_dimensions(shape(a), b_.graph.value(b).type.shape);
  }
  static Error fail(const Node& node, const std::string& what) { return Error{"node \"" + node.name + "\" " + what}; }

  Status node(std::size_t n) {
    const Node &a = a_.graph.nodes[n], &b = b_.graph.nodes[n];
    if (!are_alike(a.op, b.op) || a.inputs.size() != b.inputs.size())
      return fail(a, "is not the same operator" + at(a_) + " and" + at(b_));
    const Shape &from = shape(a.output), &to = b_.graph.value(b.output).type.shape;
    bool reads = false;
    for (std::size_t i = 0; i < a.inputs.size(); ++i)
      for (const std::int64_t d : changed(a.inputs[i], b.inputs[i])) {
        if (works_along(a_.graph, a, i, d)) return fail(a, "computes along " + size_ + ", which the file has fixed");
        reads = true;
      }
    const auto dimensions = changed_dimensions(from, to);
    const std::string gives = "gives " + to_string(from), both = gives + at(a_) + " and " + to_string(to) + at(b_);
    if (from.size() != to.size() || dimensions.size() > 1) return fail(a, both);
    if (dimensions.empty() && reads) return fail(a, gives + " whatever " + size_ + " is");
    if (dimensions.empty()) return constants(a, b, 1);
    const auto d = static_cast<std::size_t>(dimensions.front());
    // As many times the extent at both: rows of rows.
    if (from[d] * b_.extent != to[d] * a_.extent || from[d] % a_.extent != 0) return fail(a, both);
    if (!reads && !std::holds_alternative<ExpandOperator>(a.op))
      return fail(a, both + ", of values that are the same at both");
    return places(a, b, dimensions.front());
  }

  /// The places in the node's result, along its dimension `d`: where its operands have them.
  Status places(const Node& a, const Node& b, std::int64_t d) {
    const std::int64_t rows = rows_of(shape(a.output), d);
    std::int64_t& result = rows_[a.output.index()];
    std::optional<std::int64_t> inside;  // rows of places inside of one row of the dimension
    for (std::size_t i = 0; i < a.inputs.size(); ++i) {
      const ValueId id = a.inputs[i];
      const auto dimensions = changed(id, b.inputs[i]);
      if (dimensions.empty() || a_.graph.value(id).constant) continue;
      const std::int64_t read = rows_[id.index()];
      if (std::holds_alternative<ReshapeOperator>(a.op)) {
        const bool is_whole =
            read % rows == 0 && shape(a.output)[static_cast<std::size_t>(d)] % (read / rows * a_.extent) == 0;
        if (!is_whole) return fail(a, "mixes the places of " + size_);
        result = read;
        return ok_status();
      }
      const auto at = static_cast<std::size_t>(dimensions.front());
      if (i == 0 && !keeps_places(a.op, at, shape(id)[at]))
        return fail(a, "gives other places of " + size_ + " than it reads");
      const std::int64_t own = read / rows_of(shape(id), dimensions.front());
      if (inside && *inside != own) return fail(a, "reads the places of " + size_ + " in two orders");
      inside = own;
    }
    result = rows * inside.value_or(1);
    return constants(a, b, inside.value_or(1));
  }

  /// What a node reads of constants is the same for each place. `inside` as in `places`.
  Status constants(const Node& a, const Node& b, std::int64_t inside) const {
    for (std::size_t i = 0; i < a.inputs.size(); ++i) {
      const Value &mine = a_.graph.value(a.inputs[i]), &other = b_.graph.value(b.inputs[i]);
      if (!mine.constant || !other.constant) continue;
      const auto dimensions = changed(a.inputs[i], b.inputs[i]);
      if (dimensions.empty() && mine.constant->bytes() > kLargest) continue;
      const bool same = dimensions.empty()
                            ? same_at_each_place({*mine.constant, 1}, {*other.constant, 1}, 1)
                            : same_at_each_place({*mine.constant, a_.extent}, {*other.constant, b_.extent},
                                                 rows_of(mine.type.shape, dimensions.front()) * inside);
      if (!same)
        return fail(a, "reads constant \"" + mine.name + "\", which is not the same for each place of " + size_);
    }
    return ok_status();
  }

  const std::string& size_;
  const FollowedGraph &a_, &b_;
  /// By value of `a`, how many rows of places it is in row-major order; 0: it has none. A dimension may hold several rows: `n` places of
  /// 6 elements each are one row, 6 times `n` places are six.
  std::vector<std::int64_t> rows_;
};

}  // namespace

Status check_follows(const std::string& size, const FollowedGraph& a, const FollowedGraph& b) {
  return Follower(size, a, b).run();
}

}  // namespace whet
