#include "measure/kept.h"

#include <gtest/gtest.h>

namespace whet {
namespace {

TEST(Kept, ForgetsWhatWasLongestUnasked) {
  Kept<int> kept(2);
  kept.add("a", std::make_shared<int>(1));
  kept.add("b", std::make_shared<int>(2));
  EXPECT_EQ(*kept.find("a"), 1);
  kept.add("c", std::make_shared<int>(3));
  EXPECT_EQ(kept.find("b"), nullptr);
  EXPECT_EQ(*kept.find("a"), 1);
  EXPECT_EQ(*kept.find("c"), 3);
}

TEST(Kept, GivesTheOneThatIsThereToWhoeverMadeAnother) {
  Kept<int> kept(2);
  const auto first = kept.add("a", std::make_shared<int>(1));
  EXPECT_EQ(kept.add("a", std::make_shared<int>(2)), first);
}

}  // namespace
}  // namespace whet
