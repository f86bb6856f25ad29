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
template <BinaryKind kind>
Result<ValueId> chain(NodeSite& site, const std::vector<ValueId>& values) {
  return chained(site, kind, values);
}
/// The mean of tensors, broadcast; one alone is the result. Needs: at least one.
Result<ValueId> mean_of(NodeSite&, const std::vector<ValueId>& values);

Result<ValueId> square(NodeSite&, ValueId x);
Result<ValueId> reciprocal_root(NodeSite&, ValueId x);
Result<ValueId> not_equal(NodeSite&, ValueId a, ValueId b);
/// a where the condition is true, else b, broadcast.
Result<ValueId> chosen(NodeSite&, ValueId condition, ValueId a, ValueId b);
/// The same where a list of conditions, one for each row of a, chooses rows.
Result<ValueId> chosen_rows(NodeSite&, ValueId condition, ValueId a, ValueId b);

/// sqrt(a^2 + b^2), broadcast, also where the squares have no number. Needs: floats of one type.
Result<ValueId> hypotenuse(NodeSite&, ValueId a, ValueId b);

/// base ^ exponent, broadcast; the result has the base's type. Integers to the power of floats are computed in f64.
Result<ValueId> power(NodeSite&, ValueId base, ValueId exponent);
/// What is left of a / b, with the sign of the dividend (C's fmod and %). Needs: equal types.
Result<ValueId> truncated_remainder(NodeSite&, ValueId a, ValueId b);
/// a / b towards minus infinity. Needs: equal types.
Result<ValueId> floored_quotient(NodeSite&, ValueId a, ValueId b);
/// What is left of that, which has the sign of the divisor (Python's %).
Result<ValueId> floored_remainder(NodeSite&, ValueId a, ValueId b);

/// The whole number next to x on the side of 0; integers as they are.
Result<ValueId> truncated(NodeSite&, ValueId x);
/// To the nearest whole number, halves away from 0 (C's round). Needs: floats.
Result<ValueId> rounded_away(NodeSite&, ValueId x);

/// Whole numbers as integers of `bits` bits, with a sign or without, that are held in a wider type: those beyond wrap around.
struct HeldInteger {
  int bits = 16;
  bool is_signed = true;
  DType held = DType::i32;
};
Result<ValueId> wrapped(NodeSite&, ValueId x, const HeldInteger&);

/// x kept between bounds, each a scalar and open where it is left out. Bounds that are known are a Clip.
Result<ValueId> clipped(NodeSite&, ValueId x, std::optional<ValueId> low, std::optional<ValueId> high);

/// Whether x is at least one number and at most another: booleans.
Result<ValueId> is_between(NodeSite&, ValueId x, double low, double high);
/// Neither infinite nor no number.
Result<ValueId> is_finite(NodeSite&, ValueId x);
/// Whether each element is infinite, with a sign that counts. Needs: floats. Gives booleans.
Result<ValueId> is_infinite(NodeSite&, ValueId x, bool negative, bool positive);

/// The angle of the point (x, y), of -pi to pi: y first, as atan2 has it; signs of zeros count. Needs: floats of one type.
Result<ValueId> angle_of(NodeSite&, ValueId y, ValueId x);

/// Bits moved to the left or to the right, as products and quotients with powers of two; signs stay. Counts are at least 0. Needs:
/// integers both.
Result<ValueId> bit_shift(NodeSite&, ValueId x, ValueId count, bool left);
/// Every bit turned. Needs: integers.
Result<ValueId> bitwise_not(NodeSite&, ValueId x);

/// Two integers bit by bit, broadcast. `kind`: logical and, or, exclusive or. Needs: integers of one type.
Result<ValueId> bitwise(NodeSite&, BinaryKind kind, ValueId a, ValueId b);
template <BinaryKind kind>
Result<ValueId> bits_of(NodeSite& site, ValueId a, ValueId b) {
  return bitwise(site, kind, a, b);
}

}  // namespace whet
