#include "compiler/compile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <numeric>
#include <sstream>

#include "artifact/made_weights.h"
#include "base/rng.h"
#include "compiler/choose.h"
#include "compiler/packing.h"
#include "compiler/scratch.h"
#include "compiler/summary.h"
#include "compiler/testing/model_builder.h"
#include "device/cpu/opened_model.h"
#include "ops/evaluate_graph.h"
#include "passes/optimize.h"
#include "runtime/cpu/embedded_aarch64.h"
#include "tensor/compare.h"
#include "whet/model.hpp"

namespace whet {
namespace {

using testing::ModelBuilder;
using testing::small_network;

/// The network with weights and values of bf16.
Graph in_bf16(Graph graph) {
  for (Value& value : graph.values) {
    if (value.type.dtype != DType::f32) continue;
    value.type.dtype = DType::bf16;
    if (value.constant) value.constant = held_as(*value.constant, DType::bf16);
  }
  return graph;
}

class Compile : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<ScratchDirectory> made = ScratchDirectory::make();
    ASSERT_TRUE(made.ok()) << made.error().message;
    scratch_ = std::make_unique<ScratchDirectory>(std::move(made).value());
    target_ = parse_target("cpu -mcpu=x86-64-v2 -threads=2").value();
    source_ = best_of(nullptr, target_);
  }
  std::string path() const { return scratch_->path() + "/model.so"; }

  Result<CompileReport> compile(const Graph& graph) {
    Result<FusedGraph> fused = optimize(graph, passes_);
    if (!fused.ok()) return fused.error();
    fused_ = std::move(fused).value();
    return compile_model(fused_, source_, target_, path());
  }
  /// The compiled model gives what the slow interpreter gives, with one worker and with several.
  CompileReport expect_right(const Graph& graph) {
    Result<CompileReport> report = compile(graph);
    EXPECT_TRUE(report.ok()) << report.error().message;
    if (!report.ok()) return {};
    Rng rng(99);
    std::vector<Tensor> inputs;
    for (ValueId id : graph.inputs) inputs.push_back(Tensor::random(graph.value(id).type, rng));
    Result<std::vector<Tensor>> values = evaluate_graph(graph, inputs);
    EXPECT_TRUE(values.ok());
    for (std::uint32_t threads : {1u, 2u, 3u}) {
      OpenModelOptions options;
      options.threads = threads;
      Result<OpenedModel> opened = OpenedModel::open(path(), options);
      EXPECT_TRUE(opened.ok()) << opened.error().message;
      if (!opened.ok()) return {};
      for (int run = 0; run < 2; ++run) {
        Result<std::vector<Tensor>> outputs = opened.value().run(inputs);
        EXPECT_TRUE(outputs.ok()) << outputs.error().message;
        for (std::size_t i = 0; outputs.ok() && i < graph.outputs.size(); ++i) {
          const Tensor& want = values.value()[graph.outputs[i].index()];
          EXPECT_EQ(outputs.value()[i].type(), want.type());
          EXPECT_LE(compare(outputs.value()[i], want).relative, want.dtype() == DType::bf16 ? 3e-2 : 2e-5)
              << "output " << i << ", " << threads << " threads";
        }
      }
    }
    return report.value();
  }

  std::unique_ptr<ScratchDirectory> scratch_;
  Target target_;
  ScheduleSource source_;
  FusedGraph fused_;
  PassOptions passes_;
};

TEST_F(Compile, MakesUpWeightsOfALibraryThatIsOnlyTimed) {
  ModelBuilder b(4);
  b.graph.outputs = {b.conv(b.input("image", {1, 32, 8, 8}), 64, 3)};
  ASSERT_TRUE(compile(b.graph).ok());
  std::ostringstream with_weights, made_up;
  with_weights << std::ifstream(path(), std::ios::binary).rdbuf();
  CompileOptions options;
  options.made_weights = true;
  ASSERT_TRUE(compile_model(fused_, source_, target_, path(), options).ok());
  made_up << std::ifstream(path(), std::ios::binary).rdbuf();
  EXPECT_EQ(made_up.str().size(), with_weights.str().size());
  const auto pages = [](const std::string& file) {
    const auto page = made_weights();
    int count = 0;
    for (std::size_t at = 0; at + kMadePage <= file.size(); at += 64)
      count += std::memcmp(file.data() + at, page.data() + at % kMadePage, kMadePage) == 0;
    return count;
  };
  EXPECT_EQ(pages(with_weights.str()), 0);
  EXPECT_GE(pages(made_up.str()), 3) << "by their places in the file";
  ASSERT_TRUE(OpenedModel::open(path()).ok());
}
TEST_F(Compile, PacksAConstantOnceForTheLibrariesOfAGraph) {
  FusedGraph fused = optimize(small_network(), passes_).value();
  PackedConstants packed;
  CompileOptions options;
  const auto library = [&](const std::string& name) {
    const std::string file = scratch_->path() + "/" + name;
    EXPECT_TRUE(compile_model(fused, source_, target_, file, options).ok());
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
  };
  const std::string alone = library("alone.so");
  options.packed = &packed;
  EXPECT_EQ(library("first.so"), alone);
  const std::size_t count = packed.size();
  EXPECT_GT(count, 0u);
  EXPECT_EQ(library("second.so"), alone);
  EXPECT_EQ(packed.size(), count);
  for (Value& value : fused.graph.values)
    if (value.constant) value.constant = Tensor(value.constant->dtype(), value.constant->shape());
  const std::string of_another = library("of_another.so");
  options.packed = nullptr;
  EXPECT_NE(of_another, library("another.so")) << "what was packed before stands in it: of one graph alone";
}

