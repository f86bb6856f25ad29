#include "plan/chains.h"

#include <gtest/gtest.h>

#include "compute/anchor.h"
#include "passes/optimize.h"
#include "passes/testing/graph_builder.h"
#include "records/testing/sample.h"
#include "space/space.h"

namespace whet::chains_test {
namespace {

const Target kTarget = *parse_target("cpu -mcpu=haswell -threads=2");

/// A depthwise convolution and the pointwise one that reads it.
FusedGraph bottleneck() {
  testing::GraphBuilder b;
  const ValueId deep = b.relu("dw", b.conv("dwc", b.input("in", {1, 32, 14, 14}), 32, 3, 1, 1, 32));
  return optimize(b.finish({b.relu("pw", b.conv("pwc", deep, 16, 1))}), {}).value();
}
std::optional<PlannedNetwork> with(std::optional<double> gain, const Records& records = Records()) {
  return with_chains(bottleneck(), records, kTarget, {}, [&](const Task&) { return gain; }).value();
}

TEST(WithChains, TakesAChainThatIsExpectedToGain) {
  const std::optional<PlannedNetwork> network = with(1.25);
  ASSERT_TRUE(network);
  ASSERT_EQ(network->kernels.size(), 1u);
  EXPECT_TRUE(names_chain(network->kernels.front().forms)) << network->kernels.front().forms;
  EXPECT_EQ(network->fused.groups.size(), bottleneck().groups.size() - 1);
  EXPECT_LT(network->seconds, kFasterUnconfirmedPlan * network->usual_seconds);
}
TEST(WithChains, KeepsTheUsualKernelsWhereTheNetworkGainsLessThan5Percent) { EXPECT_FALSE(with(1.04)); }
TEST(WithChains, KeepsThemWhereOneOfThemWasMeasured) {
  const std::vector<Task> tasks = extract_tasks(bottleneck(), kTarget).value();
  for (const Task& task : tasks) {
    if (!anchor_of(task.dag)) continue;  // a copy, of which no chain consists
    Record record = testing_records::timed(task.key, to_text(*default_steps(task.dag, kTarget)), 1e-3);
    record.target = to_string(kTarget);
    EXPECT_FALSE(with(1.25, Records({record}))) << task.name;
  }
}
TEST(WithChains, KeepsThemWhereNothingIsKnownOfTheChain) { EXPECT_FALSE(with(std::nullopt)); }

}  // namespace
}  // namespace whet::chains_test
