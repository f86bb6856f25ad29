#include "ptx/machine.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

namespace whet::ptx {
namespace {

/// A kernel of three parameters, a, b and c, whose body finds its thread in %r0 and the places of its words in %rd4, %rd5, %rd6.
/// The body begins in line 11.
const std::string kHead = R"(.extern .shared .align 128 .b8 block_memory[];
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c)
{
  .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<40>; .reg .f32 %f<40>; .reg .b64 %rd<40>;
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %rd0, %r0, 4;
  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c];
  add.s64 %rd4, %rd1, %rd0; add.s64 %rd5, %rd2, %rd0; add.s64 %rd6, %rd3, %rd0;
  mov.u64 %rd7, block_memory;
  add.s64 %rd8, %rd7, %rd0;
)";

struct Case {
  Grid grid = {1, 32, 4096};
  RunOptions options = {};
  std::vector<std::uint32_t> a = std::vector<std::uint32_t>(1024), b = a, c = a;

  Result<Tally> run(const std::string& body) {
    const Result<Module> module = parse(kHead + body + "\n}\n");
    if (!module.ok()) return Error(module.error());
    const auto buffer = [](const char* name, std::vector<std::uint32_t>& words) {
      return GlobalBuffer{name, reinterpret_cast<std::byte*>(words.data()), std::ssize(words) * 4};
    };
    return ptx::run(module->entries[0], grid, {buffer("a", a), buffer("b", b), buffer("c", c)}, options);
  }
  /// "" or why it does not run.
  std::string why(const std::string& body) {
    const Result<Tally> tally = run(body);
    return tally.ok() ? "" : tally.error().message;
  }
};

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

// ---- Values

/// `instruction` of %r1 and %r2 (or %f1, %f2 with their bits), its result in %r3 (%f3).
std::uint32_t result(const std::string& instruction, std::uint32_t x, std::uint32_t y = 0) {
  Case c;
  c.a[0] = x, c.b[0] = y;
  const std::string why = c.why(
      "ld.global.u32 %r1, [%rd1]; ld.global.u32 %r2, [%rd2]; mov.b32 %f1, %r1; mov.b32 %f2, %r2;\n"
      "mov.b32 %f3, 0; mov.b32 %r3, 0;\n" +
      instruction + "\nmov.b32 %r4, %f3; or.b32 %r5, %r3, %r4; st.global.u32 [%rd6], %r5; ret;");
  EXPECT_EQ(why, "") << instruction;
  return c.c[0];
}

