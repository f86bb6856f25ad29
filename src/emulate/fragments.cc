#include "emulate/fragments.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "artifact/emulated_block.h"

namespace whet {
namespace {

constexpr int kRows = 16, kColumns = 8, kMostDepth = 32;

float from_half(std::uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31), mantissa = static_cast<int>(bits & 1023);
  float value = exponent == 31
                    ? (mantissa != 0 ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity())
                : exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                                : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return (bits & 0x8000u) != 0 ? -value : value;
}

bool is_integer(std::uint32_t kind) { return kind == WHET_TILE_S8 || kind == WHET_TILE_U8; }

/// Element `part` of a word. Tensor cores do not see the bits that tf32 has not.
float element_of(std::uint32_t kind, std::uint32_t word, int part, bool left) {
  if (kind == WHET_TILE_TF32) return std::bit_cast<float>(word & (~0u << 13));
  if (is_integer(kind)) {
    const std::uint32_t bits = word >> (8 * part) & 0xffu;
    return left && kind == WHET_TILE_U8 ? static_cast<float>(bits) : static_cast<float>(static_cast<std::int8_t>(bits));
  }
  const std::uint32_t bits = word >> (16 * part) & 0xffffu;
  return kind == WHET_TILE_F16 ? from_half(bits) : std::bit_cast<float>(bits << 16);
}

}  // namespace

void multiply_fragments(std::uint32_t kind, const TileFragments lanes[32]) {
  const int each = kind == WHET_TILE_TF32 ? 1 : is_integer(kind) ? 4 : 2, depth = 8 * each;
  float left[kRows][kMostDepth], right[kMostDepth][kColumns];
  for (int lane = 0; lane < 32; ++lane)
    for (int part = 0; part < each; ++part) {
      const int g = lane / 4, k = each * (lane % 4) + part;
      for (int r = 0; r < 4; ++r)
        left[g + 8 * (r % 2)][k + 4 * each * (r / 2)] = element_of(kind, lanes[lane].left[r], part, true);
      for (int r = 0; r < 2; ++r) right[k + 4 * each * r][g] = element_of(kind, lanes[lane].right[r], part, false);
    }
  for (int lane = 0; lane < 32; ++lane)
    for (int r = 0; r < 4; ++r) {
      const int row = lane / 4 + 8 * (r / 2), column = 2 * (lane % 4) + r % 2;
      std::uint32_t& word = lanes[lane].sums[r];
      if (is_integer(kind)) {  // sums wrap around
        for (int k = 0; k < depth; ++k)
          word += static_cast<std::uint32_t>(static_cast<std::int32_t>(left[row][k] * right[k][column]));
        continue;
      }
      float sum = std::bit_cast<float>(word);
      for (int k = 0; k < depth; ++k) sum += left[row][k] * right[k][column];
      word = std::bit_cast<std::uint32_t>(sum);
    }
}

void load_matrices(const void* const rows[32], const TileFragments lanes[32]) {
  for (std::size_t lane = 0; lane < 32; ++lane)
    for (std::size_t matrix = 0; matrix < 4; ++matrix)
      std::memcpy(lanes[lane].sums + matrix, static_cast<const char*>(rows[8 * matrix + lane / 4]) + 4 * (lane % 4), 4);
}

void load_turned_matrices(const void* const rows[32], const TileFragments lanes[32]) {
  for (std::size_t lane = 0; lane < 32; ++lane)
    for (std::size_t matrix = 0; matrix < 4; ++matrix) {
      std::uint16_t parts[2];
      for (std::size_t part = 0; part < 2; ++part)
        std::memcpy(parts + part,
                    static_cast<const char*>(rows[8 * matrix + 2 * (lane % 4) + part]) + sizeof parts[0] * (lane / 4),
                    sizeof parts[0]);
      lanes[lane].sums[matrix] = parts[0] | std::uint32_t{parts[1]} << 16;
    }
}

}  // namespace whet
