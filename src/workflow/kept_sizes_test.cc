#include "workflow/kept_sizes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"
#include "compiler/testing/model_builder.h"
#include "passes/optimize.h"
#include "plan/plan.h"
#include "records/testing/sample.h"
#include "transfer/across_sizes.h"
#include "workflow/cut_sizes.h"

namespace whet::kept_sizes_test {
namespace {

const Target kTarget = parse_target("cpu -mcpu=skylake-avx512 -threads=2").value();

Result<FusedGraph> network(const SizeValues& at) {
  testing::ModelBuilder b(4);
  const ValueId x = b.input("x", {at[0], at[1], 64});
  b.graph.outputs = {b.relu(b.node(MatMulOperator{}, {x, b.constant({64, 32})}))};
  return optimize(b.graph, {});
}

/// One variant of b = 2..8 and n = 4..512.
Family family() { return find_family({{"b", 2, 8, 2}, {"n", 4, 512, 4}}, network).value(); }

/// Tuned pieces n = 4..64 and n = 68..512, and one untuned piece.
FamilyPieces tuned() { return {{VariantPiece{{{{2, 4}, {8, 64}}}}, VariantPiece{{{{2, 68}, {8, 512}}}}}}; }
FamilyPieces untuned() { return {{VariantPiece{{{{2, 4}, {8, 512}}}, {}, {4, 64}}}}; }

TimedAtSizes timed(const SizeValues& at, bool keeps) {
  TimedAtSizes point{at};
  point.untuned = 1e-3, point.ranged = 1e-3, point.keeps_untuned = keeps;
  return point;
}

/// Of these sizes: whether the kernels are untuned ones. All are in one piece.
bool is_untuned(const FamilyPieces& pieces, const SizeValues& at) {
  int found = 0;
  bool untuned = false;
  for (const VariantPiece& piece : pieces[0])
    for (const SizeBox& box : piece.boxes)
      if (contains(box, at)) ++found, untuned = piece.untuned;
  EXPECT_EQ(found, 1) << at[0] << "x" << at[1];
  return untuned;
}

class KeepUntuned : public ::testing::Test {
 protected:
  static FamilyPieces kept(const std::vector<TimedAtSizes>& points) {
    FamilyPieces pieces = tuned();
    keep_untuned(points, known(), untuned(), pieces);
    return pieces;
  }
  static const Family& known() {
    static const Family family = kept_sizes_test::family();
    return family;
  }
};

TEST_F(KeepUntuned, IsOfTheSizesNearestToThePointsThatKeepThem) {
  ASSERT_EQ(known().variants.size(), 1u);
  const FamilyPieces pieces = kept({timed({2, 16}, false), timed({2, 64}, true), timed({8, 256}, false)});
  for (std::int64_t b = 2; b <= 8; b += 2)
    for (std::int64_t n = 4; n <= 512; n += 4)
      EXPECT_EQ(is_untuned(pieces, {b, n}), n > 32 && n <= 128) << b << "x" << n;
}

TEST_F(KeepUntuned, IsOfAllSizesWhereAllPointsKeepThem) {
  const FamilyPieces pieces = kept({timed({2, 16}, true), timed({8, 256}, true)});
  ASSERT_EQ(pieces[0].size(), 1u);
  EXPECT_TRUE(pieces[0][0].untuned);
  EXPECT_EQ(pieces[0][0].at, (SizeValues{4, 64}));
}

TEST_F(KeepUntuned, LeavesAllPiecesWhereNoPointKeepsThem) {
  const std::vector<std::vector<TimedAtSizes>> cases = {{}, {timed({2, 16}, false)}};
  for (const std::vector<TimedAtSizes>& points : cases) {
    const FamilyPieces pieces = kept(points);
    ASSERT_EQ(pieces[0].size(), 2u);
    EXPECT_FALSE(pieces[0][0].untuned || pieces[0][1].untuned);
  }
}

TEST_F(KeepUntuned, IsByTheLastLineOfTheNetwork) {
  const std::vector<WantedSize> sizes = parse_sizes({"b=2..8:2", "n=4..512:4"}).value();
  NetworkAtSizes line;
  line.graph = hash_of(known().variants.back().fused), line.ranges = to_text(known().sizes);
  line.target = to_string(kTarget);
  line.points = {timed({2, 16}, false), timed({8, 256}, true), timed({3, 3}, true)};
  Records records;
  records.add(line);
  FamilyPieces pieces = tuned();
  EXPECT_EQ(keep_untuned(records, known(), sizes, {}, kTarget, {}, pieces),
            "Untuned kernels are kept near b=8, n=256: the network was slower by those of the records");
  EXPECT_FALSE(is_untuned(pieces, {2, 16}));
  EXPECT_TRUE(is_untuned(pieces, {8, 256}));
  line.points = {timed({8, 256}, false)};
  records.add(line);
  pieces = tuned();
  EXPECT_EQ(keep_untuned(records, known(), sizes, {}, kTarget, {}, pieces), "");
  EXPECT_FALSE(is_untuned(pieces, {8, 256}));
}

TEST_F(KeepUntuned, EndsWhereKernelsWereTimedSince) {
  const std::vector<WantedSize> sizes = parse_sizes({"b=2..8:2", "n=4..512:4"}).value();
  NetworkAtSizes line;
  line.graph = hash_of(known().variants.back().fused), line.ranges = to_text(known().sizes);
  line.target = to_string(kTarget), line.at = "2026-12-01T10:00:00Z";
  line.points = {timed({2, 16}, false), timed({8, 256}, true)};
  RangedRecord kernel;
  kernel.record = testing_records::timed("k", "", 1e-6, to_string(kTarget));
  kernel.record.at = "2026-12-01T09:59:59Z";
  kernel.range = range_id(known().variants[0].tasks.at(0).task.dag), kernel.at = {32}, kernel.from = {32};
  Records records;
  records.add(line), records.add(kernel);
  FamilyPieces pieces = tuned();
  keep_untuned(records, known(), sizes, {}, kTarget, {}, pieces);
  EXPECT_TRUE(is_untuned(pieces, {8, 256}));
  kernel.record.at = "2026-12-01T10:00:01Z";
  records.add(kernel);
  pieces = tuned();
  EXPECT_NE(keep_untuned(records, known(), sizes, {}, kTarget, {}, pieces).find("whet tune compares it again"),
            std::string::npos);
  EXPECT_FALSE(is_untuned(pieces, {8, 256}));
}

/// Any points, damaged ones among them: every size has one piece.
TEST_F(KeepUntuned, GivesEverySizeOnePiece) {
  Rng rng(4);
  for (int round = 0; round < 100; ++round) {
    std::vector<TimedAtSizes> points;
    for (std::int64_t count = rng.below(6); count > 0; --count)
      points.push_back(timed({rng.between(1, 9), rng.between(1, 600)}, rng.chance(0.5)));
    const FamilyPieces pieces = kept(points);
    for (std::int64_t b = 2; b <= 8; b += 2)
      for (std::int64_t n = 4; n <= 512; n += 4) (void)is_untuned(pieces, {b, n});
  }
}

}  // namespace
}  // namespace whet::kept_sizes_test
