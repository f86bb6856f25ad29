#include "fleet/fleet_device.h"

#include <gtest/gtest.h>

#include <deque>
#include <filesystem>
#include <fstream>

#include "base/testing/random_cases.h"
#include "device/testing/test_models.h"
#include "trial/outcome.h"

namespace whet::fleet_device_test {
namespace {

/// Answers what it was told, and keeps the jobs.
class ScriptedQueue : public FleetQueue {
 public:
  std::deque<Result<FleetAnswer>> answers;
  std::vector<std::string> jobs;

  std::vector<std::string> kept;  ///< "HASH PIECE"

  Result<FleetAnswer> run(const std::string&, Priority, FleetJob::Kind, const std::string& job,
                          const std::function<bool()>&) override {
    jobs.push_back(job);
    Result<FleetAnswer> answer = answers.front();
    answers.pop_front();
    return answer;
  }
  Status keep(const std::string& hash, std::uint32_t piece, const std::string&, const std::function<bool()>&) override {
    kept.push_back(hash + " " + std::to_string(piece));
    return ok_status();
  }
  Result<std::vector<FleetUnit>> units(const std::string&) override { return std::vector<FleetUnit>{}; }
  Result<std::vector<FleetQueueState>> queues(const std::string&) override { return std::vector<FleetQueueState>{}; }
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
/// A compiled model for the fleet's units, of some bytes, and its name.
class FleetModels : public FleetDevices {
 protected:
  FleetModels() { unit_.machine = "aarch64"; }
  ModelLibrary model(std::size_t bytes = 100) const { return {models_.sealed(std::string(bytes, 'x'), 183, 1)}; }
  static std::string hash_of(const ModelLibrary& model) { return name_blob(model.path)->hash; }
  /// The times of two bursts of a model [s], or the error without the folder of models.
  std::string times(const ModelLibrary& model, std::vector<Result<FleetAnswer>> answers) {
    queue_->answers.assign(answers.begin(), answers.end());
    ModelRun run;
    run.bursts = 2;
    const auto times = device().time_models({model}, run);
    EXPECT_TRUE(queue_->answers.empty()) << "each answer is one submission's";
    std::string text = times.ok() ? "" : times.error().message;
    if (times.ok())
      for (const ModelBurst& burst : times->front().bursts)
        text += std::to_string(static_cast<int>(burst.median)) + " ";
    if (const std::size_t at = text.find(models_.folder()); at != text.npos)
      text.erase(at, models_.folder().size() + 1);
    return text;
  }
  static FleetAnswer bursts(const std::vector<double>& medians) {
    FleetAnswer answer{FleetAnswer::Kind::done, "pi5-01", "", -1, {}};
    for (const double median : medians) {
      ModelAnswer burst;
      burst.kind = ModelAnswerKind::burst, burst.model = 0, burst.seconds = {median, median};
      answer.items.push_back(encode(burst));
    }
    return answer;
  }
  static FleetAnswer lacking(const std::string& hash) { return {FleetAnswer::Kind::lacks, "pi5-01", "", -1, {hash}}; }

  testing::TestModels models_;
};

TEST_F(FleetModels, AreTimedByOneUnit) {
  const ModelLibrary file = model();
  EXPECT_EQ(times(file, {bursts({1, 2})}), "1 2 ");
  const auto order = decode<ModelOrder>(queue_->jobs.back());
  ASSERT_TRUE(order.has_value());
  EXPECT_EQ(order->models.front().hash, hash_of(file));
  EXPECT_TRUE(queue_->kept.empty()) << "the unit has it";
  EXPECT_TRUE(device().time_models({}, {}).ok());
}
TEST_F(FleetModels, TravelWhereAUnitLacksThem) {
  const ModelLibrary file = model(kFilePieceBytes + 1);
  const std::string hash = hash_of(file);
  EXPECT_EQ(times(file, {lacking(hash), bursts({1, 2})}), "1 2 ");
  EXPECT_EQ(queue_->kept, (std::vector<std::string>{hash + " 0", hash + " 1"}));
  EXPECT_EQ(times(file, {lacking(hash), lacking(hash), lacking(hash), lacking(hash)}),
            "fleet:pi5: the broker does not keep the files of compiled models until a unit has them");
  EXPECT_EQ(times(file, {lacking(std::string(64, 'a'))}), "fleet:pi5: pi5-01 lacks a file that it was not told of");
}
TEST_F(FleetModels, RunElsewhereWhereAUnitIsLost) {
  EXPECT_EQ(times(model(), {kLost, bursts({1, 2})}), "1 2 ");
  EXPECT_EQ(times(model(), {kLost, kLost}),
            "fleet:pi5: two units were lost over a compiled model: pi5-01: the link is lost");
}
TEST_F(FleetModels, FailWithASentence) {
  ModelAnswer failed;
  failed.kind = ModelAnswerKind::failed, failed.model = 0, failed.sentence = "the compiled model crashed";
  const FleetAnswer crash{FleetAnswer::Kind::done, "pi5-01", "", -1, {encode(failed)}};
  EXPECT_EQ(times(model(), {crash}), "1-183.so: the compiled model crashed");
  EXPECT_EQ(times(model(), {FleetAnswer{FleetAnswer::Kind::refused, "pi5-01", "it is too old", -1, {}}}),
            "fleet:pi5: pi5-01 refuses: it is too old");
  EXPECT_EQ(times(model(), {FleetAnswer{FleetAnswer::Kind::done, "pi5-01", "", -1, {"garbage"}}}),
            "fleet:pi5: what pi5-01 says of compiled models makes no sense");
  EXPECT_EQ(times(model(), {bursts({1})}), "fleet:pi5: the device's answer about compiled models makes no sense");
  EXPECT_EQ(times(model(), {Error{"the broker is away"}}), "fleet:pi5: the broker is away");
  EXPECT_EQ(times({models_.sealed("x", 62, 2)}, {}),
            "2-62.so: is compiled for x86-64; fleet:pi5 has an AArch64 processor");
}
TEST_F(FleetModels, OfMoreThanAFleetCarriesAreRefused) {
  if (testing::kSanitized) GTEST_SKIP() << "the name of a file of 1 GiB takes minutes there";
  const ModelLibrary file = model();
  std::filesystem::resize_file(file.path, kMostCarriedBytes);
  {
    std::ofstream end(file.path, std::ios::binary | std::ios::app);
    const std::string tail = testing::TestModels::content_of(models_.sealed("x", 183, 3));
    end << tail;
  }
  EXPECT_EQ(times(file, {}), "1-183.so has 1024 MiB; a fleet carries files of 1024 MiB at most");
}

}  // namespace
}  // namespace whet::fleet_device_test