TEST(PtxMachine, ComputesIntegers) {
  constexpr std::uint32_t kMinus3 = ~0u - 2;
  EXPECT_EQ(result("add.s32 %r3, %r1, %r2;", 5, kMinus3), 2u);
  EXPECT_EQ(result("mul.lo.s32 %r3, %r1, %r2;", 5, kMinus3), ~0u - 14);
  EXPECT_EQ(result("mul.hi.s32 %r3, %r1, %r2;", 5, kMinus3), ~0u);
  EXPECT_EQ(result("mul.hi.u32 %r3, %r1, %r2;", 1u << 31, 6), 3u);
  EXPECT_EQ(result("mad.lo.s32 %r3, %r1, %r2, %r1;", 5, kMinus3), ~0u - 9);
  EXPECT_EQ(result("div.s32 %r3, %r1, %r2;", 7, kMinus3), ~0u - 1);
  EXPECT_EQ(result("rem.s32 %r3, %r1, %r2;", 7, kMinus3), 1u);
  EXPECT_EQ(result("rem.u32 %r3, %r1, 5;", 17), 2u);
  EXPECT_EQ(result("min.s32 %r3, %r1, %r2;", 7, kMinus3), kMinus3);
  EXPECT_EQ(result("min.u32 %r3, %r1, %r2;", 7, kMinus3), 7u);
  EXPECT_EQ(result("abs.s32 %r3, %r1;", kMinus3), 3u);
  EXPECT_EQ(result("neg.s32 %r3, %r1;", 3), kMinus3);
  EXPECT_EQ(result("not.b32 %r3, %r1;", 2), kMinus3);
  EXPECT_EQ(result("shl.b32 %r3, %r1, 33;", 1), 0u) << "the amount does not wrap";
  EXPECT_EQ(result("shr.s32 %r3, %r1, 40;", kMinus3), ~0u);
  EXPECT_EQ(result("shr.u32 %r3, %r1, 1;", kMinus3), 0x7ffffffeu);
  EXPECT_EQ(result("bfe.u32 %r3, %r1, 4, 8;", 0xabcd1234), 0x23u);
  EXPECT_EQ(result("bfe.s32 %r3, %r1, 12, 4;", 0xabcdc234), ~0u - 3) << "the field's upper bit is its sign";
  EXPECT_EQ(result("bfi.b32 %r3, %r1, %r2, 8, 4;", 0x5, 0xffffffff), 0xfffff5ffu);
  EXPECT_EQ(result("prmt.b32 %r3, %r1, %r2, 0x5410;", 0x33221100, 0x77665544), 0x55441100u);
  EXPECT_EQ(result("shf.l.wrap.b32 %r3, %r1, %r2, 8;", 0x11223344, 0x55667788), 0x66778811u);
  EXPECT_EQ(result("dp4a.s32.s32 %r3, %r1, %r2, 100;", 0x01ff0203, 0x01010101), 105u);
  EXPECT_EQ(result("dp4a.u32.s32 %r3, %r1, %r2, 100;", 0x01ff0203, 0x01010101), 361u);
  EXPECT_EQ(result("mul.wide.s32 %rd9, %r1, %r2; shr.u64 %rd9, %rd9, 32; cvt.u32.u64 %r3, %rd9;", 5, kMinus3), ~0u);
  EXPECT_EQ(result("setp.lt.s32 %p1, %r1, %r2; selp.b32 %r3, 1, 2, %p1;", kMinus3, 0), 1u);
  EXPECT_EQ(result("setp.lt.u32 %p1, %r1, %r2; not.pred %p2, %p1; selp.b32 %r3, 1, 2, %p2;", kMinus3, 0), 1u);
  EXPECT_EQ(result("mov.b32 {%h1, %h2}, %r1; mov.b32 %r3, {%h2, %h1};", 0x12345678), 0x56781234u);
  EXPECT_EQ(result("cvt.s32.s8 %r3, %r1;", 0x1fd), kMinus3);
  EXPECT_EQ(result("cvt.sat.u8.s32 %r3, %r1;", 300), 255u);
}

