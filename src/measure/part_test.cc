#include "measure/part.h"

#include <gtest/gtest.h>

namespace whet {
namespace {

TEST(Part, IsCutOutOfTheRowsOfItsWhole) {
  const TensorType part{DType::u8, {2, 2}};
  EXPECT_EQ(part_of("ab.cd.", part, {2, 3}, '.').value(), "abcd");
  EXPECT_EQ(part_of("ab..cd..", part, {1, 2, 1, 4}, '.').value(), "abcd")
      << "rows are counted however they are numbered";
}
TEST(Part, MustLeaveWhatIsBesideItAlone) {
  const TensorType part{DType::u8, {2, 2}};
  EXPECT_EQ(part_of("ab.cdX", part, {2, 3}, '.').error().message, "it wrote beside its part of 2x3, in row 1");
  EXPECT_EQ(part_of("ab.cd", part, {2, 3}, '.').error().message, "the whole has 5 bytes, not 6");
}
TEST(Part, LiesAlongTheLastAxisOfItsWhole) {
  const ComputeDag dag = parse_dag("p = PLACEHOLDER [6, 4]\nq(i, j) = p[i, j] for i in 6, j in 4\nreturn q\n").value();
  EXPECT_TRUE(is_part(dag, {6, 9}));
  EXPECT_TRUE(is_part(dag, {1, 2, 3, 9}));
  EXPECT_FALSE(is_part(dag, {6, 3}));
  EXPECT_FALSE(is_part(dag, {7, 9}));
  EXPECT_FALSE(is_part(dag, {0, 9}));
}

}  // namespace
}  // namespace whet
