#include "workflow/exact_sizes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"
#include "compiler/testing/model_builder.h"
#include "passes/optimize.h"
#include "plan/plan.h"
#include "workflow/cut_sizes.h"

namespace whet::exact_sizes_test {
namespace {

const Target kTarget = parse_target("cpu -mcpu=skylake-avx512 -threads=2").value();

Result<FusedGraph> network(const SizeValues& at) {
  testing::ModelBuilder b(4);
  const ValueId x = b.input("x", {at[0], 64});
  b.graph.outputs = {b.relu(b.node(MatMulOperator{}, {x, b.constant({64, 32})}))};
  return optimize(b.graph, {});
}

int boxes_with(const std::vector<SizeBox>& boxes, const SizeValues& at) {
  return static_cast<int>(std::ranges::count_if(boxes, [&](const SizeBox& box) { return contains(box, at); }));
}

/// Any box of two sizes: all of its values but one, each once.
TEST(ExactSizes, ABoxWithoutAPointHasEveryOtherValueOnce) {
  Rng rng(5);
  for (int round = 0; round < 200; ++round) {
    const std::vector<SizeRange> sizes = {{"b", 1, 9, 2}, {"n", 4, 40, 4}};
    SizeBox box{{1, 4}, {9, 40}};
    SizeValues at;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      box.low[k] = sizes[k].min + rng.below(3) * sizes[k].step;
      box.high[k] = sizes[k].max - rng.below(2) * sizes[k].step;
      at.push_back(sizes[k].min + rng.below(count_of(sizes[k])) * sizes[k].step);
    }
    const std::vector<SizeBox> parts = without_point(box, at, sizes);
    for (std::int64_t b = 1; b <= 9; b += 2)
      for (std::int64_t n = 4; n <= 40; n += 4)
        ASSERT_EQ(boxes_with(parts, SizeValues({b, n})),
                  contains(box, SizeValues({b, n})) && SizeValues({b, n}) != at ? 1 : 0);
  }
}

TEST(ExactSizes, HaveVariantsOfTheirOwnAndNoPieceHasThem) {
  Family family = find_family({{"n", 1, 64, 1}}, network).value();
  FamilyPieces pieces = whole_variants(family);
  const std::size_t before = family.variants.size();
  ASSERT_TRUE(add_exact_sizes({{24}, {64}, {99}}, network, family, pieces).ok());
  ASSERT_EQ(family.variants.size(), before + 2) << "there is no 99";
  ASSERT_EQ(pieces.size(), family.variants.size());
  for (std::int64_t n = 1; n <= 64; ++n) {
    int found = 0;
    for (const std::vector<VariantPiece>& own : pieces)
      for (const VariantPiece& piece : own) found += boxes_with(piece.boxes, {n});
    EXPECT_EQ(found, 1) << n;
  }
  for (const SizedTask& task : family.variants.front().tasks) EXPECT_FALSE(is_sized(task.task.dag));
}

TEST(ExactSizes, AreThoseOfTheLastLineOfTheNetwork) {
  const Family family = find_family({{"n", 1, 64, 1}}, network).value();
  Records records;
  EXPECT_TRUE(hot_sizes(records, family, kTarget).empty());
  NetworkAtSizes line;
  line.graph = hash_of(family.variants.back().fused), line.ranges = "n=1..64", line.target = to_string(kTarget);
  line.points = {{{24}, 0.2, 3e-4, 2e-4, 1.9e-4, true}, {{64}, 0.1, 3e-4, 2e-4, 2e-4, false}};
  records.add(line);
  EXPECT_EQ(hot_sizes(records, family, kTarget), (std::vector<SizeValues>{{24}}));
  line.ranges = "n=1..32";
  records.add(line);
  EXPECT_EQ(hot_sizes(records, family, kTarget).size(), 1u) << "that is of other ranges";
  line.ranges = "n=1..64", line.points.clear();
  records.add(line);
  EXPECT_TRUE(hot_sizes(records, family, kTarget).empty());
}

}  // namespace
}  // namespace whet::exact_sizes_test
