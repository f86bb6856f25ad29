#include "measure/device_measurer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/testing/random_cases.h"
#include "device/make_device.h"
#include "device/testing/processes.h"
#include "measure/testing/fault_builds.h"
#include "measure/testing/formula_measurer.h"

namespace whet {
namespace device_measurer_test {

MeasureTask task_of(const std::string& dag, int threads = 1) {
  ComputeDag computed = parse_dag(dag).value();
  std::string key = workload_key(computed);
  return {std::move(key), "test", std::move(computed),
          parse_target("cpu -mcpu=x86-64 -threads=" + std::to_string(threads)).value()};
}
/// What the kernel add_one computes.
MeasureTask add_one_task() { return task_of("p = PLACEHOLDER [4096]\nq(i) = (p[i] + 1f) for i in 4096\nreturn q\n"); }

class DeviceMeasurerTest : public ::testing::Test {
 protected:
  static MeasureOptions options() {
    MeasureOptions o;
    o.cpu.no_pin = true;
    o.burst_seconds = 0.002;
    o.policy.network_bytes = 1 << 20;
    return o;
  }
  static std::string text(const Outcome& o) {
    return std::to_string(static_cast<int>(o.code)) + (o.message.empty() ? "" : " " + o.message);
  }

  /// Measures on this machine; limits in seconds.
  struct Local {
    Local(Zygote& zygote, const MeasureOptions& options, double build_timeout = 15, double run_timeout = 5)
        : builders(zygote, 2, {.timeout = build_timeout}, testing_builds::kFaultyBuilder),
          device(
              make_device(Target(), {.zygote = &zygote, .run_timeout = run_timeout, .interrupted = options.interrupted})
                  .value()),
          measurer(builders, {device.get()}, options) {}
    DeviceMeasurer* operator->() { return &measurer; }
    BuilderPool builders;
    std::unique_ptr<Device> device;
    DeviceMeasurer measurer;
  };