TEST_F(Compile, WritesALibraryForAnotherArchitecture) {
  if (aarch64_runtime_object().empty()) GTEST_SKIP() << "this build makes nothing for AArch64";
  target_ = parse_target("cpu -mcpu=cortex-a72 -threads=4").value();
  const Result<CompileReport> report = compile(small_network());
  ASSERT_TRUE(report.ok()) << report.error().message;
  const Result<OpenedModel> opened = OpenedModel::open(path());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().message, path() + ": is compiled for AArch64; this program runs on x86-64");
}

TEST_F(Compile, GivesTheAnswersOfTheInterpreter) {
  const CompileReport report = expect_right(small_network());
  EXPECT_GT(report.weights_bytes, 0);
  EXPECT_GE(report.arena_bytes, report.peak_activation_bytes);
  EXPECT_EQ(report.predicted_seconds, 0);
  EXPECT_EQ(summary(report), "0 of " + std::to_string(report.tasks.size()) + " tasks from records, " +
                                 std::to_string(report.tasks.size()) + " by default schedules");
}

Graph fire(std::int64_t left, std::int64_t right, bool shown) {
  ModelBuilder b(4);
  const ValueId x = b.relu(b.conv(b.input("image", {1, 8, 9, 7}), 16, 1));
  const ValueId one = b.relu(b.conv(x, left, 1)), three = b.relu(b.conv(x, right, 3));
  const ValueId both = b.node(ConcatOperator{1}, {one, three});
  const ValueId more = b.relu(b.conv(both, 24, 1));
  b.graph.outputs = {b.conv(more, 5, 3)};
  if (shown) b.graph.outputs.push_back(one);
  return b.graph;
}

bool has_concat(const CompileReport& report) {
  return std::any_of(report.tasks.begin(), report.tasks.end(),
                     [](const TaskReport& task) { return task.name.starts_with("concat"); });
}

TEST_F(Compile, GivesTheAnswersOfANetworkOfBf16) {
  const Graph graph = in_bf16(small_network());
  const auto set_processor = [&](const std::string& processor) {
    target_ = parse_target("cpu -mcpu=" + processor + " -threads=2").value();
    source_ = best_of(nullptr, target_);
  };
  for (const std::string processor : {"x86-64-v2", "znver3", "znver4"}) {
    SCOPED_TRACE(processor);
    set_processor(processor);
    ASSERT_TRUE(compile(graph).ok());
    if (OpenedModel::open(path()).ok()) expect_right(graph);  // this machine may lack the instructions
  }
  if (aarch64_runtime_object().empty()) return;
  for (const std::string processor : {"cortex-a72", "neoverse-n2"}) {
    set_processor(processor);
    const Result<CompileReport> report = compile(graph);
    ASSERT_TRUE(report.ok()) << processor << ": " << report.error().message;
    std::ostringstream library;
    library << std::ifstream(path(), std::ios::binary).rdbuf();
    EXPECT_EQ(library.str().find("__trunc"), std::string::npos) << processor;
  }
}

TEST_F(Compile, WritesTheOperandsOfAConcatenationWhereTheyBelong) {
  const CompileReport in_place = expect_right(fire(16, 32, false)), shown = expect_right(fire(16, 32, true)),
                      crooked = expect_right(fire(10, 32, false));
  EXPECT_FALSE(has_concat(in_place));
  EXPECT_TRUE(has_concat(shown)) << "an operand that the user reads is whole";
  EXPECT_TRUE(has_concat(crooked)) << "an operand that begins amid a cache line is copied";
}
/// Long rows narrow down to pieces whose threshold is found bit by bit; f64 compares pairs alone.
TEST_F(Compile, FindsTheBestOfLongRows) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    ModelBuilder b(8);
    const ValueId x = b.node(CastOperator{dtype}, {b.input("x", {2, 3000})});
    b.graph.outputs = {b.node(CastOperator{DType::f32}, {b.node(TopKOperator{1, 150, false}, {x})})};
    expect_right(b.graph);
  }
}

/// An operation on numbers about and below the normal ones, and what it is in f64.
struct OfSmallNumbers {
  const char* name;
  std::function<ValueId(ModelBuilder&, ValueId)> make;
  std::function<double(double)> truth;
};

