#include "compute/op_evaluator.h"

#include <algorithm>

#include "compute/scalar.h"

namespace whet {
namespace {

/// Where a lane this long is at hand, none is looked for elsewhere.
constexpr std::int64_t kLongLane = 16;
/// A lane along a sum ends in a sum of its own: it has to be longer by this factor.
constexpr std::int64_t kLongerSum = 4;

std::vector<std::int64_t> extents_of(const Element& element) {
  std::vector<std::int64_t> extents;
  for (const Axis& a : element.axes) extents.push_back(a.extent);
  for (const Axis& a : element.reduce_axes) extents.push_back(a.extent);
  return extents;
}

/// The longest axis from `first` on, the last spatial one where it is long enough. Without axes one that nothing uses.
std::size_t longest_lane(const Op& op, std::size_t first) {
  const std::vector<std::int64_t> extents = extents_of(op.element());
  const std::size_t spatial = op.element().axes.size();
  if (spatial > 0 && extents[spatial - 1] >= kLongLane) return spatial - 1;
  std::size_t best = spatial > 0 ? spatial - 1 : extents.size();
  for (std::size_t i = first; i < extents.size(); ++i)
    if (best == extents.size() || extents[i] > extents[best] * (i < spatial ? 1 : kLongerSum)) best = i;
  return best;
}

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

}  // namespace

std::size_t OpEvaluator::lane_of_all(const Op& op) { return longest_lane(op, 0); }

std::size_t OpEvaluator::lane_of_row(const Op& op) { return longest_lane(op, op.element().axes.size()); }

OpEvaluator::OpEvaluator(const ComputeDag& dag, const Op& op, const std::vector<Tensor>& values, std::size_t lane)
    : op_(op),
      element_(op.element()),
      spatial_(element_.axes.size()),
      extents_(extents_of(element_)),
      strides_(row_major_strides(op.shape)),
      lane_(lane),
      body_(dag, element_, AxisId(static_cast<std::int64_t>(lane)), values),
      at_(extents_.size(), 0),
      float_(is_float(op.dtype)) {}

Status OpEvaluator::all(Tensor& result) {
  const bool lane_is_spatial = lane_ < spatial_;
  const std::int64_t lanes = lane_is_spatial ? extents_[lane_] : 1;
  const std::int64_t step = lane_is_spatial ? strides_[lane_] : 0;
  do {
    for (std::int64_t first = 0; first < lanes; first += CompiledBody::kBatch) {
      const int count = static_cast<int>(std::min<std::int64_t>(CompiledBody::kBatch, lanes - first));
      std::int64_t base = 0;
      for (std::size_t i = 0; i < spatial_; ++i) base += strides_[i] * (i == lane_ ? first : at_[i]);
      lane_is_spatial ? batch(first, count) : whole_reduction();
      WHET_RETURN_IF_ERROR(store(result, base, step, count));
    }
    if (lane_is_spatial) at_[lane_] = 0;
  } while (advance(at_, extents_, 0, spatial_, lane_));
  return ok_status();
}

Status OpEvaluator::row(std::span<const std::int64_t> place, std::int64_t count, Tensor& result) {
  std::copy(place.begin(), place.end(), at_.begin());
  std::int64_t base = 0;
  for (std::size_t i = 0; i < spatial_; ++i) base += strides_[i] * place[i];
  const bool lane_is_spatial = lane_ < spatial_;
  for (std::int64_t done = 0; done < count;) {
    const int together =
        lane_is_spatial ? static_cast<int>(std::min<std::int64_t>(CompiledBody::kBatch, count - done)) : 1;
    if (spatial_ > 0) at_[spatial_ - 1] = place.back() + done;
    lane_is_spatial ? batch(place.back() + done, together) : whole_reduction();
    WHET_RETURN_IF_ERROR(store(result, base + done, 1, together));
    done += together;
  }
  return ok_status();
}

Status OpEvaluator::store(Tensor& result, std::int64_t base, std::int64_t step, int count) const {
  if (body_.failed()) return Error{"op '" + op_.name + "' " + body_.error()};
  for (int k = 0; k < count; ++k) {
    const ElementValue value = sums_[static_cast<std::size_t>(k)];
    if (float_) {
      result.set(base + k * step, value.f);
    } else {
      result.set_integer(base + k * step, value.i);
    }
  }
  return ok_status();
}

ElementValue OpEvaluator::identity() const {
  const Expr e = identity_of(*element_.reducer, op_.dtype);
  return float_ ? ElementValue{.f = std::get<FloatConst>(e->kind).value} : ElementValue{.i = *as_int(e)};
}

/// `count` results along the lane axis.
void OpEvaluator::batch(std::int64_t first, int count) {
  if (lane_ < extents_.size()) at_[lane_] = first;
  if (!element_.reducer) {
    const ValueColumn c = body_.run(at_, count);
    for (int k = 0; k < count; ++k) sums_[static_cast<std::size_t>(k)] = c[k];
    return;
  }
  std::fill_n(sums_.begin(), count, identity());
  do {
    const bool sums_products = *element_.reducer == Reducer::sum && body_.is_product();
    if (sums_products && body_.add_products(at_, count, sums_.data())) continue;
    if (sums_products) {
      const auto [a, b] = body_.run_factors(at_, count);
      add_products(a, b, count);
    } else {
      combine_into(body_.run(at_, count), count, 1);
    }
  } while (!body_.failed() && advance(at_, extents_, spatial_, extents_.size(), extents_.size()));
}

void OpEvaluator::add_products(ValueColumn a, ValueColumn b, int count) {
  if (a.step == 0 && b.step == 1) {
    const double x = a[0].f;
    for (int k = 0; k < count; ++k) sums_[static_cast<std::size_t>(k)].f += x * b.data[k].f;
  } else {
    for (int k = 0; k < count; ++k) sums_[static_cast<std::size_t>(k)].f += a[k].f * b[k].f;
  }
}

/// Into result k * step.
void OpEvaluator::combine_into(ValueColumn c, int count, int step) {
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
void OpEvaluator::whole_reduction() {
  if (!element_.reducer) return batch(0, 1);
  sums_[0] = identity();
  do {
    for (std::int64_t first = 0; first < extents_[lane_]; first += CompiledBody::kBatch) {
      at_[lane_] = first;
      const int count = static_cast<int>(std::min<std::int64_t>(CompiledBody::kBatch, extents_[lane_] - first));
      combine_into(body_.run(at_, count), count, 0);
    }
    at_[lane_] = 0;
  } while (!body_.failed() && advance(at_, extents_, spatial_, extents_.size(), lane_));
}

}  // namespace whet
