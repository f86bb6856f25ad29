#include "tuner/network.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "compiler/scratch.h"
#include "measure/testing/formula_measurer.h"
#include "passes/optimize.h"
#include "records/testing/sample.h"
#include "schedule/steps.h"
#include "space/space.h"
#include "task/task.h"

namespace whet {
namespace {

/// One matrix product; the records say of its schedules what the test likes.
class Settle : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.emplace(ScratchDirectory::make().value());
    Rng rng(1);
    Graph graph;
    graph.name = "product";
    graph.inputs = {graph.add_value("x", {DType::f32, {64, 256}})};
    const ValueId w = graph.add_constant("w", Tensor::random({DType::f32, {256, 256}}, rng));
    graph.outputs = {graph.add_node("product", MatMulOperator{}, {graph.inputs[0], w}).value()};
    fused_ = optimize(graph, {}).value();
    task_ = extract_tasks(fused_, target_).value()[0];
    default_ = to_text(default_steps(task_.dag, target_).value());
    options_.inputs = {Tensor::random({DType::f32, {64, 256}}, rng)};
    options_.burst_seconds = 0.005;
  }
  RecordFile records(const std::vector<std::pair<std::string, double>>& times) {
    RecordFile file = RecordFile::open(folder_->path() + "/r.jsonl").value();
    for (const auto& [steps, seconds] : times) {
      const Record record = testing_records::timed(task_.key, steps, seconds, to_string(target_));
      EXPECT_TRUE(file.append(record).ok());
    }
    return file;
  }
  std::string best(const RecordFile& file) const {
    return file.records().best(task_.key, task_.within, target_)->record->steps;
  }

  Target target_ = parse_target("cpu -mcpu=x86-64-v2 -threads=1").value();
  std::optional<ScratchDirectory> folder_;
  FusedGraph fused_;
  Task task_;
  std::string default_;
  const std::string naive_;  ///< no step: dozens of times slower
  NetworkOptions options_;
};

TEST_F(Settle, GoesBackToTheDefaultWhereTheNetworkIsFasterSo) {
  // By itself the naive program seemed to gain 4%. (Seconds of which no machine's hiccup makes a disturbance.)
  RecordFile file = records({{default_, 10}, {naive_, 9.6}});
  ASSERT_EQ(best(file), naive_);
  const NetworkTruth truth = settle_in_network(fused_, target_, file, options_).value();
  if (truth.disturbed) GTEST_SKIP() << "the machine is too busy to conclude anything";
  EXPECT_EQ(truth.back_to_default, std::vector<std::string>{task_.name});
  EXPECT_DOUBLE_EQ(truth.tuned.predicted_seconds, 10);
  EXPECT_LT(truth.tuned.seconds, 1);
  EXPECT_EQ(best(file), default_) << "from now on";
}

TEST_F(Settle, KeepsWhatTheRecordsRankFirstWhereNothingIsFaster) {
  RecordFile file = records({{naive_, 12}, {default_, 10}});
  const NetworkTruth truth = settle_in_network(fused_, target_, file, options_).value();
  EXPECT_TRUE(truth.back_to_default.empty());
  EXPECT_DOUBLE_EQ(truth.tuned.predicted_seconds, 10);
  EXPECT_EQ(file.records().size(), 2u);
}

TEST_F(Settle, TimesTheTasksAloneInTurnWithTheNetwork) {
  FormulaMeasurer alone = FormulaMeasurer::timing([&](const std::string& steps) { return steps == default_ ? 3 : 4; });
  options_.measurer = &alone;
  RecordFile file = records({{naive_, 12}, {default_, 10}});
  const NetworkTruth truth = settle_in_network(fused_, target_, file, options_).value();
  EXPECT_DOUBLE_EQ(truth.tasks_seconds, 3);
  EXPECT_GT(truth.beside_tasks_seconds, 0);
  EXPECT_GT(alone.comparisons, 1);
}
TEST_F(Settle, SaysNothingOfTasksOfWhichOneCannotBeTimed) {
  FormulaMeasurer broken([](const MeasureTask&, const std::string&) { return Outcome{OutcomeCode::crash, "", {}}; });
  options_.measurer = &broken;
  RecordFile file = records({{default_, 10}});
  const NetworkTruth truth = settle_in_network(fused_, target_, file, options_).value();
  EXPECT_EQ(truth.tasks_seconds, 0);
  EXPECT_GT(truth.tuned.seconds, 0);
}

TEST(FasterThan, IsClearlyFasterAndBelievablySo) {
  const TimedModel tuned{1, 0.95, 0.9};
  const TimedRival untuned{{2, 1.9}, 1};
  const auto with = [&](TimedRival other) { return faster_than(tuned, {untuned, other}); };
  EXPECT_EQ(with({{0.9, 0.85}, 1}), 1u);
  EXPECT_EQ(with({{0.999, 0.9}, 1}), std::nullopt) << "within the noise";
  EXPECT_EQ(with({{0.9, 0.85}, 1, 0.05}), std::nullopt) << "saves more than the task takes";
  EXPECT_EQ(with({{0.96, 0.9}, 1, 0.05}), 1u);
  EXPECT_EQ(with({{0.9, 0.85}, 0.9}), std::nullopt) << "the tuned one was as fast meanwhile";
  EXPECT_EQ(faster_than(tuned, {{{0.8, 0.8}, 1}, {{0.9, 0.9}, 1}}), 0u) << "untuned is the fastest";
}
TEST(FasterThan, ConcludesNothingFromDisturbedTimes) {
  EXPECT_TRUE(is_disturbed({2, 1, 1})) << "the median is far from the fastest";
  EXPECT_TRUE(is_disturbed({2, 1.9, 1})) << "the fastest is far from the prediction";
  EXPECT_FALSE(is_disturbed({1.2, 1.1, 1}));
  EXPECT_FALSE(is_disturbed({1.2, 1.1, 0})) << "nothing was predicted";
  EXPECT_EQ(faster_than({2, 1, 1}, {{{0.5, 0.5, 0.5}, 2}}), std::nullopt);
}

}  // namespace
}  // namespace whet
