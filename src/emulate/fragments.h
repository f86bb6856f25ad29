#pragma once

#include <cstdint>

namespace whet {

/// What a thread of a warp holds of a tile.
struct TileFragments {
  const std::uint32_t* left = nullptr;   ///< four words
  const std::uint32_t* right = nullptr;  ///< two words
  std::uint32_t* sums = nullptr;         ///< four words
};

/// sums + left · right of the 32 threads of a warp, in the order of k, each sum rounded to f32. Lane 4g + q has of sums[r] the
/// element (g + 8 (r / 2), 2q + r % 2), of left[r] row g + 8 (r % 2), of right[r] column g; a word has one element (tf32),
/// two (f16, bf16) or four (i8, u8, with i32 sums) along k, from 4e (r / 2) + e q on, of the right operand from 4e r + e q on, where e is their number.
/// Source: "Matrix fragments" of mma.m16n8k8, mma.m16n8k16 and mma.m16n8k32 in NVIDIA's PTX ISA.
///   kind   WHET_TILE_* (artifact/emulated_block.h)
void multiply_fragments(std::uint32_t kind, const TileFragments lanes[32]);

/// ldmatrix: lane 8m + r gives row r of matrix m; sums[m] of lane 4r + w gets word w of it.
void load_matrices(const void* const rows[32], const TileFragments lanes[32]);
/// ldmatrix.trans, of elements of two bytes: sums[m] of lane 4c + w gets column c of rows 2w and 2w + 1.
void load_turned_matrices(const void* const rows[32], const TileFragments lanes[32]);

}  // namespace whet
