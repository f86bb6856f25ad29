#include "space/gpu/limits.h"

#include <gtest/gtest.h>

namespace whet {
namespace {

const GpuLimits& a100() { return limits_of({80, 108}); }

std::string why(const Objection& objection) { return objection.value_or("legal"); }

TEST(GpuSpaceLimits, AreSentences) {
  EXPECT_EQ(why(threads_fit(96, 512)), "legal");
  EXPECT_EQ(why(threads_fit(48, 512)), "a block would have 48 threads; expected whole warps of 32, at most 512");
  EXPECT_EQ(why(threads_fit(1024, 512)), "a block would have 1024 threads; expected whole warps of 32, at most 512");
  EXPECT_EQ(why(memory_fits(163 * 1024, a100())), "legal");
  EXPECT_EQ(why(memory_fits(163 * 1024 + 4, a100())),
            "the tiles take 166916 bytes of block memory; a block has 166912");
  EXPECT_EQ(why(registers_fit(128, 512, a100())), "legal");
  EXPECT_EQ(why(registers_fit(256, 32, a100())), "a thread needs about 256 registers; it has 255");
  EXPECT_EQ(why(registers_fit(140, 512, a100())),
            "512 threads need about 140 registers each; an SM has 65536 for all of them");
  EXPECT_EQ(why(registers_fit(128, 128, a100(), 4)), "legal");
  EXPECT_EQ(why(registers_fit(129, 128, a100(), 4)),
            "512 threads need about 129 registers each; an SM has 65536 for all of them");
  EXPECT_EQ(why(blocks_fit(8, 256, a100())), "legal");
  EXPECT_EQ(why(blocks_fit(9, 256, a100())), "9 blocks of 8 warps are more than an SM holds: 32 blocks, 64 warps");
  EXPECT_EQ(why(terms_enough(70, 64)), "legal");
  EXPECT_EQ(why(terms_enough(70, 128)), "threads would take 128 elements at once; a row has 70");
  EXPECT_EQ(why(split_fits(1152, 1, 7)), "legal") << "whole, whatever the step";
  EXPECT_EQ(why(split_fits(1152, 9, 32)), "legal");
  EXPECT_EQ(why(split_fits(1152, 12, 32)),
            "12 parts of 1152 terms are no whole steps of 32, at least 4 of them and 64 terms");
  EXPECT_EQ(why(copies_whole(128, 256)), "legal");
  EXPECT_EQ(why(copies_whole(127, 256)), "127 of 256 threads have something to copy; expected at least half of them");
  EXPECT_EQ(why(copies_few(32)), "legal");
  EXPECT_EQ(why(copies_few(33)), "a thread would copy 33 times a step; expected at most 32");
  EXPECT_EQ(why(waste_bounded(49, 64)), "legal");
  EXPECT_EQ(why(waste_bounded(3, 64)), "legal") << "a small axis has no better tile";
  EXPECT_EQ(why(waste_bounded(65, 64)),
            "tiles of 64 compute 128 elements of an axis of 65; expected at most half more");
  EXPECT_EQ(why(unroll_fits(32, 0)), "legal");
  EXPECT_EQ(why(unroll_fits(32, 8)), "legal");
  EXPECT_EQ(why(unroll_fits(12, 8)), "12 steps are no whole bodies of 8");
  EXPECT_EQ(why(unroll_fits(8, 8)), "8 steps are no whole bodies of 8") << "that is 0";
  EXPECT_EQ(why(raster_worth(1, 16, 16, 128, 1000, 1000)), "legal");
  EXPECT_EQ(why(raster_worth(4, 7, 100, 128, 1000, 1000)), "7 by 100 blocks have one order alone");
  EXPECT_EQ(why(raster_worth(1, 15, 17, 128, 1000, 1000)), "255 blocks all run at the same time on 128 SMs");
  EXPECT_EQ(why(raster_worth(1, 16, 16, 128, 250, 1000)), "L2 holds the 250 bytes of both operands in any order");
  EXPECT_EQ(why(body_bounded(2048)), "legal");
  EXPECT_EQ(why(body_bounded(4096)), "an unrolled body would have 4096 multiply-adds; expected at most 2048");
}

}  // namespace
}  // namespace whet