  Zygote zygote_ = std::move(Zygote::start()).value();
};

TEST_F(DeviceMeasurerTest, AnswersForEachCandidateInOrderWhateverTheyDo) {
  Local measurer(zygote_, options(), 2, 2);
  const auto out = measurer->measure(add_one_task(),
                                     {"kernel add_one", "refuse", "SIGSEGV", "hang", "kernel hang",
                                      "kernel write_beyond", "kernel report_seven", "kernel add_two"},
                                     0);
  std::string codes;
  for (const Measured& m : out) codes += std::to_string(static_cast<int>(m.outcome.code)) + " ";
  EXPECT_EQ(codes, "0 1 9 6 7 9 4 0 ");
  EXPECT_EQ(out[0].tree_hash, "tree of kernel add_one");
  EXPECT_TRUE(std::isfinite(out[0].outcome.best_seconds()));
  EXPECT_GT(out[0].outcome.build_seconds, 0);
  EXPECT_GT(out[0].outcome.run_seconds, 0);
  EXPECT_EQ(out[0].outcome.registers, 40);
  EXPECT_EQ(out[0].outcome.spill_bytes, 8);
  EXPECT_EQ(out[1].outcome.message, "split: refused");
}
TEST_F(DeviceMeasurerTest, EndsEarlyWhatIsClearlySlowerThanTheIncumbent) {
  Local measurer(zygote_, options());
  const double fast = measurer->measure(add_one_task(), {"kernel add_one"}, 0)[0].outcome.best_seconds();
  EXPECT_TRUE(measurer->measure(add_one_task(), {"kernel add_one_slowly"}, fast)[0].outcome.truncated);
}
TEST_F(DeviceMeasurerTest, MeasuresIdenticalCodeOnce) {
  Local measurer(zygote_, options());
  const auto out = measurer->measure(add_one_task(), {"kernel add_one", "slow kernel add_one", "kernel add_one"}, 0);
  EXPECT_EQ(measurer->counters().measured_once, 2);
  EXPECT_EQ(out[0].outcome.seconds, out[1].outcome.seconds);
}
TEST_F(DeviceMeasurerTest, SaysInWhichPlacementATimeWasTaken) {
  double round_trip = 78;
  MeasureOptions placed = options();
  placed.round_trip = [&] { return round_trip; };
  Local measurer(zygote_, placed);
  EXPECT_EQ(measurer->measure(add_one_task(), {"kernel add_one"}, 0)[0].outcome.placement, ProcessorPlacement{78});
  EXPECT_EQ(measurer->compare(add_one_task(), {"kernel add_one"})[0].placement, ProcessorPlacement{78});
  EXPECT_FALSE(measurer->measure(add_one_task(), {"refuse"}, 0)[0].outcome.placement.is_known()) << "it has no time";
  Local elsewhere(zygote_, options());
  EXPECT_FALSE(elsewhere->measure(add_one_task(), {"kernel add_one"}, 0)[0].outcome.placement.is_known());
}
TEST_F(DeviceMeasurerTest, DoesNotHoldAKillFromOutsideAgainstTheCode) {
  Local measurer(zygote_, options(), 15, 2);
  // The builder is there first, then the runner.
  std::thread killer([parent = std::to_string(zygote_.pid())] {
    for (;; usleep(10000)) {
      std::ifstream children("/proc/" + parent + "/task/" + parent + "/children");
      for (pid_t child = 0; children >> child;) {
        std::string name;
        std::ifstream("/proc/" + std::to_string(child) + "/comm") >> name;
        if (name != "whet-runner") continue;
        for (const long before = testing::ticks_of(child);
             testing::exists(child) && testing::ticks_of(child) - before < 5;)
          usleep(5000);  // it has its kernel
        kill(child, SIGKILL);
        return;
      }
    }
  });
  EXPECT_EQ(measurer->measure(add_one_task(), {"kernel hang"}, 0)[0].outcome.code, OutcomeCode::out_of_memory);
  killer.join();
  EXPECT_EQ(measurer->measure(add_one_task(), {"slow kernel hang"}, 0)[0].outcome.code, OutcomeCode::run_timeout);
  EXPECT_EQ(measurer->counters().measured_once, 0);
}
/// Products of any number of rows, whose kernel is built once.
MeasureTask product_of_rows() {
  return task_of(
      "n = SIZE 1..64 at 64\nx = PLACEHOLDER [n, 32]\nw = PLACEHOLDER [32, 24] const\n"
      "dense(i, j) += (x[i, k]*w[k, j]) for i in n, j in 24, k in 32  # matmul i:row j:out_channel k:in_channel\n"
      "return dense\n");
}
TEST_F(DeviceMeasurerTest, TimesOneBuildAtAllSizes) {
  Local measurer(zygote_, options());
  const RangedTask ranged{product_of_rows(), {{1}, {7}, {64}}, {{1}, {5}, {64}}};
  const auto times = measurer->ladder(ranged, {"", "split l0 8 guard", "split l0 9 overlap", "split l99 2"});
  ASSERT_EQ(times.size(), 4u);
  for (const std::vector<Outcome>& each : times) ASSERT_EQ(each.size(), 3u);
  for (std::size_t k = 0; k < 2; ++k)
    for (const Outcome& outcome : times[k]) {
      EXPECT_EQ(text(outcome), "0");
      EXPECT_TRUE(std::isfinite(outcome.best_seconds()));
      EXPECT_EQ(outcome.cache, "network");
    }
  EXPECT_GT(times[0][2].best_seconds(), times[0][0].best_seconds()) << "64 rows take longer than one";
  for (const Outcome& outcome : times[2]) EXPECT_EQ(text(outcome), "1 the schedule is not for all sizes");
  for (const Outcome& outcome : times[3]) EXPECT_EQ(outcome.code, OutcomeCode::instantiation);
}
TEST_F(DeviceMeasurerTest, FindsWrongAnswers) {
  Local measurer(zygote_, options());
  EXPECT_EQ(text(measurer->check(add_one_task(), "kernel add_one")), "0");
  const Outcome wrong = measurer->check(add_one_task(), "kernel add_two");
  EXPECT_EQ(wrong.code, OutcomeCode::wrong_answer);
  EXPECT_EQ(wrong.message.substr(0, 22), "output `q` differs by ") << wrong.message;
  const Outcome forgotten = measurer->check(add_one_task(), "kernel forget_the_last");
  EXPECT_EQ(forgotten.code, OutcomeCode::wrong_answer);
  EXPECT_NE(forgotten.message.find("at [4095]"), std::string::npos) << forgotten.message;
}
TEST_F(DeviceMeasurerTest, ReportsWhatElseHappensInACheck) {
  Local measurer(zygote_, options());
  EXPECT_EQ(text(measurer->check(add_one_task(), "kernel write_null")),
            "9 the kernel crashed: SIGSEGV at an address that is null");
  EXPECT_EQ(text(measurer->check(add_one_task(), "refuse")), "1 split: refused");
  EXPECT_EQ(text(measurer->check(add_one_task(), "kernel add_one")), "0");
}
TEST_F(DeviceMeasurerTest, ComparesInTurnAndSaysWhatFailed) {
  Local measurer(zygote_, options());
  const auto all =
      measurer->compare(add_one_task(), {"kernel add_one_slowly", "kernel add_one", "kernel report_seven", "refuse"});
  EXPECT_EQ(all[0].seconds.size(), 2u);
  EXPECT_GT(all[0].best_seconds(), all[1].best_seconds());
  EXPECT_EQ(text(all[2]), "4 the kernel reported error 7");
  EXPECT_EQ(text(all[3]), "1 split: refused");
}
TEST_F(DeviceMeasurerTest, GivesBackWhatItHasNotTriedWhenInterrupted) {
  MeasureOptions o = options();
  bool stop = true;
  o.interrupted = [&] { return stop; };
  Local measurer(zygote_, o);
  for (const Measured& m : measurer->measure(add_one_task(), {"kernel add_one", "kernel add_two"}, 0))
    EXPECT_EQ(m.outcome.code, OutcomeCode::device_lost);
  stop = false;
  EXPECT_EQ(measurer->measure(add_one_task(), {"kernel add_one"}, 0)[0].outcome.code, OutcomeCode::ok);
}
TEST_F(DeviceMeasurerTest, GivesBackEverythingWhenItsProcessesCannotBeHad) {
  Local measurer(zygote_, options());
  kill(zygote_.pid(), SIGKILL);
  for (const Measured& m : measurer->measure(add_one_task(), {"kernel add_one", "kernel add_two"}, 0))
    EXPECT_EQ(text(m.outcome), "10 the process that starts builders and runners has died; start whet again");
}
TEST_F(DeviceMeasurerTest, LeaksNothingOverHundredsOfTrials) {
  const auto files = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}); };
  Local measurer(zygote_, options());
  std::vector<std::string> batch;
  for (int i = 0; i < 20; ++i)
    batch.push_back(i % 10 == 0 ? "kernel write_null" : i % 10 == 5 ? "exit" : "kernel add_one");
  measurer->measure(add_one_task(), batch, 0);
  const auto before = files();
  const std::int64_t memory = resident_bytes(getpid());
  for (int round = 0; round < 15; ++round) {
    // Another task each time, so that nothing is answered from memory.
    MeasureTask task = add_one_task();
    task.key += std::to_string(round);
    measurer->measure(task, batch, 0);
  }
  EXPECT_LE(files(), before + 1);  // the builder that died last may not have been replaced yet
  if (!testing::kSanitized) {      // the sanitizer keeps freed memory, and finds leaks
    EXPECT_LT(resident_bytes(getpid()), memory + (std::int64_t{32} << 20));
  }
  std::ifstream children("/proc/" + std::to_string(zygote_.pid()) + "/task/" + std::to_string(zygote_.pid()) +
                         "/children");
  EXPECT_LE(std::distance(std::istream_iterator<pid_t>(children), {}), 3);
}

