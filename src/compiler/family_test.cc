// Libraries for ranges of sizes: what is read at each size is what runs there.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "base/testing/random_cases.h"
#include "compiler/choose.h"
#include "compiler/compile.h"
#include "compiler/scratch.h"
#include "compiler/testing/model_builder.h"
#include "device/cpu/opened_model.h"
#include "machine/detect.h"
#include "ops/evaluate_graph.h"
#include "passes/optimize.h"
#include "ranges/testing/sized_graph.h"
#include "schedule/steps_for_sizes.h"
#include "space/space.h"
#include "tensor/compare.h"
#include "whet/model.hpp"

namespace whet {
namespace family_test {

using testing::ModelBuilder;
using Build = std::function<Result<Graph>(const SizeValues&)>;

/// A layer of an encoder on n tokens of 32, with attention of one head, sums, means over tokens, and a bias of the places.
Graph encoder(std::int64_t n) {
  ModelBuilder b(5);
  const ValueId x = b.input("x", {n, 32});
  const auto dense = [&](ValueId from, std::int64_t width) {
    const std::int64_t rows = b.graph.value(from).type.shape[1];
    return b.add(b.node(MatMulOperator{}, {from, b.constant({rows, width})}), b.constant({width}));
  };
  const ValueId scores = b.node(MatMulOperator{.transpose_b = true}, {dense(x, 32), dense(x, 32)});
  const ValueId mixed = b.node(MatMulOperator{}, {b.node(SoftmaxOperator{1}, {scores}), dense(x, 32)});
  const ValueId places = b.node(SliceOperator{{0, 0}, {1, 1}, {n, 32}}, {b.constant({40, 32})});
  const ValueId sum = b.add(b.add(x, places), dense(mixed, 32));
  const ValueId mean = b.node(ReduceOperator{ReduceKind::mean, {1}, true}, {sum});
  const ValueId centred = b.node(BinaryOperator{BinaryKind::sub}, {sum, mean});
  const ValueId wide = dense(b.relu(dense(centred, 96)), 32);
  // The last row is a part of a buffer that begins elsewhere at each length; an input that is an output is copied.
  const ValueId last = b.node(SliceOperator{{n - 1, 0}, {1, 1}, {1, 32}}, {centred});
  b.graph.outputs = {b.add(wide, centred), b.node(ReduceOperator{ReduceKind::mean, {0}, true}, {wide}), b.relu(last),
                     x};
  return b.graph;
}

/// Attention of two heads on n tokens, between products.
Graph heads(std::int64_t n) {
  ModelBuilder b(8);
  const ValueId x = b.input("x", {n, 64});
  const auto head = [&](std::vector<std::int64_t> order) {
    const ValueId rows = b.add(b.node(MatMulOperator{}, {x, b.constant({64, 64})}), b.constant({64}));
    return b.node(TransposeOperator{std::move(order)}, {b.node(ReshapeOperator{{n, 2, 32}}, {rows})});
  };
  const ValueId scores = b.node(MatMulOperator{}, {head({1, 0, 2}), head({1, 2, 0})});
  const ValueId scaled = b.node(BinaryOperator{BinaryKind::mul}, {scores, b.constant({1})});
  const ValueId mixed = b.node(MatMulOperator{}, {b.node(SoftmaxOperator{2}, {scaled}), head({1, 0, 2})});
  b.graph.outputs = {b.node(ReshapeOperator{{n, 64}}, {b.node(TransposeOperator{{1, 0, 2}}, {mixed})})};
  return b.graph;
}

/// Convolutions of pictures whose width is the size, padded, of stride 2, and pooled; a concatenation, a mean over all pixels.
Graph pictures(std::int64_t batch, std::int64_t width) {
  ModelBuilder b(6);
  const ValueId x = b.input("x", {batch, 3, 12, width});
  const ValueId stem = b.relu(b.conv(x, 16, 3));
  const ValueId half = b.relu(b.conv(stem, 24, 3, 2));
  const ValueId both = b.node(ConcatOperator{1}, {half, b.relu(b.conv(half, 16, 1))});
  const PoolOperator pool{PoolKind::max, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}};
  const ValueId pooled = b.node(pool, {both});
  const ValueId mean = b.node(ReduceOperator{ReduceKind::mean, {2, 3}, true}, {pooled});
  const ValueId rows = b.node(ReshapeOperator{{batch, 40}}, {mean});
  b.graph.outputs = {b.node(SoftmaxOperator{1}, {b.node(MatMulOperator{}, {rows, b.constant({40, 10})})}), pooled};
  return b.graph;
}

/// The model at the sizes that are set gives what the interpreter gives of the network that was read at them.
void expect_answers(OpenedModel& model, const Graph& graph, const std::string& where) {
  Rng rng(7);
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs) inputs.push_back(Tensor::random(graph.value(id).type, rng));
  const std::vector<Tensor> values = evaluate_graph(graph, inputs).value();
  double largest = 0;  // of all values: of sums that cancel nothing is left in f32
  for (const Tensor& value : values) largest = std::max(largest, compare(value, value).largest);
  const Result<std::vector<Tensor>> outputs = model.run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.error().message << where;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const Tensor& want = values[graph.outputs[i].index()];
    ASSERT_EQ((*outputs)[i].type(), want.type()) << where;
    const Difference found = compare((*outputs)[i], want);
    EXPECT_LE(found.max_abs, 2e-5 * std::max(found.largest, largest / 10)) << "output " << i << where;
  }
}

