#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "compute/dag.h"

namespace whet {

/// A computation on tiles of fixed extents for which a processor has a faster way than loops. A small ComputeDag of one
/// op defines each intrinsic. A loop nest over its axes that computes the same may be marked with it
/// (`Loop::intrinsic`). Code generation then uses the processor's way if the layout of the operands allows it, else the
/// loops.
///   transpose8, transpose16   y(i, j) = x[j, i], f32, x perhaps widened: rows are loaded and stored whole, turned in registers
///   transpose16_pairs         y(i, j, k) = x[j, i, k], bf16, k below 2: the same of pairs, which stay together
///   interleave16              y(j, k) = x[k, j], bf16, k below 2: neighbours of two rows become pairs
///   dot4                      y(j) += i32(x[k]) * i32(w[j, k]), u8 by i8, 16 sums of 4 products
///   dot2                      y(j) += f32(x[k]) * f32(w[j, k]), bf16 by bf16, 16 sums of 2 products, which a processor may
///                             add up in either order; numbers below the least normal f32 may be zeros to it
///   dot2_i16                  y(j) += i32(x[k]) * i32(w[j, k]), i16 by i16, 16 sums of 2 products, which wrap
///   dot4x8, dot2x8, dot2_i16x8  these of 8 sums
///   tile_bf16                 y(i, j) += f32(a[i, k, w]) * f32(b[k, j, w]), up to 16 x 16 sums of up to 16 pairs of products:
///                             a CPU's unit of tiles, where there is one. Loops go i, k, j, w, so that b is packed by pairs
///   tile_u8                   y(i, j) += i32(a[i, k, w]) * i32(b[k, j, w]), u8 by i8, the same of fours of products
///   dp4a_s8, dp4a_u8          y() += i32(a[k]) * i32(b[k]), i8 by i8, u8 by i8, one sum of 4 products: a thread of a GPU
///   mma_tf32                  y(i, j) += a[i, k] * b[k, j], 16 x 8 sums of 8 products: tensor cores of a GPU, by all
///                             threads of a warp. The operands are f32 and are rounded to tf32, the sums are f32
///   mma_f16, mma_bf16         the same of 16 products, the operands rounded to f16 or bf16. Those of mma_f16 may be f16
///   mma_half                  y(i, j) += f32(a[i, k]) * f32(b[k, j]), the same of operands that are f16: nothing is rounded
///                             Rows of b may lie along k as well: b[j, k]
///   mma_half_bf16             the same of operands that are bf16
///   mma_s8, mma_u8            y(i, j) += i32(a[i, k]) * i32(b[j, k]), 16 x 8 sums of 32 products: i8 by i8, u8 by i8
/// Sources: "dp4a" and "Matrix multiply-accumulate" in NVIDIA's PTX ISA, mma.m16n8k8, mma.m16n8k16 and mma.m16n8k32;
/// "Intel AMX Instruction Set Reference" in Intel's Architecture Instruction Set Extensions Programming Reference.
enum class Intrinsic : std::uint8_t {
  none,
  transpose8,
  transpose16,
  transpose16_pairs,
  interleave16,
  dot4,
  dot2,
  dot2_i16,
  dot4x8,
  dot2x8,
  dot2_i16x8,
  tile_bf16,
  tile_u8,
  dp4a_s8,
  dp4a_u8,
  mma_tf32,
  mma_f16,
  mma_bf16,
  mma_s8,
  mma_u8,
  mma_half,
  mma_half_bf16
};
/// The threads of a warp compute it together; for GPUs with tensor cores alone.
constexpr bool is_warp_wide(Intrinsic intrinsic) { return intrinsic >= Intrinsic::mma_tf32; }
/// Intrinsics of tensor cores: products of bytes, with sums of i32; products of f16, rounded to it or not.
constexpr bool multiplies_bytes(Intrinsic intrinsic) {
  return intrinsic == Intrinsic::mma_s8 || intrinsic == Intrinsic::mma_u8;
}
constexpr bool multiplies_halves(Intrinsic intrinsic) {
  return intrinsic == Intrinsic::mma_f16 || intrinsic == Intrinsic::mma_half;
}
constexpr bool multiplies_bf16(Intrinsic intrinsic) {
  return intrinsic == Intrinsic::mma_bf16 || intrinsic == Intrinsic::mma_half_bf16;
}
/// Sums of products, side by side: an instruction of a CPU adds up several products of each.
constexpr bool is_dot(Intrinsic intrinsic) {
  return intrinsic >= Intrinsic::dot4 && intrinsic <= Intrinsic::dot2_i16x8;
}
/// Of bytes.
constexpr bool is_dot4(Intrinsic intrinsic) { return intrinsic == Intrinsic::dot4 || intrinsic == Intrinsic::dot4x8; }
/// The sums of a dot, 16 or 8.
constexpr int sums_of(Intrinsic dot) { return dot >= Intrinsic::dot4x8 ? 8 : 16; }
/// A dot of 16 sums, of 8.
constexpr Intrinsic of_eight_sums(Intrinsic dot) {
  return dot == Intrinsic::dot4   ? Intrinsic::dot4x8
         : dot == Intrinsic::dot2 ? Intrinsic::dot2x8
                                  : Intrinsic::dot2_i16x8;
}
/// A CPU's unit of tiles computes it: registers that hold matrices.
constexpr bool is_tile_product(Intrinsic intrinsic) {
  return intrinsic == Intrinsic::tile_bf16 || intrinsic == Intrinsic::tile_u8;
}
/// The axes of the intrinsic's definition in the order of its loops, the outermost first: results, then what is added up; in
/// tile products the steps of the reduction come before the columns.
std::vector<AxisId> loop_order(Intrinsic);
/// Whether a loop over the axis may have this extent: the definition's, or a smaller one in a tile product.
bool takes_extent(Intrinsic, AxisId, std::int64_t extent);
/// A thread of a GPU computes it alone.
constexpr bool is_dp4a(Intrinsic intrinsic) {
  return intrinsic == Intrinsic::dp4a_s8 || intrinsic == Intrinsic::dp4a_u8;
}
/// The function by which a warp-wide intrinsic rounds its operands; nothing where it does not round.
std::optional<MathFn> rounding_of(Intrinsic);

std::string_view name_of(Intrinsic);
std::optional<Intrinsic> parse_intrinsic(std::string_view name);
/// All intrinsics except `none`.
std::vector<Intrinsic> intrinsics();

/// The definition of an intrinsic other than `none`. Its op is the last one, behind its placeholders.
const ComputeDag& definition_of(Intrinsic);
const Op& op_of(Intrinsic);

/// Compares `found` with `defined`, except for the sources of loads and for the rounding of operands: `found` may leave the rounding
/// to the intrinsic, or its operands are rounded already (a load of f16 counts as rounded by round_f16). Returns the loads in `found`
/// that correspond to those of each of the `placeholders`; empty where `found` computes something else.
std::vector<Expr> matching_loads(const Expr& defined, const Expr& found, std::size_t placeholders);

}  // namespace whet