// Generated code, the whole way: builder, runner, reference.
constexpr const char* kDense = R"(p0 = PLACEHOLDER [8, 64]
p1 = PLACEHOLDER [64, 32] const
dense(i, j) += (p0[i, k]*p1[k, j]) for i in 8, j in 32, k in 64  # matmul i:row j:out_channel k:in_channel
relu(a, b) = max(dense[a, b], 0f) for a in 8, b in 32  # elementwise a:row b:out_channel
return relu
)";

TEST_F(DeviceMeasurerTest, MeasuresAndChecksGeneratedCode) {
  Local measurer(zygote_, options());
  for (int threads : {1, 2}) {
    const MeasureTask task = task_of(kDense, threads);
    const Measured m = measurer->measure(task, {""}, 0)[0];
    EXPECT_EQ(text(m.outcome), "0");
    EXPECT_EQ(m.tree_hash.size(), 16u);
    EXPECT_EQ(text(measurer->check(task, "")), "0");
  }
}
TEST_F(DeviceMeasurerTest, MeasuresAndChecksAPartAsItIsWrittenIntoItsWhole) {
  Local measurer(zygote_, options());
  MeasureTask task = task_of(kDense);
  EXPECT_EQ(text(measurer->check(task, "pack o1 o2")), "0");
  task.within = {8, 48};
  EXPECT_EQ(text(measurer->measure(task, {"pack o1 o2"}, 0)[0].outcome), "0");
  EXPECT_EQ(measurer->counters().measured_once, 0) << "another kernel than the whole one's";
  EXPECT_EQ(text(measurer->check(task, "pack o1 o2")), "0");
  task.within = {8, 31};
  EXPECT_EQ(text(measurer->check(task, "")), "1 the task's output is no part of 8x31");
}
TEST_F(DeviceMeasurerTest, FindsAKernelThatWritesAWholeWhereItIsAPart) {
  Local measurer(zygote_, options());
  MeasureTask task = task_of("p = PLACEHOLDER [4, 1024]\nq(i, j) = (p[i, j] + 1f) for i in 2, j in 1024\nreturn q\n");
  task.within = {2, 2048};
  const Outcome outcome = measurer->check(task, "kernel add_one");
  EXPECT_EQ(outcome.code, OutcomeCode::wrong_answer);
  EXPECT_EQ(outcome.message, "it wrote beside its part of 2x2048, in row 0");
}
TEST_F(DeviceMeasurerTest, ChecksPackedConstants) {
  Local measurer(zygote_, options());
  EXPECT_EQ(text(measurer->check(task_of(kDense), "pack o1 o2")), "0");
}

