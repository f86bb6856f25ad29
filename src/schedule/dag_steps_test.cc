// Steps that change the ops: the forest that is left.

#include <gtest/gtest.h>

#include "schedule/testing/after.h"
#include "schedule/testing/dags.h"

namespace whet {
namespace dag_steps_test {

using testing::after;
using testing::kSoftmaxProduct;

TEST(SplitSoftmax, MakesPartsAndALoopOverWhatTheyGive) {
  EXPECT_EQ(after(kSoftmaxProduct, "split_softmax o6 6; inline o2; inline o6"), R"(for part in 2
  for i in 3
    for j in 6
      m_parts
for part in 2
  for i in 3
    for j in 6
      e_parts
for part in 2
  for i in 3
    for j in 6
      z_parts
for part in 2
  for i in 3
    for c in 4
      for j in 6
        y_parts
for part in 2
  for i in 3
    for c in 8
      y_results
for i in 3
  for part in 2
    m
for i in 3
  for part in 2
    z
for i in 3
  for c in 4
    for part in 2
      y_all
for i in 3
  for c in 4
    y
)");
}
TEST(Online, ComputesASoftmaxAndItsProductInOnePass) {
  EXPECT_EQ(after(kSoftmaxProduct,
                  "online_softmax o6 8; compute_at o7 l13 registers; split l17 8 guard; reorder l18 l15 l16 l19; "
                  "online o7 l18; compute_at o2 l18 registers"),
            R"(for j in 16
  for c in 4
    y_values
for i in 3
  y_mix @registers
  for j.0 in 2
    cache m @registers
    cache z @registers
    online y_mix
    t_online @registers
    for i in 1
      for j in 8
        t_online
    m @registers
    for i in 1
      for j in 8
        m
    e @registers
    for i in 1
      for j in 8
        e
    z @registers
    for i in 1
      for j in 8
        z
    for i in 1
      for c in 4
        for j.1 in 8
          y_mix
  for c in 4
    y
)");
}
TEST(Unfold, CopiesTheTensorOrTheFactorThatReadsIt) {
  constexpr const char* kScaled = R"(
s = PLACEHOLDER [6]
w = PLACEHOLDER [6, 4]
x = PLACEHOLDER [5, 6]
y(i, j) += (x[i, r]*(s[r]*w[r, j])) for i in 5, j in 4, r in 6
return y
)";
  EXPECT_EQ(after(kScaled, "unfold o1 o3 turned factor"), R"(for r in 6
  for j in 4
    w_unfolded
for i in 5
  for j in 4
    for r in 6
      y
)");
  EXPECT_EQ(after(kScaled, "unfold o1 o3 factor").substr(0, 10), "for j in 4");
  EXPECT_EQ(after(kScaled, "unfold o1 o3 turned wide"), "unfold has \"wide\" where turned or factor was expected");
}
TEST(Unfold, CopiesAFactorOfBf16InPairsOfTerms) {
  constexpr const char* kWidened = R"(
x = PLACEHOLDER [5, 6] bf16
k = PLACEHOLDER [4, 6] bf16
kw(r, j) = f32(k[j, r]) for r in 6, j in 4
y(i, j) += (f32(x[i, r])*kw[r, j]) for i in 5, j in 4, r in 6
return y
)";
  EXPECT_EQ(after(kWidened, "unfold o2 o3 pairs"), R"(for r in 3
  for j in 4
    for pair in 2
      kw_pairs
for i in 5
  for j in 4
    for r in 6
      y
)");
  const LoopTree tree = *replay(*parse_dag(kWidened), *parse_steps("unfold o2 o3 pairs"));
  EXPECT_NE(to_text(tree.dag).find("kw_pairs(r, j, pair): bf16 = k[j, ((r*2) + pair)]"), std::string::npos)
      << to_text(tree.dag);
  EXPECT_NE(to_text(tree.dag).find("f32(kw_pairs[floordiv(r, 2), j, floormod(r, 2)])"), std::string::npos)
      << to_text(tree.dag);
  EXPECT_EQ(after(kWidened, "unfold o1 o3 pairs"), "step 1 (unfold o1 o3 pairs): op y (o3) does not read k");
  constexpr const char* kSingle = R"(
x = PLACEHOLDER [5, 6]
w = PLACEHOLDER [6, 4]
y(i, j) += (x[i, r]*w[r, j]) for i in 5, j in 4, r in 6
return y
)";
  EXPECT_EQ(after(kSingle, "unfold o1 o2 pairs"),
            "step 1 (unfold o1 o2 pairs): op y (o2) does not read w as numbers that were widened from bf16");
}
TEST(Round, ComesBeforeEverythingElse) {
  constexpr const char* kCopied = R"(
x = PLACEHOLDER [5, 6]
copy(i, r) = x[i, r] for i in 5, r in 6
y(i) += copy[i, r] for i in 5, r in 6
return y
)";
  EXPECT_EQ(after(kCopied, "round o1 f16"), after(kCopied, ""));  // the loops stay
  const Result<LoopTree> rounded = replay(*parse_dag(kCopied), *parse_steps("round o1 f16"));
  ASSERT_TRUE(rounded.ok()) << rounded.error().message;
  EXPECT_EQ(rounded->dag.op(OpId(1)).dtype, DType::f16);
  EXPECT_EQ(after(kCopied, "split l1 2 guard; round o1 f16"),
            "step 2 (round o1 f16): op copy (o1) is scheduled already; elements are rounded before everything else");
  EXPECT_EQ(after(kCopied, "round o1 bf16"),
            "step 1 (round o1 bf16): op copy (o1) is to be rounded to bf16; expected f16 or tf32");
  EXPECT_EQ(after(kCopied, "round o2 tf32"),
            "step 1 (round o2 tf32): op y (o2) is an output, which is as the caller wants it");
}

}  // namespace dag_steps_test
}  // namespace whet
