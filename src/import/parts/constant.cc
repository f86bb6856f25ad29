#include "import/parts/constant.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "import/fold_shape.h"

namespace whet {
namespace {

/// How many of start, start + delta, ... lie before `limit`; exact for numbers of which a double loses digits. In
/// unsigned arithmetic: the distance of far numbers overflows.
double count_of(std::int64_t start, std::int64_t limit, std::int64_t delta) {
  if (delta == 0 || (delta > 0 ? limit <= start : limit >= start)) return 0;
  const auto from = static_cast<std::uint64_t>(start), to = static_cast<std::uint64_t>(limit),
             by = static_cast<std::uint64_t>(delta);
  const std::uint64_t distance = delta > 0 ? to - from : from - to, step = delta > 0 ? by : 0 - by;
  return static_cast<double>((distance - 1) / step + 1);
}

/// The corners of triangles that are equally far from each other on the mel scale, as bins of a spectrum.
std::vector<double> corners(double count, double length, double rate, double low, double high) {
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  std::vector<double> bins;
  for (double i = 0; i < count; ++i) {
    const double at = mel(low) + i * (mel(high) - mel(low)) / count;
    const double hertz = 700 * (std::pow(10, at / 2595) - 1);
    bins.push_back(std::floor((length + 1) * hertz / rate));
  }
  return bins;
}

}  // namespace

Result<ValueId> filled(NodeSite& site, const Shape& given, const Tensor& value) {
  const Shape shape(given.begin(), given.end());  // which may be of a value of the graph, whose list grows
  if (num_elements(shape) > kMaxFoldedFloats) {
    const ValueId scalar = site.add_constant("value", value.reshaped({}));
    return site.add("filled", ExpandOperator{shape}, {scalar});
  }
  Tensor whole(value.dtype(), shape);
  for (std::int64_t i = 0; i < whole.size(); ++i) {
    if (is_float(value.dtype())) {
      whole.set(i, value.get(0));
    } else {
      whole.set_integer(i, value.integer(0));
    }
  }
  return site.add_constant("filled", std::move(whole));
}

Result<ValueId> filled(NodeSite& site, const std::vector<Size>& sizes, const Tensor& value) {
  WHET_TRY(const ValueId y, filled(site, most_of(sizes), value));
  site.set_sizes(y, sizes);
  return y;
}

Result<Tensor> range(NodeSite& site, const Tensor& start, const Tensor& limit, const Tensor& delta) {
  const bool scalars = start.size() == 1 && limit.size() == 1 && delta.size() == 1;
  if (!scalars || start.dtype() != limit.dtype() || start.dtype() != delta.dtype() || start.dtype() == DType::boolean) {
    return site.error("counts from " + to_string(start.type()) + " to " + to_string(limit.type()) + " by " +
                      to_string(delta.type()) + "; expected three numbers of one type");
  }
  const double count = is_float(start.dtype()) ? std::ceil((limit.get(0) - start.get(0)) / delta.get(0))
                                               : count_of(start.integer(0), limit.integer(0), delta.integer(0));
  if (!(delta.get(0) != 0) || std::isnan(count) || count > static_cast<double>(kMaxFoldedElements)) {
    return site.error("counts from " + std::to_string(start.get(0)) + " to " + std::to_string(limit.get(0)) + " by " +
                      std::to_string(delta.get(0)));
  }
  Tensor range(start.dtype(), {static_cast<std::int64_t>(std::max(count, 0.0))});
  for (std::int64_t i = 0; i < range.size(); ++i) {
    if (is_float(range.dtype())) {
      range.set(i, start.get(0) + static_cast<double>(i) * delta.get(0));
    } else {
      // In unsigned arithmetic: far numbers in a damaged file may overflow.
      const auto step = static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(delta.integer(0));
      range.set_integer(i, static_cast<std::int64_t>(static_cast<std::uint64_t>(start.integer(0)) + step));
    }
  }
  return range;
}

Result<ValueId> range(NodeSite& site, ValueId start, ValueId limit, ValueId delta) {
  WHET_TRY(const Tensor first, site.known(start, "start"));
  WHET_TRY(const Tensor step, site.known(delta, "step"));
  const Bounds* bounds = site.bounds(limit);
  const bool rises = first.size() == 1 && step.size() == 1 && !is_float(step.dtype()) && step.get(0) > 0;
  if (bounds == nullptr || !rises) {
    WHET_TRY(const Tensor end, site.known(limit, "limit"));
    WHET_TRY(Tensor numbers, range(site, first, end, step));
    return site.add_constant("numbers", std::move(numbers));
  }
  WHET_TRY(Tensor numbers, range(site, first, bounds->high, step));
  const std::int64_t most = numbers.size();
  const ValueId y = site.add_constant("numbers", std::move(numbers));
  const auto number = [&](const char* part, std::int64_t value) {
    return site.add_constant(part, Tensor::of<std::int64_t>(DType::i64, {}, {value}));
  };
  const bool is_count = first.integer(0) == 0 && step.integer(0) == 1 && bounds->low.get(0) >= 0;
  WHET_TRY(ValueId count, site.cast("limit", limit, DType::i64));
  WHET_TRY(count, site.add("number", ReshapeOperator{Shape{}}, {count}));
  if (is_count) {
    site.set_sizes(y, {Size{most, count}});
    return y;
  }
  // (limit - start + step - 1) / step, and none below 0
  const ValueId offset = number("offset", step.integer(0) - 1 - first.integer(0));
  WHET_TRY(count, site.add("distance", BinaryOperator{BinaryKind::add}, {count, offset}));
  WHET_TRY(count, site.add("distance", BinaryOperator{BinaryKind::max}, {count, number("zero", 0)}));
  WHET_TRY(count, site.add("count", BinaryOperator{BinaryKind::div}, {count, number("step", step.integer(0))}));
  site.set_sizes(y, {Size{most, count}});
  return y;
}

Tensor cosine_window(DType dtype, std::int64_t size, const CosineWindow& form) {
  const auto steps = static_cast<double>(std::max<std::int64_t>(form.periodic ? size : size - 1, 1));
  Tensor window(dtype, {size});
  for (std::int64_t i = 0; i < size; ++i) {
    const double t = 2 * std::numbers::pi * static_cast<double>(i) / steps;
    window.set(i, form.a0 - form.a1 * std::cos(t) + form.a2 * std::cos(2 * t));
  }
  return window;
}

Result<Tensor> mel_matrix(NodeSite& site, DType dtype, const MelBands& bands) {
  const auto& [count, length, rate, low, high] = bands;
  const double bins = std::floor(length / 2) + 1;
  if (!(count >= 1 && length >= 1 && count * bins <= static_cast<double>(kMaxFoldedElements))) {
    return site.error("makes " + std::to_string(count) + " bands from a transform of length " + std::to_string(length) +
                      "; expected 1 or more of each, and no more than fit into a matrix");
  }
  const std::vector<double> bounds = corners(count + 2, length, rate, low, high);
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (bounds[i] >= (i > 0 ? bounds[i - 1] : 0) && bounds[i] < bins) continue;
    return site.error("bands from " + std::to_string(low) + " to " + std::to_string(high) + " hertz at a rate of " +
                      std::to_string(rate) + " do not lie in a spectrum of " + std::to_string(bins) + " bins");
  }
  const auto rows = static_cast<std::int64_t>(bins), columns = static_cast<std::int64_t>(count);
  Tensor matrix(dtype, {rows, columns});
  for (std::int64_t band = 0; band < columns; ++band) {
    const double* corner = &bounds[static_cast<std::size_t>(band)];
    const auto at = [&](double bin) { return static_cast<std::int64_t>(bin) * columns + band; };
    for (double bin = corner[0]; bin < corner[1]; ++bin) {
      matrix.set(at(bin), (bin - corner[0]) / (corner[1] - corner[0]));
    }
    matrix.set(at(corner[1]), 1);
    for (double bin = corner[1] + 1; bin < corner[2]; ++bin) {
      matrix.set(at(bin), (corner[2] - bin) / (corner[2] - corner[1]));
    }
  }
  return matrix;
}

}  // namespace whet
