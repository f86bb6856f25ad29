#include "measure/jobs.h"

#include <gtest/gtest.h>

#include <atomic>

#include "device/testing/fake_devices.h"

namespace whet::jobs_test {
namespace {

using testing::FormulaDevice;

/// A device that takes jobs and `factor` times as long as a kernel's code says.
class FarDevice : public FormulaDevice {
 public:
  FarDevice(std::string name, double factor)
      : FormulaDevice([factor](const KernelJob& job) { return factor * std::stod(job.kernel.code); }, {},
                      std::move(name)),
        info_(FormulaDevice::info()) {
    info_.job_candidates = 16;
  }
  const DeviceInfo& info() const override { return info_; }
  JobReply run(const MeasureJob& job) override {
    ++jobs;
    for (int i = 0; i < 5000 && beside != nullptr && beside->jobs == 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    JobReply reply = FormulaDevice::run(job);
    if (!poison.empty())
      for (std::size_t i = 0; i < job.requests.size(); ++i)
        if (job.requests[i].job.kernel.code == poison) {
          for (std::size_t k = i; k < reply.replies.size(); ++k) reply.replies[k] = {OutcomeCode::device_lost, "gone"};
          reply.on_the_table = static_cast<int>(i);
          break;
        }
    return reply;
  }
  std::atomic<int> jobs = 0;
  std::string poison;                 ///< the code that takes the device down
  const FarDevice* beside = nullptr;  ///< has a job before this one ends its first; one device would do all otherwise

 private:
  DeviceInfo info_;
};

MeasureRequest request(double seconds) {
  MeasureRequest request;
  request.job.kernel.code = std::to_string(seconds);
  return request;
}
JobsOfTask task_of(int candidates) {
  JobsOfTask task;
  for (int i = 0; i < candidates; ++i) task.candidates.push_back(request(1e-3 * (1 + 0.01 * i)));
  task.champion = request(1e-3);
  return task;
}

TEST(JobSizes, KeepAllUnitsBusyForAboutASecond) {
  EXPECT_EQ(job_size(32, 1, 16, 0), 16u) << "as many as the device takes";
  EXPECT_EQ(job_size(32, 4, 16, 0), 8u);
  EXPECT_EQ(job_size(32, 100, 16, 0), 8u) << "fewer are not worth a champion";
  EXPECT_EQ(job_size(1000, 10, 16, 0), 16u);
  EXPECT_EQ(job_size(32, 1, 16, 0.05), 3u) << "slow kernels";
  EXPECT_EQ(job_size(32, 1, 16, 10), 1u);
  EXPECT_EQ(job_size(32, 1, 1, 0), 1u) << "a device of this machine";
}
TEST(Jobs, DivideTimesByThePaceOfTheirUnit) {
  for (const double seconds_when_crowned : {0.0, 1e-3, 2e-3}) {
    FarDevice first("first", 1), second("second", 1.25);
    first.beside = &second, second.beside = &first;
    Units units({&first, &second}, 1, {});
    JobsOfTask task = task_of(64);
    task.champion_seconds = seconds_when_crowned;
    const std::vector<Outcome> outcomes = measure_in_jobs(units, task);
    const double pace = seconds_when_crowned > 0 ? 1e-3 / seconds_when_crowned : 1;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      ASSERT_TRUE(outcomes[i].ok()) << outcomes[i].message;
      EXPECT_NEAR(outcomes[i].pace, pace * (outcomes[i].device == "second" ? 1.25 : 1), 1e-9);
      EXPECT_NEAR(outcomes[i].best_seconds(), 1e-3 * (1 + 0.01 * static_cast<double>(i)) / pace, 1e-9);
      EXPECT_EQ(outcomes[i].truncated, i > 30) << "30% slower than the champion beside it";
    }
    EXPECT_GT(first.jobs, 0);
    EXPECT_GT(second.jobs, 0);
    if (seconds_when_crowned > 0) {
      EXPECT_NEAR(units.reports(0)[1].factor, 1.25, 1e-9);
    }
  }
}
TEST(Jobs, OfSeveralDevicesOfThisMachineShareAChampionToo) {
  testing::FormulaDevice first([](const KernelJob&) { return 1e-3; }), second([](const KernelJob&) { return 1e-3; });
  Units units({&first, &second}, 1, {});
  JobsOfTask task = task_of(32);
  task.champion_seconds = 1e-3;
  measure_in_jobs(units, task);
  EXPECT_EQ(first.requests + second.requests, 32 + 2 * 2) << "two jobs of 16";
}
TEST(Jobs, BlameACandidateThatTookTwoUnitsDown) {
  FarDevice a("a", 1), b("b", 1), c("c", 1);
  Units units({&a, &b, &c}, 5, {});
  const JobsOfTask task = task_of(24);
  for (FarDevice* device : {&a, &b, &c}) device->poison = task.candidates[5].job.kernel.code;
  const std::vector<Outcome> outcomes = measure_in_jobs(units, task);
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    EXPECT_EQ(outcomes[i].code, i == 5 ? OutcomeCode::crash : OutcomeCode::ok) << i << ": " << outcomes[i].message;
  EXPECT_EQ(outcomes[5].message, "two devices were lost while it ran: gone");
}
TEST(Jobs, LeaveWhatNoUnitTriedToBeTriedAgain) {
  testing::FormulaDevice inner([](const KernelJob&) { return 1e-3; });
  testing::DyingDevice a(inner, 0), b(inner, 0);
  Units units({&a, &b}, 0.1, {});
  JobsOfTask task = task_of(3);
  task.champion.reset();
  for (const Outcome& outcome : measure_in_jobs(units, task)) EXPECT_FALSE(outcome.ok());
}
TEST(Jobs, BelieveNoLie) {
  FarDevice honest("honest", 1);
  for (int lie = 0; lie < testing::kLies; ++lie) {
    testing::LyingDevice liar(honest, static_cast<testing::Lie>(lie));
    Units units({&liar}, 1, {});
    for (const Outcome& outcome : measure_in_jobs(units, task_of(4))) {
      EXPECT_TRUE(!outcome.ok() || (outcome.seconds[0] > 5e-4 && outcome.pace > 0.5 && outcome.pace < 2)) << lie;
    }
  }
}

}  // namespace
}  // namespace whet::jobs_test
