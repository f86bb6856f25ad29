#include <algorithm>

#include "compute/body.h"
#include "compute/dag.h"
#include "compute/scalar.h"

namespace whet {
namespace {

/// Counts `at[first] .. at[end-1]` through their extents, the last fastest; false after the last.
bool advance(std::vector<std::int64_t>& at, const std::vector<std::int64_t>& extents, std::size_t first,
             std::size_t end, std::size_t skipped) {
  for (std::size_t i = end; i-- > first;) {
    if (i == skipped) continue;
    if (++at[i] < extents[i]) return true;
    at[i] = 0;
  }
  return false;
}

void store(Tensor& t, std::int64_t at, ElementValue value) {
  if (is_float(t.dtype())) {
    t.set(at, value.f);
  } else {
    t.set_integer(at, value.i);
  }
}

class OpEvaluator {
 public:
  OpEvaluator(const ComputeDag& dag, const Op& op, const std::vector<Tensor>& values)
      : op_(op), element_(op.element()), result_(op.dtype, op.shape), spatial_(element_.axes.size()) {
    for (const Axis& a : element_.axes) extents_.push_back(a.extent);
    for (const Axis& a : element_.reduce_axes) extents_.push_back(a.extent);
    lane_ = best_lane();
    // A body without axes is one element: the lane is an axis that nothing uses.
    body_.emplace(dag, element_, AxisId(static_cast<std::int64_t>(lane_)), values);
    at_.assign(extents_.size(), 0);
    float_ = is_float(op.dtype);
  }

  Result<Tensor> run() {
    const std::vector<std::int64_t> strides = row_major_strides(op_.shape);
    const bool lane_is_spatial = lane_ < spatial_;
    const std::int64_t lanes = lane_is_spatial ? extents_[lane_] : 1;
    const std::int64_t step = lane_is_spatial ? strides[lane_] : 0;
    do {
      for (std::int64_t first = 0; first < lanes; first += CompiledBody::kBatch) {
        const int count = static_cast<int>(std::min<std::int64_t>(CompiledBody::kBatch, lanes - first));
        std::int64_t base = 0;
        for (std::size_t i = 0; i < spatial_; ++i) base += strides[i] * (i == lane_ ? first : at_[i]);
        lane_is_spatial ? batch(first, count) : whole_reduction();
        if (body_->failed()) return Error{"op '" + op_.name + "' " + body_->error()};
        for (int k = 0; k < count; ++k) store(result_, base + k * step, sums_[static_cast<std::size_t>(k)]);
      }
      if (lane_is_spatial) at_[lane_] = 0;
    } while (advance(at_, extents_, 0, spatial_, lane_));
    return std::move(result_);
  }

 private:
  /// The last spatial axis when it is long enough (its elements lie side by side), else the longest.
  std::size_t best_lane() const {
    if (spatial_ > 0 && extents_[spatial_ - 1] >= 16) return spatial_ - 1;
    std::size_t best = spatial_ > 0 ? spatial_ - 1 : extents_.size();
    for (std::size_t i = 0; i < extents_.size(); ++i) {
      if (best == extents_.size() || extents_[i] > extents_[best] * (i < spatial_ ? 1 : 4)) best = i;
    }
    return best;
  }

  ElementValue identity() const {
    const Expr e = identity_of(*element_.reducer, op_.dtype);
    return float_ ? ElementValue{.f = std::get<FloatConst>(e->kind).value} : ElementValue{.i = *as_int(e)};
  }

  /// `count` results along the lane axis.
  void batch(std::int64_t first, int count) {
    if (lane_ < extents_.size()) at_[lane_] = first;
    if (!element_.reducer) {
      const ValueColumn c = body_->run(at_, count);
      for (int k = 0; k < count; ++k) sums_[static_cast<std::size_t>(k)] = c[k];
      return;
    }
    std::fill_n(sums_.begin(), count, identity());
    do {
      const bool sums_products = *element_.reducer == Reducer::sum && body_->is_product();
      if (sums_products && body_->add_products(at_, count, sums_.data())) continue;
      if (sums_products) {
        const auto [a, b] = body_->run_factors(at_, count);
        add_products(a, b, count);
      } else {
        combine_into(body_->run(at_, count), count, 1);
      }
    } while (!body_->failed() && advance(at_, extents_, spatial_, extents_.size(), extents_.size()));
  }

