// Where the lanes of a warp hold a tile: NVIDIA's PTX ISA as literals, the interpreter of PTX, and the emulated device, which were
// written apart.

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>

#include "artifact/emulated_block.h"
#include "base/rng.h"
#include "emulate/fragments.h"
#include "ptx/machine.h"
#include "tensor/dtype.h"

namespace whet::ptx {
namespace {

/// What a lane holds. Along the depth a place is of a word, which has one, two or four elements, the first in its lowest bits.
struct LanePlaces {
  struct Place {
    int row, column;
  };
  Place sums[4];   ///< row and column of the result
  Place left[4];   ///< row and word of the depth
  Place right[2];  ///< word of the depth and column
};
// Source: NVIDIA's PTX ISA 8.5, "Matrix Fragments for mma.m16n8k8", ".m16n8k16 with floating point type", ".m16n8k32": the figures of
// the layouts of A, B and C. Lane 5, say, has c2 = row 9, column 2 and a1 = row 9, words 1.
constexpr LanePlaces kLanePlaces[kLanes] = {
    {{{0, 0}, {0, 1}, {8, 0}, {8, 1}}, {{0, 0}, {8, 0}, {0, 4}, {8, 4}}, {{0, 0}, {4, 0}}},
    {{{0, 2}, {0, 3}, {8, 2}, {8, 3}}, {{0, 1}, {8, 1}, {0, 5}, {8, 5}}, {{1, 0}, {5, 0}}},
    {{{0, 4}, {0, 5}, {8, 4}, {8, 5}}, {{0, 2}, {8, 2}, {0, 6}, {8, 6}}, {{2, 0}, {6, 0}}},
    {{{0, 6}, {0, 7}, {8, 6}, {8, 7}}, {{0, 3}, {8, 3}, {0, 7}, {8, 7}}, {{3, 0}, {7, 0}}},
    {{{1, 0}, {1, 1}, {9, 0}, {9, 1}}, {{1, 0}, {9, 0}, {1, 4}, {9, 4}}, {{0, 1}, {4, 1}}},
    {{{1, 2}, {1, 3}, {9, 2}, {9, 3}}, {{1, 1}, {9, 1}, {1, 5}, {9, 5}}, {{1, 1}, {5, 1}}},
    {{{1, 4}, {1, 5}, {9, 4}, {9, 5}}, {{1, 2}, {9, 2}, {1, 6}, {9, 6}}, {{2, 1}, {6, 1}}},
    {{{1, 6}, {1, 7}, {9, 6}, {9, 7}}, {{1, 3}, {9, 3}, {1, 7}, {9, 7}}, {{3, 1}, {7, 1}}},
    {{{2, 0}, {2, 1}, {10, 0}, {10, 1}}, {{2, 0}, {10, 0}, {2, 4}, {10, 4}}, {{0, 2}, {4, 2}}},
    {{{2, 2}, {2, 3}, {10, 2}, {10, 3}}, {{2, 1}, {10, 1}, {2, 5}, {10, 5}}, {{1, 2}, {5, 2}}},
    {{{2, 4}, {2, 5}, {10, 4}, {10, 5}}, {{2, 2}, {10, 2}, {2, 6}, {10, 6}}, {{2, 2}, {6, 2}}},
    {{{2, 6}, {2, 7}, {10, 6}, {10, 7}}, {{2, 3}, {10, 3}, {2, 7}, {10, 7}}, {{3, 2}, {7, 2}}},
    {{{3, 0}, {3, 1}, {11, 0}, {11, 1}}, {{3, 0}, {11, 0}, {3, 4}, {11, 4}}, {{0, 3}, {4, 3}}},
    {{{3, 2}, {3, 3}, {11, 2}, {11, 3}}, {{3, 1}, {11, 1}, {3, 5}, {11, 5}}, {{1, 3}, {5, 3}}},
    {{{3, 4}, {3, 5}, {11, 4}, {11, 5}}, {{3, 2}, {11, 2}, {3, 6}, {11, 6}}, {{2, 3}, {6, 3}}},
    {{{3, 6}, {3, 7}, {11, 6}, {11, 7}}, {{3, 3}, {11, 3}, {3, 7}, {11, 7}}, {{3, 3}, {7, 3}}},
    {{{4, 0}, {4, 1}, {12, 0}, {12, 1}}, {{4, 0}, {12, 0}, {4, 4}, {12, 4}}, {{0, 4}, {4, 4}}},
    {{{4, 2}, {4, 3}, {12, 2}, {12, 3}}, {{4, 1}, {12, 1}, {4, 5}, {12, 5}}, {{1, 4}, {5, 4}}},
    {{{4, 4}, {4, 5}, {12, 4}, {12, 5}}, {{4, 2}, {12, 2}, {4, 6}, {12, 6}}, {{2, 4}, {6, 4}}},
    {{{4, 6}, {4, 7}, {12, 6}, {12, 7}}, {{4, 3}, {12, 3}, {4, 7}, {12, 7}}, {{3, 4}, {7, 4}}},
    {{{5, 0}, {5, 1}, {13, 0}, {13, 1}}, {{5, 0}, {13, 0}, {5, 4}, {13, 4}}, {{0, 5}, {4, 5}}},
    {{{5, 2}, {5, 3}, {13, 2}, {13, 3}}, {{5, 1}, {13, 1}, {5, 5}, {13, 5}}, {{1, 5}, {5, 5}}},
    {{{5, 4}, {5, 5}, {13, 4}, {13, 5}}, {{5, 2}, {13, 2}, {5, 6}, {13, 6}}, {{2, 5}, {6, 5}}},
    {{{5, 6}, {5, 7}, {13, 6}, {13, 7}}, {{5, 3}, {13, 3}, {5, 7}, {13, 7}}, {{3, 5}, {7, 5}}},
    {{{6, 0}, {6, 1}, {14, 0}, {14, 1}}, {{6, 0}, {14, 0}, {6, 4}, {14, 4}}, {{0, 6}, {4, 6}}},
    {{{6, 2}, {6, 3}, {14, 2}, {14, 3}}, {{6, 1}, {14, 1}, {6, 5}, {14, 5}}, {{1, 6}, {5, 6}}},
    {{{6, 4}, {6, 5}, {14, 4}, {14, 5}}, {{6, 2}, {14, 2}, {6, 6}, {14, 6}}, {{2, 6}, {6, 6}}},
    {{{6, 6}, {6, 7}, {14, 6}, {14, 7}}, {{6, 3}, {14, 3}, {6, 7}, {14, 7}}, {{3, 6}, {7, 6}}},
    {{{7, 0}, {7, 1}, {15, 0}, {15, 1}}, {{7, 0}, {15, 0}, {7, 4}, {15, 4}}, {{0, 7}, {4, 7}}},
    {{{7, 2}, {7, 3}, {15, 2}, {15, 3}}, {{7, 1}, {15, 1}, {7, 5}, {15, 5}}, {{1, 7}, {5, 7}}},
    {{{7, 4}, {7, 5}, {15, 4}, {15, 5}}, {{7, 2}, {15, 2}, {7, 6}, {15, 6}}, {{2, 7}, {6, 7}}},
    {{{7, 6}, {7, 7}, {15, 6}, {15, 7}}, {{7, 3}, {15, 3}, {7, 7}, {15, 7}}, {{3, 7}, {7, 7}}},
};

using Words = std::array<std::array<std::uint32_t, 4>, kLanes>;

struct TileKind {
  Tile tile;
  std::uint32_t emulated;
  int each;  ///< elements in a word
  const char* instruction;
};
constexpr TileKind kTileKinds[] = {
    {Tile::tf32, WHET_TILE_TF32, 1, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"},
    {Tile::f16, WHET_TILE_F16, 2, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"},
    {Tile::bf16, WHET_TILE_BF16, 2, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"},
    {Tile::s8, WHET_TILE_S8, 4, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"},
    {Tile::u8, WHET_TILE_U8, 4, "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32"}};

bool is_integer(Tile tile) { return tile == Tile::s8 || tile == Tile::u8; }

/// A small integer, so that all sums are exact.
std::uint32_t encoded(Tile tile, int value) {
  const auto number = static_cast<float>(value);
  switch (tile) {
    case Tile::tf32:
      return std::bit_cast<std::uint32_t>(number);
    case Tile::f16:
      return float_to_half(number);
    case Tile::bf16:
      return std::bit_cast<std::uint32_t>(number) >> 16;
    default:
      return static_cast<std::uint8_t>(value);
  }
}
std::uint32_t sum_word(Tile tile, int value) {
  return is_integer(tile) ? static_cast<std::uint32_t>(value) : std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

const char* const kLayoutsHead = R"(
.extern .shared .align 128 .b8 block_memory[];
.visible .entry k(.param .u64 left, .param .u64 right, .param .u64 sums)
{
  .reg .b32 %r<20>; .reg .b64 %rd<20>;
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %rd0, %r0, 16;
  ld.param.u64 %rd1, [left]; ld.param.u64 %rd2, [right]; ld.param.u64 %rd3, [sums];
  add.s64 %rd4, %rd1, %rd0; add.s64 %rd5, %rd2, %rd0; add.s64 %rd6, %rd3, %rd0;
)";

/// Gives the sums behind the body, which stands behind kLayoutsHead.
Words run_body(const std::string& body, Words left, Words right, Words sums) {
  const Result<Module> module = parse(kLayoutsHead + body);
  EXPECT_TRUE(module.ok()) << (module.ok() ? "" : module.error().message);
  if (!module.ok()) return sums;
  const auto buffer = [](const char* name, Words& words) {
    return GlobalBuffer{name, reinterpret_cast<std::byte*>(words.data()), sizeof words};
  };
  const Result<Tally> tally =
      run(module->entries[0], {1, 32, 512}, {buffer("left", left), buffer("right", right), buffer("sums", sums)});
  EXPECT_TRUE(tally.ok()) << (tally.ok() ? "" : tally.error().message);
  return sums;
}

Words interpreted(const TileKind& kind, const Words& left, const Words& right, const Words& sums) {
  return run_body(std::string("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd4]; ld.global.v2.u32 {%r5, %r6}, [%rd5];\n"
                              "ld.global.v4.u32 {%r7, %r8, %r9, %r10}, [%rd6];\n") +
                      kind.instruction +
                      " {%r7, %r8, %r9, %r10}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r7, %r8, %r9, %r10};\n"
                      "st.global.v4.u32 [%rd6], {%r7, %r8, %r9, %r10};\nret;\n}\n",
                  left, right, sums);
}

Words emulated(const TileKind& kind, const Words& left, const Words& right, Words sums) {
  TileFragments lanes[kLanes];
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    lanes[lane] = {left[lane].data(), right[lane].data(), sums[lane].data()};
  multiply_fragments(kind.emulated, lanes);
  return sums;
}

TEST(Layouts, OfTilesAreThoseOfTheIsaInBothInterpreters) {
  constexpr int kRows = 16, kColumns = 8, kMostDepth = 32;
  for (const TileKind& kind : kTileKinds) {
    SCOPED_TRACE(kind.instruction);
    Rng rng(7);
    int a[kRows][kMostDepth], b[kMostDepth][kColumns], c[kRows][kColumns];
    const int low = kind.tile == Tile::u8 ? 0 : -15;
    for (auto& row : a)
      for (int& x : row) x = static_cast<int>(rng.between(low, low + 30));
    for (auto& row : b)
      for (int& x : row) x = static_cast<int>(rng.between(-15, 15));
    for (auto& row : c)
      for (int& x : row) x = static_cast<int>(rng.between(-99, 99));
    Words left{}, right{}, sums{}, want{};
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const LanePlaces& places = kLanePlaces[lane];
      for (std::size_t w = 0; w < 4; ++w)
        for (int part = 0; part < kind.each; ++part) {
          const int shift = 32 / kind.each * part;
          left[lane][w] |= encoded(kind.tile, a[places.left[w].row][kind.each * places.left[w].column + part]) << shift;
          if (w < 2)
            right[lane][w] |= encoded(kind.tile, b[kind.each * places.right[w].row + part][places.right[w].column])
                              << shift;
        }
      for (std::size_t w = 0; w < 4; ++w) {
        const auto [row, column] = places.sums[w];
        int sum = c[row][column];
        sums[lane][w] = sum_word(kind.tile, sum);
        for (int k = 0; k < 8 * kind.each; ++k) sum += a[row][k] * b[k][column];
        want[lane][w] = sum_word(kind.tile, sum);
      }
    }
    EXPECT_EQ(interpreted(kind, left, right, sums), want);
    EXPECT_EQ(emulated(kind, left, right, sums), want);
  }
}

/// Of 8 x 8 sums of 16 products a lane has the first two sums, and the first word of each operand.
TEST(Layouts, OfSmallTilesAreTheUpperHalvesOfLargeOnes) {
  Rng rng(9);
  Words left{}, right{}, sums{}, small_left{}, small_right{};
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    for (std::size_t w = 0; w < 4; ++w) {
      left[lane][w] = static_cast<std::uint32_t>(rng.next()), right[lane][w] = static_cast<std::uint32_t>(rng.next());
      sums[lane][w] = static_cast<std::uint32_t>(rng.next());
    }
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    small_left[lane] = {left[lane][0], 0, 0, 0}, small_right[lane] = {right[lane][0], 0, 0, 0};
  const Words want = emulated(kTileKinds[3], small_left, small_right, sums);
  const Words got = run_body(
      "ld.global.u32 %r1, [%rd4]; ld.global.u32 %r5, [%rd5]; ld.global.v2.u32 {%r7, %r8}, [%rd6];\n"
      "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r7, %r8}, {%r1}, {%r5}, {%r7, %r8};\n"
      "st.global.v2.u32 [%rd6], {%r7, %r8};\nret;\n}\n",
      left, right, sums);
  EXPECT_EQ(got, want) << "what the large one adds to its other sums is 0";
}

/// Lane 8m + r gives row r of matrix m; a lane's words are, as the right operand's places above, of row lane / 4 and word lane % 4;
/// turned, of column lane / 4 and rows 2 (lane % 4) and the next one.
TEST(Layouts, OfLoadedMatricesAreThoseOfTheIsaInBothInterpreters) {
  Rng rng(11);
  std::array<std::array<std::uint16_t, 8>, kLanes> matrices;
  for (auto& row : matrices)
    for (auto& x : row) x = static_cast<std::uint16_t>(rng.next());
  Words given{}, plain{}, turned{};
  std::memcpy(given.data(), matrices.data(), sizeof given);
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    for (std::size_t m = 0; m < 4; ++m) {
      const auto row = static_cast<std::size_t>(kLanePlaces[lane].right[0].column),
                 word = static_cast<std::size_t>(kLanePlaces[lane].right[0].row);
      plain[lane][m] = matrices[8 * m + row][2 * word] | std::uint32_t{matrices[8 * m + row][2 * word + 1]} << 16;
      turned[lane][m] = matrices[8 * m + 2 * word][row] | std::uint32_t{matrices[8 * m + 2 * word + 1][row]} << 16;
    }
  const auto loaded = [&](const std::string& instruction) {
    return run_body(
        "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd4]; mov.u64 %rd7, block_memory; add.s64 %rd8, %rd7, %rd0;\n"
        "st.shared.v4.u32 [%rd8], {%r1, %r2, %r3, %r4};\n" +
            instruction + " {%r7, %r8, %r9, %r10}, [%rd8];\nst.global.v4.u32 [%rd6], {%r7, %r8, %r9, %r10};\nret;\n}\n",
        given, {}, {});
  };
  EXPECT_EQ(loaded("ldmatrix.sync.aligned.m8n8.x4.shared.b16"), plain);
  EXPECT_EQ(loaded("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"), turned);
  const void* rows[kLanes];
  Words emulated_plain{}, emulated_turned{};
  TileFragments plain_lanes[kLanes], turned_lanes[kLanes];
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    rows[lane] = matrices[lane].data();
    plain_lanes[lane].sums = emulated_plain[lane].data(), turned_lanes[lane].sums = emulated_turned[lane].data();
  }
  load_matrices(rows, plain_lanes);
  load_turned_matrices(rows, turned_lanes);
  EXPECT_EQ(emulated_plain, plain);
  EXPECT_EQ(emulated_turned, turned);
}

}  // namespace
}  // namespace whet::ptx
