#include "compiler/share_constants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/rng.h"
#include "compiler/choose.h"
#include "compiler/scratch.h"
#include "compiler/testing/model_builder.h"
#include "device/cpu/opened_model.h"
#include "lower/lower.h"
#include "machine/detect.h"
#include "ops/evaluate_graph.h"
#include "passes/optimize.h"
#include "records/testing/sample.h"
#include "tensor/compare.h"

namespace whet::share_constants_test {
namespace {

/// Some rows times a matrix.
Graph product_of(std::int64_t rows) {
  testing::ModelBuilder b(3);
  b.graph.outputs = {b.node(MatMulOperator{}, {b.input("x", {rows, 96}), b.constant({96, 128})})};
  return b.graph;
}

/// The rows of a product's task.
std::int64_t rows_of(const Task& task) { return task.dag.op(task.dag.outputs.front()).shape.front(); }

class ShareConstants : public ::testing::Test {
 protected:
  /// A schedule of the task's space with tiles of `channels` by `rows`, as a record has it.
  RecordedSchedule tiled(const Task& task, std::int64_t channels, std::int64_t rows, double seconds = 1e-6) const {
    const DesignSpace space = source_.space(task.dag);
    Candidate candidate = space.default_candidate();
    candidate.choices["oc"] = {channels};
    candidate.choices["ow"] = {rows};
    const Result<Steps> steps = space.steps(candidate);
    EXPECT_TRUE(steps.ok()) << steps.error().message;
    return {to_text(*steps), seconds, "", {}, candidate};
  }
  /// A library for 4 and for 8 rows, or for 8 alone.
  CompileReport compile(const std::vector<std::int64_t>& rows) {
    const SizedNetwork network{
        {{"x.0", 0, 0, rows}}, 0, [&](std::size_t variant) { return optimize(product_of(rows[variant]), {}); }};
    const Result<CompileReport> report = compile_sizes(network, source_, target_, library());
    EXPECT_TRUE(report.ok()) << report.error().message;
    return report.ok() ? *report : CompileReport();
  }
  /// The report of the task with 4 rows, which is compiled behind that with 8.
  static const TaskReport& of_four_rows(const CompileReport& report) { return report.tasks.at(1); }
  std::string library() const { return scratch_.path() + "/sizes.so"; }

