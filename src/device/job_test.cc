#include "device/job.h"

#include <gtest/gtest.h>

namespace whet::job_test {
namespace {

/// A kernel that takes `seconds`.
MeasureRequest request(double seconds) {
  MeasureRequest request;
  request.policy.min_seconds = seconds;
  request.policy.incumbent_seconds = 77;
  return request;
}
/// "1<77, 2<77": what was run, and what it had to beat.
struct Log {
  std::string text;
  int lost_at = -1, number = 0;
  MeasureReply operator()(const MeasureRequest& r) {
    const auto number_text = [](double value) { return std::to_string(static_cast<int>(value)); };
    text += number_text(r.policy.min_seconds) + "<" + number_text(r.policy.incumbent_seconds) + " ";
    if (number++ == lost_at) return {OutcomeCode::device_lost, "gone"};
    return {OutcomeCode::ok, "", {r.policy.min_seconds + 1, r.policy.min_seconds}};
  }
};
JobReply run(const MeasureJob& job, Log& log) {
  return run_job(job, [&](const MeasureRequest& r) { return log(r); });
}

TEST(Jobs, RunTheirRequestsInOrder) {
  Log log;
  const JobReply reply = run({{request(1), request(2)}}, log);
  EXPECT_EQ(log.text, "1<77 2<77 ");
  EXPECT_EQ(reply.replies.size(), 2u);
  EXPECT_EQ(reply.on_the_table, -1);
}
TEST(Jobs, TimeTheChampionBeforeAndAfterTheOthers) {
  Log log;
  const JobReply reply = run({{request(5), request(1), request(2)}, true}, log);
  EXPECT_EQ(log.text, "5<0 1<5 2<5 5<0 ");
  EXPECT_EQ(reply.replies.size(), 4u);
}
TEST(Jobs, EndWithTheDevice) {
  Log log{.lost_at = 1};
  const JobReply reply = run({{request(5), request(1), request(2)}, true}, log);
  EXPECT_EQ(log.text, "5<0 1<5 ");
  EXPECT_EQ(reply.on_the_table, 1);
  ASSERT_EQ(reply.replies.size(), 4u);
  EXPECT_EQ(reply.replies[0].code, OutcomeCode::ok);
  for (int i = 1; i < 4; ++i) EXPECT_EQ(reply.replies[static_cast<std::size_t>(i)].message, "gone");
}
TEST(Jobs, HaveNoIncumbentWhereTheChampionFails) {
  EXPECT_EQ(incumbent_after({OutcomeCode::crash, "why"}), 0);
  EXPECT_EQ(incumbent_after({OutcomeCode::ok, ""}), 0) << "a device that says nothing";
  EXPECT_EQ(incumbent_after({OutcomeCode::ok, "", {3, 2}}), 2);
}

}  // namespace
}  // namespace whet::job_test
