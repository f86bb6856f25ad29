#include "space/gpu/patch.h"

#include <gtest/gtest.h>

#include "cost/gpu/nest.h"
#include "space/testing/gpu_samples.h"

namespace whet {
namespace {

/// The first layer of a network: 3 channels, a stride of 2.
const char* const kFirst = R"(
x = PLACEHOLDER [1, 13, 11, 3]
w = PLACEHOLDER [5, 5, 3, 16] const
bias = PLACEHOLDER [16] const
pad(n, y, z, c) = select((y >= 2) && (y < 15) && (z >= 2) && (z < 13), x[n, (y - 2), (z - 2), c], 0f) for n in 1, y in 17, z in 15, c in 3  # pad n:batch y:row z:column c:channel
conv(n, oh, ow, oc) += (pad[n, (oh*2 + rh), (ow*2 + rw), rc]*w[rh, rw, rc, oc]) for n in 1, oh in 7, ow in 6, oc in 16, rh in 5, rw in 5, rc in 3  # conv n:batch oh:row ow:column oc:out_channel rh:tap rw:tap rc:in_channel
out(n, oh, ow, oc) = max((conv[n, oh, ow, oc] + bias[oc]), 0f) for n in 1, oh in 7, ow in 6, oc in 16
return out
)";
/// 6 groups of 4 channels each; nothing behind the sum.
const char* const kGroups = R"(
x = PLACEHOLDER [2, 8, 8, 24]
w = PLACEHOLDER [3, 3, 4, 24] const
conv(n, oh, ow, oc) += (x[n, (oh + rh), (ow + rw), (floordiv(oc, 4)*4 + rc)]*w[rh, rw, rc, oc]) for n in 2, oh in 6, ow in 6, oc in 24, rh in 3, rw in 3, rc in 4  # conv n:batch oh:row ow:column oc:out_channel rh:tap rw:tap rc:in_channel
return conv
)";

TEST(Patch, ComputesFirstLayers) { testing::expect_right(kFirst, patch_sketch, 6); }
TEST(Patch, ComputesGroups) { testing::expect_right(kGroups, patch_sketch, 6); }
TEST(Patch, HoldsWhatItCounts) {
  const Target target = *parse_target("cuda -arch=sm_75");
  for (const char* text : {kFirst, kGroups}) {
    const ComputeDag task = *parse_dag(text);
    const DesignSpace space(task, {*patch_sketch(task, target)});
    Rng rng(4);
    for (int i = 0; i < testing::random_cases(100); ++i) {
      const Candidate c = space.sample(rng);
      const LaunchWork launch = gpu_launches(space.schedule(c)->tree).at(0);
      EXPECT_LE(launch.block_memory, limits_of(target.gpu()).block_memory_per_block) << to_json(c);
    }
  }
}
TEST(Patch, LeavesSumsOfManyChannels) {
  EXPECT_FALSE(patch_sketch(*parse_dag(R"(
x = PLACEHOLDER [1, 9, 9, 32]
w = PLACEHOLDER [3, 3, 32, 8] const
conv(n, oh, ow, oc) += (x[n, (oh + rh), (ow + rw), rc]*w[rh, rw, rc, oc]) for n in 1, oh in 7, ow in 7, oc in 8, rh in 3, rw in 3, rc in 32  # conv n:batch oh:row ow:column oc:out_channel rh:tap rw:tap rc:in_channel
return conv
)"),
                            *parse_target("cuda -model=h100")));
}

}  // namespace
}  // namespace whet
