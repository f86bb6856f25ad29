#include "measure/local_measurer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "measure/testing/fault_builds.h"
#include "measure/testing/formula_measurer.h"

namespace whet {
namespace {

MeasureTask task_of(const std::string& dag, int threads = 1) {
  MeasureTask task;
  task.dag = parse_dag(dag).value();
  task.key = workload_key(task.dag);
  task.name = "test";
  task.target = parse_target("cpu -mcpu=x86-64 -threads=" + std::to_string(threads)).value();
  return task;
}
/// What the kernel add_one computes.
MeasureTask add_one_task() { return task_of("p = PLACEHOLDER [4096]\nq(i) = (p[i] + 1f) for i in 4096\nreturn q\n"); }

class LocalMeasurerTest : public ::testing::Test {
 protected:
  static MeasureOptions options() {
    MeasureOptions o;
    o.builders = 2;
    o.no_pin = true;
    o.run_timeout = 5;
    o.burst_seconds = 0.002;
    o.policy.network_bytes = 1 << 20;
    return o;
  }
  static std::string text(const Outcome& o) {
    return std::to_string(static_cast<int>(o.code)) + (o.message.empty() ? "" : " " + o.message);
  }

  MeasureHost host_ = std::move(MeasureHost::start(testing_builds::faulty(WHET_TEST_KERNELS))).value();
};

TEST_F(LocalMeasurerTest, AnswersForEachCandidateInOrderWhateverTheyDo) {
  MeasureOptions o = options();
  o.build_timeout = o.run_timeout = 2;
  LocalMeasurer measurer(host_, o);
  const auto out = measurer.measure(add_one_task(),
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
  EXPECT_EQ(out[1].outcome.message, "split: refused");
}
TEST_F(LocalMeasurerTest, EndsEarlyWhatIsClearlySlowerThanTheIncumbent) {
  LocalMeasurer measurer(host_, options());
  const double fast = measurer.measure(add_one_task(), {"kernel add_one"}, 0)[0].outcome.best_seconds();
  EXPECT_TRUE(measurer.measure(add_one_task(), {"kernel add_one_slowly"}, fast)[0].outcome.truncated);
}
TEST_F(LocalMeasurerTest, MeasuresIdenticalCodeOnce) {
  LocalMeasurer measurer(host_, options());
  const auto out = measurer.measure(add_one_task(), {"kernel add_one", "slow kernel add_one", "kernel add_one"}, 0);
  EXPECT_EQ(measurer.counters().measured_once, 2);
  EXPECT_EQ(out[0].outcome.seconds, out[1].outcome.seconds);
}
TEST_F(LocalMeasurerTest, DoesNotHoldAKillFromOutsideAgainstTheCode) {
  MeasureOptions o = options();
  o.run_timeout = 2;
  LocalMeasurer measurer(host_, o);
  // The builder is there first, then the runner.
  std::thread killer([zygote = std::to_string(host_.zygote())] {
    for (;; usleep(10000)) {
      std::ifstream children("/proc/" + zygote + "/task/" + zygote + "/children");
      for (pid_t child = 0; children >> child;) {
        std::string name;
        std::ifstream("/proc/" + std::to_string(child) + "/comm") >> name;
        if (name != "whet-runner") continue;
        usleep(300000);  // it has its kernel by now
        kill(child, SIGKILL);
        return;
      }
    }
  });
  EXPECT_EQ(measurer.measure(add_one_task(), {"kernel hang"}, 0)[0].outcome.code, OutcomeCode::out_of_memory);
  killer.join();
  EXPECT_EQ(measurer.measure(add_one_task(), {"slow kernel hang"}, 0)[0].outcome.code, OutcomeCode::run_timeout);
  EXPECT_EQ(measurer.counters().measured_once, 0);
}
TEST_F(LocalMeasurerTest, FindsWrongAnswers) {
  LocalMeasurer measurer(host_, options());
  EXPECT_EQ(text(measurer.check(add_one_task(), "kernel add_one")), "0");
  const Outcome wrong = measurer.check(add_one_task(), "kernel add_two");
  EXPECT_EQ(wrong.code, OutcomeCode::wrong_answer);
  EXPECT_EQ(wrong.message.substr(0, 22), "output `q` differs by ") << wrong.message;
  const Outcome forgotten = measurer.check(add_one_task(), "kernel forget_the_last");
  EXPECT_EQ(forgotten.code, OutcomeCode::wrong_answer);
  EXPECT_NE(forgotten.message.find("at [4095]"), std::string::npos) << forgotten.message;
}
TEST_F(LocalMeasurerTest, ReportsWhatElseHappensInACheck) {
  LocalMeasurer measurer(host_, options());
  EXPECT_EQ(text(measurer.check(add_one_task(), "kernel write_null")),
            "9 the kernel crashed: SIGSEGV at an address that is null");
  EXPECT_EQ(text(measurer.check(add_one_task(), "refuse")), "1 split: refused");
  EXPECT_EQ(text(measurer.check(add_one_task(), "kernel add_one")), "0");
}
TEST_F(LocalMeasurerTest, ComparesInTurnAndSaysWhatFailed) {
  LocalMeasurer measurer(host_, options());
  const auto all =
      measurer.compare(add_one_task(), {"kernel add_one_slowly", "kernel add_one", "kernel report_seven", "refuse"});
  EXPECT_EQ(all[0].seconds.size(), 2u);
  EXPECT_GT(all[0].best_seconds(), all[1].best_seconds());
  EXPECT_EQ(text(all[2]), "4 the kernel reported error 7");
  EXPECT_EQ(text(all[3]), "1 split: refused");
}
TEST_F(LocalMeasurerTest, GivesBackWhatItHasNotTriedWhenInterrupted) {
  MeasureOptions o = options();
  bool stop = true;
  o.interrupted = [&] { return stop; };
  LocalMeasurer measurer(host_, o);
  for (const Measured& m : measurer.measure(add_one_task(), {"kernel add_one", "kernel add_two"}, 0))
    EXPECT_EQ(m.outcome.code, OutcomeCode::device_lost);
  stop = false;
  EXPECT_EQ(measurer.measure(add_one_task(), {"kernel add_one"}, 0)[0].outcome.code, OutcomeCode::ok);
}
TEST_F(LocalMeasurerTest, GivesBackEverythingWhenItsProcessesCannotBeHad) {
  LocalMeasurer measurer(host_, options());
  kill(host_.zygote(), SIGKILL);
  for (const Measured& m : measurer.measure(add_one_task(), {"kernel add_one", "kernel add_two"}, 0))
    EXPECT_EQ(text(m.outcome), "10 the process that starts builders and runners has died; start whet again");
}
TEST_F(LocalMeasurerTest, LeaksNothingOverHundredsOfTrials) {
  const auto files = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}); };
  LocalMeasurer measurer(host_, options());
  std::vector<std::string> batch;
  for (int i = 0; i < 20; ++i)
    batch.push_back(i % 10 == 0 ? "kernel write_null" : i % 10 == 5 ? "exit" : "kernel add_one");
  measurer.measure(add_one_task(), batch, 0);
  const auto before = files();
  const std::int64_t memory = resident_bytes(getpid());
  for (int round = 0; round < 15; ++round) {
    // Another task each time, so that nothing is answered from memory.
    MeasureTask task = add_one_task();
    task.key += std::to_string(round);
    measurer.measure(task, batch, 0);
  }
  EXPECT_LE(files(), before + 1);  // the builder that died last may not have been replaced yet
  EXPECT_LT(resident_bytes(getpid()), memory + (std::int64_t{32} << 20));
  std::ifstream children("/proc/" + std::to_string(host_.zygote()) + "/task/" + std::to_string(host_.zygote()) +
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

TEST_F(LocalMeasurerTest, MeasuresAndChecksGeneratedCode) {
  LocalMeasurer measurer(host_, options());
  for (int threads : {1, 2}) {
    const MeasureTask task = task_of(kDense, threads);
    const Measured m = measurer.measure(task, {""}, 0)[0];
    EXPECT_EQ(text(m.outcome), "0");
    EXPECT_EQ(m.tree_hash.size(), 16u);
    EXPECT_EQ(text(measurer.check(task, "")), "0");
  }
}
TEST_F(LocalMeasurerTest, MeasuresAndChecksAPartAsItIsWrittenIntoItsWhole) {
  LocalMeasurer measurer(host_, options());
  MeasureTask task = task_of(kDense);
  EXPECT_EQ(text(measurer.check(task, "pack o1 o2")), "0");
  task.within = {8, 48};
  EXPECT_EQ(text(measurer.measure(task, {"pack o1 o2"}, 0)[0].outcome), "0");
  EXPECT_EQ(measurer.counters().measured_once, 0) << "another kernel than the whole one's";
  EXPECT_EQ(text(measurer.check(task, "pack o1 o2")), "0");
  task.within = {8, 31};
  EXPECT_EQ(text(measurer.check(task, "")), "1 the task's output is no part of 8x31");
}
TEST_F(LocalMeasurerTest, FindsAKernelThatWritesAWholeWhereItIsAPart) {
  LocalMeasurer measurer(host_, options());
  MeasureTask task = task_of("p = PLACEHOLDER [4, 1024]\nq(i, j) = (p[i, j] + 1f) for i in 2, j in 1024\nreturn q\n");
  task.within = {2, 2048};
  const Outcome outcome = measurer.check(task, "kernel add_one");
  EXPECT_EQ(outcome.code, OutcomeCode::wrong_answer);
  EXPECT_EQ(outcome.message, "it wrote beside its part of 2x2048, in row 0");
}
TEST_F(LocalMeasurerTest, ChecksPackedConstants) {
  LocalMeasurer measurer(host_, options());
  EXPECT_EQ(text(measurer.check(task_of(kDense), "pack o1 o2")), "0");
}

TEST(FormulaMeasurer, AnswersByItsFormula) {
  auto measurer = FormulaMeasurer::timing([](const std::string& steps) { return static_cast<double>(steps.size()); });
  const auto out = measurer.measure({}, {"ab", "abcd"}, 3);
  EXPECT_EQ(out[0].outcome.best_seconds(), 2);
  EXPECT_TRUE(out[1].outcome.truncated);
  EXPECT_EQ(measurer.compare({}, {"a", "bb"})[1].best_seconds(), 2);
}

}  // namespace
}  // namespace whet