class CompileFamily : public ::testing::Test {
 protected:
  CompileFamily() : scratch_(ScratchDirectory::make().value()) { choose("x86-64-v2"); }
  void choose(const std::string& processor) {
    target_ = parse_target("cpu -mcpu=" + processor + " -threads=2").value();
    source_ = best_of(nullptr, target_);
  }
  std::string path() const { return scratch_.path() + "/ranges.so"; }

  Result<CompileReport> compile(const std::vector<SizeRange>& ranges, const Build& build) {
    FamilyOptions how;
    how.in_place = InPlaceParts::at_all_sizes;
    const auto read = [&](const SizeValues& at) -> Result<FusedGraph> {
      WHET_TRY(Graph graph, build(at));
      return optimize(std::move(graph), {});
    };
    WHET_TRY(family_, find_family(ranges, read, how));
    std::vector<ModelSize> sizes;
    for (const SizeRange& range : ranges) sizes.push_back({range.name, 0, 0, {}, range.min, range.max, range.step});
    return compile_family(family_, sizes, source_, target_, path());
  }

  OpenedModel open(std::uint32_t threads) const {
    OpenModelOptions options;
    options.threads = threads;
    return OpenedModel::open(path(), options).value();
  }

  /// At each of these sizes, forth and back.
  void expect_right(const Build& build, std::vector<SizeValues> points) const {
    for (const std::uint32_t threads : {1u, 2u}) {
      OpenedModel model = open(threads);
      for (int round = 0; round < 2; ++round) {
        for (const SizeValues& at : points) {
          const Status set = model.set_sizes(at);
          ASSERT_TRUE(set.ok()) << set.error().message;
          expect_answers(model, build(at).value(), " at " + to_text(family_.sizes, at));
          if (::testing::Test::HasFatalFailure()) return;
        }
        std::reverse(points.begin(), points.end());
      }
    }
  }
  /// All; under the sanitizers each seventh, and the last.
  static std::vector<SizeValues> all_of(std::int64_t first, std::int64_t last) {
    std::vector<SizeValues> points;
    for (std::int64_t n = first; n < last; n += testing::kSanitized ? 7 : 1) points.push_back({n});
    points.push_back({last});
    return points;
  }

  ScratchDirectory scratch_;
  Target target_;
  ScheduleSource source_;
  Family family_;
};

/// No task fell back to a schedule that is right at all sizes, and slow.
void expect_tiled(const CompileReport& report) {
  for (const TaskReport& task : report.tasks)
    EXPECT_TRUE(task.note.empty() || task.note == "reads the constants of another size")
        << task.name << ": " << task.note;
}

