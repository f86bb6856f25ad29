#include "machine/system_files.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace whet {
namespace {

TEST(SystemFiles, AreReadWhole) {
  const std::string path = ::testing::TempDir() + "/system_files_test";
  const std::string long_text(10000, 'x');
  std::ofstream(path) << "first\n" << long_text;
  EXPECT_EQ(read_system_file(path), "first\n" + long_text);
  EXPECT_EQ(read_line(path), "first");
  std::ofstream(path).flush();
  EXPECT_EQ(read_system_file(path), "");
  EXPECT_EQ(read_line(path), std::nullopt);
  std::remove(path.c_str());
  EXPECT_EQ(read_system_file(path), std::nullopt);
  EXPECT_EQ(read_line(path), std::nullopt);
  EXPECT_EQ(read_system_file(::testing::TempDir()), std::nullopt);  // a folder
}
TEST(SystemFiles, AreTakenApartByWordsAndSeparators) {
  std::string_view text = "  MemAvailable:   123 kB\n";
  EXPECT_EQ(take_word(text), "MemAvailable:");
  EXPECT_EQ(to_integer(take_word(text)), 123);
  EXPECT_EQ(take_word(text), "kB");
  EXPECT_EQ(take_word(text), "");
  std::string_view list = "a,,b";
  EXPECT_EQ(take_until(list, ','), "a");
  EXPECT_EQ(take_until(list, ','), "");
  EXPECT_EQ(take_until(list, ','), "b");
  EXPECT_EQ(take_until(list, ','), "");
}
TEST(SystemFiles, HoldNumbersThatMayBeFollowedByMore) {
  EXPECT_EQ(to_integer("48K"), 48);
  EXPECT_EQ(to_integer("-1"), -1);
  EXPECT_EQ(to_integer("max"), std::nullopt);
  EXPECT_EQ(to_integer(""), std::nullopt);
}

}  // namespace
}  // namespace whet
