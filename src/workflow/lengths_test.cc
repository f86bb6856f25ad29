#include "workflow/lengths.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace whet::lengths_test {
namespace {

/// "7 2, 24 4": each size with its count; or what is wrong.
std::string counted_in(const std::string& text, const std::vector<std::string>& sizes = {"n=1..512"}) {
  const auto requests = parse_lengths(text, "f.txt", parse_sizes(sizes).value());
  if (!requests.ok()) return requests.error().message;
  std::string counts;
  for (const RequestCount& each : *requests) {
    counts += counts.empty() ? "" : ", ";
    for (std::size_t k = 0; k < each.at.size(); ++k) counts += (k > 0 ? "x" : "") + std::to_string(each.at[k]);
    counts += " " + std::to_string(each.count);
  }
  return counts;
}

TEST(Lengths, CountsRequests) {
  EXPECT_EQ(counted_in("24\n24 3\n\n# nights\n 7\t2 \r\n512"), "7 2, 24 4, 512 1");
  EXPECT_EQ(counted_in("\xef\xbb\xbf# of an editor\r\n24\r\n"), "24 1");
  EXPECT_EQ(counted_in("2x128 7\n1x128\n2x128", {"b=1..4", "n=64..960:32"}), "1x128 1, 2x128 8");
}

TEST(Lengths, NamesTheLineThatIsNoRequest) {
  for (const char* line : {"abc", "24 x", "24 3 4", "-1", "0", "24 0", "1.5", "24,3", "2x24", "99999999999999999999",
                           "24 1000000001", "24x"})
    EXPECT_EQ(counted_in("8\n" + std::string(line) + "\n"),
              "f.txt, line 2: \"" + std::string(line) +
                  "\" is no request; expected a size and perhaps how many had it, like 24 or 24 3");
  EXPECT_EQ(counted_in("24", {"b=1..4", "n=1..64"}),
            "f.txt, line 1: \"24\" is no request; expected a size and perhaps how many had it, like 2x24 or 2x24 3");
  EXPECT_EQ(counted_in("600"), "f.txt, line 1: n is 600; n is 1..512");
  EXPECT_EQ(counted_in("65", {"n=64..960:32"}), "f.txt, line 1: n is 65; n is 64..960:32");
  EXPECT_EQ(counted_in("3", {"x.0={1,2,4}"}), "f.txt, line 1: x.0 is 3; x.0 is {1,2,4}");
  EXPECT_EQ(counted_in("# none\n\n"), "f.txt: has no request; expected a size a line, like 24 or 24 3");
}

/// Whatever the bytes are: a sentence, or requests of the sizes that are read back as they are printed.
TEST(Lengths, SurviveGarbage) {
  const std::string letters = "0123456789x \t\r\n#,-.\x80";
  Rng rng(1);
  int read = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (std::int64_t length = rng.between(0, 24); length > 0; --length)
      text += rng.chance(0.02) ? static_cast<char>(rng.below(256))
                               : letters[static_cast<std::size_t>(rng.below(std::ssize(letters)))];
    const std::vector<WantedSize> sizes = parse_sizes({"n=1..512"}).value();
    const auto requests = parse_lengths(text, "f", sizes);
    if (!requests.ok()) {
      ASSERT_FALSE(requests.error().message.empty());
      continue;
    }
    ++read;
    std::string printed;
    for (const RequestCount& each : *requests) {
      ASSERT_TRUE(check_has(sizes, each.at).ok());
      ASSERT_GE(each.count, 1);
      printed += std::to_string(each.at[0]) + " " + std::to_string(each.count) + "\n";
    }
    ASSERT_EQ(parse_lengths(printed, "f", sizes).value(), *requests);
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace whet::lengths_test