TEST(PtxMachine, ComputesFloats) {
  const float tiny = 1e-40f;
  EXPECT_EQ(result("add.rn.f32 %f3, %f1, %f2;", bits(1.5f), bits(-4)), bits(-2.5f));
  EXPECT_EQ(result("add.rn.f32 %f3, %f1, %f2;", bits(tiny), 0), bits(tiny));
  EXPECT_EQ(result("add.rn.ftz.f32 %f3, %f1, %f2;", bits(tiny), 0), 0u);
  EXPECT_EQ(result("fma.rn.f32 %f3, %f1, %f1, %f2;", bits(1 + 0x1p-12f), bits(-1 - 0x1p-11f)), bits(0x1p-24f))
      << "rounded once";
  EXPECT_EQ(result("max.f32 %f3, %f1, %f2;", bits(NAN), bits(2)), bits(2));
  EXPECT_EQ(result("max.NaN.f32 %f3, %f1, %f2; mov.b32 %r6, %f3; setp.nan.f32 %p1, %f3, %f3; selp.b32 %r3, 1, 0, %p1; "
                   "mov.f32 %f3, 0f00000000;",
                   bits(NAN), bits(2)),
            1u);
  EXPECT_EQ(result("setp.lt.f32 %p1, %f1, %f2; selp.b32 %r3, 1, 2, %p1;", bits(NAN), 0), 2u);
  EXPECT_EQ(result("setp.ltu.f32 %p1, %f1, %f2; selp.b32 %r3, 1, 2, %p1;", bits(NAN), 0), 1u);
  EXPECT_EQ(result("ex2.approx.ftz.f32 %f3, %f1;", bits(3)), bits(8));
  EXPECT_EQ(result("rsqrt.approx.ftz.f32 %f3, %f1;", bits(16)), bits(0.25f));
  EXPECT_EQ(result("cvt.rni.f32.f32 %f3, %f1;", bits(2.5f)), bits(2)) << "ties go to the even one";
  EXPECT_EQ(result("cvt.rmi.f32.f32 %f3, %f1;", bits(-2.5f)), bits(-3));
  EXPECT_EQ(result("cvt.rzi.s32.f32 %r3, %f1;", bits(-2.5f)), ~0u - 1);
  EXPECT_EQ(result("cvt.rzi.s32.f32 %r3, %f1;", bits(1e20f)), 0x7fffffffu);
  EXPECT_EQ(result("cvt.rzi.u32.f32 %r3, %f1;", bits(NAN)), 0u);
  EXPECT_EQ(result("cvt.rn.f32.s32 %f3, %r1;", ~0u), bits(-1));
  EXPECT_EQ(result("cvt.rn.f32.u32 %f3, %r1;", ~0u), bits(4294967296.0f));
  EXPECT_EQ(result("cvt.rn.f16x2.f32 %r3, %f1, %f2;", bits(1), bits(-2)), 0x3c00c000u)
      << "the first one is in the upper half";
  EXPECT_EQ(result("cvt.rn.bf16x2.f32 %r3, %f1, %f2;", bits(1 + 0x1p-8f), bits(1 + 3 * 0x1p-8f)), 0x3f803f82u);
  EXPECT_EQ(result("cvt.rna.tf32.f32 %r3, %f1;", bits(1 + 0x1p-11f)), bits(1 + 0x1p-10f)) << "ties go away from zero";
  EXPECT_EQ(result("cvt.rn.tf32.f32 %r3, %f1;", bits(1 + 0x1p-11f)), bits(1)) << "ties go to even";
  EXPECT_EQ(result("cvt.rn.tf32.f32 %r3, %f1;", bits(1 + 3 * 0x1p-11f)), bits(1 + 0x1p-9f));
  EXPECT_EQ(result("cvt.rn.f16.f32 %h1, %f1; cvt.f32.f16 %f3, %h1;", bits(2049)), bits(2048));
}

// ---- Memory

