#include "base/write_place.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace whet {
namespace {

class WritePlaces : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "write_place_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = std::filesystem::canonical(name).string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

TEST_F(WritePlaces, AreFilesThatAreReplaced) {
  EXPECT_EQ(write_place(path("new")).path, path("new"));
  EXPECT_FALSE(write_place(path("new")).in_place);
}
TEST_F(WritePlaces, AreWhereLinksLead) {
  std::ofstream(path("real")) << "x";
  std::filesystem::create_symlink("real", path("link"));
  std::filesystem::create_symlink(path("link"), path("second"));
  std::filesystem::create_symlink("nowhere", path("dangling"));
  EXPECT_EQ(write_place(path("second")).path, path("real"));
  EXPECT_EQ(write_place(path("dangling")).path, path("nowhere"));
  std::filesystem::create_symlink("circle", path("circle"));
  EXPECT_FALSE(write_place(path("circle")).in_place);
}
TEST_F(WritePlaces, AreDevicesAndDescriptorsThemselves) {
  EXPECT_TRUE(write_place("/dev/null").in_place);
  EXPECT_EQ(write_place("/dev/null").path, "/dev/null");
  std::filesystem::create_symlink("/dev/null", path("null"));
  EXPECT_TRUE(write_place(path("null")).in_place);
  std::FILE* open = std::fopen(path("open").c_str(), "w");
  ASSERT_NE(open, nullptr);
  EXPECT_TRUE(write_place("/proc/self/fd/" + std::to_string(::fileno(open))).in_place);
  std::fclose(open);
}

}  // namespace
}  // namespace whet
