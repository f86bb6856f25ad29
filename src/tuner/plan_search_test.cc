#include "tuner/plan_search.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "base/testing/random_cases.h"
#include "compiler/scratch.h"
#include "device/testing/fake_devices.h"
#include "measure/testing/formula_measurer.h"
#include "passes/optimize.h"
#include "passes/testing/graph_builder.h"
#include "plan/tried.h"
#include "records/testing/sample.h"
#include "space/space.h"

namespace whet {
namespace plan_search_test {

using testing::ReopeningDevice;

/// Three convolutions between two copies from and to the file's order.
Graph three_convolutions() {
  testing::GraphBuilder b;
  ValueId x = b.relu("r0", b.input("x", {1, 16, 8, 8}));
  for (const char* name : {"a", "b", "c"}) x = b.relu(std::string(name) + "_relu", b.conv(name, x, 16, 3, 1, 1));
  return b.finish({x});
}

std::int64_t products_of(const ComputeDag& dag) {
  return std::ranges::count_if(dag.ops,
                               [](const Op& op) { return !op.is_placeholder() && op.element().reducer.has_value(); });
}

/// Kernels take by a formula; the usual ones are in the records.
class PlanSearchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (testing::kThreadSanitized) GTEST_SKIP() << "no thread here that other tests of the tuner do not have";
    folder_.emplace(ScratchDirectory::make().value());
    fused_ = optimize(three_convolutions(), {}).value();
    options_.alternatives.forms = {{8}};
    options_.prices.hope = 0.5;
    options_.trials_a_task = 2, options_.trials_a_cover = 4;
    options_.tuning.clock = [] { return 0.0; };
  }
  /// Seconds of a kernel that works on blocks, of a copy, and of a usual one.
  PlanSearch search(double blocked, double copy, double network = 0.9e-3) {
    Result<RecordFile> file = RecordFile::open(folder_->path() + "/r.jsonl");
    const auto seconds = [=, this, usual = usual_](const ComputeDag& dag) {
      const std::int64_t products = products_of(dag);
      if (products > 1 && chain_ > 0) return chain_;
      const bool product = products > 0;
      const bool blocks =
          std::any_of(dag.ops.begin(), dag.ops.end(), [](const Op& op) { return op.shape.size() == 5; });
      if (!product && blocks) return copy;
      const double megaflops = in_proportion_ ? flops(dag) * 1e-6 : 1;
      return megaflops * (product && blocks ? blocked : usual);
    };
    const std::vector<Task> tasks = extract_tasks(fused_, target_).value();
    for (const Task& task : tasks) {
      const std::string steps = to_text(*default_steps(task.dag, target_));
      Record record = testing_records::timed(task.key, steps, seconds(task.dag), to_string(target_));
      record.outcome.cache = "warm";  // as the measurer measures
      if (unrolls_ && task.name.starts_with("conv")) record.candidate = unrolled(task);
      EXPECT_TRUE(file->append(record).ok());
    }
    FormulaMeasurer measurer([&](const MeasureTask& task, const std::string&) {
      if (measured_++ == 0) products_of_first_ = products_of(task.dag);
      if (crashes_ && task.dag.op(task.dag.outputs.front()).shape.size() == 5)
        return Outcome{OutcomeCode::crash, "the kernel ended by SIGSEGV", {}};
      return Outcome{OutcomeCode::ok, "", {seconds(task.dag)}, false, 0.001, 0.001};
    });
    ReopeningDevice device([](const KernelJob&) { return 1e-6; });
    device.model_seconds = [&, network](const std::string& path) {
      if (path.ends_with("usual.so")) return usual_luck_ ? 1e-3 * usual_luck_(device.processes) : 1e-3;
      return luck_ ? luck_(device.processes) * network : network;
    };
    Result<PlanSearch> search = search_plans(fused_, target_, measurer, *file, device, options_);
    EXPECT_TRUE(search.ok()) << (search.ok() ? "" : search.error().message);
    plan_ = file->records().plan_for(hash_of(fused_), to_string(target_)) == nullptr
                ? Plan()
                : *file->records().plan_for(hash_of(fused_), to_string(target_));
    return search.ok() ? *search : PlanSearch();
  }