TEST(PtxMachine, NamesAnAccessOutsideOfItsBuffer) {
  Case c;
  EXPECT_EQ(
      c.why("ld.global.f32 %f1, [%rd4+4096]; ret;"),
      "block 0, warp 0, line 11, `ld.global.f32`: lane 0 reads 4 bytes from byte 4096 of `a`, which has 4096 bytes");
  EXPECT_EQ(
      c.why("st.global.v2.u32 [%rd3+-8], {%r0, %r0}; ret;"),
      "block 0, warp 0, line 11, `st.global.v2.u32`: lane 0 writes 8 bytes 8 in front of `c`, which has 4096 bytes");
  EXPECT_EQ(
      c.why("ld.global.v2.f32 {%f1, %f2}, [%rd1+4]; ret;"),
      "block 0, warp 0, line 11, `ld.global.v2.f32`: lane 0 reads 8 bytes at an address that is no multiple of them");
  EXPECT_EQ(c.why("st.shared.u32 [%rd8+4000], %r0; ret;"),
            "block 0, warp 0, line 11, `st.shared.u32`: lane 24 writes 4 bytes from byte 4096 of block memory, which "
            "has 4096");
  EXPECT_EQ(c.why("ld.global.u32 %r1, [%rd8]; ret;"),
            "block 0, warp 0, line 11, `ld.global.u32`: lane 0 reads block memory");
  EXPECT_EQ(c.why("ld.shared.u32 %r1, [%rd4]; ret;"),
            "block 0, warp 0, line 11, `ld.shared.u32`: lane 0 reads global memory");
  EXPECT_EQ(c.why("ld.u32 %r1, [%rd8]; ld.u32 %r1, [%rd4]; ret;"), "") << "generic addresses are of either";
  EXPECT_EQ(c.why("ld.u32 %r1, [%rd0]; ret;"),
            "block 0, warp 0, line 11, `ld.u32`: lane 0 reads 4 bytes outside of every buffer");
  EXPECT_EQ(c.why("cp.async.ca.shared.global [%rd8], [%rd4+4000], 4; ret;"),
            "block 0, warp 0, line 11, `cp.async.ca.shared.global`: lane 24 copies 4 bytes from byte 4096 of `a`, "
            "which has 4096 bytes");
  EXPECT_EQ(c.why("st.global.u32 [%rd4], %r0; ld.global.nc.u32 %r1, [%rd4]; ret;"),
            "block 0, warp 0, line 11, `ld.global.nc.u32`: lane 0 reads `a`, which the launch stores to and reads past "
            "the coherent caches");
}

TEST(PtxMachine, HasMemoryOfEachThread) {
  Case c;
  EXPECT_EQ(c.why(".local .align 4 .b8 depot[8];\nmov.u64 %rd9, depot; st.local.u32 [%rd9+4], %r0; ld.local.u32 %r1, "
                  "[%rd9+4];\n"
                  "st.global.u32 [%rd6], %r1; ret;"),
            "");
  EXPECT_EQ(c.c[31], 31u);
  EXPECT_EQ(c.why(".local .align 4 .b8 depot[8];\nmov.u64 %rd9, depot; st.local.u32 [%rd9+8], %r0; ret;"),
            "block 0, warp 0, line 12, `st.local.u32`: lane 0 writes 4 bytes outside of every buffer");
}

/// The wavefronts of 32 lanes that read `bytes` each, `stride` bytes apart.
Wavefronts wavefronts(const std::string& load, int stride) {
  Case c;
  c.grid.block_memory = 32 * 1024;
  const Result<Tally> tally = c.run("mul.wide.u32 %rd9, %r0, " + std::to_string(stride) +
                                    "; add.s64 %rd9, %rd7, %rd9; " + load + ", [%rd9]; ret;");
  EXPECT_TRUE(tally.ok()) << tally.error().message;
  return wavefronts_of(*tally, "ld.shared");
}
TEST(PtxMachine, CountsBankConflicts) {
  const auto expect = [](const Wavefronts& got, std::int64_t taken, std::int64_t least) {
    EXPECT_EQ(got.taken, taken);
    EXPECT_EQ(got.least, least);
  };
  expect(wavefronts("ld.shared.f32 %f1", 4), 1, 1);
  expect(wavefronts("ld.shared.f32 %f1", 0), 1, 1);
  expect(wavefronts("ld.shared.f32 %f1", 8), 2, 1);
  expect(wavefronts("ld.shared.f32 %f1", 128), 32, 1);
  expect(wavefronts("ld.shared.f32 %f1", 132), 1, 1);
  expect(wavefronts("ld.shared.v4.f32 {%f1, %f2, %f3, %f4}", 16), 4, 4);
  expect(wavefronts("ld.shared.v4.f32 {%f1, %f2, %f3, %f4}", 128), 32, 4);
  expect(wavefronts("ld.shared.v4.f32 {%f1, %f2, %f3, %f4}", 144), 4, 4);
  expect(wavefronts("ld.shared.v2.f32 {%f1, %f2}", 8), 2, 2);
}

// ---- Warps

