#include "ranges/ranges.h"

#include <gtest/gtest.h>

#include "import/zoo/zoo.h"
#include "passes/optimize.h"
#include "passes/testing/graph_builder.h"
#include "ranges/testing/difference_at.h"

namespace whet {
namespace {

using testing::GraphBuilder;

/// A network of a builder's graph.
using Build = std::function<Graph(GraphBuilder&, const SizeValues&)>;
ReadAtSizes network(const Build& build) {
  return [build](const SizeValues& sizes) -> Result<FusedGraph> {
    GraphBuilder builder;
    return optimize(build(builder, sizes), {});
  };
}

std::string message(const Result<Family>& family) { return family.ok() ? "found" : family.error().message; }

std::vector<std::pair<std::string, std::vector<SizeBox>>> boxes_of(const Family& family) {
  std::vector<std::pair<std::string, std::vector<SizeBox>>> all;
  for (const Variant& variant : family.variants) all.emplace_back(to_text(family.sizes, variant.at), variant.boxes);
  return all;
}

/// The family is at each of its sizes the network that is read there.
void expect_all_sizes(const Family& family, const ReadAtSizes& read) {
  EXPECT_EQ(testing::difference_at_any(family, read), "");
}

Graph dense_layers(GraphBuilder& build, std::int64_t rows) {
  const ValueId x = build.input("x", {rows, 16});
  const ValueId y = build.add("first", MatMulOperator{}, {x, build.constant("w", {16, 24})});
  const ValueId z = build.add("second", MatMulOperator{}, {build.relu("r", y), build.constant("v", {24, 8})});
  return build.finish({build.relu("y", z)});
}

TEST(FindFamily, FindsOneVariantWhereEachNumberIsAFunction) {
  const auto read = network([](GraphBuilder& build, const SizeValues& s) { return dense_layers(build, s[0]); });
  const auto family = find_family({{"n", 2, 40}}, read);
  ASSERT_TRUE(family.ok()) << message(family);
  ASSERT_EQ(family->variants.size(), 1u);
  EXPECT_EQ(family->points, 39);
  EXPECT_EQ(family->checked, 39);
  const Variant& variant = family->variants[0];
  EXPECT_EQ(variant.at, SizeValues{40});
  ASSERT_EQ(variant.tasks.size(), 2u);
  EXPECT_EQ(to_text(variant.tasks[0].task.dag).substr(0, 22), "n = SIZE 2..40 at 40\np");
  EXPECT_EQ(variant.tasks[0].task.key, workload_key(dag_at(variant.tasks[0].task.dag, {40})));
  ASSERT_EQ(variant.forms.size(), 1u);
  EXPECT_EQ(variant.forms[0].first, "n");
  expect_all_sizes(*family, read);
}

TEST(FindFamily, GivesATaskTheFewestSizes) {
  const auto read = network([](GraphBuilder& build, const SizeValues& s) { return dense_layers(build, s[0] * s[1]); });
  const auto family = find_family({{"b", 1, 4}, {"n", 2, 9}}, read);
  ASSERT_TRUE(family.ok()) << message(family);
  ASSERT_EQ(family->variants.size(), 1u);
  const SizedTask& task = family->variants[0].tasks[0];
  ASSERT_EQ(task.sizes.size(), 1u) << "the rows of a product are one size";
  EXPECT_EQ(task.task.dag.sizes[0].name, "b*n");
  EXPECT_EQ(task.task.dag.sizes[0].min, 2);
  EXPECT_EQ(task.task.dag.sizes[0].max, 36);
  EXPECT_EQ(testing::values_of(task, {3, 7}), SizeValues{21});
}

/// A mean over the size divides by it, and a window of stride 2 halves it.
TEST(FindFamily, KnowsQuotientsAndDivisors) {
  const auto read = network([](GraphBuilder& build, const SizeValues& s) {
    const ValueId x = build.input("x", {1, 3, 12, s[0]});
    const ValueId y = build.conv("c", x, 4, 3, 2, 1);
    const ValueId mean = build.add("mean", ReduceOperator{ReduceKind::mean, {2, 3}, true}, {build.relu("r", y)});
    return build.finish({build.binary("y", BinaryKind::sub, y, mean)});
  });
  const auto family = find_family({{"n", 3, 40}}, read);
  ASSERT_TRUE(family.ok()) << message(family);
  expect_all_sizes(*family, read);
}

TEST(FindFamily, MakesVariantsOfNeighboursWithOneStructure) {
  const auto read = network([](GraphBuilder& build, const SizeValues& s) {
    const ValueId x = build.input("x", {s[0], 8});
    return build.finish({s[0] < 16 ? build.relu("y", x) : build.unary("y", UnaryKind::tanh, x)});
  });
  const auto family = find_family({{"n", 1, 32}}, read);
  ASSERT_TRUE(family.ok()) << message(family);
  using Boxes = std::vector<SizeBox>;
  EXPECT_EQ(boxes_of(*family),
            (std::vector<std::pair<std::string, Boxes>>{{"n=15", Boxes{{{1}, {15}}}}, {"n=32", Boxes{{{16}, {32}}}}}));
  EXPECT_EQ(variant_at(*family, {15}), &family->variants[0]);
  EXPECT_EQ(variant_at(*family, {16}), &family->variants[1]);
  EXPECT_EQ(variant_at(*family, {33}), nullptr);
  expect_all_sizes(*family, read);
}

/// Alternating structures: each of them is several boxes.
TEST(FindFamily, JoinsBoxesOfOneStructure) {
  const auto read = network([](GraphBuilder& build, const SizeValues& s) {
    const ValueId x = build.input("x", {s[0], 8});
    return build.finish({s[0] % 2 == 0 ? build.relu("y", x) : build.unary("y", UnaryKind::tanh, x)});
  });
  const auto family = find_family({{"n", 1, 8}}, read);
  ASSERT_TRUE(family.ok()) << message(family);
  ASSERT_EQ(family->variants.size(), 2u);
  EXPECT_EQ(family->variants[0].boxes.size(), 4u);
  expect_all_sizes(*family, read);
}

TEST(FindFamily, TakesPartsOfTheLargestConstants) {
  const auto read = network([](GraphBuilder& build, const SizeValues& s) {
    const ValueId x = build.input("x", {s[0], 8});
    Tensor table(DType::f32, {s[0], 8});
    for (std::int64_t i = 0; i < table.size(); ++i) table.set(i, 0.25 * static_cast<double>(i % 37));
    return build.finish({build.plus("y", x, build.graph.add_constant("table", table))});
  });
  const auto family = find_family({{"n", 2, 20}}, read);
  ASSERT_TRUE(family.ok()) << message(family);
  ASSERT_EQ(family->variants.size(), 1u);
  EXPECT_EQ(family->variants[0].windows.size(), 1u);
  EXPECT_TRUE(family->variants[0].windows.begin()->second.begin.empty()) << "all begin with the first row";
  expect_all_sizes(*family, read);
}

TEST(FindFamily, PutsAWindowWhereItLies) {
  const auto read = network([](GraphBuilder& build, const SizeValues& s) {
    const ValueId x = build.input("x", {s[0], 8});
    Tensor table(DType::f32, {s[0], 8});  // the last rows of a table
    for (std::int64_t i = 0; i < table.size(); ++i) table.set(i, static_cast<double>(i - table.size()));
    return build.finish({build.plus("y", x, build.graph.add_constant("table", table))});
  });
  const auto family = find_family({{"n", 2, 20}}, read);
  ASSERT_TRUE(family.ok()) << message(family);
  const ConstantWindow& window = family->variants[0].windows.begin()->second;
  ASSERT_EQ(window.begin.size(), 2u);
  EXPECT_EQ(value_at(window.begin[0], {5}), 15);
  EXPECT_FALSE(window.begin[1].defined());
}

/// A table of rows and columns, whose places have the same values at all sizes.
Tensor table_of(const Shape& shape) {
  Tensor table(DType::f32, shape);
  for (std::int64_t row = 0; row < shape[0]; ++row)
    for (std::int64_t column = 0; column < shape[1]; ++column)
      table.set(row * shape[1] + column, static_cast<double>(64 * row + column));
  return table;
}
/// x plus a table, by one operator at some sizes and by another one elsewhere.
ReadAtSizes table_network(const std::function<bool(const SizeValues&)>& is_other) {
  return network([is_other](GraphBuilder& build, const SizeValues& s) {
    const ValueId x = build.input("x", {s[0], s[1]});
    const ValueId y = build.plus("sum", x, build.graph.add_constant("table", table_of({s[0], s[1]})));
    return build.finish({is_other(s) ? build.unary("y", UnaryKind::tanh, y) : build.relu("y", y)});
  });
}
/// Sizes are read where at most one of them is inside of its range.
FamilyOptions edges_alone() {
  FamilyOptions options;
  options.most_points = 60;
  options.seeded = 0;
  return options;
}

/// Small sizes of both kinds are a structure whose largest sizes are at no edge of the ranges.
TEST(FindFamily, TakesConstantsFromTheLargestSizesOfAStructure) {
  const auto read = table_network([](const SizeValues& s) { return s[0] < 8 && s[1] < 6; });
  const auto family = find_family({{"n", 2, 16}, {"m", 2, 16}}, read, edges_alone());
  ASSERT_TRUE(family.ok()) << message(family);
  ASSERT_EQ(family->variants.size(), 2u);
  EXPECT_EQ(family->variants[0].at, (SizeValues{7, 5}));
  EXPECT_EQ(family->variants[1].at, (SizeValues{16, 16}));
  expect_all_sizes(*family, read);
}

/// No sizes of the small structure are its largest ones: it is a variant a box.
TEST(FindFamily, MakesAVariantOfEachBoxWhereNoneHasTheLargestConstants) {
  const auto read = table_network([](const SizeValues& s) { return s[0] < 8 || s[1] < 6; });
  const auto family = find_family({{"n", 2, 16}, {"m", 2, 16}}, read, edges_alone());
  ASSERT_TRUE(family.ok()) << message(family);
  EXPECT_EQ(family->variants.size(), 3u);
  for (const Variant& variant : family->variants) {
    ASSERT_EQ(variant.boxes.size(), 1u);
    EXPECT_EQ(variant.at, variant.boxes[0].high);
  }
  expect_all_sizes(*family, read);
}

/// A kernel of a variant runs at the sizes of its boxes alone.
TEST(FindFamily, GivesTasksTheRangesOfTheirVariant) {
  const auto read = network([](GraphBuilder& build, const SizeValues& s) {
    const ValueId x = build.input("x", {s[0] * s[1], 8});
    const ValueId y = build.add("y", MatMulOperator{}, {x, build.constant("w", {8, 4})});
    return build.finish({s[1] < 96 ? build.relu("z", y) : build.unary("z", UnaryKind::tanh, y)});
  });
  for (const std::int64_t most : {1024, 40}) {  // all combinations, or some
    FamilyOptions options;
    options.most_points = most;
    options.seeded = 8;
    const auto family = find_family({{"b", 1, 8}, {"n", 32, 320, 32}}, read, options);
    ASSERT_TRUE(family.ok()) << message(family);
    ASSERT_EQ(family->variants.size(), 2u);
    EXPECT_EQ(family->variants[0].tasks[0].task.dag.sizes, (std::vector<SizeRange>{{"b*n", 32, 512, 32}}));
    EXPECT_EQ(family->variants[1].tasks[0].task.dag.sizes, (std::vector<SizeRange>{{"b*n", 96, 2560, 32}}));
    expect_all_sizes(*family, read);
  }
}

TEST(FindFamily, HasOffsetsOfPartsThatAreWrittenInPlace) {
  const auto read = network([](GraphBuilder& build, const SizeValues& s) {
    const ValueId x = build.input("x", {s[0], 16});
    const ValueId a = build.add("a", MatMulOperator{}, {x, build.constant("w", {16, 16})});
    const ValueId b = build.add("b", MatMulOperator{}, {x, build.constant("v", {16, 16})});
    return build.finish({build.relu("y", build.add("both", ConcatOperator{0}, {a, b}))});
  });
  const auto family = find_family({{"n", 2, 20}}, read);
  ASSERT_TRUE(family.ok()) << message(family);
  expect_all_sizes(*family, read);
  for (const auto& [id, offset] : family->variants[0].offsets) EXPECT_EQ(value_at(offset, {10}) % 64, 0);
}

/// How many kernels of the largest variant write a part of a larger tensor, and how many kernels it has.
std::pair<int, std::size_t> parts_and_tasks(const ReadAtSizes& read, InPlaceParts in_place) {
  FamilyOptions how;
  how.in_place = in_place;
  const auto family = find_family({{"n", 2, 20}}, read, how);
  EXPECT_TRUE(family.ok()) << message(family);
  if (!family.ok()) return {};
  int parts = 0;
  for (const SizedTask& task : family->variants.back().tasks) parts += !task.task.within.empty();
  return {parts, family->variants.back().tasks.size()};
}

TEST(FindFamily, HasPartsAlongALastAxisThatIsTheSameAtAllSizes) {
  const auto columns = network([](GraphBuilder& build, const SizeValues& s) {
    const ValueId x = build.input("x", {s[0], 16});
    const ValueId a = build.add("a", MatMulOperator{}, {x, build.constant("w", {16, 16})});
    const ValueId b = build.add("b", MatMulOperator{}, {x, build.constant("v", {16, 32})});
    const ValueId both = build.add("both", ConcatOperator{1}, {a, b});
    return build.finish({build.add("c", MatMulOperator{}, {both, build.constant("u", {48, 8})})});
  });
  EXPECT_EQ(parts_and_tasks(columns, InPlaceParts::at_all_sizes), std::pair(2, std::size_t{3}));
  EXPECT_EQ(parts_and_tasks(columns, InPlaceParts::none), std::pair(0, std::size_t{4}))
      << "the concatenation is copied";

  const auto rows = network([](GraphBuilder& build, const SizeValues& s) {
    const ValueId x = build.input("x", {s[0], 16});
    const ValueId a = build.add("a", MatMulOperator{}, {x, build.constant("w", {16, 16})});
    const ValueId b = build.add("b", MatMulOperator{}, {x, build.constant("v", {16, 16})});
    const ValueId both = build.add("both", ConcatOperator{0}, {a, b});
    return build.finish({build.add("c", MatMulOperator{}, {both, build.constant("u", {16, 8})})});
  });
  EXPECT_EQ(parts_and_tasks(rows, InPlaceParts::at_all_sizes), std::pair(0, std::size_t{2}))
      << "one kernel of both products, whose rows are whole cache lines at all sizes";

  // 32 and 16 columns to a row at n = 20: the second part begins on a cache line there, and elsewhere at other sizes.
  const auto longer = network([](GraphBuilder& build, const SizeValues& s) {
    const ValueId a = build.add("a", MatMulOperator{}, {build.input("x", {4, 16}), build.constant("w", {16, 16})});
    const ValueId y = build.input("y", {4, s[0] + 12});
    const ValueId both = build.add("both", ConcatOperator{1}, {build.relu("b", y), a});
    return build.finish({build.relu("z", both)});
  });
  EXPECT_EQ(parts_and_tasks(longer, InPlaceParts::at_all_sizes).first, 0) << "rows are longer at larger sizes";

  const auto at_times_longer = network([](GraphBuilder& build, const SizeValues& s) {
    const ValueId a = build.add("a", MatMulOperator{}, {build.input("x", {4, 16}), build.constant("w", {16, 16})});
    const ValueId y = build.input("y", {4, 22 + (s[0] + 1) / 2});
    const ValueId both = build.add("both", ConcatOperator{1}, {build.relu("b", y), a});
    return build.finish({build.relu("z", both)});
  });
  EXPECT_EQ(parts_and_tasks(at_times_longer, InPlaceParts::at_all_sizes).first, 0)
      << "as long at 20 and 19, and not at 18";
}

/// Contiguous parts are in place where all of them begin on cache lines at all sizes: where rows are whole lines, or only the last part grows.
TEST(FindFamily, HasContiguousPartsThatBeginOnCacheLinesAtAllSizes) {
  const auto tasks_of = [](std::int64_t channels, bool grows_first) {
    const auto read = network([=](GraphBuilder& build, const SizeValues& s) {
      const auto rows = [&](const std::string& name, std::int64_t count) {
        const ValueId x = build.input(name + "_in", {count, 16});
        return build.add(name, MatMulOperator{}, {x, build.constant(name + "_weights", {16, channels})});
      };
      const ValueId a = rows("a", grows_first ? s[0] : 16), b = rows("b", s[0]);
      const ValueId both = build.add("both", ConcatOperator{0}, {a, b});
      return build.finish({build.add("c", MatMulOperator{}, {both, build.constant("u", {channels, 8})})});
    });
    FamilyOptions how;
    how.in_place = InPlaceParts::at_all_sizes;
    const auto family = find_family({{"n", 2, 40}}, read, how);
    EXPECT_TRUE(family.ok()) << message(family);
    if (!family.ok()) return std::pair(0, std::size_t{0});
    int groups = 0;
    for (const SizedTask& task : family->variants.back().tasks) groups += task.task.weight;
    return std::pair(groups, family->variants.size());
  };
  EXPECT_EQ(tasks_of(16, true), std::pair(3, std::size_t{1})) << "rows of 64 bytes: nothing copies";
  EXPECT_EQ(tasks_of(5, true), std::pair(4, std::size_t{1})) << "rows of 20 bytes";
  EXPECT_EQ(tasks_of(5, false), std::pair(3, std::size_t{1})) << "the second part begins behind 320 bytes";
}

/// A network that has each kind of function: rows of two products one behind the other, the last rows of a table, and pictures whose
/// channels are parts of wider ones.
Graph with_all_functions(GraphBuilder& build, std::int64_t n) {
  const ValueId x = build.input("x", {n, 16});
  const ValueId a = build.add("a", MatMulOperator{}, {x, build.constant("w", {16, 16})});
  const ValueId b = build.add("b", MatMulOperator{}, {x, build.constant("v", {16, 16})});
  const ValueId rows = build.add("rows", ConcatOperator{0}, {a, b});
  const ValueId product = build.add("product", MatMulOperator{}, {rows, build.constant("u", {16, 8})});
  Tensor last(DType::f32, {n, 16});
  for (std::int64_t i = 0; i < last.size(); ++i) last.set(i, static_cast<double>(i - last.size()));
  const ValueId sum = build.plus("sum", x, build.graph.add_constant("last", last));
  const ValueId picture = build.relu("picture", build.conv("in", build.input("image", {1, 8, 6, n}), 16, 1));
  const ValueId left = build.relu("l", build.conv("left", picture, 16, 1));
  const ValueId right = build.relu("r", build.conv("right", picture, 32, 1));
  const ValueId both = build.add("both", ConcatOperator{1}, {left, right});
  return build.finish({product, sum, build.conv("out", both, 8, 1)});
}

/// What these tests compare families by sees each function that is off by one at one size, and none where it is right.
TEST(DifferenceAt, SeesEachFunctionThatIsOffByOneAtOneSize) {
  const SizeValues bad = {7}, good = {8};
  const auto read = network([](GraphBuilder& build, const SizeValues& s) { return with_all_functions(build, s[0]); });
  const auto family = find_family({{"n", 2, 20}}, read);
  ASSERT_TRUE(family.ok()) << message(family);
  ASSERT_EQ(family->variants.size(), 1u);
  expect_all_sizes(*family, read);
  const auto expect_seen = [&](const std::function<void(Variant&)>& change) {
    Family damaged = *family;
    change(damaged.variants[0]);
    EXPECT_NE(testing::difference_at(damaged, bad, read), "");
    EXPECT_EQ(testing::difference_at(damaged, good, read), "");
  };
  Variant variant = family->variants[0];
  EXPECT_GE(variant.offsets.size(), 1u);
  EXPECT_GE(variant.windows.size(), 1u);
  for (std::size_t i = 0; i < testing::functions_of(variant).size(); ++i) {
    expect_seen([&](Variant& damaged) {
      Expr& function = *testing::functions_of(damaged)[i];
      function = testing::one_more_at(function, bad);
    });
  }
  int within = 0;
  for (std::size_t t = 0; t < variant.tasks.size(); ++t) {
    const SizedTask& task = variant.tasks[t];
    const SizeValues own = testing::values_of(task, bad);
    for (std::size_t d = 0; d < task.within.size(); ++d) {
      if (!task.within[d].defined()) continue;
      ++within;
      expect_seen([&](Variant& damaged) { damaged.tasks[t].within[d] = testing::one_more_at(task.within[d], own); });
    }
    for (std::size_t o = 0; o < task.task.dag.ops.size(); ++o) {
      for (std::size_t d = 0; d < task.task.dag.ops[o].sizes.size(); ++d) {
        if (!task.task.dag.ops[o].sizes[d].defined()) continue;
        expect_seen([&](Variant& damaged) {
          Op& op = damaged.tasks[t].task.dag.ops[o];
          op.sizes[d] = testing::one_more_at(op.sizes[d], own);
          if (!op.is_placeholder()) op.element().axes[d].size = op.sizes[d];
        });
      }
    }
  }
  EXPECT_GE(within, 1);
}

TEST(DifferenceAt, SeesWhatIsMissingAndWhatIsThereTwice) {
  const auto read = network([](GraphBuilder& build, const SizeValues& s) { return dense_layers(build, s[0]); });
  const auto family = find_family({{"n", 2, 9}}, read);
  ASSERT_TRUE(family.ok()) << message(family);
  const auto after = [&](const std::function<void(Family&)>& change) {
    Family damaged = *family;
    change(damaged);
    return testing::difference_at(damaged, {5}, read);
  };
  EXPECT_EQ(after([](Family&) {}), "");
  EXPECT_EQ(after([](Family& f) { f.variants[0].tasks.pop_back(); }), "group 1 is in 0 tasks");
  EXPECT_EQ(after([](Family& f) { f.variants[0].tasks.push_back(f.variants[0].tasks[0]); }), "group 0 is in 2 tasks");
  EXPECT_EQ(after([](Family& f) { f.variants.push_back(f.variants[0]); }), "2 boxes have it");
  EXPECT_EQ(after([](Family& f) { f.variants[0].boxes = {SizeBox{{2}, {4}}, SizeBox{{6}, {9}}}; }), "0 boxes have it");
  EXPECT_EQ(after([](Family& f) { f.variants[0].shapes.clear(); }), "the shape of \"x\"");
  EXPECT_NE(after([](Family& f) { f.variants[0].tasks[0].task.weight = 2; }), "");
  EXPECT_NE(after([](Family& f) { f.variants[0].tasks[0].task.key += "0"; }), "");
}

TEST(FindFamily, FindsTheZooByBatch) {
  for (const char* name : {"mlp", "lstm"}) {
    const ReadAtSizes read = [&](const SizeValues& s) -> Result<FusedGraph> {
      WHET_TRY(Graph graph, zoo_model(name, {.batch = s[0]}));
      return optimize(std::move(graph), {});
    };
    const auto family = find_family({{"batch", 1, 12}}, read);
    ASSERT_TRUE(family.ok()) << name << ": " << message(family);
    EXPECT_LE(family->variants.size(), 4u) << name;
    expect_all_sizes(*family, read);
  }
}

// ---- What is refused

TEST(FindFamily, SaysUpToWhichSizeTheModelCanBeRead) {
  const ReadAtSizes read = [](const SizeValues& s) -> Result<FusedGraph> {
    if (s[0] > 30) return Error{"node \"Slice_12\": " + std::to_string(s[0]) + " of the 30 rows of \"pos\""};
    GraphBuilder build;
    return optimize(dense_layers(build, s[0]), {});
  };
  EXPECT_EQ(message(find_family({{"n", 1, 40}}, read)),
            "--sizes n=1..40: at n = 31 the model cannot be read: node \"Slice_12\": 31 of the 30 rows of \"pos\"; "
            "expected n=1..30");
}

TEST(FindFamily, SaysAtWhichStepTheModelCanBeRead) {
  const ReadAtSizes read = [](const SizeValues& s) -> Result<FusedGraph> {
    if (s[0] % 32 != 0) return Error{"shapes do not broadcast (node \"add\")"};
    GraphBuilder build;
    return optimize(dense_layers(build, s[0]), {});
  };
  EXPECT_EQ(
      message(find_family({{"x.3", 64, 320}}, read)),
      "--sizes x.3=64..320: at x.3 = 65 the model cannot be read: shapes do not broadcast (node \"add\"); the model "
      "can be read at every 32nd: --sizes x.3=64..320:32");
  EXPECT_EQ(message(find_family({{"x.3", 64, 320, 32}}, read)), "found");
}

TEST(FindFamily, SaysThatStepsAreUnrolled) {
  const auto read = network([](GraphBuilder& build, const SizeValues& s) {
    ValueId x = build.input("x", {s[0], 8});
    for (std::int64_t step = 0; step < s[0]; ++step)
      x = build.add("step_" + std::to_string(step), SoftmaxOperator{1}, {x});
    return build.finish({x});
  });
  const auto family = find_family({{"x.0", 1, 32}}, read);
  EXPECT_EQ(message(family),
            "node \"step_16\": the model has 17 nodes at x.0 = 17 and 16 at x.0 = 16: its steps are unrolled; name the "
            "sizes: --sizes x.0={16,17}");
  const auto listed = exact_family({"x.0"}, {{1, 4, 9}}, read);
  ASSERT_TRUE(listed.ok()) << message(listed);
  EXPECT_EQ(listed->variants.size(), 3u);
  EXPECT_NE(variant_at(*listed, {4}), nullptr);
  EXPECT_EQ(variant_at(*listed, {5}), nullptr);
}

TEST(FindFamily, RefusesAConstantThatIsNoPartOfTheLargest) {
  for (const std::int64_t bad : {2, 17, 31}) {
    const auto read = network([&](GraphBuilder& build, const SizeValues& s) {
      const ValueId x = build.input("x", {s[0], 8});
      Tensor table(DType::f32, {s[0], 8});
      for (std::int64_t i = 0; i < table.size(); ++i) table.set(i, static_cast<double>(i));
      if (s[0] == bad) table.set(5, -1);
      return build.finish({build.plus("y", x, build.graph.add_constant("bias_table", table))});
    });
    const std::string n = std::to_string(bad);
    EXPECT_EQ(message(find_family({{"n", 2, 32}}, read)),
              "constant \"bias_table\" at n = " + n + " is no part of the one at n = 32; name the sizes: --sizes n={" +
                  n + ",32}");
  }
}

/// One number of one size is damaged: no size is left out of the comparison.
TEST(FindFamily, RefusesANumberThatIsNoFunction) {
  for (std::int64_t bad = 2; bad <= 40; ++bad) {
    const auto read = network([&](GraphBuilder& build, const SizeValues& s) {
      const ValueId x = build.input("x", {s[0], 64});
      const std::int64_t width = s[0] == bad ? 37 : 40;
      return build.finish({build.relu("y", build.add("part", SliceOperator{{0, 1}, {1, 1}, {s[0], width}}, {x}))});
    });
    const auto family = find_family({{"n", 2, 40}}, read);
    // At an end of the range one number alone is a clamped function: it is right, and checked.
    if (family.ok()) {
      expect_all_sizes(*family, read);
      continue;
    }
    EXPECT_NE(message(family).find("is no function of the sizes: "), std::string::npos) << message(family);
    EXPECT_NE(message(family).find("name the sizes: --sizes n={"), std::string::npos) << message(family);
  }
}

/// Few sizes without functions are variants of one size each.
TEST(FindFamily, MakesExactVariantsOfFewSizes) {
  const auto read = network([](GraphBuilder& build, const SizeValues& s) {
    const std::int64_t width[] = {3, 11, 4, 29, 6, 17};
    const ValueId x = build.input("x", {s[0], 64});
    return build.finish(
        {build.relu("y", build.add("part", SliceOperator{{0, 1}, {1, 1}, {s[0], width[s[0] % 6]}}, {x}))});
  });
  const auto family = find_family({{"n", 1, 6}}, read);
  ASSERT_TRUE(family.ok()) << message(family);
  EXPECT_EQ(family->variants.size(), 6u);
  expect_all_sizes(*family, read);
}

TEST(FindFamily, EndsWhereItIsTold) {
  const auto read = network([](GraphBuilder& build, const SizeValues& s) { return dense_layers(build, s[0]); });
  FamilyOptions options;
  options.on_point = [](std::int64_t done, std::int64_t all) -> Status {
    EXPECT_EQ(all, 39);
    return done < 5 ? ok_status() : Status(Error{"interrupted", ErrorKind::interrupted});
  };
  const auto family = find_family({{"n", 2, 40}}, read, options);
  ASSERT_FALSE(family.ok());
  EXPECT_EQ(family.error().kind, ErrorKind::interrupted);
}

TEST(FindFamily, ReadsManyCombinationsAtTheirEdgesAndSomeInside) {
  const auto read = network([](GraphBuilder& build, const SizeValues& s) { return dense_layers(build, s[0] * s[1]); });
  FamilyOptions options;
  options.most_points = 100;
  options.seeded = 40;
  const auto family = find_family({{"b", 1, 16}, {"n", 1, 64}}, read, options);
  ASSERT_TRUE(family.ok()) << message(family);
  EXPECT_EQ(family->points, 1024);
  EXPECT_LT(family->checked, 300);
  EXPECT_NE(variant_at(*family, {7, 33}), nullptr);
}

}  // namespace
}  // namespace whet
