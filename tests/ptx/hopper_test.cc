// Copies by TMA and products of warp groups, which whet does not emit yet.

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "ptx/machine.h"
#include "tensor/dtype.h"

namespace whet::ptx {
namespace {

constexpr std::int64_t kSide = 64;  ///< rows, columns and terms

/// The sums of a thread, "{%f0, ..., %f31}".
std::string sums() {
  std::string list;
  for (int i = 0; i < kSide / 2; ++i) list += (i > 0 ? ", %f" : "{%f") + std::to_string(i);
  return list + "}";
}

/// 64 x 64 sums of 64 products of f16, one tile of each operand by TMA. The right operand lies along the depth, or turned.
std::string product_text(bool turned) {
  const std::string multiply = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " + sums() +
                               ", %rd5, %rd6, %p3, 1, 1, 0, " + (turned ? "1" : "0") + ";\n";
  std::string text = R"(.extern .shared .align 1024 .b8 block_memory[];
.visible .entry k(.param .align 64 .b8 a[128], .param .align 64 .b8 b[128], .param .u64 c)
{
  .reg .pred %p<4>; .reg .b32 %r<20>; .reg .f32 %f<32>; .reg .b64 %rd<20>;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, block_memory;
  add.s32 %r3, %r1, 16384;
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra READY;
  mbarrier.init.shared::cta.b64 [%r3], 1;
  fence.mbarrier_init.release.cluster;
  mov.b64 %rd1, a;
  mov.b64 %rd2, b;
  mov.u32 %r2, 0;
  add.s32 %r4, %r1, 8192;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 16384;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r2}], [%r3];
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r4], [%rd2, {%r2, %r2}], [%r3];
READY: bar.sync 0;
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;
  @!%p2 bra WAIT;
  shr.u32 %r5, %r1, 4;
  cvt.u64.u32 %rd3, %r5;
  or.b64 %rd5, %rd3, 0x4000004000010000;
  add.s64 %rd6, %rd5, 512;
  mov.pred %p3, 0;
  wgmma.fence.sync.aligned;
)";
  for (int step = 0; step < 4; ++step)
    text +=
        multiply + "mov.pred %p3, 1;\nadd.s64 %rd5, %rd5, 2;\nadd.s64 %rd6, %rd6, " + (turned ? "128" : "2") + ";\n";
  text += R"(wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  ld.param.u64 %rd7, [c];
  mul.wide.u32 %rd8, %r0, 128;
  add.s64 %rd9, %rd7, %rd8;
)";
  for (int i = 0; i < kSide / 2; ++i)
    text += "st.global.f32 [%rd9+" + std::to_string(4 * i) + "], %f" + std::to_string(i) + ";\n";
  return text + "ret;\n}\n";
}

TensorMap square_map(const char* name, std::vector<std::uint16_t>& halves) {
  TensorMap map;
  map.memory = {name, reinterpret_cast<std::byte*>(halves.data()), std::ssize(halves) * 2};
  map.extents = map.box = {kSide, kSide};
  map.strides = {kSide * 2};
  return map;
}

/// "" where the sums are right in every order, else a sentence or "wrong".
std::string run_product(bool turned, const std::string& from = "", const std::string& to = "") {
  std::string text = product_text(turned);
  if (!from.empty()) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  }
  const Result<Module> module = parse(text);
  if (!module.ok()) return module.error().message;
  Rng rng(3);
  std::vector<std::uint16_t> a(kSide * kSide), b(kSide * kSide);
  for (auto* list : {&a, &b})
    for (std::uint16_t& x : *list) x = float_to_half(static_cast<float>(rng.between(-8, 8)));
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    std::vector<float> c(kSide * kSide);
    const GlobalBuffer sums_buffer{"c", reinterpret_cast<std::byte*>(c.data()), std::ssize(c) * 4};
    const Result<Tally> tally =
        run(module->entries[0], {1, 128, 16640}, {square_map("a", a), square_map("b", b), sums_buffer}, {.seed = seed});
    if (!tally.ok()) return tally.error().message;
    for (std::int64_t thread = 0; thread < 128; ++thread)
      for (std::int64_t i = 0; i < kSide / 2; ++i) {
        const std::int64_t row = thread / 32 * 16 + thread % 32 / 4 + 8 * (i / 2 % 2),
                           column = 8 * (i / 4) + 2 * (thread % 4) + i % 2;
        float sum = 0;
        for (std::int64_t k = 0; k < kSide; ++k)
          sum += half_to_float(a[static_cast<std::size_t>(row * kSide + k)]) *
                 half_to_float(b[static_cast<std::size_t>(turned ? k * kSide + column : column * kSide + k)]);
        if (c[static_cast<std::size_t>(thread * kSide / 2 + i)] != sum) return "wrong";
      }
  }
  return "";
}