TEST_F(CompileFamily, RunsAnEncoderOfEveryLength) {
  const Build build = [](const SizeValues& at) -> Result<Graph> { return encoder(at[0]); };
  for (const char* processor : {"skylake-avx512", "x86-64-v3", "x86-64-v2"}) {
    choose(processor);
    if (!can_run(target_).ok() || (testing::kSanitized && target_.cpu().vector_bytes > 16)) continue;
    const Result<CompileReport> report = compile({{"x.0", 1, 40}}, build);
    ASSERT_TRUE(report.ok()) << report.error().message;
    ASSERT_EQ(report->sizes.size(), 1u);
    EXPECT_TRUE(report->sizes[0].is_range());
    EXPECT_EQ(report->variants.size(), family_.variants.size());
    SCOPED_TRACE(processor);
    expect_tiled(*report);
    expect_right(build, all_of(1, 40));
  }
  OpenedModel model = open(2);
  EXPECT_EQ(model.inputs()[0].type.shape, (Shape{1, 32})) << "it begins at the least";
  EXPECT_EQ(model.set_sizes({41}).error().message, "input \"x\" is 41x?; x.0 is 1..40");
}

TEST_F(CompileFamily, RunsAttentionOfEveryLength) {
  const Build build = [](const SizeValues& at) -> Result<Graph> { return heads(at[0]); };
  for (const char* processor : {"skylake-avx512", "x86-64-v3"}) {
    SCOPED_TRACE(processor);
    choose(processor);
    if (!can_run(target_).ok() || (testing::kSanitized && target_.cpu().vector_bytes > 32)) continue;
    const Result<CompileReport> report = compile({{"x.0", 16, 150}}, build);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(family_.variants.size(), 1u);
    expect_tiled(*report);
    expect_right(build, testing::kSanitized ? std::vector<SizeValues>{{16}, {57}, {150}} : all_of(16, 150));
  }
}

TEST_F(CompileFamily, RunsConvolutionsOfEveryWidth) {
  const Build build = [](const SizeValues& at) -> Result<Graph> { return pictures(1, at[0]); };
  const Result<CompileReport> report = compile({{"x.3", 12, 37}}, build);
  ASSERT_TRUE(report.ok()) << report.error().message;
  expect_right(build, all_of(12, 37));
}

/// Branches whose channels lie beside each other: no kernel copies them.
TEST_F(CompileFamily, WritesConcatenationsInPlace) {
  const Build build = [](const SizeValues& at) -> Result<Graph> {
    ModelBuilder b(11);
    const ValueId x = b.relu(b.conv(b.input("x", {at[0], 3, 9, at[1]}), 16, 3));
    const ValueId left = b.relu(b.conv(x, 32, 3)), right = b.relu(b.conv(x, 16, 1));
    const ValueId both = b.node(ConcatOperator{1}, {left, right});
    b.graph.outputs = {b.relu(b.conv(both, 8, 1))};
    return b.graph;
  };
  for (const char* processor : {"skylake-avx512", "x86-64-v2"}) {
    SCOPED_TRACE(processor);
    choose(processor);
    if (!can_run(target_).ok() || (testing::kSanitized && target_.cpu().vector_bytes > 16)) continue;
    const Result<CompileReport> report = compile({{"x.0", 1, 3}, {"x.3", 8, 37}}, build);
    ASSERT_TRUE(report.ok()) << report.error().message;
    expect_tiled(*report);
    const auto parts = std::ranges::count_if(
        report->tasks, [](const TaskReport& task) { return task.name.find(" in ") != std::string::npos; });
    EXPECT_EQ(parts, 2 * std::ssize(family_.variants));
    EXPECT_TRUE(std::ranges::none_of(
        report->tasks, [](const TaskReport& task) { return task.name.find("concat") != std::string::npos; }));
    expect_right(build, {{1, 8}, {1, 37}, {2, 21}, {3, 9}, {3, 37}});
  }
}

