#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/site.h"

/// Parts are what operators mean, whatever the format: compositions of the graph's operators over values of a site. They
/// read no file. A part gives its result, whose last step takes the node's names where the site gives it (NodeSite::give).
/// Refusals begin with the node's name.
namespace whet {

/// A value, and its name in messages: "input 3", "the scale".
struct Operand {
  ValueId value;
  std::string what;
};

/// `x` and a number, which becomes a constant "part_by" of its type.
Result<ValueId> with_number(NodeSite&, const std::string& part, BinaryKind, ValueId x, double number);

/// a ∘ b ∘ c ∘ ..., broadcast; one value alone is the result. Needs: at least one.
Result<ValueId> chained(NodeSite&, BinaryKind, const std::vector<ValueId>& values);
/// The mean of tensors, broadcast; one alone is the result. Needs: at least one.
Result<ValueId> mean_of(NodeSite&, const std::vector<ValueId>& values);

/// base ^ exponent, broadcast; the result has the base's type. Integers to the power of floats are computed in f64.
Result<ValueId> power(NodeSite&, ValueId base, ValueId exponent);
/// What is left of a / b, with the sign of the dividend (C's fmod and %). Needs: equal types.
Result<ValueId> truncated_remainder(NodeSite&, ValueId a, ValueId b);
/// The same with the sign of the divisor (Python's %).
Result<ValueId> floored_remainder(NodeSite&, ValueId a, ValueId b);

/// To the nearest whole number, halves away from 0 (C's round). Needs: floats.
Result<ValueId> rounded_away(NodeSite&, ValueId x);

/// x kept between bounds, each a scalar and open where it is left out. Bounds that are known are a Clip.
Result<ValueId> clipped(NodeSite&, ValueId x, std::optional<ValueId> low, std::optional<ValueId> high);

/// Whether each element is infinite, with a sign that counts. Needs: floats. Gives booleans.
Result<ValueId> is_infinite(NodeSite&, ValueId x, bool negative, bool positive);

/// The angle of the point (x, y), of -pi to pi: y first, as atan2 has it; signs of zeros count. Needs: floats of one type.
Result<ValueId> angle_of(NodeSite&, ValueId y, ValueId x);

/// Bits of u8 moved to the left or to the right, as products and quotients with powers of two. Needs: u8 both.
Result<ValueId> bit_shift(NodeSite&, ValueId x, ValueId count, bool left);
/// Every bit turned. Needs: integers.
Result<ValueId> bitwise_not(NodeSite&, ValueId x);

/// Two integers bit by bit, broadcast. `kind`: logical and, or, exclusive or. Needs: integers of one type.
Result<ValueId> bitwise(NodeSite&, BinaryKind kind, ValueId a, ValueId b);

}  // namespace whet
