// Warps that meet. Places are those of "Matrix Fragments for mma" and of ldmatrix in NVIDIA's PTX ISA; layouts_test.cc has them as
// literals.

#include <array>
#include <bit>
#include <cstring>

#include "ptx/block.h"
#include "tensor/dtype.h"

namespace whet::ptx {
namespace {

constexpr int kMostRows = 16, kMostDepth = 32, kColumns = 8;

bool is_integer(Tile tile) { return tile == Tile::s8 || tile == Tile::u8; }
int elements_in_word(Tile tile) { return tile == Tile::tf32 ? 1 : is_integer(tile) ? 4 : 2; }

/// Element k of a word. The tensor cores read no more of an f32 than tf32 has.
double element(Tile tile, std::uint64_t word, int k, bool left) {
  const auto bits = static_cast<std::uint32_t>(word >> (32 / elements_in_word(tile) * k));
  switch (tile) {
    case Tile::tf32:
      return std::bit_cast<float>(bits & ~0x1fffu);
    case Tile::f16:
      return half_to_float(static_cast<std::uint16_t>(bits));
    case Tile::bf16:
      return std::bit_cast<float>(bits << 16);
    case Tile::u8:
      if (left) return static_cast<std::uint8_t>(bits);
      return static_cast<std::int8_t>(bits);
    case Tile::s8:
      return static_cast<std::int8_t>(bits);
  }
  return 0;
}

}  // namespace

/// Products are exact in f64; their sum is rounded once, as "at least single precision" allows.
void Block::multiply_tile(Warp& warp, const Instruction& in) {
  const int each = elements_in_word(in.tile), sums = static_cast<int>(std::ssize(in.results));
  const bool whole = sums == 4;  // 16 rows and two halves of the depth; else 8 rows and one
  const int of_left = whole ? 4 : 1, of_right = whole ? 2 : 1, depth = 4 * each * of_right;
  std::array<std::array<double, kMostDepth>, kMostRows> left{};
  std::array<std::array<double, kColumns>, kMostDepth> right{};
  const auto operand = [&](int number, int lane) {
    return warp.slot(in.operands[static_cast<std::size_t>(number)])[lane];
  };
  for (int lane = 0; lane < kLanes; ++lane) {
    const int group = lane / 4, in_group = lane % 4;
    for (int part = 0; part < each; ++part) {
      const int first = in_group * each + part;
      for (int word = 0; word < of_left; ++word)
        left[static_cast<std::size_t>(group + 8 * (word % 2))]
            [static_cast<std::size_t>(first + 4 * each * (word / 2))] =
                element(in.tile, operand(word, lane), part, true);
      for (int word = 0; word < of_right; ++word)
        right[static_cast<std::size_t>(first + 4 * each * word)][static_cast<std::size_t>(group)] =
            element(in.tile, operand(of_left + word, lane), part, false);
    }
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    std::array<std::uint32_t, 4> after{};
    for (int word = 0; word < sums; ++word) {
      const auto row = static_cast<std::size_t>(lane / 4 + 8 * (word / 2)),
                 column = static_cast<std::size_t>(2 * (lane % 4) + word % 2);
      double products = 0;
      for (int k = 0; k < depth; ++k)
        products += left[row][static_cast<std::size_t>(k)] * right[static_cast<std::size_t>(k)][column];
      const auto before = static_cast<std::uint32_t>(operand(of_left + of_right + word, lane));
      after[static_cast<std::size_t>(word)] =
          is_integer(in.tile)
              ? before + static_cast<std::uint32_t>(static_cast<std::int64_t>(products))
              : std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<float>(before) + products));
    }
    for (std::size_t word = 0; word < in.results.size(); ++word) warp.slot(in.results[word])[lane] = after[word];
  }
}

/// Lane 8m + r gives the address of row r of matrix m, 16 bytes.
bool Block::load_matrices(Warp& warp, const Instruction& in) {
  constexpr int kRows = 8, kRowBytes = 16;
  const bool turned = in.op == Op::load_turned_matrices;
  const int matrices = static_cast<int>(std::ssize(in.results));
  std::array<const std::byte*, kLanes> rows{};
  std::vector<std::uint64_t> addresses;
  for (int lane = 0; lane < kRows * matrices; ++lane) {
    addresses.push_back(address(warp, in.addresses[0], lane));
    rows[static_cast<std::size_t>(lane)] = place(warp, in, lane, addresses.back(), kRowBytes, Access::read);
    if (rows[static_cast<std::size_t>(lane)] == nullptr) return false;
  }
  for (int matrix = 0; matrix < matrices; ++matrix)
    for (int lane = 0; lane < kLanes; ++lane) {
      const auto row_of = [&](int row) { return rows[static_cast<std::size_t>(kRows * matrix + row)]; };
      std::uint32_t word = 0;
      if (turned) {
        for (int part = 0; part < 2; ++part) {
          std::uint16_t half = 0;
          std::memcpy(&half, row_of(2 * (lane % 4) + part) + 2 * (lane / 4), sizeof half);
          word |= std::uint32_t{half} << 16 * part;
        }
      } else {
        std::memcpy(&word, row_of(lane / 4) + 4 * (lane % 4), sizeof word);
      }
      warp.slot(in.results[static_cast<std::size_t>(matrix)])[lane] = word;
    }
  count_wavefronts(in, addresses, kRowBytes);
  return true;
}

/// shfl.sync.bfly d, a, mask, clamp, members: lane ^ mask, where the clamp's upper bits say which lanes are one segment.
void Block::shuffle(Warp& warp, const Instruction& in) {
  std::array<std::uint64_t, kLanes> given{};
  std::memcpy(given.data(), warp.slot(in.operands[0]), sizeof given);
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    const auto mask = static_cast<std::uint32_t>(warp.slot(in.operands[1])[lane] & 31),
               clamp = static_cast<std::uint32_t>(warp.slot(in.operands[2])[lane]);
    const std::uint32_t segment = clamp >> 8 & 31, last = (lane & segment) | (clamp & 31 & ~segment),
                        from = lane ^ mask;
    warp.slot(in.results[0])[lane] = given[from <= last ? from : lane];
  }
}

}  // namespace whet::ptx