TEST(PtxMachine, LetsPartsOfAWarpMeetAgain) {
  Case c;
  const Result<Tally> tally = c.run(R"(mov.u32 %r1, 0;
LOOP: setp.ge.u32 %p1, %r1, %r0;
  @%p1 bra DONE;
  add.s32 %r1, %r1, 1;
  bra LOOP;
DONE: shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;
  st.global.u32 [%rd6], %r2;
  ret;)");
  ASSERT_TRUE(tally.ok()) << tally.error().message;
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(c.c[lane], lane ^ 1);
  EXPECT_EQ(tally->instructions.at("shfl.sync.bfly.b32"), 1);
  EXPECT_EQ(tally->instructions.at("setp.ge.u32"), 32);
  EXPECT_EQ(instructions_of(*tally, "ld.param"), 3);
}

TEST(PtxMachine, NamesAPartOfAWarpWhereAllMustMeet) {
  Case c;
  EXPECT_EQ(c.why("setp.lt.u32 %p1, %r0, 7;\n@%p1 bra DONE;\nbar.sync 0;\nDONE: ret;"),
            "block 0, warp 0, line 13, `bar.sync`: a part of the warp comes here, where all 32 lanes must meet");
  EXPECT_EQ(
      c.why("setp.lt.u32 %p1, %r0, 7;\n@%p1 shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;\nret;"),
      "block 0, warp 0, line 12, `shfl.sync.bfly.b32`: a part of the warp comes here, where all 32 lanes must meet");
}

TEST(PtxMachine, NamesABarrierThatAWarpDoesNotComeTo) {
  Case c;
  c.grid.threads = 64;
  EXPECT_EQ(c.why("setp.lt.u32 %p1, %r0, 32;\n@%p1 bra DONE;\nbar.sync 0;\nDONE: ret;"),
            "block 0: warp 1 waits at the barrier of line 13 that warp 0 does not come to");
}

const char* const kNeighbour = R"(st.shared.u32 [%rd8], %r0;
  bar.sync 0;
  xor.b32 %r1, %r0, 32;
  mul.wide.u32 %rd9, %r1, 4; add.s64 %rd9, %rd7, %rd9;
  ld.shared.u32 %r2, [%rd9];
  st.global.u32 [%rd6], %r2;
  ret;)";

TEST(PtxMachine, NamesARaceOfTwoWarps) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    Case c{{1, 64, 4096}, {.seed = seed}};
    EXPECT_EQ(c.why(kNeighbour), "");
    EXPECT_EQ(c.c[40], 8u);
    std::string less = kNeighbour;
    less.erase(less.find("bar.sync 0;"), 11);
    EXPECT_NE(c.why(less).find(" without a barrier between"), std::string::npos) << c.why(less);
  }
}

TEST(PtxMachine, NamesWhatACopyMayStillWrite) {
  const auto kernel = [](const std::string& wait) {
    return "cp.async.ca.shared.global [%rd8], [%rd4], 4;\ncp.async.commit_group;\ncp.async.ca.shared.global "
           "[%rd8+128], [%rd5], 4;\n"
           "cp.async.commit_group;\n" +
           wait +
           "\nld.shared.u32 %r1, [%rd8];\ncp.async.wait_group 0;\n"
           "ld.shared.u32 %r2, [%rd8+128];\nadd.s32 %r3, %r1, %r2;\nst.global.u32 [%rd6], %r3;\nret;";
  };
  Case c;
  c.a[5] = 100, c.b[5] = 20;
  EXPECT_EQ(c.why(kernel("cp.async.wait_group 1;")), "");
  EXPECT_EQ(c.c[5], 120u);
  EXPECT_EQ(c.why(kernel("cp.async.wait_group 2;")),
            "block 0, warp 0, line 16, `ld.shared.u32`: lane 0 reads block memory that a copy may still write");
  EXPECT_EQ(c.why("cp.async.ca.shared.global [%rd8], [%rd4], 4; ret;"),
            "block 0, thread 0 ends with copies that it never waited for");
}

