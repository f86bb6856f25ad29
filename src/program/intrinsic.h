#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "compute/dag.h"

namespace whet {

/// Work on tiles of fixed extents that a processor does in other ways than by loops. Each is defined by a small
/// ComputeDag of one op: a loop nest over its axes that computes the same may be marked with it (`Loop::intrinsic`), and
/// code generation then takes the processor's way where the operands lie as it needs, and the loops' own elsewhere.
///   transpose8, transpose16   y(i, j) = x[j, i], f32: rows are loaded and stored whole, and turned in registers
///   dot4                      y(j) += i32(x[k]) * i32(w[j, k]), u8 by i8, 16 sums of 4 products
enum class Intrinsic : std::uint8_t { none, transpose8, transpose16, dot4 };

std::string_view name_of(Intrinsic);
std::optional<Intrinsic> parse_intrinsic(std::string_view name);
/// All that can be named.
std::vector<Intrinsic> intrinsics();

/// What the intrinsic computes; its op is the last one, its placeholders stand in front. Not of `none`.
const ComputeDag& definition_of(Intrinsic);
const Op& op_of(Intrinsic);

/// `found` computes what `defined` does, but for where it loads from: the loads that stand in `found` for those of each
/// of so many placeholders. Empty: it does not.
std::vector<Expr> matching_loads(const Expr& defined, const Expr& found, std::size_t placeholders);

}  // namespace whet