/// 48 subnormal numbers and others, of both signs.
std::vector<float> small_numbers() {
  std::vector<float> numbers = {0.0f,      0x1p-149f, 0x1.8p-148f, 1e-42f, 1e-40f, 1e-39f, 0x1.fffffep-127f,
                                0x1p-126f, 4e-38f,    1e-30f,      0.5f,   2.0f};
  for (std::size_t i = numbers.size(); i < 24; ++i) numbers.push_back(std::ldexp(1.37f, -149 + static_cast<int>(i)));
  for (std::size_t i = 0; i < 24; ++i) numbers.push_back(-numbers[i]);
  return numbers;
}

std::vector<OfSmallNumbers> operations_of_small_numbers() {
  const auto unary = [](UnaryKind kind) {
    return [kind](ModelBuilder& b, ValueId x) { return b.node(UnaryOperator{kind}, {x}); };
  };
  const auto binary = [](BinaryKind kind, float by) {
    return [kind, by](ModelBuilder& b, ValueId x) {
      const std::vector<float> value = {by};
      const ValueId c =
          b.graph.add_constant("c" + std::to_string(b.graph.values.size()), Tensor::of<float>(DType::f32, {1}, value));
      return b.node(CastOperator{DType::f32}, {b.node(BinaryOperator{kind}, {x, c})});
    };
  };
  const auto cast = [](DType type) {
    return [type](ModelBuilder& b, ValueId x) {
      return b.node(CastOperator{DType::f32}, {b.node(CastOperator{type}, {x})});
    };
  };
  const auto exp_of_log = [](ModelBuilder& b, ValueId x) {
    const ValueId log = b.node(UnaryOperator{UnaryKind::log}, {b.node(UnaryOperator{UnaryKind::abs}, {x})});
    return b.node(UnaryOperator{UnaryKind::sign}, {b.node(UnaryOperator{UnaryKind::exp}, {log})});
  };
  const float tiny = 1e-39f;
  return {
      {"greater", binary(BinaryKind::greater, 0), [](double x) { return x > 0; }},
      {"less", binary(BinaryKind::less, tiny), [=](double x) { return x < tiny; }},
      {"bool", cast(DType::boolean), [](double x) { return x != 0; }},
      {"f64", cast(DType::f64), [](double x) { return x; }},
      {"mul", binary(BinaryKind::mul, 1e30f), [](double x) { return x * 1e30f; }},
      {"mul by a subnormal number", binary(BinaryKind::mul, tiny), [=](double x) { return x * tiny; }},
      {"div", binary(BinaryKind::div, 3), [](double x) { return x / 3; }},
      {"div by a power of two", binary(BinaryKind::div, 4), [](double x) { return x / 4; }},
      {"div by a subnormal number", binary(BinaryKind::div, tiny), [=](double x) { return x / tiny; }},
      {"add", binary(BinaryKind::add, tiny), [=](double x) { return x + tiny; }},
      {"max", binary(BinaryKind::max, tiny), [=](double x) { return std::max(x, double{tiny}); }},
      {"relu", unary(UnaryKind::relu), [](double x) { return std::max(x, 0.0); }},
      {"abs", unary(UnaryKind::abs), [](double x) { return std::abs(x); }},
      {"sign", unary(UnaryKind::sign), [](double x) { return (x > 0) - (x < 0); }},
      {"sqrt", unary(UnaryKind::sqrt), [](double x) { return std::sqrt(x); }},
      {"log", unary(UnaryKind::log), [](double x) { return std::log(x); }},
      {"tanh", unary(UnaryKind::tanh), [](double x) { return std::tanh(x); }},
      {"exp", exp_of_log, [](double x) { return std::abs(x) > 0; }},
  };
}

/// Within two units in the last place, which subnormal numbers have too.
bool is_near(float got, float want) {
  if (std::isnan(want) || std::isinf(want)) return std::isnan(want) ? std::isnan(got) : got == want;
  const float unit = std::nextafter(std::abs(want), INFINITY) - std::abs(want);
  return std::abs(double{got} - want) <= 2.0 * unit;
}

TEST_F(Compile, KeepsSubnormalNumbers) {
  const std::vector<float> numbers = small_numbers();
  ModelBuilder b(1);
  const ValueId x = b.input("x", {48});
  const std::vector<OfSmallNumbers> operations = operations_of_small_numbers();
  for (const OfSmallNumbers& operation : operations) b.graph.outputs.push_back(operation.make(b, x));
  ASSERT_TRUE(compile(b.graph).ok());
  OpenModelOptions options;
  options.threads = 2;
  Result<OpenedModel> opened = OpenedModel::open(path(), options);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const std::vector<Tensor> inputs = {Tensor::of<float>(DType::f32, {48}, numbers)};
  const std::vector<Tensor> compiled = opened->run(inputs).value();
  const std::vector<Tensor> interpreted = evaluate_graph(b.graph, inputs).value();
  for (std::size_t o = 0; o < operations.size(); ++o)
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const float want = static_cast<float>(operations[o].truth(numbers[i]));
      const float got = compiled[o].as<float>()[i];
      const float slow = interpreted[b.graph.outputs[o].index()].as<float>()[i];
      EXPECT_TRUE(is_near(got, want)) << operations[o].name << " of " << numbers[i] << ": " << got << ", not " << want;
      EXPECT_TRUE(is_near(slow, want)) << operations[o].name << " of " << numbers[i] << ": " << slow << ", not "
                                       << want;
    }
}

