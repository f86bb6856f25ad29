#include "target/precision.h"

#include <gtest/gtest.h>

namespace whet {
namespace {

TEST(Precision, IsReadBackByItsName) {
  for (const Precision precision : {Precision::f32, Precision::tf32, Precision::f16, Precision::bf16})
    EXPECT_EQ(parse_precision(name_of(precision)), precision);
  EXPECT_FALSE(parse_precision("f64"));
}

TEST(Precision, AllowsWhatHasNoFewerBits) {
  EXPECT_TRUE(allows(Precision::bf16, Precision::tf32));
  EXPECT_TRUE(allows(Precision::f16, Precision::f32));
  EXPECT_FALSE(allows(Precision::f16, Precision::bf16));
  EXPECT_FALSE(allows(Precision::f32, Precision::tf32));
}

TEST(Precision, OfFullWidthAllowsNoError) {
  EXPECT_EQ(tolerance_of(Precision::f32), 0);
  EXPECT_GT(tolerance_of(Precision::bf16), tolerance_of(Precision::f16));
}

}  // namespace
}  // namespace whet
