#include "workflow/kernels_text.h"

#include <gtest/gtest.h>

namespace whet {
namespace kernels_text_test {

const std::string kOne = "cpu -mcpu=haswell -threads=1", kTwo = "cpu -mcpu=haswell -threads=2";
const PlannedKernel kChain{"b", "chain: a+b", false}, kBlocks{"c", "nchw16c", false},
    kCopy{"b", "nhwc -> nchw16c", true};

Plan plan_for(const std::string& graph, const std::string& target, std::vector<PlannedKernel> kernels) {
  return {.graph = graph, .target = target, .kernels = std::move(kernels)};
}

TEST(OtherPlans, AreToldByWhatOnlyOneOfTheTwoHas) {
  const std::vector<Plan> plans = {plan_for("g", kOne, {kCopy, kBlocks}), plan_for("g", kTwo, {kChain, kBlocks}),
                                   plan_for("other", kOne, {})};
  EXPECT_EQ(
      other_plans_text(plans, "g", kTwo, {kChain, kBlocks}),
      "For cpu -mcpu=haswell -threads=1 the records have another plan: 1 kernel as nchw16c, 1 copy nhwc -> nchw16c\n"
      "  only here   b chain: a+b\n"
      "  only there  b copied nhwc -> nchw16c\n");
}
TEST(OtherPlans, CountByTheLastLineOfATarget) {
  const std::vector<Plan> plans = {plan_for("g", kOne, {kChain}), plan_for("g", kOne, {})};
  EXPECT_EQ(other_plans_text(plans, "g", kTwo, {}),
            "For cpu -mcpu=haswell -threads=1 the records have the same plan: the usual kernels\n");
}
TEST(OtherPlans, AreTheSameInAnyOrder) {
  EXPECT_EQ(
      other_plans_text({plan_for("g", kOne, {kBlocks, kChain})}, "g", kTwo, {kChain, kBlocks}),
      "For cpu -mcpu=haswell -threads=1 the records have the same plan: 1 kernel as chain, 1 kernel as nchw16c\n");
}
TEST(OtherPlans, AreNoneWhereOneTargetHasPlans) {
  EXPECT_EQ(other_plans_text({plan_for("g", kTwo, {kChain})}, "g", kTwo, {}), "");
}

}  // namespace kernels_text_test
}  // namespace whet