/// What is tuned is what runs: a kernel that is measured and left out would cost trials, and the sum its truth.
TEST_F(Compile, RunsTheTasksThatAreTuned) {
  for (const bool shown : {false, true}) {
    const std::vector<Task> tasks = extract_tasks(optimize(fire(16, 32, shown), {}).value(), Target{}).value();
    std::string tuned, compiled;
    for (const Task& task : tasks) tuned += std::to_string(task.weight) + " x " + task.name + "\n";
    for (const TaskReport& task : expect_right(fire(16, 32, shown)).tasks)
      compiled += std::to_string(task.weight) + " x " + task.name + "\n";
    EXPECT_EQ(tuned, compiled);
  }
}
TEST_F(Compile, CopiesRowsThatAreNeitherContiguousInTheWholeNorAlongItsLastAxis) {
  const auto stacked = [](std::int64_t batch) {
    ModelBuilder b(6);
    const ValueId x = b.input("image", {batch, 8, 4, 6});
    const ValueId rows = b.node(ConcatOperator{2}, {b.relu(b.conv(x, 16, 1)), b.relu(b.conv(x, 16, 1))});
    b.graph.outputs = {b.conv(rows, 8, 3)};
    return b.graph;
  };
  EXPECT_FALSE(has_concat(expect_right(stacked(1))));
  EXPECT_TRUE(has_concat(expect_right(stacked(2))));
}
TEST_F(Compile, TellsApartEqualTasksThatWriteIntoWholesOfDifferentShapes) {
  ModelBuilder b(5);
  const ValueId x = b.input("image", {1, 16, 6, 6});
  const ValueId first = b.node(ConcatOperator{1}, {b.relu(b.conv(x, 16, 1)), b.relu(b.conv(x, 16, 1))});
  const ValueId second = b.node(ConcatOperator{1}, {b.relu(b.conv(x, 16, 1)), b.relu(b.conv(x, 32, 1))});
  b.graph.outputs = {b.conv(first, 8, 1), b.conv(second, 8, 1)};
  const CompileReport report = expect_right(b.graph);
  const auto kernels = std::count_if(report.tasks.begin(), report.tasks.end(),
                                     [](const TaskReport& task) { return task.name.starts_with("conv2d"); });
  EXPECT_EQ(kernels, 5) << "16 channels of 32, 16 of 48, 32 of 48, and two readers";
}

TEST_F(Compile, WritesConcatenationsInConcatenationsAndIntoReshapedOutputs) {
  ModelBuilder b(6);
  const ValueId x = b.input("image", {1, 16, 6, 6});
  const auto branch = [&](std::int64_t channels) { return b.relu(b.conv(x, channels, 1)); };
  const ValueId inner = b.node(ConcatOperator{1}, {branch(16), branch(32)});
  const ValueId both = b.node(ConcatOperator{1}, {inner, branch(48)});
  const ValueId more = b.relu(b.conv(both, 24, 1));
  const auto dense = [&](std::int64_t from, std::int64_t to, ValueId value) {
    return b.node(MatMulOperator{}, {value, b.constant({from, to})});
  };
  const ValueId row = b.input("row", {3, 8});
  const ValueId flat = b.node(ConcatOperator{1}, {dense(8, 16, row), dense(8, 32, row)});
  b.graph.outputs = {b.conv(more, 5, 3), b.node(ReshapeOperator{{3 * 48}}, {flat})};
  expect_right(b.graph);
  passes_.fuse = false;  // or the inner concatenation joins the outer one
  expect_right(b.graph);
}

TEST_F(Compile, CompilesEqualTasksOnce) {
  ModelBuilder b(2);
  ValueId x = b.input("x", {1, 8, 9, 9});
  for (int i = 0; i < 4; ++i) x = b.relu(b.conv(x, 8, 3));
  b.graph.outputs = {x};
  const CompileReport report = expect_right(b.graph);
  ASSERT_EQ(fused_.groups.size(), 6u) << "four convolutions, and the way to channels last and back";
  int convolutions = 0, kernels = 0;
  for (const TaskReport& task : report.tasks) {
    if (task.weight != 4) continue;
    convolutions += task.weight;
    ++kernels;
  }
  EXPECT_EQ(convolutions, 4);
  EXPECT_EQ(kernels, 1);
}

