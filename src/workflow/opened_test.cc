#include "workflow/opened.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>

#include "artifact/kernel.h"
#include "base/rng.h"
#include "compiler/choose.h"
#include "machine/detect.h"
#include "passes/testing/graph_builder.h"
#include "space/space.h"
#include "task/task.h"
#include "tensor/compare.h"

namespace whet::opened_test {
namespace {

const Target kTarget = *parse_target("cpu -mcpu=skylake-avx512 -threads=2");

std::string bytes_of(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

/// A network of one pointwise convolution.
class CompileWithRecords : public ::testing::Test {
 protected:
  CompileWithRecords() : scratch_(ScratchDirectory::make().value()) {
    testing::GraphBuilder b;
    fused_ = optimize(b.finish({b.conv("conv", b.input("in", {1, 32, 14, 14}), 64, 1)}), {}).value();
  }

  std::string path(const std::string& name) const { return scratch_.path() + "/" + name; }
  std::string library() const { return path("model.so"); }

  /// The convolution's task.
  Task task() const {
    const std::vector<Task> tasks = extract_tasks(fused_, kTarget).value();
    return *std::ranges::find_if(tasks, [](const Task& each) { return anchor_of(each.dag).has_value(); });
  }
  /// A base that says that another network's equal task was twice as fast by this schedule.
  std::string base_of(const Candidate& candidate) const {
    const DesignSpace space = make_space(task().dag, kTarget);
    const BaseTask taught{*anchor_of(task().dag), 0, {{0, candidate, space.extents(candidate.sketch), 2}}};
    const BaseOrigin origin{"net",   to_string(kTarget), "X", codegen_version(CodeFormat::native_object),
                            "0.2.0", "2026-12-01"};
    std::ofstream(path("base.jsonl")) << RecordBase("own", "2026.12", {origin}, {taught}).text();
    return path("base.jsonl");
  }
  CompileReport compile(const RecordOptions& options) {
    const Result<CompileReport> report = compile_with_records(fused_, options, kTarget, library());
    EXPECT_TRUE(report.ok()) << report.error().message;
    return report.ok() ? *report : CompileReport();
  }
  RecordOptions by(const BaseOptions& base) {
    RecordOptions options;
    options.base = base;
    options.tell = [this](const std::string& note) { notes_ += note + "\n"; };
    return options;
  }

  ScratchDirectory scratch_;
  FusedGraph fused_;
  std::string notes_;
};

TEST_F(CompileWithRecords, TakesAScheduleOfTheBase) {
  const Candidate other = make_space(task().dag, kTarget).seeds().front();
  const CompileReport report = compile(by({.files = {base_of(other)}}));
  EXPECT_EQ(std::ranges::count(report.tasks, TaskReport::Source::transferred, &TaskReport::source), 1);
  EXPECT_NE(summary(report).find("1 transferred"), std::string::npos) << summary(report);
  EXPECT_NE(summary(report).find("base own 2026.12 (1 network)"), std::string::npos) << summary(report);
  EXPECT_NE(bytes_of(library()).find("base own 2026.12 (1 network)"), std::string::npos) << "the library names it";
  EXPECT_EQ(notes_, "");
}
TEST_F(CompileWithRecords, WithoutABaseMakesTheSameLibraryAsWithDefaultSchedules) {
  ASSERT_TRUE(compile_model(fused_, nullptr, kTarget, library()).ok());
  const std::string usual = bytes_of(library());
  compile(by({.none = true}));
  EXPECT_TRUE(bytes_of(library()) == usual);
  EXPECT_EQ(notes_, "");
}
TEST_F(CompileWithRecords, TakesABaseThatCannotBeReadForANote) {
  compile(by({.none = true}));
  const std::string usual = bytes_of(library());
  std::ofstream(path("damaged.jsonl")) << "{\"v\":3,\"base\":";
  compile(by({.files = {path("damaged.jsonl")}}));
  EXPECT_TRUE(bytes_of(library()) == usual);
  EXPECT_EQ(std::ranges::count(notes_, '\n'), 1) << notes_;
  EXPECT_TRUE(notes_.starts_with(path("damaged.jsonl"))) << notes_;
}
TEST_F(CompileWithRecords, RefusesABaseBesideNone) {
  EXPECT_EQ(compile_with_records(fused_, by({.none = true, .files = {"a"}}), kTarget, library()).error().kind,
            ErrorKind::wrong_use);
}

// ---- Several sizes.

class CompileSizes : public ::testing::Test {
 protected:
  CompileSizes() : scratch_(ScratchDirectory::make().value()) { options_.base.none = true; }

  Result<CompileReport> compile(const std::vector<std::string>& sizes) {
    ModelOptions model;
    model.model = model_;
    model.sizes = sizes;
    return compile_sizes_with_records(model, {}, options_, target_, library());
  }
  /// The library for batches of 1, 2, 4 and 8 needs hardly more weights than the one for 8, and has its answers.
  void expect_weights_once(const std::string& model, const Target& target, const std::vector<std::string>& other_sizes,
                           const std::vector<std::int64_t>& others) {
    model_ = model, target_ = target;
    const auto compiled = [&](const std::string& batch) {
      std::vector<std::string> sizes{batch};
      sizes.insert(sizes.end(), other_sizes.begin(), other_sizes.end());
      const Result<CompileReport> report = compile(sizes);
      EXPECT_TRUE(report.ok()) << report.error().message;
      return report.ok() ? report->weights_bytes : 0;
    };
    const std::int64_t largest = compiled("batch=8");
    const bool runs = can_run(target).ok();
    Tensor batch, want;
    if (runs) {  // closed again: dlopen gives a loaded library for its path, whatever the file has become
      Result<OpenedModel> one = OpenedModel::open(library());
      ASSERT_TRUE(one.ok()) << one.error().message;
      Rng rng(5);
      batch = Tensor::random(one->inputs().front().type, rng);
      want = one->run({batch}).value().front();
    }
    EXPECT_LE(static_cast<double>(compiled("batch={1,2,4,8}")), 1.1 * static_cast<double>(largest)) << model;
    if (!runs) return;
    Result<OpenedModel> opened = OpenedModel::open(library());
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    for (const std::int64_t rows : {1, 2, 4, 8}) {
      std::vector<std::int64_t> at{rows};
      at.insert(at.end(), others.begin(), others.end());
      ASSERT_TRUE(opened->set_sizes(at).ok());
      const Result<std::vector<Tensor>> outputs = opened->run({first_rows(batch, rows)});
      ASSERT_TRUE(outputs.ok()) << outputs.error().message;
      EXPECT_LE(compare(outputs->front(), first_rows(want, rows)).relative, 2e-5) << model << ", batch " << rows;
    }
  }
  static Tensor first_rows(const Tensor& all, std::int64_t rows) {
    Shape shape = all.shape();
    shape.front() = rows;
    Tensor first(all.dtype(), shape);
    std::memcpy(first.data(), all.data(), static_cast<std::size_t>(first.bytes()));
    return first;
  }
  std::string library() const { return scratch_.path() + "/sizes.so"; }
  RunnableOptions runnable(const std::vector<std::string>& shapes) const {
    RunnableOptions options;
    options.model.model = library();
    options.model.shapes = shapes;
    return options;
  }

  ScratchDirectory scratch_;
  RecordOptions options_;
  std::string model_ = "zoo:mlp";
  Target target_ = *parse_target("cpu -mcpu=x86-64-v2 -threads=2");
};

TEST_F(CompileSizes, BeginsAtTheSmallestAndTakesTheShapesThatAreSaid) {
  const Result<CompileReport> report = compile({"batch={4,1,16}"});
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->variants.size(), 3u);
  const Result<Runnable> usual = open_runnable(runnable({}), {});
  ASSERT_TRUE(usual.ok()) << usual.error().message;
  EXPECT_EQ(sizes_text(usual->model), "batch = 1");
  EXPECT_EQ(choices_of(usual->model), (std::vector<std::vector<std::int64_t>>{{1}, {4}, {16}}));
  EXPECT_EQ(sizes_text(open_runnable(runnable({"data=16x784"}), {})->model), "batch = 16");
  InputFiles files;
  files.named["data"] = Tensor(DType::f32, {4, 784});
  EXPECT_EQ(sizes_text(open_runnable(runnable({}), files)->model), "batch = 4");
  EXPECT_EQ(open_runnable(runnable({"data=2x784"}), {}).error().message,
            "input \"data\" is 2x784; batch is 1, 4 or 16");
  EXPECT_EQ(open_runnable(runnable({"date=4x784"}), {}).error().message,
            "--shape date=4x784: the model has no such input");
}

TEST_F(CompileSizes, HaveTheirWeightsOnce) { expect_weights_once("zoo:mlp", kTarget, {}, {}); }
TEST_F(CompileSizes, OfAConvolutionalNetworkHaveTheirWeightsOnce) {
  expect_weights_once("zoo:squeezenet_v1.1", kTarget, {"image=64"}, {64});
}

/// Pieces of a range have kernels of their own, on the same weights.
TEST_F(CompileSizes, OfARangeHaveTheirWeightsOnce) {
  const Result<CompileReport> largest = compile({"batch=200"});
  ASSERT_TRUE(largest.ok()) << largest.error().message;
  const Result<CompileReport> range = compile({"batch=1..200"});
  ASSERT_TRUE(range.ok()) << range.error().message;
  EXPECT_LE(static_cast<double>(range->weights_bytes), 1.1 * static_cast<double>(largest->weights_bytes));
  for (const TaskReport& task : range->tasks)
    EXPECT_EQ(task.note.find("cannot be compiled"), std::string::npos) << task.name << ": " << task.note;
}

TEST_F(CompileSizes, RunsEverySizeOfARange) {
  const Result<CompileReport> report = compile({"batch=1..9"});
  ASSERT_TRUE(report.ok()) << report.error().message;
  const Result<Runnable> usual = open_runnable(runnable({}), {});
  ASSERT_TRUE(usual.ok()) << usual.error().message;
  EXPECT_EQ(sizes_text(usual->model), "batch = 1");
  EXPECT_EQ(choices_of(usual->model), (std::vector<std::vector<std::int64_t>>{{1}, {2}, {4}, {8}, {9}}));
  const std::vector<std::vector<std::int64_t>> checked = choices_to_check(usual->model, 0).value();
  EXPECT_EQ(checked.front(), std::vector<std::int64_t>{1});
  EXPECT_EQ(checked.back(), std::vector<std::int64_t>{9});
  EXPECT_EQ(choices_to_check(usual->model, 0, {"batch=all"})->size(), 9u);
  EXPECT_EQ(*choices_to_check(usual->model, 0, {"batch=3,5"}), (std::vector<std::vector<std::int64_t>>{{3}, {5}}));
  EXPECT_EQ(choices_to_check(usual->model, 0, {"batch=3..10"}).error().message,
            "--sizes batch=3..10: the library has no 10; its batch is 1..9");
  EXPECT_EQ(choices_to_check(usual->model, 0, {"n=3"}).error().message,
            "--sizes n={3}: the library has no size \"n\"; its sizes are batch");
  for (int n = 1; n <= 9; ++n)
    EXPECT_EQ(sizes_text(open_runnable(runnable({"data=" + std::to_string(n) + "x784"}), {})->model),
              "batch = " + std::to_string(n));
  EXPECT_EQ(open_runnable(runnable({"data=10x784"}), {}).error().message, "input \"data\" is 10x784; batch is 1..9");
}

TEST_F(CompileSizes, RefusesRangesOfGpus) {
  ModelOptions model;
  model.model = "zoo:mlp";
  model.sizes = {"batch=3..20"};
  EXPECT_EQ(compile_sizes_with_records(model, {}, options_, *parse_target("cuda -arch=sm_86 -sms=7"), library())
                .error()
                .message,
            "cuda has no sized kernels; name the sizes: --sizes 'batch={3,4,8,16,20}'");
}

TEST_F(CompileSizes, RefusesTooManyChoices) {
  std::string many = "batch=1";
  for (int n = 2; n <= 65; ++n) many += "," + std::to_string(n);
  EXPECT_EQ(
      compile({many}).error().message,
      "--sizes: 1 size with 65 choices of values; expected at most 4 sizes and 64 choices, each of which is compiled "
      "for itself");
}

TEST_F(CompileSizes, RefusesShapesOfALibraryForOneSize) {
  ModelOptions model;
  model.model = "zoo:mlp";
  ASSERT_TRUE(compile_with_records(load_fused(model).value(), options_, *parse_target("cpu -mcpu=x86-64-v2 -threads=2"),
                                   library())
                  .ok());
  EXPECT_EQ(open_runnable(runnable({"data=1x784"}), {}).error().message,
            library() + ": is compiled already; --shape is for a model that is compiled first");
}

}  // namespace
}  // namespace whet::opened_test
