#include "base/shown.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"

namespace whet {
namespace {

TEST(Shown, TextHasNoControlCharacters) {
  EXPECT_EQ(shown("conv2d 1x64"), "conv2d 1x64");
  EXPECT_EQ(shown("a\x1b[2Jb\r\n\x7f"), "a\\u001b[2Jb\\u000d\\u000a\\u007f");
  EXPECT_EQ(shown("a\n\tb\x1b", "\n\t"), "a\n\tb\\u001b");
  EXPECT_EQ(shown("größe…"), "größe…") << "letters stay";
  EXPECT_EQ(shown("\xc2\x9b"
                  "2J\xc2\xa0"),
            "\\u009b2J\xc2\xa0")
      << "those of two bytes";
  EXPECT_EQ(shown(std::string_view("a\0b", 3)), "a\\u0000b");
}
TEST(Shown, AnyBytesAreHarmless) {
  Rng rng(7);
  for (int round = 0; round < 2000; ++round) {
    std::string text(static_cast<std::size_t>(rng.below(40)), ' ');
    for (char& c : text) c = static_cast<char>(rng.chance(0.3) ? 0xc2 : rng.below(256));
    const std::string safe = shown(text);
    EXPECT_TRUE(std::ranges::none_of(safe, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }));
    EXPECT_EQ(shown(safe), safe);
  }
}

}  // namespace
}  // namespace whet