TEST_F(Compile, OutputsMayBeInputsConstantsAliasesAndEachOther) {
  ModelBuilder b(3);
  const ValueId x = b.input("x", {4, 6}), unused = b.input("unused", {3});
  const ValueId y = b.relu(b.add(x, b.constant({6})));
  const ValueId alias = b.node(ReshapeOperator{{6, 4}}, {y});
  const ValueId further = b.node(UnaryOperator{UnaryKind::exp}, {alias});
  b.graph.outputs = {alias, x, b.constant({5}), y, further, unused};
  expect_right(b.graph);
}

TEST_F(Compile, SlicesOfWholeCacheLinesAreAliases) {
  ModelBuilder b(6);
  const ValueId x = b.input("x", {4, 2, 16});
  const ValueId y = b.relu(x);
  const auto row = [&](ValueId from, std::int64_t start, std::int64_t count) {
    return b.node(SliceOperator{{start, 0, 0}, {1, 1, 1}, {count, 2, 16}}, {from});
  };
  const ValueId first = row(y, 1, 2), inner = row(first, 1, 1), given = row(x, 3, 1);
  const ValueId columns = b.node(SliceOperator{{0, 0, 4}, {1, 1, 1}, {1, 2, 4}}, {inner});  // no range: a kernel
  b.graph.outputs = {b.add(inner, given), first, given, y, b.relu(columns), row(y, 0, 1)};
  EXPECT_EQ(expect_right(b.graph).tasks.size(), 3u);
}

TEST_F(Compile, AModelThatComputesNothingRuns) {
  ModelBuilder b(4);
  const ValueId x = b.input("x", {2, 3});
  b.graph.outputs = {b.node(ReshapeOperator{{6}}, {x})};
  EXPECT_EQ(expect_right(b.graph).tasks.size(), 0u);
}

TEST_F(Compile, LongChainsShareTheArena) {
  ModelBuilder b(5);
  ValueId x = b.input("x", {1, 16, 20, 20});
  for (int i = 0; i < 6; ++i) x = b.relu(b.conv(x, 16, i % 2 ? 1 : 3));
  b.graph.outputs = {b.node(ReduceOperator{ReduceKind::sum, {1}, false}, {x})};
  const CompileReport report = expect_right(b.graph);
  EXPECT_LT(report.arena_bytes, 4 * 16 * 20 * 20 * 4);
}

TEST_F(Compile, SaysWhichRecordDoesNotCompileAndTakesTheDefault) {
  source_.recorded = [](const Task&) { return RecordedSchedule{"split l99 4 guard", 1e-6, ""}; };
  ModelBuilder b(6);
  b.graph.outputs = {b.relu(b.input("x", {4, 6}))};
  const CompileReport report = expect_right(b.graph);
  ASSERT_EQ(report.tasks.size(), 1u);
  EXPECT_EQ(report.tasks[0].source, TaskReport::Source::default_schedule);
  EXPECT_EQ(report.tasks[0].note.substr(0, 30), "its record cannot be compiled:") << report.tasks[0].note;
}