/// A row of the network's own in front of n others: parts that are contiguous, and begin where the one before ends.
TEST_F(CompileFamily, WritesContiguousPartsInPlace) {
  const Build build = [](const SizeValues& at) -> Result<Graph> {
    ModelBuilder b(12);
    const ValueId x = b.input("x", {at[0], 32});
    const auto rows = [&](ValueId from) { return b.relu(b.node(MatMulOperator{}, {from, b.constant({32, 16})})); };
    const ValueId first = rows(b.input("first", {3, 32})), all = rows(x), last = rows(x);
    const ValueId both = b.node(ConcatOperator{0}, {first, all, last});
    b.graph.outputs = {b.relu(b.node(MatMulOperator{}, {both, b.constant({16, 24})}))};
    return b.graph;
  };
  const Result<CompileReport> report = compile({{"x.0", 2, 41}}, build);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(std::ranges::none_of(
      report->tasks, [](const TaskReport& task) { return task.name.find("concat") != std::string::npos; }));
  EXPECT_TRUE(std::ranges::any_of(family_.variants.back().offsets,
                                  [](const auto& offset) { return value_at(offset.second, {10}) == (3 + 10) * 64; }));
  expect_right(build, all_of(2, 41));
}

TEST_F(CompileFamily, RunsEveryBatchAndWidth) {
  const Build build = [](const SizeValues& at) -> Result<Graph> { return pictures(at[0], at[1]); };
  const Result<CompileReport> report = compile({{"x.0", 1, 5}, {"x.3", 12, 36, 8}}, build);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->sizes[1].dimension, 3u);
  std::vector<SizeValues> points;
  for (std::int64_t n = 1; n <= 5; n += testing::kSanitized ? 4 : 1)
    for (std::int64_t w = 12; w <= 36; w += 8) points.push_back({n, w});
  expect_right(build, points);
  EXPECT_EQ(open(1).set_sizes({2, 13}).error().message, "input \"x\" is 2x?x?x13; x.3 is 12..36:8");
}

TEST_F(CompileFamily, HasTheWeightsOfOneSizeWhereOneVariantServesAll) {
  const Build build = [](const SizeValues& at) -> Result<Graph> { return encoder(at[0]); };
  const Result<CompileReport> all = compile({{"x.0", 17, 40}}, build);
  ASSERT_TRUE(all.ok()) << all.error().message;
  ASSERT_EQ(family_.variants.size(), 1u);
  const Result<CompileReport> largest =
      compile_model(optimize(encoder(40), {}).value(), source_, target_, scratch_.path() + "/one.so");
  ASSERT_TRUE(largest.ok());
  EXPECT_EQ(all->weights_bytes, largest->weights_bytes);
  EXPECT_LE(all->arena_bytes, largest->arena_bytes + 4096);
}

/// Windows of 3 by 2 end inside the picture at odd widths, as networks of pictures have them.
TEST_F(CompileFamily, RunsPoolsWithoutPadding) {
  const Build build = [](const SizeValues& at) -> Result<Graph> {
    ModelBuilder b(9);
    const PoolOperator pool{PoolKind::max, {3, 3}, {2, 2}, {1, 1}, {0, 0}, {0, 0}};
    b.graph.outputs = {b.node(pool, {b.relu(b.input("x", {1, 8, 15, at[0]}))})};
    return b.graph;
  };
  const Result<CompileReport> report = compile({{"x.3", 15, 79, 16}}, build);
  ASSERT_TRUE(report.ok()) << report.error().message;
  expect_right(build, {{15}, {31}, {47}, {63}, {79}});
}

/// Random networks at their ends and some sizes between. What cannot be a range is refused with a sentence.
TEST_F(CompileFamily, RunsRandomNetworks) {
  int compiled = 0;
  const int cases = testing::random_cases(16);
  for (int k = 0; k < cases && !::testing::Test::HasFailure(); ++k) {
    const auto seed = static_cast<std::uint64_t>(k);
    const Build build = [&](const SizeValues& at) {
      return testing::random_sized_graph(seed, {at[0], testing::kLeastSize + 3});
    };
    const Result<CompileReport> report = compile({{"x.2", testing::kLeastSize, testing::kLeastSize + 24}}, build);
    if (!report.ok()) {
      EXPECT_FALSE(report.error().message.empty());
      continue;
    }
    SCOPED_TRACE("seed " + std::to_string(k));
    ++compiled;
    OpenedModel model = open(1 + static_cast<std::uint32_t>(k) % 2);
    for (std::int64_t n = testing::kLeastSize; n <= testing::kLeastSize + 24; n += n % 5 == 0 ? 4 : 1) {
      const Status set = model.set_sizes({n});
      ASSERT_TRUE(set.ok()) << set.error().message;
      expect_answers(model, build({n}).value(), " at " + std::to_string(n));
    }
  }
  EXPECT_GE(compiled, cases / 2);
}

