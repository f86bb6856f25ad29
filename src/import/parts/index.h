#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "import/site.h"

/// Operators that read, write or give places: parts, see arithmetic.h. Axes are counted from 0; indices may count from the end.
namespace whet {

/// Refuses a constant that an importer would make too large; `what` names it.
Status expect_small(const NodeSite&, const Shape&, const char* what);

/// Gather. Indices that are known are checked, and counted from the beginning.
Result<ValueId> gather(NodeSite&, ValueId x, ValueId indices, std::int64_t axis);
/// The same in batches, which are the first dimensions of both; the axis is behind them. Negative ones are counted from the end of
/// the indices. Errors: an axis of the batches.
Result<ValueId> gather_in_batches(NodeSite&, ValueId x, ValueId indices, std::int64_t axis, std::int64_t batches);
/// ScatterND. Known places are checked; those that replace are looked up and not searched.
Result<ValueId> scatter_nd(NodeSite&, ValueId data, ValueId indices, ValueId updates, ScatterKind);
/// What the rows of `x` [numbers..., ...] make of `start` in `count` segments, by the number of the segment that each is of;
/// rows of numbers below 0 are in none. So are those of numbers from `count` on; where they are known, they are an error.
struct Segments {
  ScatterKind kind = ScatterKind::add;
  double start = 0;
  std::int64_t count = 0;
};
/// One more than the largest number, which are known and not below 0.
Result<std::int64_t> count_of_segments(NodeSite&, ValueId numbers);
Result<ValueId> segments(NodeSite&, ValueId x, ValueId numbers, const Segments&);
/// How often each of 0 .. `count` - 1 is among numbers [n], or [rows, n] of which each row counts alone; others are in none. The sums
/// of weights of the same shape where there are any; with `is_found`, whether it is there at all.
struct NumberCounts {
  std::int64_t count = 0;
  DType dtype = DType::i64;
  std::optional<ValueId> weights;
  bool is_found = false;
};
Result<ValueId> counted_numbers(NodeSite&, ValueId numbers, const NumberCounts&);
/// At how many of known rising bounds [n] each element of `x` is, or behind: i32.
Result<ValueId> bucket_of(NodeSite&, ValueId x, const std::vector<double>& bounds);
/// The rows of `x` along `axis` where a known condition is true, which may end early.
Result<ValueId> compress(NodeSite&, ValueId x, const Tensor& condition, std::int64_t axis);

/// `on` where the place along the new axis (of `depth` places) is the index, else `off`; `values` [2] are off and on.
struct OneHot {
  std::int64_t depth = 0, axis = 0;
  ValueId values;
  bool from_end = false;  ///< negative places count from the end; else they are none
};
Result<ValueId> one_hot(NodeSite&, ValueId indices, const OneHot&);
/// 1 at the first largest element along `axis`, else 0; as `shape`.
Result<ValueId> hardmax(NodeSite&, ValueId x, std::int64_t axis, const Shape& shape);

/// Matrices [..., R, C] with zeros below diagonal `k` (`upper`) or above it.
Result<ValueId> trilu(NodeSite&, ValueId x, std::int64_t k, bool upper);
/// Ones on diagonal `k`, else 0.
Tensor eye(DType, std::int64_t rows, std::int64_t columns, std::int64_t k);
/// The numbers first, first + step, ... row by row.
Tensor numbered(const Shape&, DType = DType::i64, double first = 0, double step = 1);
/// Where a tensor is not 0: i64 [rank, count], in row-major order.
Tensor non_zero(const Tensor&);

/// x [steps, sequences, ...] or (`time` 1) [sequences, steps, ...] with the first `lengths` [sequences] steps of each
/// sequence backwards.
Result<ValueId> reverse_sequence(NodeSite&, ValueId x, ValueId lengths, std::size_t time);

}  // namespace whet