  void add_products(ValueColumn a, ValueColumn b, int count) {
    if (a.step == 0 && b.step == 1) {
      const double x = a[0].f;
      for (int k = 0; k < count; ++k) sums_[static_cast<std::size_t>(k)].f += x * b.data[k].f;
    } else {
      for (int k = 0; k < count; ++k) sums_[static_cast<std::size_t>(k)].f += a[k].f * b[k].f;
    }
  }

  /// Into result k * step.
  void combine_into(ValueColumn c, int count, int step) {
    const BinaryOp op = binary_of(*element_.reducer);
    for (int k = 0; k < count; ++k) {
      ElementValue& sum = sums_[static_cast<std::size_t>(k) * static_cast<std::size_t>(step)];
      if (float_) {
        sum.f = apply_float(op, sum.f, c[k].f);
      } else {
        sum.i = *apply(op, sum.i, c[k].i, op_.dtype);
      }
    }
  }

  /// One result; the lanes run along a reduce axis, or along nothing.
  void whole_reduction() {
    if (!element_.reducer) return batch(0, 1);
    sums_[0] = identity();
    do {
      for (std::int64_t first = 0; first < extents_[lane_]; first += CompiledBody::kBatch) {
        at_[lane_] = first;
        const int count = static_cast<int>(std::min<std::int64_t>(CompiledBody::kBatch, extents_[lane_] - first));
        combine_into(body_->run(at_, count), count, 0);
      }
      at_[lane_] = 0;
    } while (!body_->failed() && advance(at_, extents_, spatial_, extents_.size(), lane_));
  }

  const Op& op_;
  const Element& element_;
  Tensor result_;
  std::size_t spatial_;
  std::vector<std::int64_t> extents_;
  std::size_t lane_ = 0;
  std::optional<CompiledBody> body_;
  std::vector<std::int64_t> at_;
  std::vector<ElementValue> sums_ = std::vector<ElementValue>(CompiledBody::kBatch);
  bool float_ = false;
};

}  // namespace

Status check_inputs(const ComputeDag& dag, const std::vector<Tensor>& inputs) {
  std::size_t count = 0;
  for (const Op& op : dag.ops) {
    if (!op.is_placeholder()) continue;
    if (count < inputs.size() && inputs[count].type() != TensorType{op.dtype, op.shape}) {
      return Error{"the input '" + op.name + "' is " + to_string(inputs[count].type()) + ", expected " +
                   to_string(TensorType{op.dtype, op.shape})};
    }
    ++count;
  }
  if (count == inputs.size()) return ok_status();
  return Error{"the DAG has " + std::to_string(count) + " placeholders, but " + std::to_string(inputs.size()) +
               " inputs were given"};
}

Result<std::vector<Tensor>> evaluate_all(const ComputeDag& dag, const std::vector<Tensor>& inputs) {
  WHET_RETURN_IF_ERROR(check_inputs(dag, inputs));
  std::vector<Tensor> values;
  std::size_t input = 0;
  for (const Op& op : dag.ops) {
    if (op.is_placeholder()) {
      values.push_back(inputs[input++]);
    } else {
      WHET_TRY(Tensor value, OpEvaluator(dag, op, values).run());
      values.push_back(std::move(value));
    }
  }
  return values;
}

Result<std::vector<Tensor>> evaluate(const ComputeDag& dag, const std::vector<Tensor>& inputs) {
  WHET_TRY(const std::vector<Tensor> values, evaluate_all(dag, inputs));
  std::vector<Tensor> outputs;
  for (OpId id : dag.outputs) outputs.push_back(values[id.index()]);
  return outputs;
}

}  // namespace whet
