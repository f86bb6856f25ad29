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

TEST(FindName, TakesAWholeNameOrTheOnlyOneThatHasThePart) {
  const std::vector<std::string> names = {"conv1", "conv10", "stage1_Pool"};
  EXPECT_EQ(find_name("conv1", names, "is none").value(), 0u);
  EXPECT_EQ(find_name("v10", names, "is none").value(), 1u);
  EXPECT_EQ(find_name("pool", names, "is none").value(), 2u);
}
TEST(FindName, ListsTheNamesThatHaveThePart) {
  const std::vector<std::string> names = {"conv1", "conv10", "pool"};
  EXPECT_EQ(find_name("conv", names, "is none").error().message,
            "\"conv\" is a part of 2 names; expected one of conv1, conv10");
  EXPECT_EQ(find_name("pol", names, "is no node").error().message, "\"pol\" is no node; did you mean \"pool\"?");
  EXPECT_EQ(find_name("", names, "is no node").error().message, "\"\" is no node");
  const std::vector<std::string> many(20, "x");
  EXPECT_NE(find_name("X", many, "").error().message.find(", x, and 8 others"), std::string::npos);
}

}  // namespace
}  // namespace whet
