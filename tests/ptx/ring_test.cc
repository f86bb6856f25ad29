// A product as the design of kernels for Hopper has it, which whet does not emit yet: a group of warps fills a ring of slots by TMA, two
// groups multiply what is in them by wgmma, and registers go from the first one to the others.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "ptx/machine.h"
#include "tensor/dtype.h"

namespace whet::ptx {
namespace ring_test {

constexpr std::int64_t kRows = 128, kColumns = 64, kStepTerms = 64, kSteps = 5, kTerms = kSteps * kStepTerms;
constexpr int kSumsOfThread = 32;

/// What the design's rules say, and a fault where a member is another number.
struct Ring {
  int bytes = 24576;      ///< of a slot, which a memory barrier expects
  int arrivals = 8;       ///< that give a slot back: one of each warp that multiplies
  int lane_mask = 31;     ///< threads whose number is 0 behind it arrive
  int pending = 1;        ///< products that may be under way when the slot of the step before is given back
  int stride = 64;        ///< of a descriptor: eight rows, in units of 16 bytes
  int kept = 40;          ///< registers of a thread that copies
  bool own_slot = false;  ///< a step gives its own slot back
};

std::string list_of_sums() {
  std::string list;
  for (int i = 0; i < kSumsOfThread; ++i) list += (i > 0 ? ", %f" : "{%f") + std::to_string(i);
  return list + "}";
}

std::string text_of(const Ring& ring) {
  std::string text = fmt::format(R"(.extern .shared .align 1024 .b8 block_memory[];
.visible .entry k(.param .align 64 .b8 a[128], .param .align 64 .b8 b[128], .param .u64 c)
{{
  .reg .pred %p<8>; .reg .b32 %r<20>; .reg .f32 %f<32>; .reg .b64 %rd<20>;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, block_memory;
  add.s32 %r2, %r1, 49152;
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra READY;
  mbarrier.init.shared::cta.b64 [%r2], 1;
  mbarrier.init.shared::cta.b64 [%r2+8], 1;
  mbarrier.init.shared::cta.b64 [%r2+16], {arrivals};
  mbarrier.init.shared::cta.b64 [%r2+24], {arrivals};
  fence.mbarrier_init.release.cluster;
READY: bar.sync 0;
  mov.u32 %r3, 0;
  setp.ge.u32 %p2, %r0, 128;
  @%p2 bra MULTIPLY;
  setmaxnreg.dec.sync.aligned.u32 {kept};
  @%p1 bra DONE;
  mov.b64 %rd1, a; mov.b64 %rd2, b; mov.u32 %r10, 0;
COPY: and.b32 %r4, %r3, 1; shl.b32 %r5, %r4, 3; add.s32 %r5, %r2, %r5;
  shr.u32 %r6, %r3, 1; and.b32 %r6, %r6, 1; xor.b32 %r6, %r6, 1;
FREE: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r5+16], %r6;
  @!%p3 bra FREE;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], {bytes};
  mul.lo.u32 %r7, %r4, 24576; add.s32 %r7, %r1, %r7; add.s32 %r9, %r7, 16384; shl.b32 %r8, %r3, 6;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r7], [%rd1, {{%r8, %r10}}], [%r5];
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r9], [%rd2, {{%r8, %r10}}], [%r5];
  add.s32 %r3, %r3, 1;
  setp.lt.u32 %p4, %r3, 5;
  @%p4 bra COPY;
DONE: ret;
MULTIPLY: setmaxnreg.inc.sync.aligned.u32 232;
  and.b32 %r11, %r0, {lane_mask}; setp.eq.u32 %p5, %r11, 0;
  shr.u32 %r12, %r0, 7; sub.s32 %r12, %r12, 1; shl.b32 %r12, %r12, 13;
  mov.pred %p6, 0;
STEP: and.b32 %r4, %r3, 1; shl.b32 %r5, %r4, 3; add.s32 %r5, %r2, %r5;
  shr.u32 %r6, %r3, 1; and.b32 %r6, %r6, 1;
FULL: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r5], %r6;
  @!%p3 bra FULL;
  mul.lo.u32 %r7, %r4, 24576; add.s32 %r7, %r1, %r7; add.s32 %r9, %r7, 16384; add.s32 %r8, %r7, %r12;
  shr.u32 %r8, %r8, 4; cvt.u64.u32 %rd3, %r8; or.b64 %rd5, %rd3, {descriptor};
  shr.u32 %r9, %r9, 4; cvt.u64.u32 %rd4, %r9; or.b64 %rd6, %rd4, {descriptor};
  wgmma.fence.sync.aligned;
)",
                                 fmt::arg("arrivals", ring.arrivals), fmt::arg("kept", ring.kept),
                                 fmt::arg("bytes", ring.bytes), fmt::arg("lane_mask", ring.lane_mask),
                                 fmt::arg("descriptor", fmt::format("0x40000{:03x}00010000", ring.stride)));
  for (int k = 0; k < kStepTerms / 16; ++k)
    text += "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " + list_of_sums() +
            ", %rd5, %rd6, %p6, 1, 1, 0, 0;\nmov.pred %p6, 1; add.s64 %rd5, %rd5, 2; add.s64 %rd6, %rd6, 2;\n";
  text += fmt::format(R"(wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned {pending};
  setp.gt.u32 %p7, %r3, 0; and.pred %p7, %p7, %p5;
  xor.b32 %r13, %r4, {other}; shl.b32 %r13, %r13, 3; add.s32 %r13, %r2, %r13;
  @%p7 mbarrier.arrive.shared::cta.b64 _, [%r13+16];
  add.s32 %r3, %r3, 1;
  setp.lt.u32 %p4, %r3, 5;
  @%p4 bra STEP;
  wgmma.wait_group.sync.aligned 0;
  @%p5 mbarrier.arrive.shared::cta.b64 _, [%r5+16];
  ld.param.u64 %rd7, [c]; sub.s32 %r14, %r0, 128; mul.wide.u32 %rd8, %r14, 128; add.s64 %rd9, %rd7, %rd8;
)",
                      fmt::arg("pending", ring.pending), fmt::arg("other", ring.own_slot ? 0 : 1));
  for (int i = 0; i < kSumsOfThread; ++i) text += fmt::format("st.global.f32 [%rd9+{}], %f{};\n", 4 * i, i);
  return text + "ret;\n}\n";
}

