#include "import/parts/adaptive.h"

#include <algorithm>

#include "import/parts/move_axis.h"
#include "import/parts/shape.h"
#include "import/parts/window.h"

namespace whet {
namespace {

constexpr std::int64_t kMostWindows = 4096;

std::int64_t first_of_window(std::int64_t i, std::int64_t n, std::int64_t extent) { return i * extent / n; }
std::int64_t end_of_window(std::int64_t i, std::int64_t n, std::int64_t extent) {
  return ((i + 1) * extent + n - 1) / n;
}

/// The pool of windows of equal size, where the extents divide those of x; kind average or max.
std::optional<Pooling> equal_windows(const Shape& x, const Shape& extents, PoolKind kind) {
  Pooling pooling{.kind = kind};
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (x[d + 2] % extents[d] != 0) return std::nullopt;
    pooling.kernel.push_back(x[d + 2] / extents[d]);
  }
  pooling.window = {pooling.kernel, Shape(extents.size(), 1), Shape(extents.size(), 0), Shape(extents.size(), 0)};
  return pooling;
}

Status expect_few_windows(const NodeSite& site, std::int64_t extent, std::int64_t windows) {
  const bool small = windows <= kMostWindows && extent <= (std::int64_t{1} << 24) / windows;
  if (small) return ok_status();
  return site.error("makes " + std::to_string(windows) + " windows of different sizes of an extent of " +
                    std::to_string(extent) + "; at most " + std::to_string(kMostWindows) + " are supported");
}

/// The means of the windows of dimension `d`, as a product with a matrix that has a column for each.
Result<ValueId> means_along(NodeSite& site, ValueId x, std::size_t d, std::int64_t windows) {
  const std::int64_t extent = site.shape(x)[d];
  const std::size_t rank = site.rank(x);
  WHET_RETURN_IF_ERROR(expect_few_windows(site, extent, windows));
  Tensor matrix(site.dtype(x), {extent, windows});
  for (std::int64_t i = 0; i < windows; ++i) {
    const std::int64_t first = first_of_window(i, windows, extent), end = end_of_window(i, windows, extent);
    for (std::int64_t k = first; k < end; ++k) matrix.set(k * windows + i, 1.0 / static_cast<double>(end - first));
  }
  WHET_TRY(const ValueId turned, site.add("turned", move_axis(rank, d, rank - 1), {x}));
  WHET_TRY(const ValueId means, site.add("means", MatMulOperator{}, {turned, site.add_constant("windows", matrix)}));
  return site.add("back", move_axis(rank, rank - 1, d), {means});
}

Result<ValueId> maxima_along(NodeSite& site, ValueId x, std::size_t d, std::int64_t windows) {
  const Shape shape = site.shape(x);
  WHET_RETURN_IF_ERROR(expect_few_windows(site, shape[d], windows));
  std::vector<ValueId> parts;
  for (std::int64_t i = 0; i < windows; ++i) {
    const std::int64_t first = first_of_window(i, windows, shape[d]), end = end_of_window(i, windows, shape[d]);
    WHET_TRY(const ValueId window, site.add("window", part_along(shape, d, first, end - first), {x}));
    WHET_TRY(const ValueId top,
             site.add("top", ReduceOperator{ReduceKind::max, {static_cast<std::int64_t>(d)}, true}, {window}));
    parts.push_back(top);
  }
  return site.add("maxima", ConcatOperator{static_cast<std::int64_t>(d)}, parts);
}

Result<ValueId> adaptive(NodeSite& site, ValueId x, const Shape& extents, bool is_largest) {
  const PoolKind kind = is_largest ? PoolKind::max : PoolKind::average;
  WHET_RETURN_IF_ERROR(expect_window(site, x, Shape(extents.size(), 1)));
  if (std::all_of(extents.begin(), extents.end(), [](std::int64_t n) { return n == 1; }))
    return pooled_whole(site, x, is_largest ? ReduceKind::max : ReduceKind::mean);
  if (const auto pooling = equal_windows(site.shape(x), extents, kind)) return pooled(site, x, *pooling);
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (site.shape(x)[d + 2] == extents[d]) continue;
    WHET_TRY(x, (is_largest ? maxima_along : means_along)(site, x, d + 2, extents[d]));
  }
  return x;
}

}  // namespace

Result<ValueId> adaptive_average(NodeSite& site, ValueId x, const Shape& extents) {
  return adaptive(site, x, extents, false);
}
Result<ValueId> adaptive_maximum(NodeSite& site, ValueId x, const Shape& extents) {
  return adaptive(site, x, extents, true);
}

}  // namespace whet