TEST_F(Compile, RecordsGiveSchedulesAndPredictions) {
  source_.recorded = [this](const Task& task) {
    return RecordedSchedule{to_text(source_.fallback(task.dag).value()), 2e-6, ""};
  };
  ModelBuilder b(7);
  const ValueId x = b.input("x", {4, 6});
  b.graph.outputs = {b.relu(x), b.node(MatMulOperator{}, {x, b.constant({6, 8})})};
  const CompileReport report = expect_right(b.graph);
  EXPECT_EQ(summary(report), "2 of 2 tasks from records, 0 by default schedules");
  EXPECT_DOUBLE_EQ(report.predicted_seconds, 4e-6);
}
TEST(Summary, SaysInWhichPlacementTheRecordsWereTaken) {
  CompileReport report;
  report.tasks.resize(3);
  EXPECT_EQ(summary(report), "0 of 3 tasks from records, 3 by default schedules") << "nothing is known";
  report.tasks[0].placement = {78}, report.tasks[1].placement = {82};
  EXPECT_TRUE(summary(report).ends_with("; timed at 78 ns there and back")) << summary(report);
  report.tasks[2].placement = {330};
  EXPECT_TRUE(summary(report).ends_with("; timed at 78 ns there and back (2 tasks), at 330 ns there and back (1 task)"))
      << summary(report);
}
TEST_F(Compile, TakesATransferredScheduleWhereThereIsNoRecord) {
  source_.base = "cpu-512 2026.12 (41 networks)";
  source_.transferred = [this](const Task& task) {
    return TransferredSchedule{to_text(source_.fallback(task.dag).value()), "tile of a net's dense", 2, 1.5, ""};
  };
  ModelBuilder b(7);
  const ValueId x = b.input("x", {4, 6});
  b.graph.outputs = {b.relu(x), b.node(MatMulOperator{}, {x, b.constant({6, 8})})};
  source_.recorded = [this](const Task& task) -> std::optional<RecordedSchedule> {
    if (task.name.starts_with("relu")) return std::nullopt;
    return RecordedSchedule{to_text(source_.fallback(task.dag).value()), 0, "of 4 threads"};
  };
  CompileReport report = expect_right(b.graph);
  EXPECT_EQ(summary(report),
            "0 of 2 tasks from records, 1 from records of other settings, 1 transferred, 0 by default schedules · base "
            "cpu-512 2026.12 (41 networks)");
  EXPECT_EQ(OpenedModel::open(path())->info().records, summary(report));
  const auto relu = std::ranges::find(report.tasks, TaskReport::Source::transferred, &TaskReport::source);
  ASSERT_NE(relu, report.tasks.end());
  EXPECT_EQ(relu->transfer->from, "tile of a net's dense");
  source_.recorded = [this](const Task& task) {
    return RecordedSchedule{to_text(source_.fallback(task.dag).value()), 2e-6, ""};
  };
  report = expect_right(b.graph);
  EXPECT_EQ(summary(report), "2 of 2 tasks from records, 0 by default schedules") << "nothing was asked of the base";
}
TEST_F(Compile, SaysWhichTransferredScheduleDoesNotCompileAndTakesTheDefault) {
  source_.transferred = [](const Task&) { return TransferredSchedule{"split l99 4 guard", "a net", 2, 1.5, ""}; };
  ModelBuilder b(6);
  b.graph.outputs = {b.relu(b.input("x", {4, 6}))};
  const CompileReport report = expect_right(b.graph);
  ASSERT_EQ(report.tasks.size(), 1u);
  EXPECT_EQ(report.tasks[0].source, TaskReport::Source::default_schedule);
  EXPECT_EQ(report.tasks[0].note.substr(0, 42), "a transferred schedule cannot be compiled:") << report.tasks[0].note;
}
TEST(Summary, CountsTheTasksWhoseProductsAreRounded) {
  CompileReport report;
  for (const Precision precision : {Precision::f32, Precision::tf32, Precision::tf32, Precision::bf16})
    report.tasks.push_back({.name = "dense", .precision = precision});
  EXPECT_EQ(
      summary(report),
      "0 of 4 tasks from records, 4 by default schedules; products of 2 tasks in tf32; products of 1 task in bf16");
}
TEST(Summary, IsReadForTheLeastPreciseProducts) {
  CompileReport report;
  report.base = "cpu-512 2026.12";
  const auto read = [&](const std::vector<Precision>& products) {
    report.tasks.clear();
    for (const Precision precision : products) report.tasks.push_back({.name = "dense", .precision = precision});
    return precision_in(summary(report));
  };
  EXPECT_EQ(read({Precision::f32}), Precision::f32);
  EXPECT_EQ(read({Precision::f32, Precision::bf16}), Precision::bf16);
  EXPECT_EQ(read({Precision::bf16, Precision::tf32}), Precision::bf16);
  EXPECT_EQ(read({Precision::f16, Precision::tf32}), Precision::tf32) << "of the same tolerance, the first";
  for (const char* other : {"", "; products of ", "; products of 2 tasks in i4", "; products of in bf16"})
    EXPECT_EQ(precision_in(other), Precision::f32) << other;
}

TEST_F(Compile, RefusesAnOutputThatCannotBeWritten) {
  ModelBuilder b(8);
  b.graph.outputs = {b.relu(b.input("x", {4}))};
  const FusedGraph fused = optimize(b.graph, {}).value();
  EXPECT_EQ(compile_model(fused, source_, target_, "/no/such/place/model.so").error().message,
            "/no/such/place/model.so: there is no directory /no/such/place");
  EXPECT_EQ(compile_model(fused, source_, target_, scratch_->path()).error().message,
            scratch_->path() + ": is a directory; expected the path of a file");
}

// ---- Several sizes.

/// Two inputs of n rows, of which a part of the network knows nothing: its kernel is the same at all sizes.
Graph network_of(std::int64_t n, std::int64_t width = 8) {
  ModelBuilder b(3);
  const ValueId x = b.input("x", {n, 3, 9, width}), y = b.input("y", {4, 32});
  const ValueId mean = b.node(ReduceOperator{ReduceKind::mean, {2, 3}, true}, {b.relu(b.conv(x, 32, 3))});
  const ValueId rows = b.node(ReshapeOperator{{n, 32}}, {mean});
  const ValueId fixed = b.node(MatMulOperator{}, {y, b.constant({32, 48})});
  b.graph.outputs = {b.node(MatMulOperator{}, {rows, b.constant({32, 48})}), b.node(SoftmaxOperator{1}, {fixed})};
  return b.graph;
}

SizedNetwork sized_network(std::vector<ModelSize> sizes, std::size_t usual) {
  SizedNetwork network{sizes, usual, {}};
  network.read = [sizes](std::size_t variant) {
    const std::vector<std::int64_t> at = values_at(sizes, variant);
    return optimize(network_of(at[0], at.size() > 1 ? at[1] : 8), {});
  };
  return network;
}

