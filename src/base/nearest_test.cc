#include "base/nearest.h"

#include <gtest/gtest.h>

namespace whet {
namespace {

const std::vector<std::string> kWords = {"tune", "tasks", "compile", "target"};

TEST(Nearest, FindsTheWordThatWasMistyped) {
  EXPECT_EQ(nearest("tnue", kWords), "tune");
  EXPECT_EQ(nearest("compil", kWords), "compile");
  EXPECT_EQ(nearest("TARGET", kWords), "target");
}
TEST(Nearest, IsSilentAboutAWordThatIsFarFromAll) {
  EXPECT_EQ(nearest("xyzzy", kWords), "");
  EXPECT_EQ(did_you_mean("xyzzy", kWords), "");
}
TEST(Nearest, WritesTheTailOfAMessage) { EXPECT_EQ(did_you_mean("task", kWords), "; did you mean \"tasks\"?"); }
TEST(Nearest, TakesEmptyWordsAndEmptyLists) {
  EXPECT_EQ(nearest("", kWords), "");
  EXPECT_EQ(nearest("a", {}), "");
}

}  // namespace
}  // namespace whet