  /// The default schedule with one reduction step at a time.
  Candidate unrolled(const Task& task) const {
    Candidate candidate = make_space(task.dag, target_).default_candidate();
    EXPECT_NE(candidate.choices.at("ic"), Choice{1});
    candidate.choices["ic"] = {1};
    return candidate;
  }

  Target target_ = parse_target("cpu -mcpu=haswell -threads=1").value();
  std::optional<ScratchDirectory> folder_;
  FusedGraph fused_;
  PlanSearchOptions options_;
  double usual_ = 10e-6;  ///< seconds of a usual kernel
  double chain_ = 0;      ///< of one that computes several products; 0: as a usual one
  bool crashes_ = false;
  bool in_proportion_ = false;  ///< products take these times for each 10^6 operations
  bool unrolls_ = false;        ///< the best convolutions are `unrolled`
  int measured_ = 0;
  std::int64_t products_of_first_ = 0;     ///< of the task that was measured first
  std::function<double(int)> luck_;        ///< by how much a process is slower with the plan; empty: not at all
  std::function<double(int)> usual_luck_;  ///< the same with the usual plan
  Plan plan_;                              ///< that the file holds in the end
};

/// Searches with other figures through the code of those above: as released only.
class RepeatedPlanSearchTest : public PlanSearchTest {
 protected:
  void SetUp() override {
    if (testing::kSanitized) GTEST_SKIP() << "searches of other tests run the same code there";
    PlanSearchTest::SetUp();
  }
};

TEST_F(PlanSearchTest, NamesThePlanAsItIsAsked) {
  options_.name = "net", options_.tuning.trials = 1;
  search(7e-6, 1e-6);
  EXPECT_EQ(plan_.name, "net");
}

TEST_F(PlanSearchTest, TakesBlocksWhereTheyAreFasterAndTheNetworkAgrees) {
  const PlanSearch search = this->search(7e-6, 1e-6);
  EXPECT_TRUE(search.complete);
  ASSERT_FALSE(search.tried.empty());
  EXPECT_TRUE(std::any_of(search.tried.begin(), search.tried.end(), [](const auto& tried) { return tried.adopted; }));
  EXPECT_GE(std::count_if(plan_.kernels.begin(), plan_.kernels.end(),
                          [](const PlannedKernel& kernel) { return !kernel.transform; }),
            3);
  EXPECT_LT(plan_.seconds, plan_.usual_seconds);
  EXPECT_NEAR(plan_.network_seconds, 0.9e-3, 1e-9);
  EXPECT_NEAR(plan_.usual_network_seconds, 1e-3, 1e-9);
}

TEST_F(RepeatedPlanSearchTest, RecordsWhatTheNetworkTakesLongerThanItsKernels) {
  search(7e-6, 1e-6);
  EXPECT_EQ(plan_.excess, NetworkExcess());
  const double kernels = plan_.usual_seconds;
  options_.excess_seconds = 40e-6;
  search(7e-6, 1e-6);
  EXPECT_NEAR(plan_.usual_seconds, kernels + 40e-6, 1e-9);
  EXPECT_GT(plan_.excess.seconds_a_byte, 0);
  EXPECT_EQ(plan_.excess.seconds_a_kernel, 0);
}

/// One kernel takes longer than the two that it stands for, and what lies between these is little.
TEST_F(PlanSearchTest, TriesAPlanOfFewerKernelsWhereTheExcessMayGoWithTheirNumber) {
  testing::GraphBuilder b;
  const ValueId x = b.relu("a", b.conv("ac", b.relu("r", b.input("x", {1, 16, 32, 32})), 8, 3, 4, 1));
  fused_ = optimize(b.finish({b.relu("p", b.conv("out", b.relu("b", b.conv("bc", x, 8, 1)), 8, 3))}), {}).value();
  options_.alternatives.forms = {};
  chain_ = 22e-6;
  EXPECT_TRUE(search(7e-6, 1e-6).tried.empty());
  options_.excess_seconds = 60e-6;
  EXPECT_FALSE(search(7e-6, 1e-6).tried.empty());
  ASSERT_EQ(plan_.kernels.size(), 1u);
  EXPECT_TRUE(names_chain(plan_.kernels.front().forms));
  EXPECT_GT(plan_.excess.seconds_a_kernel, 0);
  EXPECT_LT(plan_.seconds, plan_.usual_seconds);
  EXPECT_LE(plan_.bound_seconds, plan_.seconds);
}