TEST(Hopper, MultipliesTilesThatTmaHasCopied) {
  EXPECT_EQ(run_product(false), "");
  EXPECT_EQ(run_product(true), "");
}

TEST(Hopper, ShowsFaultsOfTiles) {
  const auto has = [](const std::string& why, const char* what) { return why.find(what) != std::string::npos; };
  EXPECT_EQ(
      run_product(false, "0x4000004000010000", "0x4000006000010000"),
      "block 0, warp 0, line 28, `wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16`: reads outside of block memory")
      << "a stride of 96";
  EXPECT_EQ(run_product(false, "0x4000004000010000", "0x8000004000010000"), "wrong") << "a swizzle of 64 bytes";
  EXPECT_EQ(run_product(false, "%rd5, %rd5, 2;", "%rd5, %rd5, 4;"), "wrong") << "a step of the depth";
  EXPECT_EQ(run_product(false, "1, 1, 0, 0;", "1, 1, 0, 1;"), "wrong") << "the right operand turned";
  EXPECT_EQ(run_product(false, "wait_group.sync.aligned 0", "wait_group.sync.aligned 1"),
            "block 0, warp 0 ends with products that it never waited for");
  EXPECT_PRED2(has, run_product(false, "[%r3], 16384;", "[%r3], 16400;"), "for a phase that does not end");
  EXPECT_NE(run_product(false, "[%r3], 16384;", "[%r3], 8192;"), "") << "fewer bytes than come";
  EXPECT_PRED2(has, run_product(false, "@!%p2 bra WAIT;", ""), "reads block memory that a copy may still write");
}

/// A group that copies gives registers to two that multiply: 168 for each of 384 threads at first.
std::string run_roles(int kept, int taken) {
  const std::string text = R"(.visible .entry k(.param .u64 y)
{
  .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<4>;
  mov.u32 %r0, %tid.x;
  setp.lt.u32 %p1, %r0, 128;
  @%p1 bra COPIES;
  setmaxnreg.inc.sync.aligned.u32 )" +
                           std::to_string(taken) + R"(;
  bra READY;
COPIES: setmaxnreg.dec.sync.aligned.u32 )" +
                           std::to_string(kept) + R"(;
READY: ld.param.u64 %rd1, [y];
  mul.wide.u32 %rd2, %r0, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r0;
  ret;
})";
  const Result<Module> module = parse(text);
  if (!module.ok()) return module.error().message;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    std::vector<std::uint32_t> y(384, 7);
    const Result<Tally> tally =
        run(module->entries[0], {1, 384, 0},
            {GlobalBuffer{"y", reinterpret_cast<std::byte*>(y.data()), std::ssize(y) * 4}}, {.seed = seed});
    if (!tally.ok()) return tally.error().message;
    if (instructions_of(*tally, "setmaxnreg.inc") != 8) return "another number of warps";
    for (std::uint32_t thread = 0; thread < 384; ++thread)
      if (y[thread] != thread) return "wrong";
  }
  return "";
}

TEST(Hopper, GivesRegistersToThoseWhoMultiply) {
  EXPECT_EQ(run_roles(40, 232), "");
  EXPECT_EQ(run_roles(24, 240), "");
  const std::string why = run_roles(40, 240);
  EXPECT_NE(why.find("waits in line 7 for 240 registers of 168 that a thread has; the block has 256 left"),
            std::string::npos)
      << why;
  EXPECT_NE(run_roles(40, 160).find("a thread has 168 registers"), std::string::npos) << "it would have more before";
  EXPECT_NE(run_roles(36, 232).find("36 registers; expected a multiple of 8 from 24 to 256"), std::string::npos);
}

