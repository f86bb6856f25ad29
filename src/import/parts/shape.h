#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "import/site.h"

/// Shapes, slices, paddings and moves: parts, see arithmetic.h. What changes nothing gives the input itself.
namespace whet {

std::vector<std::int64_t> every_axis(std::size_t rank);
/// The shape of a list along dimension `d` of `rank`.
Shape shape_along(std::size_t d, std::size_t rank, std::int64_t extent);
/// [n] i64
Tensor integer_list(const std::vector<std::int64_t>&);

/// The extents that a reshape asks for: 0 copies that of the input (unless `allow_zero`), one -1 takes what is left.
Result<Shape> resolve_shape(NodeSite&, ValueId x, const std::vector<std::int64_t>& wanted, bool allow_zero);
/// x in such a shape, which values may decide. Results whose number depends on values stay in front where the shape has -1, their
/// number, or what such a dimension is joined or divided to. Errors: a shape that would mix them with padding.
Result<ValueId> reshaped(NodeSite&, ValueId x, const std::vector<Size>& wanted, bool allow_zero);
/// Without dimensions of extent 1: those of `axes`, or all.
Result<ValueId> squeezed(NodeSite&, ValueId x, const std::optional<std::vector<std::int64_t>>& axes);
/// With dimensions of extent 1 at `axes` of the result.
Result<ValueId> unsqueezed(NodeSite&, ValueId x, const std::vector<std::int64_t>& axes);
/// Two dimensions: those before `axis` (0 .. rank, or counted from the end) and those from it on.
Result<ValueId> flattened(NodeSite&, ValueId x, std::int64_t axis);
/// Broadcast to `wanted`, whose extents of 1 keep those of x.
Result<ValueId> expanded(NodeSite&, ValueId x, const std::vector<std::int64_t>& wanted);
/// The same to sizes that values may decide.
Result<ValueId> expanded(NodeSite&, ValueId x, const std::vector<Size>& wanted);
/// Repeated along each dimension.
Result<ValueId> tiled(NodeSite&, ValueId x, const std::vector<std::int64_t>& repeats);
/// Each place of a dimension `count` times, one behind the other.
Result<ValueId> each_repeated(NodeSite&, ValueId x, std::int64_t axis, std::int64_t count);

/// From start to end (exclusive) by steps, by the rules of numpy: bounds are clamped, negative ones count from the end.
/// `axes`: the dimensions that are named; else the first ones.
Result<ValueId> sliced(NodeSite&, ValueId x, const std::vector<std::int64_t>& starts,
                       const std::vector<std::int64_t>& ends, const std::optional<std::vector<std::int64_t>>& axes,
                       const std::vector<std::int64_t>& steps);
/// The same where values may decide how many are taken from the first on.
Result<ValueId> sliced_to(NodeSite&, ValueId x, const std::vector<std::int64_t>& starts, const std::vector<Size>& ends,
                          const std::optional<std::vector<std::int64_t>>& axes, const std::vector<std::int64_t>& steps);
/// `count` places of dimension `d` of x from `first` on; the last dimension's.
SliceOperator part_along(const Shape& x, std::size_t d, std::int64_t first, std::int64_t count);
Result<ValueId> columns_of(NodeSite&, ValueId x, std::int64_t first, std::int64_t count);
/// The extents of parts of `size`, the last one smaller. Errors: a size below 1; more than 65,536 parts.
Result<std::vector<std::int64_t>> extents_of_parts(NodeSite&, std::int64_t extent, std::int64_t size);
/// Parts of the given extents along an axis, one behind the other. Errors: together they are not all.
Result<std::vector<ValueId>> split(NodeSite&, ValueId x, std::int64_t axis, const std::vector<std::int64_t>& extents);
/// The slices of an axis, which goes.
Result<std::vector<ValueId>> unstacked(NodeSite&, ValueId x, std::int64_t axis);
/// One behind the other along an axis, or along a new one; one alone is the result. Needs: at least one.
Result<ValueId> joined(NodeSite&, const std::vector<ValueId>& values, std::int64_t axis);
/// Errors: another axis than -1 - rank .. rank; shapes that differ.
Result<ValueId> stacked(NodeSite&, const std::vector<ValueId>& values, std::int64_t axis);
/// `pads`: before each of `axes`, then behind each. Negative ones crop.
Result<ValueId> padded(NodeSite&, ValueId x, const std::vector<std::int64_t>& pads,
                       const std::vector<std::int64_t>& axes, PadMode mode, double value);

/// How the channels of a block of b * b pixels are counted: block and then channel ("DCR"), or channel and then block.
enum class DepthOrder : std::uint8_t { depth_column_row, column_row_depth };
/// [N, C, H, W]: blocks of channels become blocks of pixels, and back. Errors: blocks that do not fit.
Result<ValueId> depth_to_space(NodeSite&, ValueId x, std::int64_t block, DepthOrder);
Result<ValueId> space_to_depth(NodeSite&, ValueId x, std::int64_t block, DepthOrder = DepthOrder::depth_column_row);

}  // namespace whet
