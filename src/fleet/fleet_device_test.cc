#include "fleet/fleet_device.h"

#include <gtest/gtest.h>

#include <deque>

#include "trial/outcome.h"

namespace whet::fleet_device_test {
namespace {

/// Answers what it was told, and keeps the jobs.
class ScriptedQueue : public FleetQueue {
 public:
  std::deque<Result<FleetAnswer>> answers;
  std::vector<std::string> jobs;

  Result<FleetAnswer> run(const std::string&, Priority, const std::string& job, const std::function<bool()>&) override {
    jobs.push_back(job);
    Result<FleetAnswer> answer = answers.front();
    answers.pop_front();
    return answer;
  }
  Result<std::vector<FleetUnit>> units(const std::string&) override { return std::vector<FleetUnit>{}; }
  Result<std::vector<FleetQueueState>> queues(const std::vector<FleetUnit>&) override {
    return std::vector<FleetQueueState>{};
  }
};

MeasureReply timed(double milliseconds = 1) { return {OutcomeCode::ok, "", {milliseconds * 1e-3}, false, 0.01}; }
/// Items by their numbers and times.
FleetAnswer answer_of(const std::vector<std::pair<std::uint32_t, double>>& items) {
  FleetAnswer answer{FleetAnswer::Kind::done, "pi5-01", "", 0, {}};
  for (const auto& [number, milliseconds] : items)
    answer.items.push_back(encode(SessionItem{number, timed(milliseconds)}));
  return answer;
}
FleetAnswer answer_of(const MeasureReply& reply) {
  return {FleetAnswer::Kind::done, "pi5-01", "", 0, {encode(SessionItem{0, reply})}};
}
/// The unit was at `started` when it was lost.
FleetAnswer lost_at(int started, FleetAnswer answer = {}) {
  answer.kind = FleetAnswer::Kind::lost;
  answer.unit = "pi5-01";
  answer.message = "pi5-01: the link is lost";
  answer.started = started;
  return answer;
}
const FleetAnswer kLost = lost_at(-1);

class FleetDevices : public ::testing::Test {
 protected:
  /// The outcome where the queue answers so.
  std::string outcome(std::vector<Result<FleetAnswer>> answers) {
    queue_->answers.assign(answers.begin(), answers.end());
    const MeasureReply reply = device().measure({{}, {}});
    EXPECT_TRUE(queue_->answers.empty()) << "each answer is one submission's";
    return std::string(name_of(reply.code)) + (reply.message.empty() ? "" : ": " + reply.message);
  }
  FleetDevice device() {
    FleetDeviceOptions options;
    options.queue = queue_;
    options.key = "pi5";
    options.tally = tally_;
    return {std::move(options), unit_, parse_target("cpu -mcpu=cortex-a76").value()};
  }
  /// "1 2 crash": the times [ms] or outcomes of a job of some requests.
  std::string job_outcomes(std::size_t requests, bool champion, std::vector<Result<FleetAnswer>> answers) {
    queue_->answers.assign(answers.begin(), answers.end());
    const JobReply reply = device().run({std::vector<MeasureRequest>(requests), champion});
    EXPECT_TRUE(queue_->answers.empty()) << "each answer is one submission's";
    EXPECT_EQ(reply.replies.size(), requests + (champion ? 1 : 0));
    std::string text;
    for (const MeasureReply& each : reply.replies)
      text += (text.empty() ? "" : " ") + (each.code == OutcomeCode::ok
                                               ? std::to_string(static_cast<int>(each.seconds.front() * 1e3 + 0.5))
                                               : std::string(name_of(each.code)));
    return text;
  }
  /// How many requests each submission had.
  std::string submitted() const {
    std::string text;
    for (const std::string& job : queue_->jobs)
      text += std::to_string(decode_session_job(job, 17)->requests.size()) + " ";
    return text;
  }
  std::shared_ptr<ScriptedQueue> queue_ = std::make_shared<ScriptedQueue>();
  std::shared_ptr<FleetTally> tally_ = std::make_shared<FleetTally>();
  DeviceDescription unit_;
};

TEST_F(FleetDevices, GiveTheAnswerOfAnyUnit) {
  EXPECT_EQ(outcome({answer_of(timed())}), "ok");
  EXPECT_EQ(outcome({answer_of({OutcomeCode::crash, "SIGSEGV"})}), "crash: SIGSEGV");
  EXPECT_TRUE(decode_session_job(queue_->jobs.back(), 1).has_value());
}
TEST_F(FleetDevices, TellWhichUnitMeasured) {
  FleetAnswer answer = answer_of(timed());
  answer.device = "0123456789abcdef";
  queue_->answers = {answer};
  EXPECT_EQ(device().measure({{}, {}}).conditions.unit, answer.device);
}
TEST_F(FleetDevices, SubmitAgainWhatCostAUnit) { EXPECT_EQ(outcome({kLost, answer_of(timed())}), "ok"); }
TEST_F(FleetDevices, BlameTheKernelThatCostTwoUnits) {
  EXPECT_EQ(outcome({kLost, kLost}), "crash: two units were lost while it ran: pi5-01: the link is lost");
}
TEST_F(FleetDevices, AreLostWhereTheBrokerIsAndWhereUnitsRefuse) {
  EXPECT_EQ(outcome({Error{"the broker is away"}}), "device_lost: the broker is away");
  EXPECT_EQ(outcome({FleetAnswer{FleetAnswer::Kind::refused, "pi5-01", "another version", -1, {}}}),
            "device_lost: pi5-01 refuses: another version");
}
TEST_F(FleetDevices, TakeNoAnswerToAnotherRequest) {
  const FleetAnswer other{FleetAnswer::Kind::done, "pi5-01", "", 0, {encode(SessionItem{1, timed()}), "garbage"}},
      check{FleetAnswer::Kind::done, "pi5-01", "", 0, {encode(SessionItem{0, CheckReply{}})}};
  EXPECT_EQ(outcome({other, answer_of(timed())}), "ok");
  EXPECT_EQ(outcome({check, other}),
            "crash: two units were lost while it ran: a unit gave a job back without an answer");
}
TEST_F(FleetDevices, RunJobsWhole) {
  EXPECT_EQ(job_outcomes(3, false, {answer_of({{2, 3}, {0, 1}, {1, 2}})}), "1 2 3");
  EXPECT_EQ(job_outcomes(2, true, {answer_of({{0, 1}, {1, 2}, {2, 1}})}), "1 2 1");
  EXPECT_EQ(device().info().job_candidates, 16);
}
TEST_F(FleetDevices, SubmitAgainOnlyWhatHasNoAnswer) {
  EXPECT_EQ(job_outcomes(3, false, {lost_at(1, answer_of({{0, 1}})), answer_of({{0, 2}, {1, 3}})}), "1 2 3");
  EXPECT_EQ(submitted(), "3 2 ");
}
TEST_F(FleetDevices, HaveTheTimesBesideAChampionsFromOneUnit) {
  EXPECT_EQ(job_outcomes(2, true, {lost_at(1, answer_of({{0, 1}})), answer_of({{0, 5}, {1, 6}, {2, 7}})}), "5 6 7");
  EXPECT_EQ(submitted(), "2 2 ");
}
TEST_F(FleetDevices, BlameTheKernelThatUnitsWereAt) {
  EXPECT_EQ(job_outcomes(3, false, {lost_at(1), lost_at(1), answer_of({{0, 1}, {1, 3}})}), "1 crash 3");
  EXPECT_EQ(job_outcomes(3, true, {lost_at(0), lost_at(0), answer_of({{0, 2}, {1, 3}})}), "crash 2 3 device_lost")
      << "without its champion a job has none";
}
TEST_F(FleetDevices, RejectWhatNoFleetCarries) {
  MeasureRequest request;
  request.job.kernel.code.assign(kMostJobBytes, 'x');
  const MeasureReply reply = device().measure(request);
  EXPECT_EQ(reply.code, OutcomeCode::rejected);
  EXPECT_TRUE(queue_->jobs.empty());
}
TEST_F(FleetDevices, AreOneMachineToRecords) {
  EXPECT_EQ(device().info().name, "fleet:pi5");
  unit_.emulator = "qemu-aarch64-static";
  EXPECT_EQ(device().info().name, kEmulatedDevice);
}
TEST_F(FleetDevices, CountWhatEachUnitAnswers) {
  EXPECT_EQ(outcome({kLost, answer_of(timed())}), "ok");
  const std::vector<UnitShare> shares = tally_->shares();
  ASSERT_EQ(shares.size(), 1u);
  EXPECT_EQ(shares[0].unit, "pi5-01");
  EXPECT_EQ(shares[0].jobs, 2);
  EXPECT_EQ(shares[0].losses, 1);
  EXPECT_EQ(shares[0].candidates, 1);
}
TEST_F(FleetDevices, RunNoModels) {
  const auto times = device().time_models({{"a.so"}}, {});
  ASSERT_FALSE(times.ok());
  EXPECT_EQ(times.error().message, "compiled models are not run by a fleet");
  EXPECT_TRUE(device().time_models({}, {}).ok());
}

}  // namespace
}  // namespace whet::fleet_device_test
