#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/parts/arithmetic.h"
#include "import/site.h"

/// Numbers of 8 bits that mean (number - zero point) * scale: parts, see arithmetic.h. Sums of their products are i32 and
/// exact. Numbers of 16 bits are held in i32.
namespace whet {

bool is_quantized(DType);  ///< u8 or i8

/// The numbers that a quantized value may be.
struct QuantizedRange {
  double low = 0, high = 255;
};
QuantizedRange range_of(DType);  ///< of i32 those of i16

/// A scale or zero point of one value, as a scalar.
Result<ValueId> of_all(NodeSite&, const char* part, const Operand&);
/// Of one value, or of one for each place of dimension `d` of a tensor of shape `x`, so that it broadcasts to that.
Result<ValueId> along(NodeSite&, const char* part, const Operand&, const Shape& x, std::size_t d);
/// Of one value, or of one for each row (column) of matrices of shape `x`.
Result<ValueId> along_matrix(NodeSite&, const char* part, const Operand&, const Shape& x, bool columns);

/// x - zero in i32.
Result<ValueId> centred(NodeSite&, ValueId x, std::optional<ValueId> zero);
/// round(y) + zero, kept in a range; still in the type of y.
Result<ValueId> saturated(NodeSite&, ValueId y, std::optional<ValueId> zero, const QuantizedRange&);
/// round(x / scale) + zero as `to`, in its range or the one that is given. Needs: x and scale of one type of floats.
Result<ValueId> quantized(NodeSite&, ValueId x, ValueId scale, std::optional<ValueId> zero, DType to,
                          const std::optional<QuantizedRange>& = std::nullopt);
/// (x - zero) * scale, computed in the wider of the scale's type and `to`.
Result<ValueId> dequantized(NodeSite&, ValueId x, ValueId scale, std::optional<ValueId> zero, DType to);

/// Numbers that are rounded to one of 2^bits, and stay floats.
struct FakeQuantization {
  double low = 0, high = 0, scale = 1;
};
/// Least and most are moved so that zero is one of the numbers. The scale is 0 or less where they are not in order.
FakeQuantization fake_quantization(double least, double most, std::int64_t bits, bool narrow);
/// One form for all numbers, or one for each place of the last dimension.
Result<ValueId> fake_quantized(NodeSite&, ValueId x, const std::vector<FakeQuantization>&);

/// The scale and the zero point (u8) that the values themselves ask for.
struct ByItself {
  ValueId scale, zero;
};
Result<ByItself> quantization_of(NodeSite&, ValueId x);

/// A sum of products (i32) brought from the scales of its factors to that of the result, in f32; the scales broadcast to it.
struct Scales {
  ValueId left, right, result;
};
Result<ValueId> rescaled(NodeSite&, ValueId sum, const Scales&, std::optional<ValueId> zero, DType to);
/// The sum as f32 by the scales of its factors, plus a bias.
Result<ValueId> in_floats(NodeSite&, ValueId sum, ValueId left, ValueId right, std::optional<ValueId> bias);

}  // namespace whet