/// Without judging races the values show what is missing, in some order.
TEST(PtxMachine, LandsCopiesEarlyOrLateByTheSeed) {
  int early = 0, late = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Case c{{1, 32, 4096}, {.seed = seed, .judges_races = false}};
    c.a.assign(1024, 7);
    ASSERT_EQ(c.why("cp.async.ca.shared.global [%rd8], [%rd4], 4;\nld.shared.u32 %r1, [%rd8];\ncp.async.commit_group;\n"
                    "cp.async.wait_group 0;\nst.global.u32 [%rd6], %r1;\nret;"),
              "");
    for (std::size_t lane = 0; lane < 32; ++lane) (c.c[lane] == 7 ? early : late) += 1;
    for (std::size_t lane = 0; lane < 32; ++lane) EXPECT_TRUE(c.c[lane] == 7 || c.c[lane] == ~0u);
  }
  EXPECT_GT(early, 100);
  EXPECT_GT(late, 100);
}

TEST(PtxMachine, CopiesNoMoreThanWhatIsValid) {
  Case c;
  c.a.assign(1024, 7);
  EXPECT_EQ(
      c.why("mul.wide.u32 %rd9, %r0, 16; add.s64 %rd10, %rd7, %rd9; add.s64 %rd11, %rd1, %rd9;\nmov.u32 %r1, 8;\n"
            "cp.async.cg.shared.global [%rd10], [%rd11], 16, %r1;\ncp.async.commit_group; cp.async.wait_group 0;\n"
            "ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [%rd10];\nadd.s64 %rd12, %rd3, %rd9; st.global.v4.u32 [%rd12], "
            "{%r2, %r3, %r4, %r5};\nret;"),
      "");
  EXPECT_EQ((std::vector<std::uint32_t>(c.c.begin() + 4, c.c.begin() + 8)), (std::vector<std::uint32_t>{7, 7, 0, 0}));
}

TEST(PtxMachine, StopsWhatDoesNotEnd) {
  Case c;
  c.options.most_instructions = 1000;
  EXPECT_EQ(c.why("mov.u32 %r1, 0;\nL: add.s32 %r1, %r1, 1; setp.ne.s32 %p1, %r1, 0; @%p1 bra L;\nret;").substr(0, 26),
            "block 0, warp 0, line 12, ");
}

// ---- Barriers in memory

/// One warp copies 128 words at a time into a ring of two slots, the other adds them up. `full` and `free` are two memory barriers each.
const char* const kRing = R"(mov.u64 %rd10, block_memory;
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra READY;
  mbarrier.init.shared::cta.b64 [%rd10+1024], 1;
  mbarrier.init.shared::cta.b64 [%rd10+1032], 1;
  mbarrier.init.shared::cta.b64 [%rd10+1040], 32;
  mbarrier.init.shared::cta.b64 [%rd10+1048], 32;
READY: bar.sync 0;
  mov.u32 %r1, 0;
  mov.u32 %r9, 0;
  setp.ge.u32 %p2, %r0, 32;
  @%p2 bra ADD;
COPY: and.b32 %r2, %r1, 1;
  mul.wide.u32 %rd11, %r2, 8; add.s64 %rd11, %rd10, %rd11;
  shr.u32 %r3, %r1, 1; and.b32 %r3, %r3, 1; xor.b32 %r3, %r3, 1;
FREE: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%rd11+1040], %r3;
  @!%p3 bra FREE;
  @%p1 bra COPIED;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%rd11+1024], 512;
  mul.wide.u32 %rd12, %r2, 512; add.s64 %rd12, %rd10, %rd12;
  mul.wide.u32 %rd13, %r1, 512; add.s64 %rd13, %rd1, %rd13;
  add.s64 %rd14, %rd11, 1024;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%rd12], [%rd13], 512, [%rd14];