TEST_F(RepeatedPlanSearchTest, KeepsAnEarlierPlanAsLongAsTheNetworkIsFasterWithIt) {
  search(7e-6, 1e-6);
  const std::vector<PlannedKernel> adopted = plan_.kernels;
  ASSERT_FALSE(adopted.empty());
  usual_ = 5e-6;  // by sums the usual kernels are the best now
  search(7e-6, 1e-6);
  EXPECT_EQ(plan_.kernels, adopted);
  search(7e-6, 1e-6, 0.999e-3);
  EXPECT_TRUE(plan_.kernels.empty());
}

TEST_F(RepeatedPlanSearchTest, EndsAnEarlierPlanWhereTheUsualKernelsAreAskedFor) {
  search(7e-6, 1e-6);
  ASSERT_FALSE(plan_.kernels.empty());
  RecordFile file = RecordFile::open(folder_->path() + "/r.jsonl").value();
  EXPECT_TRUE(end_plan(fused_, target_, {}, {}, file).value());
  EXPECT_TRUE(file.records().plan_for(hash_of(fused_), to_string(target_))->kernels.empty());
  EXPECT_TRUE(planned(fused_, file.records(), target_)->kernels.empty());
  EXPECT_FALSE(end_plan(fused_, target_, {}, {}, file).value());
}

TEST_F(PlanSearchTest, EndsAPlanWithCoversWhereCoversAreLeftOut) {
  testing::GraphBuilder b;
  const ValueId x = b.relu("a", b.conv("ac", b.relu("r", b.input("x", {1, 16, 8, 8})), 16, 3, 1, 1));
  fused_ = optimize(b.finish({b.relu("p", b.conv("out", b.relu("b", b.conv("bc", x, 16, 1)), 8, 3))}), {}).value();
  RecordFile file = RecordFile::open(folder_->path() + "/r.jsonl").value();
  ASSERT_TRUE(file.append_plan(
                      {.graph = hash_of(fused_), .target = to_string(target_), .kernels = {{"b", "chain: a+b", false}}})
                  .ok());
  ASSERT_FALSE(planned(fused_, file.records(), target_)->kernels.empty());
  EXPECT_FALSE(end_plan(fused_, target_, {}, {}, file).value());
  EXPECT_FALSE(planned(fused_, file.records(), target_)->kernels.empty());
  EXPECT_TRUE(end_plan(fused_, target_, {.covers = false}, {}, file).value());
  EXPECT_TRUE(planned(fused_, file.records(), target_)->kernels.empty());
}

TEST_F(PlanSearchTest, BeginsWithTheBestScheduleOfTheUsualKernel) {
  unrolls_ = true;
  search(7e-6, 1e-6);
  const Alternatives found = find_alternatives(fused_, target_, options_.alternatives).value();
  const Result<RecordsRead> read = read_records(folder_->path() + "/r.jsonl");
  int seeded = 0;
  for (const Alternative& a : found.all) {
    if (a.kind != AlternativeKind::layout || a.task < 0 || !a.name.starts_with("nchw8c")) continue;
    const Task& task = found.tasks[static_cast<std::size_t>(a.task)];
    if (!task.name.starts_with("conv")) continue;
    const std::vector<const Record*> trials = read->records.of(task.key);
    seeded += std::any_of(trials.begin(), trials.end(), [](const Record* trial) {
      return trial->candidate.sketch.starts_with("tile") && trial->candidate.choices.at("ic") == Choice{1};
    });
  }
  EXPECT_GE(seeded, 2);
}

TEST_F(RepeatedPlanSearchTest, StaysWithTheUsualPlanWhereTheNetworkIsNotFaster) {
  const PlanSearch search = this->search(7e-6, 1e-6, 0.999e-3);
  EXPECT_FALSE(search.tried.empty());
  EXPECT_EQ(plan_.graph, hash_of(fused_));
  EXPECT_TRUE(plan_.kernels.empty());
}