TensorMap tiles_of(const char* name, std::vector<std::uint16_t>& halves, std::int64_t rows) {
  TensorMap map;
  map.memory = {name, reinterpret_cast<std::byte*>(halves.data()), std::ssize(halves) * 2};
  map.extents = {kTerms, rows};
  map.box = {kStepTerms, rows};
  map.strides = {kTerms * 2};
  return map;
}

/// "" where the sums are right in every order, else a sentence or "wrong".
std::string run_ring(const Ring& ring) {
  const Result<Module> module = parse(text_of(ring));
  if (!module.ok()) return module.error().message;
  Rng rng(3);
  std::vector<std::uint16_t> a(kRows * kTerms), b(kColumns * kTerms);
  for (auto* list : {&a, &b})
    for (std::uint16_t& x : *list) x = float_to_half(static_cast<float>(rng.between(-8, 8)));
  std::vector<float> want(kRows * kColumns);
  for (std::int64_t row = 0; row < kRows; ++row)
    for (std::int64_t column = 0; column < kColumns; ++column)
      for (std::int64_t k = 0; k < kTerms; ++k)
        want[static_cast<std::size_t>(row * kColumns + column)] +=
            half_to_float(a[static_cast<std::size_t>(row * kTerms + k)]) *
            half_to_float(b[static_cast<std::size_t>(column * kTerms + k)]);
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    std::vector<float> c(kRows * kColumns);
    const GlobalBuffer sums_buffer{"c", reinterpret_cast<std::byte*>(c.data()), std::ssize(c) * 4};
    const Result<Tally> tally = run(module->entries[0], {1, 384, 49152 + 32},
                                    {tiles_of("a", a, kRows), tiles_of("b", b, kColumns), sums_buffer}, {.seed = seed});
    if (!tally.ok()) return tally.error().message;
    for (std::int64_t thread = 0; thread < 256; ++thread)
      for (std::int64_t i = 0; i < kSumsOfThread; ++i) {
        const std::int64_t row = thread / 32 * 16 + thread % 32 / 4 + 8 * (i / 2 % 2),
                           column = 8 * (i / 4) + 2 * (thread % 4) + i % 2;
        if (c[static_cast<std::size_t>(thread * kSumsOfThread + i)] !=
            want[static_cast<std::size_t>(row * kColumns + column)])
          return "wrong";
      }
  }
  return "";
}

TEST(HopperRing, MultipliesWhatAnotherGroupCopies) { EXPECT_EQ(run_ring({}), ""); }

TEST(HopperRing, ShowsWhereARuleIsBroken) {
  EXPECT_NE(run_ring({.pending = 2}), "") << "products under way read the slot that is given back";
  EXPECT_NE(run_ring({.own_slot = true}), "") << "so they do where a step gives its own slot back";
  EXPECT_NE(run_ring({.arrivals = 2, .lane_mask = 127}), "")
      << "one warp of a group does not know what the others read";
  EXPECT_NE(run_ring({.arrivals = 7}), "") << "one warp is not waited for";
  EXPECT_NE(run_ring({.arrivals = 9}), "") << "an arrival that never comes";
  EXPECT_NE(run_ring({.bytes = 24592}), "") << "bytes that never come";
  EXPECT_NE(run_ring({.stride = 96}), "") << "rows of a descriptor";
  EXPECT_NE(run_ring({.kept = 48}), "") << "more registers than the block has";
}

}  // namespace ring_test
}  // namespace whet::ptx
