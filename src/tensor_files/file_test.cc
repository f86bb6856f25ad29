#include "tensor_files/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace whet {
namespace {

class WriteFile : public testing::Test {
 protected:
  WriteFile() {
    folder_ = testing::TempDir() + "write_file_" + std::to_string(getpid());
    std::filesystem::create_directory(folder_);
  }
  ~WriteFile() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

TEST_F(WriteFile, ReplacesTheFileOfALinkAndNotTheLink) {
  ASSERT_TRUE(write_file(path("file"), "old").ok());
  std::filesystem::create_symlink("file", path("link"));
  ASSERT_TRUE(write_file(path("link"), "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(*read_file(path("file")), "new");
}

TEST_F(WriteFile, WritesToAPipeAndLeavesIt) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const int reader = open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  EXPECT_TRUE(write_file(path("pipe"), "bytes").ok());
  char bytes[8] = {};
  EXPECT_EQ(read(reader, bytes, sizeof bytes), 5);
  EXPECT_STREQ(bytes, "bytes");
  close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(path("pipe")));
}

TEST_F(WriteFile, NamesWhatWasAskedFor) {
  const std::string nowhere = path("no/file"), sentence = "cannot write \"" + nowhere + "\": No such file or directory";
  EXPECT_EQ(write_file(nowhere, "bytes").error().message, sentence);
  EXPECT_EQ(can_write_file(nowhere).error().message, sentence);
  EXPECT_EQ(can_write_file(folder_).error().message, "cannot write \"" + folder_ + "\": Is a directory");
  EXPECT_TRUE(can_write_file(path("file")).ok());
  EXPECT_TRUE(can_write_file("file").ok());
}

using ReadFile = WriteFile;
TEST_F(ReadFile, RefusesPipesAndDevicesAtOnce) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_file(path("pipe")).error().message, "cannot read \"" + path("pipe") + "\": it is a pipe");
  EXPECT_EQ(read_file("/dev/zero").error().message, "cannot read \"/dev/zero\": it is a device");
}
TEST_F(ReadFile, FollowsLinksToRegularFilesAlone) {
  ASSERT_TRUE(write_file(path("file"), "bytes").ok());
  const auto read_link = [&](const std::string& to) {
    std::filesystem::remove(path("link"));
    std::filesystem::create_symlink(to, path("link"));
    const auto bytes = read_file(path("link"));
    return bytes.ok() ? *bytes : bytes.error().message;
  };
  EXPECT_EQ(read_link("file"), "bytes");
  EXPECT_EQ(read_link("/dev/zero"), "cannot read \"" + path("link") + "\": it is a device");
  EXPECT_EQ(read_link("/proc/self/status"), "cannot read \"" + path("link") + "\": it is a file of the kernel");
  EXPECT_EQ(read_link(folder_), "cannot read \"" + path("link") + "\": it is a directory");
}

}  // namespace
}  // namespace whet
