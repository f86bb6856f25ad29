#include "compiler/packing.h"

#include <gtest/gtest.h>

#include <string>

#include "base/rng.h"
#include "tensor/compare.h"

namespace whet {
namespace {

/// run_packing agrees with evaluate on random constants.
void expect_like_evaluate(const std::string& text) {
  const Result<ComputeDag> dag = parse_dag(text);
  ASSERT_TRUE(dag.ok()) << dag.error().message;
  Rng rng(1);
  std::vector<Tensor> constants;
  for (const Op& op : dag.value().ops) {
    if (op.is_placeholder()) constants.push_back(Tensor::random({op.dtype, op.shape}, rng));
  }
  const Result<std::vector<Tensor>> want = evaluate(dag.value(), constants);
  const Result<std::vector<Tensor>> got = run_packing(dag.value(), constants);
  ASSERT_TRUE(want.ok()) << want.error().message;
  ASSERT_TRUE(got.ok()) << got.error().message;
  ASSERT_EQ(got.value().size(), want.value().size());
  for (std::size_t i = 0; i < want.value().size(); ++i) {
    EXPECT_EQ(got.value()[i].type(), want.value()[i].type());
    EXPECT_EQ(compare(got.value()[i], want.value()[i]).max_abs, 0) << "output " << i;
  }
}

TEST(RunPacking, PacksWeightsInTilesThatOverlap) {
  expect_like_evaluate(
      "w = PLACEHOLDER [3, 3, 8, 20] const\n"
      "packed(o, ry, rx, c, i) = w[ry, rx, c, (min((o*8), 12) + i)] for o in 3, ry in 3, rx in 3, c in 8, i in 8\n"
      "return packed\n");
}

TEST(RunPacking, TransposesWhereTheLastAxisMovesInLargeSteps) {
  expect_like_evaluate(
      "w = PLACEHOLDER [6, 10] const\n"
      "t(i, j) = w[j, i] for i in 10, j in 6\n"
      "return t\n");
}

TEST(RunPacking, RoundsOnTheWayThroughOtherOps) {
  for (const char* rounded : {"f16 = f16(w[i, (j*2)])", "f32 = round_tf32(w[i, (j*2)])"}) {
    const std::string type = std::string(rounded).substr(0, 3);
    expect_like_evaluate(std::string("w = PLACEHOLDER [6, 12] const\n") + "half(i, j): " + rounded +
                         " for i in 6, j in 6\n"
                         "packed(o, k, i): " +
                         type +
                         " = half[k, ((o*3) + i)] for o in 2, k in 6, i in 3\n"
                         "return packed\n");
  }
  expect_like_evaluate(
      "w = PLACEHOLDER [6] const\n"
      "twice(i): f16 = f16(round_tf32(w[i])) for i in 6\n"
      "return twice\n");
}

TEST(RunPacking, EvaluatesWhatIsNoMereMove) {
  expect_like_evaluate(
      "w = PLACEHOLDER [6, 10] const\n"
      "v = PLACEHOLDER [6, 10] const\n"
      "guarded(i, j) = select((((i*4) + j) < 10), w[i, min(((i*4) + j), 9)], 0f) for i in 6, j in 4\n"
      "sum(i, j) = (w[i, j] + v[i, j]) for i in 6, j in 10\n"
      "return guarded, sum\n");
  expect_like_evaluate(
      "w = PLACEHOLDER [12] const\n"
      "uneven(i, j) = w[floordiv(((i*4) + j), 2)] for i in 5, j in 4\n"
      "return uneven\n");
}

}  // namespace
}  // namespace whet