/// Pixels of windows of 3 x 3 with a border, in the order of the windows: 5 x 6 pixels of 64 channels, and two of a picture that is not there.
TEST(Hopper, CopiesThePixelsOfWindows) {
  constexpr std::int64_t kRows = 5, kColumns = 6, kChannels = 64, kPixels = 32;
  const std::string text = R"(.extern .shared .align 1024 .b8 block_memory[];
.visible .entry k(.param .align 64 .b8 x[128], .param .u64 taps, .param .u64 y)
{
  .reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<20>; .reg .b64 %rd<20>;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, block_memory;
  add.s32 %r3, %r1, 4096;
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra READY;
  mbarrier.init.shared::cta.b64 [%r3], 1;
  ld.param.u64 %rd1, [taps]; ld.global.v2.u16 {%h0, %h1}, [%rd1]; mov.b64 %rd2, x;
  mov.u32 %r2, 0; mov.u32 %r4, -1;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 4096;
  cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], [%rd2, {%r2, %r4, %r4, %r2}], [%r3], {%h0, %h1};
READY: bar.sync 0;
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;
  @!%p2 bra WAIT;
  ld.param.u64 %rd3, [y]; shl.b32 %r5, %r0, 7; add.s32 %r6, %r1, %r5; cvt.u64.u32 %rd4, %r5; add.s64 %rd5, %rd3, %rd4;
  mov.u32 %r7, 0;
MOVE: ld.shared.v4.u32 {%r8, %r9, %r10, %r11}, [%r6]; st.global.v4.u32 [%rd5], {%r8, %r9, %r10, %r11};
  add.s32 %r6, %r6, 16; add.s64 %rd5, %rd5, 16; add.s32 %r7, %r7, 1;
  setp.lt.u32 %p3, %r7, 8;
  @%p3 bra MOVE;
  ret;
})";
  const Result<Module> module = parse(text);
  ASSERT_TRUE(module.ok()) << module.error().message;
  std::vector<std::uint16_t> x(kRows * kColumns * kChannels);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint16_t>(i + 1);
  TensorMap map;
  map.memory = {"x", reinterpret_cast<std::byte*>(x.data()), std::ssize(x) * 2};
  map.extents = {kChannels, kColumns, kRows, 1};
  map.strides = {kChannels * 2, kColumns * kChannels * 2, kRows * kColumns * kChannels * 2};
  map.box = {kChannels, kPixels};
  map.swizzle = 0;
  map.lower = map.upper = {-1, -1};
  for (std::uint16_t tap_row = 0; tap_row < 3; ++tap_row)
    for (std::uint16_t tap_column = 0; tap_column < 3; ++tap_column) {
      std::vector<std::uint16_t> taps = {tap_column, tap_row}, y(kPixels * kChannels);
      const Result<Tally> tally = run(module->entries[0], {1, 32, 4224},
                                      {map, GlobalBuffer{"taps", reinterpret_cast<std::byte*>(taps.data()), 4},
                                       GlobalBuffer{"y", reinterpret_cast<std::byte*>(y.data()), std::ssize(y) * 2}});
      ASSERT_TRUE(tally.ok()) << tally.error().message;
      for (std::int64_t pixel = 0; pixel < kPixels; ++pixel)
        for (std::int64_t channel = 0; channel < kChannels; ++channel) {
          const std::int64_t row = pixel / kColumns - 1 + tap_row, column = pixel % kColumns - 1 + tap_column;
          const bool inside = row >= 0 && row < kRows && column >= 0 && column < kColumns && pixel < kRows * kColumns;
          const std::int64_t place = (row * kColumns + column) * kChannels + channel;
          ASSERT_EQ(y[static_cast<std::size_t>(pixel * kChannels + channel)], inside ? place + 1 : 0)
              << "pixel " << pixel << ", tap " << tap_row << ", " << tap_column;
        }
    }
}

}  // namespace
}  // namespace whet::ptx