/// The model at the sizes that are set gives what the interpreter gives of the network that was read at them.
void expect_right_at(OpenedModel& model, const std::vector<std::int64_t>& at) {
  const Graph graph = network_of(at[0], at.size() > 1 ? at[1] : 8);
  Rng rng(7);
  std::vector<Tensor> inputs;
  for (ValueId id : graph.inputs) inputs.push_back(Tensor::random(graph.value(id).type, rng));
  const std::vector<Tensor> values = evaluate_graph(graph, inputs).value();
  const Result<std::vector<Tensor>> outputs = model.run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const Tensor& want = values[graph.outputs[i].index()];
    ASSERT_EQ((*outputs)[i].type(), want.type());
    EXPECT_LE(compare((*outputs)[i], want).relative, 2e-5) << "output " << i;
  }
}

TEST_F(Compile, OneLibraryForSeveralSizes) {
  SizedNetwork network = sized_network({{"x.0", 0, 0, {1, 2, 5}}, {"w", 0, 0, {8, 11}}}, 2);
  network.dimensions = {{{"x", 0}}, {{"x", 3}}};
  const Result<CompileReport> report = compile_sizes(network, source_, target_, path());
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->sizes[1].dimension, 3u);
  ASSERT_EQ(report->variants.size(), 6u);
  EXPECT_EQ(report->variants[3].at, (std::vector<std::int64_t>{2, 11}));
  EXPECT_LT(report->variants[1].kernels, report->variants[0].kernels) << "equal tasks are compiled once";
  EXPECT_LT(report->variants[0].arena_bytes, report->variants[5].arena_bytes);

  for (const std::uint32_t threads : {1u, 2u}) {
    OpenModelOptions options;
    options.threads = threads;
    Result<OpenedModel> opened = OpenedModel::open(path(), options);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    expect_right_at(*opened, {2, 8});
    for (int round = 0; round < 2; ++round)
      for (const VariantReport& variant : report->variants) {
        ASSERT_TRUE(opened->set_sizes(variant.at).ok());
        expect_right_at(*opened, variant.at);
      }
    const Status refused = opened->set_sizes({3, 8});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message, "input \"x\" is 3x?x?x8; x.0 is 1, 2 or 5");
    expect_right_at(*opened, {5, 11});
  }
}

TEST_F(Compile, SeveralSizesAreChosenFromCpp) {
  ASSERT_TRUE(compile_sizes(sized_network({{"x.0", 0, 0, {1, 2, 5}}}, 0), source_, target_, path()).ok());
  const rt::Model model(path());
  ASSERT_EQ(model.sizes().size(), 1u);
  EXPECT_STREQ(model.sizes()[0].name, "x.0");
  EXPECT_EQ(model.sizes()[0].max, 5);
  EXPECT_EQ(model.device(), nullptr);
  EXPECT_THROW(rt::Model(path(), whet_device_options{}), rt::Error);
  rt::Session session(model);
  session.reserve();
  EXPECT_EQ(session.output_shape(0), (std::vector<std::int64_t>{1, 48}));
  session.set_shapes({{5, 3, 9, 8}});
  EXPECT_EQ(session.output_shape(0), (std::vector<std::int64_t>{5, 48}));
  EXPECT_EQ(session.input_info(1).shape[0], 4);
  EXPECT_THROW(session.set_shapes({{3, 3, 9, 8}}), rt::Error);
  EXPECT_THROW(session.set_shapes({{5, 3}}), rt::Error);
  EXPECT_THROW(session.wait(), rt::Error);
  const std::vector<float> x(5 * 3 * 9 * 8), y(4 * 32);
  session.set_input(0, x.data());
  session.set_input(1, y.data());
  session.run();
  EXPECT_FLOAT_EQ(session.output<float>(1)[4 * 48 - 1], 1.0f / 48);

  const whet_api& api = model.api();
  std::uint32_t count = 9;
  whet_error error;
  EXPECT_TRUE(WHET_HAS(&api, session_output_info));
  EXPECT_EQ(api.device_count(&count, &error), 0);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(api.session_enqueue(session.get(), &error), -1);
  EXPECT_STREQ(error.message, "the model runs on the CPU");
}

TEST_F(Compile, OneSizeHasTheTableThatItAlwaysHad) {
  ASSERT_TRUE(compile(network_of(2)).ok());
  const rt::Model model(path());
  EXPECT_FALSE(WHET_HAS(&model.api(), device_count));
  EXPECT_TRUE(model.sizes().empty());
  rt::Session session(model);
  EXPECT_EQ(session.output_shape(0), (std::vector<std::int64_t>{2, 48}));
  EXPECT_THROW(session.set_shapes({{2, 3, 9, 8}}), rt::Error);
}