/// A product of as many rows.
Result<Graph> rows(const SizeValues& at) {
  ModelBuilder b(7);
  b.graph.outputs = {b.relu(b.node(MatMulOperator{}, {b.input("x", {at[0], 24}), b.constant({24, 40})}))};
  return b.graph;
}

/// One piece by the records, one as though there were none.
TEST_F(CompileFamily, KeepsUntunedKernelsInAPieceOfItsOwn) {
  ASSERT_TRUE(compile({{"x.0", 2, 40}}, rows).ok());
  ASSERT_EQ(family_.variants.size(), 1u);
  source_.recorded = [](const Task&) { return RecordedSchedule{"", 1e-6}; };  // the naive schedule
  VariantPiece untuned{{{{2}, {6}}}, {}, {6}};
  untuned.untuned = true;
  const FamilyPieces pieces = {{untuned, VariantPiece{{{{7}, {40}}}}}};
  const Result<CompileReport> report =
      compile_family(family_, pieces, {{"x.0", 0, 0, {}, 2, 40, 1}}, source_, target_, path());
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_EQ(report->tasks.size(), 2u);
  EXPECT_EQ(report->tasks[0].source, TaskReport::Source::record);
  EXPECT_EQ(report->tasks[1].source, TaskReport::Source::default_schedule);
  expect_right(rows, all_of(2, 40));
}

/// Two kernels of one task, each where it is best.
TEST_F(CompileFamily, RunsPiecesByKernelsOfTheirOwn) {
  const Result<CompileReport> whole = compile({{"x.0", 2, 40}}, rows);
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  ASSERT_EQ(family_.variants.size(), 1u);
  ASSERT_EQ(family_.variants[0].tasks.size(), 1u);
  const ComputeDag& dag = family_.variants[0].tasks[0].task.dag;
  // The first schedule of the space at n rows that a range can run by.
  const auto schedules_at = [&](std::int64_t n) {
    const DesignSpace space = source_.space(dag_at(dag, {n}));
    Rng rng(1);
    std::vector<RecordedSchedule> found;
    for (int tries = 0; tries < 200 && found.empty(); ++tries) {
      const Candidate candidate = space.sample(rng);
      const Result<Steps> steps = space.steps(candidate);
      if (steps.ok() && steps_for_sizes(moved_to(dag, {n}), *steps).ok())
        found.push_back({to_text(*steps), 1e-6, "", {}, candidate, {n}});
    }
    return found;
  };
  const std::vector<RecordedSchedule> small = schedules_at(6), large = schedules_at(40);
  ASSERT_FALSE(small.empty() || large.empty());
  const SizeBox below{{2}, {6}}, above{{7}, {40}};
  const VariantPiece first{{below}, {small}}, second{{above}, {large}};
  const FamilyPieces pieces = {{first, second}};
  const std::vector<ModelSize> sizes = {{"x.0", 0, 0, {}, 2, 40, 1}};
  const Result<CompileReport> report = compile_family(family_, pieces, sizes, source_, target_, path());
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_EQ(report->variants.size(), 2u);
  EXPECT_EQ(report->variants[0].boxes, std::vector<SizeBox>{below});
  EXPECT_EQ(report->variants[1].boxes, std::vector<SizeBox>{above});
  ASSERT_EQ(report->tasks.size(), 2u) << "two kernels of one task";
  EXPECT_EQ(report->tasks[0].at, SizeValues{40});
  EXPECT_EQ(report->tasks[1].at, SizeValues{6});
  EXPECT_EQ(report->tasks[1].source, TaskReport::Source::record);
  expect_right(rows, all_of(2, 40));
}

