#include "compute/merge.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "tensor/compare.h"

namespace whet {
namespace {

ComputeDag parsed(const std::string& text) {
  Result<ComputeDag> dag = parse_dag(text);
  EXPECT_TRUE(dag.ok()) << dag.error().message;
  return *dag;
}

const char* const kPointwise = R"(x = PLACEHOLDER [2, 5, 7, 3]
w = PLACEHOLDER [1, 1, 3, 4] const
b = PLACEHOLDER [4] const
r = PLACEHOLDER [2, 5, 7, 4]
s = PLACEHOLDER [2, 4]
conv(n, oh, ow, oc) += (x[n, (oh + rh), (ow + rw), rc]*w[rh, rw, rc, oc]) for n in 2, oh in 5, ow in 7, oc in 4, rh in 1, rw in 1, rc in 3
out(n, oh, ow, oc) = max(((conv[n, oh, ow, oc] + b[oc])*s[n, oc] + r[n, oh, ow, oc]), 0f) for n in 2, oh in 5, ow in 7, oc in 4
return out
)";

std::string refusal(const std::string& body) {
  const ComputeDag dag = parsed("x = PLACEHOLDER [5, 7]\nw = PLACEHOLDER [5, 7] const\n" + body + "\nreturn out\n");
  const Result<ComputeDag> merged = merge_axes(dag, dag.outputs.front(), 0);
  return merged.ok() ? "" : merged.error().message;
}

TEST(Merge, MakesPicturesListsOfPixels) {
  const Result<ComputeDag> merged = merge_axes(parsed(kPointwise), OpId(5), 1);
  ASSERT_TRUE(merged.ok()) << merged.error().message;
  EXPECT_EQ(to_text(*merged), R"(x = PLACEHOLDER [2, 35, 3]
w = PLACEHOLDER [1, 1, 3, 4] const
b = PLACEHOLDER [4] const
r = PLACEHOLDER [2, 35, 4]
s = PLACEHOLDER [2, 4]
conv(n, ohow, oc) += (x[n, ohow, rc]*w[rh, rw, rc, oc]) for n in 2, ohow in 35, oc in 4, rh in 1, rw in 1, rc in 3
out(n, ohow, oc) = max((((conv[n, ohow, oc] + b[oc])*s[n, oc]) + r[n, ohow, oc]), 0f) for n in 2, ohow in 35, oc in 4
return out
)");
}
TEST(Merge, ComputesTheSame) {
  const ComputeDag dag = parsed(kPointwise);
  const Result<ComputeDag> merged = merge_axes(dag, OpId(5), 1);
  ASSERT_TRUE(merged.ok() && verify(*merged).ok());
  Rng rng(3);
  std::vector<Tensor> inputs, lists;
  for (std::size_t i = 0; i < dag.ops.size(); ++i) {
    if (!dag.ops[i].is_placeholder()) continue;
    Rng same = rng;
    inputs.push_back(Tensor::random({dag.ops[i].dtype, dag.ops[i].shape}, rng, -1, 1));
    lists.push_back(Tensor::random({merged->ops[i].dtype, merged->ops[i].shape}, same, -1, 1));
  }
  const auto want = evaluate(dag, inputs), got = evaluate(*merged, lists);
  ASSERT_TRUE(want.ok() && got.ok());
  const auto a = want->front().as<float>(), b = got->front().as<float>();
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
}
TEST(Merge, GoesOnWithABatchUnlessPicturesDiffer) {
  const auto batch_after_pixels = [](const std::string& text) {
    const Result<ComputeDag> pixels = merge_axes(parsed(text), OpId(5), 1);
    return pixels.ok() ? merge_axes(*pixels, OpId(5), 0) : pixels;
  };
  std::string same = kPointwise;
  same.replace(same.find("s[n, oc]"), 8, "s[1, oc]");
  const Result<ComputeDag> list = batch_after_pixels(same);
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_EQ(list->op(OpId(6)).shape, Shape({70, 4}));
  EXPECT_EQ(batch_after_pixels(kPointwise).error().message, "op out uses one of them alone");
}
TEST(Merge, CountsInReadersOfProductsOfCopiesWhatTheyMeetAlone) {
  const ComputeDag dag = parsed(R"(x = PLACEHOLDER [4, 6, 3]
x_unfolded(i, j, r) = x[i, j, r] for i in 4, j in 6, r in 3  # unfold
p(i, j, c) += (x_unfolded[i, j, r]*2f) for i in 4, j in 6, c in 2, r in 3
half(i, j, c) = (p[i, (j*2), c] + p[i, (j*2 + 1), c]) for i in 4, j in 3, c in 2
return half
)");
  const Result<ComputeDag> merged = merge_axes(dag, OpId(2), 0);
  ASSERT_TRUE(merged.ok()) << merged.error().message;
  EXPECT_EQ(to_text(*merged), R"(x = PLACEHOLDER [24, 3]
x_unfolded(ij, r) = x[ij, r] for ij in 24, r in 3  # unfold
p(ij, c) += (x_unfolded[ij, r]*2f) for ij in 24, c in 2, r in 3
half(i, j, c) = (p[((i*6) + (j*2)), c] + p[((i*6) + ((j*2) + 1)), c]) for i in 4, j in 3, c in 2
return half
)");
  EXPECT_TRUE(verify(*merged).ok());
}
TEST(Merge, RefusesWhatMeetsAnAxisAlone) {
  EXPECT_EQ(refusal("out(i, j) = x[i, j] for i in 5, j in 7"), "");
  EXPECT_EQ(refusal("out(i, j) = x[i, (6 - j)] for i in 5, j in 7"), "op out uses one of them alone");
  EXPECT_EQ(refusal("out(i, j) = select((i < 3), x[i, j], 0f) for i in 5, j in 7"), "op out uses one of them alone");
  EXPECT_EQ(refusal("out(i, j) = (x[i, j] + w[i, j]) for i in 5, j in 7"), "op w is constant");
  EXPECT_EQ(refusal("m(i, j) = x[i, j] for i in 5, j in 7\nout(i, j) = m[i, j]*m[2, j] for i in 5, j in 7"),
            "op out uses one of them alone");
}

}  // namespace
}  // namespace whet
