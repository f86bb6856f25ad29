#include "base/shared_text.h"

#include <gtest/gtest.h>

namespace whet {
namespace {

TEST(SharedText, IsEqualToWhatItHolds) {
  const SharedText text = "conv2d", same = std::string("conv2d"), other = "dense";
  EXPECT_EQ(text, same);
  EXPECT_EQ(text, "conv2d");
  EXPECT_EQ(std::string_view("conv2d"), text);
  EXPECT_NE(text, other);
  EXPECT_LT(text, other);
  EXPECT_GT(std::string("e"), other);
}
TEST(SharedText, IsEmptyAtFirst) {
  EXPECT_TRUE(SharedText().empty());
  EXPECT_EQ(SharedText(), "");
  EXPECT_EQ(SharedText(), SharedText(std::string()));
  EXPECT_FALSE(SharedText("a").empty());
}
TEST(SharedText, HasOneCopyOfEqualTexts) {
  SharedTexts texts;
  const SharedText first = texts.of("a task of some length"), second = texts.of(std::string("a task of some length"));
  EXPECT_EQ(&first.text(), &second.text());
  EXPECT_NE(&first.text(), &texts.of("another").text());
  EXPECT_TRUE(texts.of("").empty());
}
TEST(SharedText, OutlivesTheTextsThatItIsFrom) {
  SharedText kept;
  {
    SharedTexts texts;
    kept = texts.of("a task of some length");
  }
  EXPECT_EQ(kept, "a task of some length");
}

}  // namespace
}  // namespace whet
