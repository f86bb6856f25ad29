#include <algorithm>
#include <optional>

#include "compute/affine.h"
#include "compute/op_evaluator.h"

namespace whet {
namespace {

/// All places from `first` to `last`, both included, one a dimension.
struct Box {
  std::vector<std::int64_t> first, last;
};

/// Which elements of another op a load may read.
struct Read {
  struct Index {
    Expr expr;
    std::optional<Affine> sum;  ///< of variables
  };
  OpId source;
  std::vector<Index> index;
};

/// Computes single elements. Of the ops before it, it computes runs of elements along the last axis, where these may be needed,
/// each element once.
class SpotEvaluator {
 public:
  SpotEvaluator(const ComputeDag& dag, const std::vector<Tensor>& inputs) : dag_(dag), parts_(dag.ops.size()) {
    std::size_t input = 0;
    for (const Op& op : dag.ops) values_.push_back(op.is_placeholder() ? inputs[input++] : Tensor(op.dtype, op.shape));
  }

  /// Makes the elements of a box be there.
  Status want(OpId id, const Box& box) {
    if (dag_.op(id).is_placeholder()) return ok_status();
    Part& part = part_of(id);
    const std::vector<std::int64_t> strides = row_major_strides(dag_.op(id).shape);
    std::vector<std::int64_t> place = box.first;
    do {
      std::int64_t row = 0;
      for (std::size_t d = 0; d < place.size(); ++d) row += strides[d] * place[d];
      WHET_RETURN_IF_ERROR(want_row(id, part, place, row, place.empty() ? 1 : box.last.back() - place.back() + 1));
    } while (next_row(place, box));
    return ok_status();
  }

  const Tensor& values(OpId id) const { return values_[id.index()]; }

 private:
  struct Part {
    std::optional<OpEvaluator> evaluator;
    std::vector<Read> reads;  ///< of ops that are no placeholders
    std::vector<bool> known;
  };

  Part& part_of(OpId id) {
    Part& part = parts_[id.index()];
    if (part.evaluator) return part;
    const Op& op = dag_.op(id);
    part.evaluator.emplace(dag_, op, values_, OpEvaluator::lane_of_row(op));
    part.known.resize(static_cast<std::size_t>(num_elements(op.shape)));
    for_each(op.element().body, [&](const Expr& e) {
      const auto* l = std::get_if<Load>(&e->kind);
      if (l == nullptr || dag_.op(OpId(l->source.value)).is_placeholder()) return;
      Read read{OpId(l->source.value), {}};
      for (const Expr& index : l->index) read.index.push_back({index, sum_of_variables(index)});
      part.reads.push_back(std::move(read));
    });
    return part;
  }

  static bool next_row(std::vector<std::int64_t>& place, const Box& box) {
    for (std::size_t d = place.size(); d-- > 0;) {
      if (d + 1 < place.size() && ++place[d] <= box.last[d]) return true;
      place[d] = box.first[d];
    }
    return false;
  }

  /// `count` elements from `place` on, which is number `row`: those that are not known yet, in runs.
  Status want_row(OpId id, Part& part, std::vector<std::int64_t> place, std::int64_t row, std::int64_t count) {
    const std::int64_t start = place.empty() ? 0 : place.back();
    const auto known = [&](std::int64_t k) { return part.known[static_cast<std::size_t>(row + k)]; };
    for (std::int64_t k = 0; k < count;) {
      if (known(k)) {
        ++k;
        continue;
      }
      const std::int64_t first = k;
      while (k < count && !known(k)) part.known[static_cast<std::size_t>(row + k++)] = true;
      if (!place.empty()) place.back() = start + first;
      for (const Read& read : part.reads)
        if (const std::optional<Box> box = box_of(read, dag_.op(id).element(), place, k - first))
          WHET_RETURN_IF_ERROR(want(read.source, *box));
      WHET_RETURN_IF_ERROR(part.evaluator->row(place, k - first, values_[id.index()]));
    }
    return ok_status();
  }

  /// What a run of elements may read; nothing where that lies outside of the tensor.
  std::optional<Box> box_of(const Read& read, const Element& element, const std::vector<std::int64_t>& place,
                            std::int64_t count) {
    const RangeOf range = [&](VarId v) -> Interval {
      const std::size_t axis = AxisId(v.value).index();
      if (axis >= place.size()) return {0, axis_of(element, AxisId(v.value)).extent - 1};
      return {place[axis], place[axis] + (axis + 1 == place.size() ? count - 1 : 0)};
    };
    const Shape& shape = dag_.op(read.source).shape;
    Box box;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const Interval all =
          read.index[d].sum ? sum_bounds(*read.index[d].sum, range) : bounds(read.index[d].expr, range);
      box.first.push_back(std::max<std::int64_t>(all.min.value_or(0), 0));
      box.last.push_back(std::min(all.max.value_or(shape[d] - 1), shape[d] - 1));
      if (box.first.back() > box.last.back()) return std::nullopt;
    }
    return box;
  }

  static Interval sum_bounds(const Affine& sum, const RangeOf& range) {
    Interval all = Interval::point(sum.constant);
    for (const auto& [variable, coefficient] : sum.terms)
      all = all + range(std::get<Var>(variable->kind).id) * coefficient;
    return all;
  }

  const ComputeDag& dag_;
  std::vector<Tensor> values_;  ///< placeholders whole, others as far as they are known
  std::vector<Part> parts_;
};

std::vector<std::int64_t> place_of(std::int64_t flat, const Shape& shape) {
  std::vector<std::int64_t> place(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; flat /= shape[d]) place[d] = flat % shape[d];
  return place;
}

}  // namespace

Result<Tensor> evaluate_at(const ComputeDag& dag, const std::vector<Tensor>& inputs, OpId id,
                           const std::vector<std::int64_t>& elements) {
  if (is_sized(dag)) return evaluate_at(dag_at(dag, dag.at), inputs, id, elements);
  WHET_RETURN_IF_ERROR(check_inputs(dag, inputs));
  SpotEvaluator evaluator(dag, inputs);
  const Op& op = dag.op(id);
  Tensor out(op.dtype, {static_cast<std::int64_t>(elements.size())});
  for (std::size_t k = 0; k < elements.size(); ++k) {
    WHET_CHECK(elements[k] >= 0 && elements[k] < num_elements(op.shape), "no such element");
    const std::vector<std::int64_t> place = place_of(elements[k], op.shape);
    WHET_RETURN_IF_ERROR(evaluator.want(id, {place, place}));
    const Tensor& values = evaluator.values(id);
    if (is_float(op.dtype)) {
      out.set(static_cast<std::int64_t>(k), values.get(elements[k]));
    } else {
      out.set_integer(static_cast<std::int64_t>(k), values.integer(elements[k]));
    }
  }
  return out;
}

}  // namespace whet
