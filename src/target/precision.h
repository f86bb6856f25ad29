#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace whet {

/// What the operands of products are rounded to; sums are f32 in any case.
enum class Precision : std::uint8_t { f32, tf32, f16, bf16 };
std::string_view name_of(Precision);
std::optional<Precision> parse_precision(std::string_view name);
/// What is asked for allows schedules of `precision`: the same, f32, and tf32 for f16 and bf16, neither of which has more bits.
bool allows(Precision asked, Precision precision);

/// What rounding of the operands of products adds to the error that a kernel may have, relative to the largest magnitude of
/// its results: 8u; 0 for f32. Each operand errs by at most the unit u of its own (2^-11 for tf32 and f16, 2^-8 for bf16),
/// so that a product errs by at most 2u of itself. Over the terms of a sum such errors add up as the terms do: the error of a
/// sum of random terms is below 2u of the sums' root mean square, on the average 0.6u. Four times the bound is left for the
/// largest of many errors, and for what is computed of the sums.
double tolerance_of(Precision);

/// How a schedule computes the sums of its DAG.
struct Numerics {
  Precision precision = Precision::f32;  ///< the least precise that operands of products are rounded to
  /// The sums of the DAG itself, if in another order: no algorithm that rounds otherwise (Winograd, tiles of rounded operands).
  bool exact = true;
};

}  // namespace whet