COPIED: add.s32 %r1, %r1, 1;
  setp.lt.u32 %p4, %r1, 8;
  @%p4 bra COPY;
  ret;
ADD: and.b32 %r2, %r1, 1;
  mul.wide.u32 %rd11, %r2, 8; add.s64 %rd11, %rd10, %rd11;
  shr.u32 %r3, %r1, 1; and.b32 %r3, %r3, 1;
FULL: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%rd11+1024], %r3;
  @!%p3 bra FULL;
  sub.s32 %r4, %r0, 32; shl.b32 %r5, %r2, 9;
  mad.lo.s32 %r5, %r4, 16, %r5; cvt.u64.u32 %rd12, %r5; add.s64 %rd12, %rd10, %rd12;
  ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%rd12];
  add.s32 %r10, %r10, %r11; add.s32 %r12, %r12, %r13; add.s32 %r10, %r10, %r12; add.s32 %r9, %r9, %r10;
  mbarrier.arrive.shared::cta.b64 _, [%rd11+1040];
  add.s32 %r1, %r1, 1;
  setp.lt.u32 %p4, %r1, 8;
  @%p4 bra ADD;
  st.global.u32 [%rd6], %r9;
  ret;)";

/// "" where a ring gives the right sums in every order, else a sentence or "wrong".
std::string ring(const std::string& body) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    Case c{{1, 64, 2048}, {.seed = seed}};
    for (std::uint32_t i = 0; i < 1024; ++i) c.a[i] = i * i;
    const std::string why = c.why(body);
    if (!why.empty()) return why;
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      std::uint32_t sum = 0;
      for (std::uint32_t step = 0; step < 8; ++step)
        for (std::uint32_t k = 0; k < 4; ++k) sum += c.a[128 * step + 4 * lane + k];
      if (c.c[32 + lane] != sum) return "wrong";
    }
  }
  return "";
}
std::string changed(const std::string& from, const std::string& to) {
  std::string body = kRing;
  const std::size_t at = body.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return body.replace(at, from.size(), to);
}

TEST(PtxMachine, RunsRingsOfMemoryBarriers) { EXPECT_EQ(ring(kRing), ""); }
TEST(PtxMachine, FindsMutantsOfRings) {
  const auto has = [](const std::string& why, const char* what) { return why.find(what) != std::string::npos; };
  const char* const kHangs = "for a phase that does not end";
  EXPECT_PRED2(has, ring(changed("[%rd11+1024], 512;", "[%rd11+1024], 528;")), kHangs) << "bytes that never come";
  EXPECT_PRED2(has, ring(changed("[%rd10+1040], 32;", "[%rd10+1040], 33;")), kHangs) << "an arrival that never comes";
  EXPECT_NE(ring(changed(" xor.b32 %r3, %r3, 1;", "")), "") << "the writer's parity";
  EXPECT_NE(ring(changed("shr.u32 %r3, %r1, 1; and.b32 %r3, %r3, 1;\nFULL",
                         "shr.u32 %r3, %r1, 1; not.b32 %r3, %r3; and.b32 %r3, %r3, 1;\nFULL")),
            "")
      << "the reader's parity";
  EXPECT_NE(ring(changed("@!%p3 bra FULL;", "")), "") << "a wait less";
  EXPECT_NE(ring(changed("@!%p3 bra FREE;", "")), "") << "a wait less";
  EXPECT_NE(ring(changed("mbarrier.arrive.shared::cta.b64 _, [%rd11+1040];", "")), "") << "an arrival less";
  EXPECT_NE(ring(changed("READY: bar.sync 0;", "READY:")), "") << "used before it is made";
  EXPECT_NE(ring(changed("mul.wide.u32 %rd12, %r2, 512;", "mul.wide.u32 %rd12, %r2, 496;")), "") << "a stride";
}

}  // namespace
}  // namespace whet::ptx