/// Another device, on which kernels that pack constants crash.
class CrashesWhilePacking : public Device {
 public:
  explicit CrashesWhilePacking(Device& inner) : inner_(inner) {}

  const DeviceInfo& info() const override { return inner_.info(); }
  MeasureReply measure(const MeasureRequest& request) override { return inner_.measure(request); }
  CheckReply check(const CheckRequest& request) override {
    ++checks;
    return request.packing ? CheckReply{OutcomeCode::crash, "the packing crashed", {}} : inner_.check(request);
  }
  Result<std::vector<ModelTimes>> time_models(const std::vector<ModelLibrary>& files, const ModelRun& run) override {
    return inner_.time_models(files, run);
  }

  int checks = 0;

 private:
  Device& inner_;
};

TEST_F(DeviceMeasurerTest, ChecksConstantsThatTheInterpreterPackedWhereTheirKernelFails) {
  Local local(zygote_, options());
  CrashesWhilePacking device(*local.device);
  DeviceMeasurer measurer(local.builders, {&device}, options());
  EXPECT_EQ(text(measurer.check(task_of(kDense), "pack o1 o2")), "0");
  EXPECT_EQ(device.checks, 2);
}

TEST_F(DeviceMeasurerTest, AnswersSeveralThreads) {
  Local measurer(zygote_, options());
  const auto work = [&](const MeasureTask& task, const std::string& steps, OutcomeCode checked) {
    measurer->prepare(task, {steps, "refuse"});
    const auto out = measurer->measure(task, {"refuse", steps}, 0);
    EXPECT_EQ(out[0].outcome.code, OutcomeCode::instantiation);
    EXPECT_EQ(text(out[1].outcome), "0");
    EXPECT_EQ(measurer->check(task, steps).code, checked);
    EXPECT_EQ(text(measurer->compare(task, {steps}, 1)[0]), "0");
  };
  MeasureTask part = task_of(kDense);
  part.within = {8, 48};
  std::thread a([&] { work(add_one_task(), "kernel add_one", OutcomeCode::ok); });
  std::thread b([&] { work(add_one_task(), "kernel add_two", OutcomeCode::wrong_answer); });
  std::thread c([&] { work(task_of(kDense), "pack o1 o2", OutcomeCode::ok); });
  work(part, "pack o1 o2", OutcomeCode::ok);
  for (std::thread* each : {&a, &b, &c}) each->join();
}

TEST(FormulaMeasurer, AnswersByItsFormula) {
  auto measurer = FormulaMeasurer::timing([](const std::string& steps) { return static_cast<double>(steps.size()); });
  const auto out = measurer.measure({}, {"ab", "abcd"}, 3);
  EXPECT_EQ(out[0].outcome.best_seconds(), 2);
  EXPECT_TRUE(out[1].outcome.truncated);
  EXPECT_EQ(measurer.compare({}, {"a", "bb"})[1].best_seconds(), 2);
}

}  // namespace device_measurer_test
}  // namespace whet