/// Where a process has its memory makes a plan fast in it, each time that it is asked.
TEST_F(RepeatedPlanSearchTest, DoesNotTakeTheLuckOfAProcessForAFasterPlan) {
  luck_ = [](int process) { return process % 3 < 2 ? 0.97 : 1.05; };
  EXPECT_FALSE(search(7e-6, 1e-6, 1e-3).tried.empty());
  EXPECT_TRUE(plan_.kernels.empty());
}
TEST_F(RepeatedPlanSearchTest, TakesAFasterPlanThatOneProcessWasUnluckyWith) {
  luck_ = [](int process) { return process % 7 == 3 ? 1.2 : 1; };
  search(7e-6, 1e-6, 0.95e-3);
  EXPECT_FALSE(plan_.kernels.empty());
  EXPECT_NEAR(plan_.network_seconds, 0.95e-3, 1e-9);
}

TEST_F(RepeatedPlanSearchTest, KeepsAnEarlierPlanWhereTheNetworkIsTooNoisyToDecide) {
  search(7e-6, 1e-6);
  const Plan adopted = plan_;
  ASSERT_FALSE(adopted.kernels.empty());
  usual_luck_ = [](int process) { return process % 2 == 0 ? 0.5 : 2; };
  const PlanSearch noisy = search(7e-6, 1e-6, 0.9e-3);
  EXPECT_TRUE(noisy.noisy);
  ASSERT_FALSE(noisy.tried.empty());
  EXPECT_EQ(why_not_taken(noisy.tried.front()).substr(0, 56),
            "nothing is concluded, since the usual plan alone took 0.");
  EXPECT_EQ(plan_, adopted);
}
TEST_F(RepeatedPlanSearchTest, RemembersWhyAPlanWasNotTaken) {
  search(7e-6, 1e-6, 0.996e-3);
  ASSERT_FALSE(plan_.tried.empty());
  EXPECT_EQ(why_not_taken(plan_.tried.front()),
            "2% in the median of seven is asked of a larger library; it had 0.4% when 4 had decided");
  EXPECT_TRUE(plan_.kernels.empty());
}

TEST_F(PlanSearchTest, MeasuresChainsFirstThatGainedInOtherNetworks) {
  testing::GraphBuilder b;
  const ValueId x = b.relu("a", b.conv("ac", b.relu("r", b.input("x", {1, 16, 32, 32})), 8, 3, 4, 1));
  fused_ = optimize(b.finish({b.relu("b", b.conv("bc", x, 8, 1))}), {}).value();
  options_.prices.hope = 0.05;
  options_.tuning.trials = 1;
  search(5e-6, 1e-6);
  EXPECT_EQ(products_of_first_, 1) << "blocks promise more";
  measured_ = 0;
  std::filesystem::remove(folder_->path() + "/r.jsonl");
  options_.chain_gain = [](const Task&) { return 1.2; };
  search(5e-6, 1e-6);
  EXPECT_EQ(products_of_first_, 2);
}
TEST_F(PlanSearchTest, MeasuresWhatPromisesMostWhereAChoiceDoesNotEnd) {
  options_.seconds_a_choice = 0;
  const PlanSearch search = this->search(7e-6, 1e-6);
  EXPECT_GT(search.measured, 0u);
  EXPECT_FALSE(search.complete) << "nobody has proven that no other plan is shorter";
  EXPECT_FALSE(plan_.kernels.empty()) << "the choice among what was measured has time";
  EXPECT_LT(plan_.seconds, plan_.usual_seconds);
}
TEST_F(RepeatedPlanSearchTest, TakesNoWorsePlanWhereAChoiceDoesNotEnd) {
  options_.seconds_a_choice = 0;
  EXPECT_GT(search(11e-6, 3e-6).measured, 0u);
  EXPECT_TRUE(plan_.kernels.empty());
}

TEST_F(RepeatedPlanSearchTest, TriesNothingInTheNetworkThatTheSumsDoNotPromise) {
  const PlanSearch search = this->search(11e-6, 3e-6);
  EXPECT_TRUE(search.complete);
  EXPECT_TRUE(search.tried.empty());
  EXPECT_TRUE(plan_.kernels.empty());
  EXPECT_LT(search.measured, search.tasks);
}

