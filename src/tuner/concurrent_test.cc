// Tuning on several units: each task's search goes on while another's candidates are measured, and units that differ lead
// to the same result as one.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <set>

#include "base/hash.h"
#include "base/testing/random_cases.h"
#include "compute/dag.h"
#include "device/local/zygote.h"
#include "device/testing/fake_devices.h"
#include "measure/device_measurer.h"
#include "measure/reference.h"
#include "tuner/testing/dense_task.h"
#include "tuner/tuner.h"

namespace whet {
namespace concurrent_test {

using testing::FormulaDevice;

constexpr char kBetween = '\x01';

/// Builds nothing: the kernel's code is the schedule's text and what it computes.
BuildResult echo(const BuildRequest& request) {
  const ComputeDag dag = parse_dag(request.dag).value();
  BuildResult result;
  result.code = OutcomeCode::ok;
  result.kernel.code = request.steps + kBetween + request.dag;
  result.tree_hash = "tree";
  result.seconds = 1e-4;
  std::uint32_t inputs = 0;
  for (const Op& op : dag.ops) {
    const ArgumentRole role = op.is_placeholder() ? ArgumentRole::activation : ArgumentRole::output;
    const std::uint32_t number = op.is_placeholder() ? inputs++ : 0;
    result.arguments.push_back({op.is_placeholder() ? BuiltArgument::Kind::input : BuiltArgument::Kind::output,
                                number,
                                {role, DType::f32, num_elements(op.shape) * 4}});
  }
  return result;
}
std::string steps_of(const KernelJob& job) { return job.kernel.code.substr(0, job.kernel.code.find(kBetween)); }
/// The right answers.
CheckReply evaluated(const CheckRequest& request) {
  const std::string& code = request.job.kernel.code;
  const ComputeDag dag = parse_dag(code.substr(code.find(kBetween) + 1)).value();
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i + 1 < dag.ops.size(); ++i)
    inputs.push_back(make_tensor(request.job.arguments[i], dag.ops[i].shape));
  const Tensor out = std::move(evaluate(dag, inputs).value()[0]);
  return {
      OutcomeCode::ok, "", {std::string(static_cast<const char*>(out.data()), static_cast<std::size_t>(out.bytes()))}};
}
constexpr Life kEcho{"whet-builder", [](int fd) { return run_builder(fd, echo); }};

Zygote& zygote() {
  static Zygote zygote = std::move(Zygote::start()).value();
  return zygote;
}
/// Before anything starts a thread.
const bool kStarted = (zygote(), true);

/// 1 to 3 ms, from the schedule's text and the search's seed.
double truth(const std::string& code, std::uint64_t seed) {
  return 1e-3 * (1 + static_cast<double>(hash_combine(seed, hash_bytes(code)) % 1000) / 500);
}

/// A unit that is `factor` times as slow as the truth, takes jobs, and works for a moment at each kernel.
class Board : public FormulaDevice {
 public:
  Board(std::string name, double factor, std::uint64_t seed, bool takes_jobs, int microseconds)
      : FormulaDevice(
            [=](const KernelJob& job) {
              if (microseconds > 0) usleep(static_cast<useconds_t>(microseconds));
              return factor * truth(steps_of(job), seed);
            },
            evaluated, std::move(name)),
        info_(FormulaDevice::info()) {
    if (takes_jobs) info_.job_candidates = 16, info_.beside_builders = false;
  }
  void leave_the_processors_to_builders() { info_.beside_builders = false; }
  const DeviceInfo& info() const override { return info_; }
  JobReply run(const MeasureJob& job) override {
    ++jobs;
    return FormulaDevice::run(job);
  }
  int jobs = 0;

 private:
  DeviceInfo info_;
};

class TuneConcurrently : public ::testing::Test {
 protected:
  void SetUp() override { path_ = ::testing::TempDir() + "whet_concurrent_" + std::to_string(getpid()) + ".jsonl"; }
  void TearDown() override { std::remove(path_.c_str()); }

