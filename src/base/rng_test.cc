#include "base/rng.h"

#include <gtest/gtest.h>

namespace whet {
namespace {

TEST(Rng, GivesTheSameNumbersForTheSameSeed) {
  Rng a(7), b(7), c(8);
  EXPECT_EQ(a.next(), b.next());
  EXPECT_NE(a.next(), c.next());
}
TEST(Rng, StaysInsideItsBounds) {
  Rng rng(1);
  for (int i = 0; i < 1000; ++i) {
    auto n = rng.between(-3, 4);
    EXPECT_TRUE(-3 <= n && n <= 4);
    double u = rng.uniform(2, 3);
    EXPECT_TRUE(2 <= u && u < 3);
  }
}

}  // namespace
}  // namespace whet