/// Schedules of nobody's measurement, each piece's for a size of its own, and those of measurements, where one packs as the other does.
TEST_F(CompileFamily, HasTheWeightsOfItsPiecesOnce) {
  const Build build = [](const SizeValues& at) -> Result<Graph> {
    ModelBuilder b(7);
    const ValueId x = b.input("x", {at[0], 64});
    const ValueId wide = b.relu(b.node(MatMulOperator{}, {x, b.constant({64, 96})}));
    b.graph.outputs = {b.relu(b.node(MatMulOperator{}, {wide, b.constant({96, 64})}))};
    return b.graph;
  };
  const Result<CompileReport> whole = compile({{"x.0", 2, 400}}, build);
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  ASSERT_EQ(family_.variants.size(), 1u);
  const std::vector<ModelSize> sizes = {{"x.0", 0, 0, {}, 2, 400, 1}};
  const SizeBox below{{2}, {12}}, above{{13}, {400}};
  const VariantPiece few{{below}, {}, {6}}, many{{above}, {}, {256}};
  const FamilyPieces pieces = {{few, many}};
  const Result<CompileReport> report = compile_family(family_, pieces, sizes, source_, target_, path());
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_EQ(report->variants.size(), 2u);
  EXPECT_EQ(report->tasks.size(), 4u) << "each task has a kernel a piece";
  const std::int64_t once = whole->weights_bytes + whole->weights_bytes / 2;  // with what tiles round up
  EXPECT_LE(report->weights_bytes, once);
  expect_tiled(*report);
  expect_right(build, {{2}, {6}, {12}, {13}, {31}, {256}, {400}});

  // Of measurements: the fastest schedule of the small piece packs by tiles of its own, another one as the large piece does.
  std::vector<std::vector<RecordedSchedule>> of_few, of_many;
  for (const SizedTask& task : family_.variants[0].tasks) {
    const ComputeDag large = dag_at(task.task.dag, {256});
    const std::string usual = to_text(source_.fallback(large).value());
    const DesignSpace space = source_.space(large);
    Rng rng(2);
    std::string other;
    for (int tries = 0; tries < 300 && other.empty(); ++tries) {
      const Result<Steps> steps = space.steps(space.sample(rng));
      if (!steps.ok() || to_text(*steps) == usual || to_text(*steps).find("pack ") == std::string::npos) continue;
      if (steps_for_sizes(moved_to(task.task.dag, {256}), *steps).ok()) other = to_text(*steps);
    }
    ASSERT_FALSE(other.empty());
    const auto recorded = [](const std::string& steps, double seconds) {
      return RecordedSchedule{steps, seconds, "", {}, {}, {256}};
    };
    of_few.push_back({recorded(other, 1e-6), recorded(usual, 1.001e-6)});
    of_many.push_back({recorded(usual, 1e-6)});
  }
  const VariantPiece first{{below}, of_few}, second{{above}, of_many};
  const FamilyPieces known = {{first, second}};
  const Result<CompileReport> measured = compile_family(family_, known, sizes, source_, target_, path());
  ASSERT_TRUE(measured.ok()) << measured.error().message;
  EXPECT_LE(measured->weights_bytes, once);
  expect_right(build, {{2}, {12}, {13}, {400}});
}

/// A schedule for few rows that cannot be made for all sizes is no reason for plain loops: that of the largest sizes can.
TEST_F(CompileFamily, FallsBackToTheSchedulesOfItsLargestSizes) {
  ASSERT_TRUE(compile({{"x.0", 2, 40}}, rows).ok());
  const std::function<Result<Steps>(const ComputeDag&)> usual = source_.fallback;
  source_.fallback = [usual](const ComputeDag& dag) -> Result<Steps> {
    if (dag.op(dag.outputs[0]).shape[0] < 40) return Error{"no schedule for few rows"};
    return usual(dag);
  };
  const VariantPiece piece{family_.variants[0].boxes, {}, {6}};
  const FamilyPieces pieces(1, {piece});
  const std::vector<ModelSize> sizes = {{"x.0", 0, 0, {}, 2, 40, 1}};
  const Result<CompileReport> report = compile_family(family_, pieces, sizes, source_, target_, path());
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_EQ(report->tasks.size(), 1u);
  EXPECT_EQ(report->tasks[0].at, SizeValues{40});
  EXPECT_EQ(report->tasks[0].note, "a default schedule cannot be compiled: no schedule for few rows");
  expect_right(rows, {{2}, {7}, {40}});
}

