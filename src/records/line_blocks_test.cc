#include "records/line_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/rng.h"

namespace whet {
namespace line_blocks_test {

/// "a|b|c", with "..." where the last line has no end.
std::string lines_of(std::string_view text, std::size_t block, std::size_t shorter = 0) {
  std::string found;
  LineBlock lines;
  const ReadText read = [&](std::size_t begin, std::size_t end, std::vector<char>& room) {
    end = std::min(end, text.size() - shorter);
    room.assign(text.begin() + static_cast<std::ptrdiff_t>(std::min(begin, end)),
                text.begin() + static_cast<std::ptrdiff_t>(end));
    return std::string_view(room.data(), room.size());
  };
  for (std::size_t begin = 0; begin < text.size(); begin += block) {
    read_lines(begin, std::min(begin + block, text.size()), text.size(), read, lines);
    for (std::string_view line : lines.lines) found += (found.empty() ? "" : "|") + std::string(line);
    found += lines.cut ? "..." : "";
  }
  return found;
}

TEST(LineBlocks, HaveEachLineOnce) {
  for (std::size_t block = 1; block < 20; ++block) {
    EXPECT_EQ(lines_of("one\ntwo\nthree\n", block), "one|two|three") << block;
    EXPECT_EQ(lines_of("one\ntwo\nthr", block), "one|two|thr...") << block;
    EXPECT_EQ(lines_of("a\n\n\nb", block), "a|||b...") << block;
    EXPECT_EQ(lines_of("a", block), "a...") << block;
    EXPECT_EQ(lines_of("", block), "") << block;
  }
}
TEST(LineBlocks, AreThoseOfThePlainTextWhereverItIsDivided) {
  Rng rng(11);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (auto lines = rng.between(0, 12); lines > 0; --lines)
      text += std::string(static_cast<std::size_t>(rng.between(0, round % 10 == 0 ? 9000 : 6)), 'x') + "\n";
    if (rng.below(2) == 0) text += "end";
    const auto block = static_cast<std::size_t>(rng.between(1, round % 10 == 0 ? 5000 : 9));
    EXPECT_EQ(lines_of(text, block), lines_of(text, text.size() + 1)) << text.size() << " by " << block;
  }
}
TEST(LineBlocks, EndWhereTheTextBecameShorter) {
  EXPECT_EQ(lines_of("one\ntwo\nthree\n", 4, 7), "one|two...");
  EXPECT_EQ(lines_of("one\ntwo\n", 2, 8), "");
}

}  // namespace line_blocks_test
}  // namespace whet