TEST_F(PlanSearchTest, DecidesNothingWhereNoTimeIsLeftToCompareAPlan) {
  options_.network.clock = [] { return 7.0; };
  options_.network.deadline = 7.2;
  const PlanSearch found = search(7e-6, 1e-6);
  EXPECT_GT(found.measured, 0u);
  EXPECT_TRUE(found.out_of_time);
  EXPECT_TRUE(found.tried.empty());
  EXPECT_TRUE(plan_.graph.empty()) << "the file has no line";
}
TEST_F(PlanSearchTest, MeasuresNothingAfterTheDeadline) {
  options_.tuning.clock = [] { return 7.0; };
  options_.tuning.deadline = 7;
  EXPECT_EQ(search(7e-6, 1e-6).measured, 0u);
}
TEST_F(PlanSearchTest, MeasuresNothingThatIsNotHopedToBeFaster) {
  options_.prices.hope = 1.1;
  const PlanSearch search = this->search(7e-6, 1e-6);
  EXPECT_TRUE(search.complete);
  EXPECT_EQ(search.measured, 0u);
  EXPECT_EQ(measured_, 0);
}

TEST_F(PlanSearchTest, LeavesOutWhatNeverRuns) {
  crashes_ = true;
  const PlanSearch search = this->search(1e-6, 1e-7);
  EXPECT_TRUE(plan_.kernels.empty());
  EXPECT_GT(search.trials, 0);
}

/// The trials of a task in the record file.
std::size_t trials_of(const Task& task, const std::string& folder) {
  return read_records(folder + "/r.jsonl")->records.of(task.key).size();
}

TEST_F(RepeatedPlanSearchTest, MeasuresTheMostPromisingFirst) {
  testing::GraphBuilder b;
  ValueId x = b.relu("r", b.input("x", {1, 8, 8, 8}));
  for (int i = 2; i <= 10; ++i) x = b.relu("r" + std::to_string(i), b.conv("c" + std::to_string(i), x, 8 * i, 3, 1, 1));
  fused_ = optimize(b.finish({x}), {}).value();
  in_proportion_ = true;
  options_.trials_a_task = 1;
  options_.tuning.trials = 6;
  EXPECT_EQ(search(7e-6, 1e-6).trials, 6);
  const Alternatives found = find_alternatives(fused_, target_, options_.alternatives).value();
  for (const Alternative& a : found.all) {
    if (a.kind != AlternativeKind::layout || a.name != "nchw8c") continue;
    const Task& task = found.tasks[static_cast<std::size_t>(a.task)];
    const bool measured = trials_of(task, folder_->path()) > 0;
    const double megaflops = flops(task.dag) * 1e-6;  // the last one's, 6.7, is given out in the file's order
    EXPECT_TRUE(measured || megaflops < 5 || megaflops > 6) << task.name;
    EXPECT_TRUE(!measured || megaflops > 1) << task.name;
  }
}

TEST_F(RepeatedPlanSearchTest, GivesTheKernelsOfTheBestPlansMoreTrials) {
  options_.trials_a_task = 1;
  const PlanSearch search = this->search(7e-6, 1e-6);
  const Alternatives found = find_alternatives(fused_, target_, options_.alternatives).value();
  int chosen = 0;
  for (const int a : search.plans.best.front().alternatives) {
    const Alternative& alternative = found.all[static_cast<std::size_t>(a)];
    if (alternative.kind != AlternativeKind::layout || alternative.task < 0) continue;
    EXPECT_GT(trials_of(found.tasks[static_cast<std::size_t>(alternative.task)], folder_->path()), 1u);
    ++chosen;
  }
  EXPECT_GE(chosen, 3);
}

TEST_F(RepeatedPlanSearchTest, EndsWithItsTrials) {
  options_.tuning.trials = 5;
  const PlanSearch search = this->search(7e-6, 1e-6);
  EXPECT_LE(search.trials, 5);
  EXPECT_FALSE(search.complete);
}

TEST_F(PlanSearchTest, DoesNotBelieveADeviceThatLies) {
  EXPECT_TRUE(make_sense({{{{1e-3, 1e-3}}}, {{{2e-3, 1e-3}}}}, 2, 1));
  EXPECT_FALSE(make_sense({{{{1e-3, 1e-3}}}}, 2, 1));
  EXPECT_FALSE(make_sense({{{{1e-3, 1e-3}}}, {{{0, 0}}}}, 2, 1));
}

}  // namespace plan_search_test
}  // namespace whet
