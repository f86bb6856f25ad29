#include <algorithm>

#include "ops/site.h"

namespace whet {
namespace {

/// How many taps of dimension `d` fall inside the input for the output position `at`.
Expr taps_inside(const PoolOperator& op, std::size_t d, std::int64_t extent, const Expr& at) {
  const std::int64_t dilation = op.dilations[d];
  const Expr start = at * op.strides[d] - op.pads_begin[d];
  const Expr below = max(floordiv(int_const(dilation - 1) - start, dilation), int_const(0));
  const Expr last = min(floordiv(int_const(extent - 1) - start, dilation), int_const(op.kernel[d] - 1));
  // A window that lies in the padding alone has no taps; its sum is 0 and dividing by 1 keeps it.
  return max(last - below + 1, int_const(1));
}

Expr divided_by_count(const Site& site, const PoolOperator& op, std::size_t first, const Expr& sum, const Exprs& i) {
  double whole = 1;
  Expr count = int_const(1);
  for (std::size_t d = 0; d < op.kernel.size(); ++d) {
    const bool always_full = op.count_include_pad || (op.pads_begin[d] == 0 && op.pads_end[d] == 0);
    whole *= always_full ? static_cast<double>(op.kernel[d]) : 1;
    if (!always_full) count = count * taps_inside(op, d, site.shape(0)[first + d], i[first + d]);
  }
  const Expr mean = whole == 1 ? sum : sum * constant_like(sum, 1 / whole);
  return as_int(count) ? mean : mean / cast(sum->dtype, count);
}

}  // namespace

OpId define_at(const Site& site, const PoolOperator& op) {
  const bool last = op.layout == Layout::channels_last, average = op.kind == PoolKind::average;
  const bool blocked = op.layout == Layout::channels_blocked;
  const std::size_t first = last ? 1 : 2, dims = op.kernel.size();
  const Shape& y = site.output.shape;
  const Reducer reducer = average ? Reducer::sum : Reducer::max;
  const OpId padded = padded_input(site, first, op.pads_begin, op.pads_end, identity_of(reducer, site.output.dtype));
  const auto extents = y.begin() + static_cast<std::ptrdiff_t>(first);
  std::vector<Axis> axes = spatial_axes(Shape(extents, extents + static_cast<std::ptrdiff_t>(dims)));
  axes.insert(last ? axes.end() : axes.begin(), {"c", last ? y.back() : y[1], AxisRole::channel});
  axes.insert(axes.begin(), {"n", y[0], AxisRole::batch});
  if (blocked) axes.push_back({"cb", y.back(), AxisRole::channel});
  auto window = [&](const Exprs& i, const Exprs& r) {
    Exprs x = i;
    for (std::size_t d = 0; d < dims; ++d) x[first + d] = i[first + d] * op.strides[d] + r[d] * op.dilations[d];
    const Expr element = site.read(padded, x);
    return average ? widened(element) : element;
  };
  const OpId reduced =
      site.reduce(average ? site.part("sum") : site.name, axes, tap_axes(op.kernel), reducer, OpFamily::pool, window);
  if (!average) return reduced;
  return site.map(site.name, axes_of(y), OpFamily::elementwise, [&](const Exprs& i) {
    return cast(site.output.dtype, divided_by_count(site, op, first, site.read(reduced, i), i));
  });
}

}  // namespace whet
