#include "measure/kernel_job.h"

#include <gtest/gtest.h>

#include "compute/dag.h"

namespace whet::kernel_job_test {
namespace {

TEST(ARequest, IsTimedInTheNetworkThatIsMadeForItsConstants) {
  const MeasureTask task{"key",
                         "name",
                         parse_dag("x = PLACEHOLDER [4, 9]\nw = PLACEHOLDER [9, 8] const\n"
                                   "y(i, j) += (x[i, k]*w[k, j]) for i in 4, j in 8, k in 9\nreturn y\n")
                             .value(),
                         {}};
  MeasureOptions options;
  options.network_bytes = [&](const ComputeDag& dag, std::int64_t packed) {
    EXPECT_EQ(&dag, &task.dag);
    return 1000 + packed;
  };
  const auto bytes_with = [&](std::int64_t packed) {
    BuildResult built;
    built.arguments.push_back({BuiltArgument::Kind::input, 0, {ArgumentRole::activation, DType::f32, 4 * 9 * 4}});
    built.arguments.push_back({BuiltArgument::Kind::packed, 0, {ArgumentRole::constant, DType::f32, packed}});
    return request_of(task, built, options, {}).policy.network_bytes;
  };
  EXPECT_EQ(bytes_with(9 * 8 * 4), 1288);
  EXPECT_EQ(bytes_with(36 * 8 * 4), 2152);
}
TEST(ARequest, HasThePolicysNetworkWhereNoneIsGiven) {
  TimingPolicy policy;
  policy.network_bytes = 77;
  EXPECT_EQ(request_of({"key", "name", {}, {}}, {}, {}, policy).policy.network_bytes, 77);
}

}  // namespace
}  // namespace whet::kernel_job_test