/// Where neither that can, those of smaller sizes come before plain loops.
TEST_F(CompileFamily, FallsBackToTheSchedulesOfSmallerSizes) {
  ASSERT_TRUE(compile({{"x.0", 2, 40}}, rows).ok());
  const std::function<Result<Steps>(const ComputeDag&)> usual = source_.fallback;
  source_.fallback = [usual](const ComputeDag& dag) -> Result<Steps> {
    if (dag.op(dag.outputs[0]).shape[0] > 12) return Error{"no schedule for many rows"};
    return usual(dag);
  };
  const FamilyPieces pieces(1, {VariantPiece{family_.variants[0].boxes, {}, {30}}});
  const std::vector<ModelSize> sizes = {{"x.0", 0, 0, {}, 2, 40, 1}};
  const Result<CompileReport> report = compile_family(family_, pieces, sizes, source_, target_, path());
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_EQ(report->tasks.size(), 1u);
  EXPECT_EQ(report->tasks[0].at, SizeValues{10}) << "half of half of the largest";
  EXPECT_EQ(report->tasks[0].note, "a default schedule cannot be compiled: no schedule for many rows");
  expect_right(rows, {{2}, {7}, {40}});
}

/// A tile that divides each step of a size has no tail, and is no reason for another schedule.
TEST_F(CompileFamily, RunsTilesThatDivideEachStepOfASize) {
  source_.space = {};  // no other schedule is tried before
  source_.fallback = [](const ComputeDag&) { return parse_steps("split l3 4 overlap; unroll l6; parallel l5"); };
  const Result<CompileReport> report = compile({{"x.0", 4, 32, 4}}, rows);
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_EQ(report->tasks.size(), 1u);
  EXPECT_EQ(report->tasks[0].note, "");
  expect_right(rows, {{4}, {8}, {32}});
}

TEST_F(CompileFamily, IsForProcessorsAlone) {
  target_ = parse_target("cuda -arch=sm_86 -sms=7").value();
  const Build build = [](const SizeValues& at) -> Result<Graph> { return encoder(at[0]); };
  EXPECT_EQ(compile({{"x.0", 1, 4}}, build).error().message, "cuda has no sized kernels; name the sizes");
}

TEST_F(CompileFamily, ChangesItsShapesFromCpp) {
  const Build build = [](const SizeValues& at) -> Result<Graph> { return encoder(at[0]); };
  ASSERT_TRUE(compile({{"x.0", 1, 20}}, build).ok());
  const rt::Model model(path());
  ASSERT_EQ(model.sizes().size(), 1u);
  EXPECT_EQ(model.sizes()[0].count, 0u);
  EXPECT_EQ(model.sizes()[0].step, 1);
  rt::Session session(model);
  session.reserve();
  for (const std::int64_t n : {3, 20, 1, 7}) {
    session.set_shapes({{n, 32}});
    EXPECT_EQ(session.output_shape(0), (std::vector<std::int64_t>{n, 32}));
    const std::vector<float> x(static_cast<std::size_t>(n * 32), 0.25f);
    session.set_input(0, x.data());
    session.run();
    const std::vector<float> own(session.output<float>(0), session.output<float>(0) + n * 32);
    std::vector<float> bound(own.size());
    session.bind_output(0, bound.data());
    session.run();
    EXPECT_EQ(bound, own);
    session.bind_output(0, nullptr);
  }
  EXPECT_THROW(session.set_shapes({{21, 32}}), rt::Error);
}

}  // namespace family_test
}  // namespace whet
