#pragma once

// Internal to tests/ptx.

#include <optional>

#include "ptx/ptx.h"

namespace whet::ptx {

/// An instruction without operands, and what operands it has: words, those in front of `=` are results.
///   t, u   a register as wide as the first or second type;   W  twice as wide as the first one
///   x, y   at least as wide as the first or second type
///   h w d  of 16, 32, 64 bits;   p  a predicate
///   3t     a vector of three t;  vx  Instruction::width of them, one without braces;  L  four words in braces, or 64 bits
///   m      an address;  2c  one of a tensor map with two coordinates;  l  a label;  n  a number;  ?  in front of one that may be missing
struct Decoded {
  Instruction instruction;
  std::string operands;
};
/// Of "fma.rn.ftz.f32". Nothing where whet does not emit it.
std::optional<Decoded> decode(std::string_view text);

std::optional<Type> parse_type(std::string_view);

}  // namespace whet::ptx