  struct Run {
    TuneProgress progress;
    std::vector<Record> records;
    std::vector<UnitReport> units;
    int tasks = 0;
    std::size_t deciding = 0;
    double best(const Task& task) const {
      double best = 1;
      for (const Record& record : records)
        if (record.key == task.key) best = std::min(best, record.outcome.best_seconds());
      return best;
    }
  };
  Run run(const std::vector<Task>& tasks, const std::vector<std::unique_ptr<Board>>& boards, const TuneOptions& options,
          bool calibrated = false) {
    return run(tasks, boards, options, calibrated, builders_);
  }
  Run run(const std::vector<Task>& tasks, const std::vector<std::unique_ptr<Board>>& boards, const TuneOptions& options,
          bool calibrated, BuilderPool& builders) {
    std::remove(path_.c_str());
    std::vector<Device*> devices;
    for (const auto& board : boards) devices.push_back(board.get());
    MeasureOptions measuring;
    measuring.patience = 0.5;
    DeviceMeasurer measurer(builders, devices, measuring);
    if (calibrated) {
      EXPECT_TRUE(measurer.calibrate({tasks[0].key, tasks[0].name, tasks[0].dag, target_}, "").ok());
    }
    Run out;
    {
      RecordFile file = *RecordFile::open(path_);
      out.progress = tune(tasks, target_, measurer, file, options, {}).value();
    }
    out.records = [&] {
      const RecordsRead read = *read_records(path_);
      EXPECT_EQ(read.bad_lines, 0);
      return std::vector<Record>(read.records.all().begin(), read.records.all().end());
    }();
    out.units = measurer.units();
    out.tasks = measurer.concurrent_tasks();
    out.deciding = measurer.deciding();
    return out;
  }

