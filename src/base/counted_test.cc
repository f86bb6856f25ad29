#include "base/counted.h"

#include <gtest/gtest.h>

namespace whet {
namespace {

TEST(Counted, SaysOneThingAndSeveralThings) {
  EXPECT_EQ(counted(0, "trial"), "0 trials");
  EXPECT_EQ(counted(1, "trial"), "1 trial");
  EXPECT_EQ(counted(2, "trial"), "2 trials");
  EXPECT_EQ(counted(1, "copy", "copies"), "1 copy");
  EXPECT_EQ(counted(3, "copy", "copies"), "3 copies");
  EXPECT_EQ(for_count(1, "was", "were"), "was");
  EXPECT_EQ(for_count(0, "was", "were"), "were");
}

}  // namespace
}  // namespace whet