TEST_F(Compile, ALibraryIsOpenedFromMemory) {
  ASSERT_TRUE(compile(network_of(2)).ok());
  std::ifstream file(path(), std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  const auto answer = [](const rt::Model& model) {
    rt::Session session(model);
    std::vector<std::vector<float>> inputs;
    for (std::uint32_t i = 0; i < model.inputs(); ++i) {
      inputs.emplace_back(static_cast<std::size_t>(model.input(i).bytes) / sizeof(float), 0.5f);
      session.set_input(i, inputs.back().data());
    }
    session.run();
    const float* first = session.output<float>(0);
    return std::vector<float>(first, first + model.output(0).bytes / static_cast<std::int64_t>(sizeof(float)));
  };
  const std::vector<float> right = answer(rt::Model(path()));
  const rt::Model first = rt::Model::from_memory(bytes.data(), bytes.size());
  const rt::Model second = rt::Model::from_memory(bytes.data(), bytes.size());
  EXPECT_NE(&first.api(), &second.api()) << "two libraries";
  EXPECT_EQ(answer(first), right);
  EXPECT_EQ(answer(second), right);
  const auto said = [&](std::size_t size) {
    whet_library library;
    whet_error error{};
    EXPECT_EQ(whet_library_open_memory(bytes.data(), size, 0, &library, &error), -1);
    return std::string(error.message);
  };
  EXPECT_EQ(said(bytes.size() - 1).find("the library in memory: the last 64 bytes"), 0u) << said(bytes.size() - 1);
  bytes[bytes.size() / 2] = static_cast<char>(~bytes[bytes.size() / 2]);
  EXPECT_EQ(said(bytes.size()).find("the library in memory: the contents do not have the checksum"), 0u);
}

TEST_F(Compile, SeveralSizesHaveTheirWeightsOnce) {
  ASSERT_TRUE(compile(network_of(5)).ok());
  const Result<CompileReport> one = compile(network_of(5));
  const Result<CompileReport> several =
      compile_sizes(sized_network({{"x.0", 0, 0, {4, 5}}}, 0), source_, target_, path());
  ASSERT_TRUE(one.ok() && several.ok());
  EXPECT_LT(several->weights_bytes, 2 * one->weights_bytes);
}

TEST_F(Compile, OneSizeInAListIsThePlanWithItsSize) {
  const Result<CompileReport> report = compile_sizes(sized_network({{"x.0", 0, 0, {2}}}, 0), source_, target_, path());
  ASSERT_TRUE(report.ok()) << report.error().message;
  Result<OpenedModel> opened = OpenedModel::open(path());
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  ASSERT_EQ(opened->sizes().size(), 1u);
  EXPECT_EQ(opened->sizes()[0].values, (std::vector<std::int64_t>{2}));
  expect_right_at(*opened, {2});
}

/// Two dimensions of x have 9 elements.
TEST_F(Compile, SizesAreTheDimensionsThatTheModelSays) {
  SizedNetwork network = sized_network({{"n", 0, 0, {4}}, {"w", 0, 0, {9}}}, 0);
  network.dimensions = {{{"x", 0}}, {{"x", 3}}};
  const Result<CompileReport> report = compile_sizes(network, source_, target_, path());
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->sizes[0].dimension, 0u);
  EXPECT_EQ(report->sizes[1].dimension, 3u) << "dimension 2 is 9 too";
  network.dimensions = {{{"gone", 1}, {"x", 0}}, {{"x", 1}}};
  EXPECT_EQ(compile_sizes(network, source_, target_, path()).error().message,
            "size w is dimension 1 of input \"x\", whose extent is another one; expected the value of the size");
  network.dimensions = {{{"x", 0}}, {{"gone", 1}}};
  EXPECT_EQ(compile_sizes(network, source_, target_, path()).error().message,
            "size w is a dimension of input \"gone\", which the model does not have; expected one of an input that no "
            "given value replaces");
}

TEST_F(Compile, SeveralSizesAreRefusedWithTheSizeThatCannotBe) {
  SizedNetwork network = sized_network({{"x.0", 0, 0, {1, 2}}}, 0);
  const auto read = network.read;
  network.read = [&](std::size_t variant) -> Result<FusedGraph> {
    if (variant == 1) return Error{"the file is gone"};
    return read(variant);
  };
  EXPECT_EQ(compile_sizes(network, source_, target_, path()).error().message, "at x.0 = 2: the file is gone");
  network.read = [&](std::size_t variant) {
    Graph graph = network_of(static_cast<std::int64_t>(variant) + 1);
    if (variant == 1) graph.outputs.pop_back();
    return optimize(graph, {});
  };
  EXPECT_EQ(compile_sizes(network, source_, target_, path()).error().message,
            "at x.0 = 2 the model has other inputs or outputs than at x.0 = 1; expected other extents alone");
  network.read = [&](std::size_t) { return optimize(network_of(7), {}); };
  EXPECT_EQ(compile_sizes(network, source_, target_, path()).error().message,
            "size x.0 is dimension 0 of input \"x\", whose extent is another one; expected the value of the size");
  // Nothing is guessed from extents.
  EXPECT_EQ(compile_sizes(sized_network({{"n", 0, 0, {1, 2}}}, 0), source_, target_, path()).error().message,
            "size n is no dimension of an input; expected a name like x.0, or whose size it is");
}

}  // namespace
}  // namespace whet