  std::vector<Task> tasks_ = {dense_task("a", 8, 16, 8, 1), dense_task("b", 8, 32, 8, 2), dense_task("c", 16, 16, 8, 1),
                              dense_task("d", 8, 16, 32, 1), dense_task("e", 32, 16, 8, 3)};
  Target target_ = parse_target("cpu -mcpu=x86-64 -threads=1").value();
  BuilderPool builders_{zygote(), 2, {}, kEcho};
  std::string path_;
};

std::vector<std::unique_ptr<Board>> boards(const std::vector<double>& factors, std::uint64_t seed = 0,
                                           bool takes_jobs = true, int microseconds = 0) {
  std::vector<std::unique_ptr<Board>> out;
  for (const double factor : factors)
    out.push_back(std::make_unique<Board>("pi" + std::to_string(out.size()), factor, seed, takes_jobs, microseconds));
  return out;
}

TEST_F(TuneConcurrently, TunesTasksSideBySideOnFarUnits) {
  const Run out = run(tasks_, boards({1, 1.05, 0.97, 1.1}, 0, true, 300), {.trials = 400, .least_gain = 0, .seed = 1});
  EXPECT_EQ(out.tasks, 8);
  EXPECT_EQ(out.progress.trials, 400) << "not more, whatever the threads have promised";
  std::set<std::string> schedules;
  for (const Record& record : out.records) {
    ASSERT_TRUE(record.outcome.ok()) << record.outcome.message;
    schedules.insert(record.key.text() + record.steps);
    const double factor = record.outcome.device == "pi1"   ? 1.05
                          : record.outcome.device == "pi2" ? 0.97
                          : record.outcome.device == "pi3" ? 1.1
                                                           : 1;
    EXPECT_NEAR(record.outcome.clock_seconds(), factor * truth(record.steps, 0), 1e-9);
    EXPECT_NEAR(record.outcome.best_seconds(), truth(record.steps, 0), 1e-9) << "whichever unit measured it";
  }
  EXPECT_EQ(schedules.size(), 400u) << "each schedule once, but for comparisons";
  for (const UnitReport& unit : out.units) EXPECT_GT(unit.candidates, 0) << unit.name;
}
TEST_F(TuneConcurrently, TakesOneTaskAfterTheOtherOnThisMachine) {
  EXPECT_EQ(run(tasks_, boards({1}, 0, false), {.trials = 20}).tasks, 1);
  EXPECT_EQ(run(tasks_, boards({1, 1}, 0, false), {.trials = 20}).tasks, 1) << "builders would disturb them";
}
TEST_F(TuneConcurrently, TunesTasksSideBySideOnAGpuOfThisMachine) {
  for (const int builders : {2, 8}) {
    BuilderPool pool(zygote(), builders, {}, kEcho);
    const auto gpu = boards({1}, 0, false);
    gpu[0]->leave_the_processors_to_builders();
    const Run out = run(tasks_, gpu, {.trials = 200, .least_gain = 0, .seed = 1}, false, pool);
    EXPECT_EQ(out.tasks, builders == 2 ? 2 : 4);
    EXPECT_EQ(out.progress.trials, 200);
    std::set<std::string> schedules;
    for (const Record& record : out.records) {
      ASSERT_TRUE(record.outcome.ok()) << record.outcome.message;
      schedules.insert(record.key.text() + record.steps);
      EXPECT_NEAR(record.outcome.clock_seconds(), truth(record.steps, 0), 1e-9);
    }
    EXPECT_EQ(schedules.size(), 200u);
  }
}
TEST_F(TuneConcurrently, ComparesInOneJobSoThatOneMachineRunsAllBursts) {
  for (const bool far : {true, false}) {
    const auto board = boards({1}, 0, far);
    DeviceMeasurer measurer(builders_, {board[0].get()}, {});
    const std::vector<Outcome> outcomes =
        measurer.compare({tasks_[0].key, tasks_[0].name, tasks_[0].dag, target_}, {"", "x", "y"}, 3);
    for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.seconds.size(), 3u) << outcome.message;
    EXPECT_EQ(board[0]->jobs, far ? 1 : 0);
    EXPECT_EQ(board[0]->requests, 9);
  }
}
TEST_F(TuneConcurrently, LetsTheNamedUnitDecide) {
  const auto units = boards({1.5, 1, 1.1});
  DeviceMeasurer measurer(builders_, {units[0].get(), units[1].get(), units[2].get()}, {});
  const MeasureTask task{tasks_[0].key, tasks_[0].name, tasks_[0].dag, target_};
  ASSERT_TRUE(measurer.calibrate(task, "", "pi1").ok());
  EXPECT_EQ(measurer.deciding(), 1u);
  EXPECT_EQ(measurer.setting().device, "pi1");
  EXPECT_EQ(measurer.calibrate(task, "", "pi9").error().message,
            "no device is named pi9; expected one of pi0, pi1, pi2");
}
TEST_F(TuneConcurrently, LetsTheUnitInTheMiddleDecide) {
  const Run out = run(tasks_, boards({1.5, 1, 1.1}), {.trials = 60, .seed = 3}, true);
  EXPECT_EQ(out.deciding, 2u);
  EXPECT_NEAR(out.units[0].factor, 1.5 / 1.1, 1e-9);
  EXPECT_NEAR(out.units[1].factor, 1 / 1.1, 1e-9);
  for (const Record& record : out.records)
    EXPECT_NEAR(record.outcome.best_seconds(), 1.1 * truth(record.steps, 0), 1e-9) << "as on the third";
}
TEST_F(TuneConcurrently, FindsOnUnequalUnitsWhatOneFinds) {
  // The times of units that differ lead to the same candidates, and so to the same winner. WHET_SEARCHES: how many searches.
  const char* wish = std::getenv("WHET_SEARCHES");
  const int searches = wish ? std::atoi(wish) : testing::kSanitized ? 2 : 6;
  int same = 0;
  for (int search = 0; search < searches; ++search) {
    const std::uint64_t seed = static_cast<std::uint64_t>(search);
    Rng rng(seed);
    std::vector<double> factors;
    for (int i = 0; i < 4; ++i) factors.push_back(1 + 0.1 * rng.uniform());
    const TuneOptions options{.trials = 64, .least_gain = 0, .seed = seed};
    const double one = run({tasks_[0]}, boards({1}, seed), options).best(tasks_[0]);
    const double several = run({tasks_[0]}, boards(factors, seed), options).best(tasks_[0]);
    same += std::abs(several / (one * factors[0]) - 1) < 1e-9;
  }
  EXPECT_GE(same, searches * 95 / 100);
  std::printf("the same winner in %d of %d searches\n", same, searches);
}

}  // namespace concurrent_test
}  // namespace whet