  ScratchDirectory scratch_ = ScratchDirectory::make().value();
  Target target_ = parse_target("cpu -mcpu=x86-64-v2 -threads=2").value();
  ScheduleSource source_ = best_of(nullptr, target_);
};

TEST_F(ShareConstants, FitsAScheduleToThePackingOfTheLargestSize) {
  target_ = parse_target("cpu -mcpu=x86-64-v3 -threads=2").value();
  source_ = best_of(nullptr, target_);
  source_.recorded = [this](const Task& task) -> std::optional<RecordedSchedule> {
    return rows_of(task) == 8 ? std::optional(tiled(task, 32, 2)) : std::nullopt;
  };
  const std::int64_t alone = compile({8}).weights_bytes;
  const CompileReport report = compile({4, 8});
  EXPECT_EQ(report.weights_bytes, alone);
  EXPECT_EQ(of_four_rows(report).source, TaskReport::Source::default_schedule);
  EXPECT_EQ(of_four_rows(report).note, "reads the constants of another size");

  if (!can_run(target_).ok()) return;
  Result<OpenedModel> opened = OpenedModel::open(library());
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  for (const std::int64_t rows : {8, 4}) {
    const Graph graph = product_of(rows);
    Rng rng(7);
    const Tensor x = Tensor::random({DType::f32, {rows, 96}}, rng);
    ASSERT_TRUE(opened->set_sizes({rows}).ok());
    const Result<std::vector<Tensor>> outputs = opened->run({x});
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    const Tensor want = evaluate_graph(graph, {x}).value()[graph.outputs.front().index()];
    EXPECT_LE(compare(outputs->front(), want).relative, 2e-5) << rows;
  }
}

TEST_F(ShareConstants, KeepsAScheduleThatIsMuchFaster) {
  source_.recorded = [this](const Task& task) -> std::optional<RecordedSchedule> {
    return rows_of(task) == 8 ? std::optional(tiled(task, 4, 8)) : std::nullopt;
  };
  const std::int64_t alone = compile({8}).weights_bytes;
  const CompileReport report = compile({4, 8});
  EXPECT_GE(report.weights_bytes, 2 * alone);
  EXPECT_EQ(of_four_rows(report).note, "");
}

TEST_F(ShareConstants, KeepsARecordUnlessAnotherOneTookHardlyLonger) {
  source_.recorded = [this](const Task& task) { return rows_of(task) == 8 ? tiled(task, 8, 4) : tiled(task, 16, 2); };
  const std::int64_t alone = compile({8}).weights_bytes;
  source_.close = {};
  EXPECT_GE(compile({4, 8}).weights_bytes, 2 * alone);
  source_.close = [this](const Task& task) {
    return std::vector{tiled(task, 12, 4, 1.01e-6), tiled(task, 8, 4, 1.02e-6)};
  };
  const CompileReport report = compile({4, 8});
  EXPECT_EQ(report.weights_bytes, alone);
  EXPECT_EQ(of_four_rows(report).source, TaskReport::Source::record);
  EXPECT_EQ(of_four_rows(report).predicted_seconds, 1.02e-6);
}

TEST_F(ShareConstants, KeepsATransferredScheduleBesideADefaultOne) {
  source_.transferred = [this](const Task& task) -> std::optional<TransferredSchedule> {
    if (rows_of(task) == 8) return std::nullopt;
    RecordedSchedule schedule = tiled(task, 16, 2);
    return TransferredSchedule{schedule.steps, "a net", 1, 2, "", schedule.candidate};
  };
  EXPECT_EQ(of_four_rows(compile({4, 8})).source, TaskReport::Source::transferred);
}

TEST(StoredConstants, AreKnownByTheirContent) {
  const ComputeDag dag = parse_dag(
                             "a = PLACEHOLDER [4, 96]\nb = PLACEHOLDER [96, 16] const\n"
                             "c(i, j) += (a[i, k]*b[k, j]) for i in 4, j in 16, k in 96  # matmul i:row j:out_channel "
                             "k:in_channel\nreturn c\n")
                             .value();
  const Target target = parse_target("cpu -mcpu=x86-64-v2 -threads=2").value();
  const DesignSpace space = make_space(dag, target);
  Rng rng(3);
  const Tensor b = Tensor::random({DType::f32, {96, 16}}, rng);
  StoredConstants stored;
  const auto missing = [&](std::int64_t channels, std::int64_t rows) {
    Candidate candidate = space.default_candidate();
    candidate.choices["oc"] = {channels};
    candidate.choices["ow"] = {rows};
    return stored.missing_bytes(dag, lower(space.schedule(candidate).value().tree, target).value(), {b});
  };
  EXPECT_EQ(missing(16, 2), b.bytes());
  stored.add(b);
  EXPECT_EQ(missing(16, 2), 0) << "one tile has the elements in their order";
  EXPECT_EQ(missing(8, 4), b.bytes());
  EXPECT_EQ(StoredConstants::fingerprint(b), StoredConstants::fingerprint(b.reshaped({1, 96, 16})));
}

TEST(BestOf, KnowsTheRecordsThatTookHardlyLongerThanTheBest) {
  const Target target = parse_target("cpu -mcpu=x86-64-v2 -threads=2").value();
  Records records;
  for (const auto& [steps, seconds] : std::map<std::string, double>{{"a", 1.02e-3}, {"b", 1e-3}, {"c", 1.05e-3}})
    records.add(testing_records::timed("k", steps, seconds, to_string(target)));
  const Task task{"k", "product", {}, 1, {0}};
  const ScheduleSource source = best_of(&records, target);
  EXPECT_EQ(source.recorded(task)->steps, "b");
  const std::vector<RecordedSchedule> close = source.close(task);
  ASSERT_EQ(close.size(), 1u);
  EXPECT_EQ(close.front().steps, "a");
  EXPECT_EQ(close.front().candidate.sketch, "tile");
  EXPECT_TRUE(best_of(nullptr, target).close(task).empty());
}

}  // namespace
}  // namespace whet::share_constants_test
