#include "base/new_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

namespace whet {
namespace {

class NewFiles : public ::testing::Test {
 protected:
  NewFiles() {
    folder_ = ::testing::TempDir() + "new_file_XXXXXX";
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  ~NewFiles() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string content(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path(name)).rdbuf();
    return text.str();
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  mode_t mode(const std::string& name) const {
    struct stat info{};
    EXPECT_EQ(::stat(path(name).c_str(), &info), 0);
    return info.st_mode & 07777;
  }
  long files() const { return std::distance(std::filesystem::directory_iterator(folder_), {}); }

  std::string folder_;
};

TEST_F(NewFiles, ReplaceTheOtherWhenTheyAreKeptAndNotBefore) {
  write("a", "old");
  NewFile file = NewFile::open(path("a")).value();
  ASSERT_TRUE(file.write("new").ok());
  EXPECT_EQ(content("a"), "old");
  ASSERT_TRUE(file.keep(true).ok());
  EXPECT_EQ(content("a"), "new");
  EXPECT_EQ(files(), 1);
}

TEST_F(NewFiles, ThatAreNotKeptLeaveNothing) {
  write("a", "old");
  {
    NewFile file = NewFile::open(path("a")).value();
    ASSERT_TRUE(file.write("new").ok());
  }
  EXPECT_EQ(content("a"), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(NewFiles, OfAProcessThatIsKilledLeaveNothing) {
  const pid_t child = fork();
  if (child == 0) {
    NewFile file = NewFile::open(path("a")).value();
    (void)file.write("half");
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(files(), 0);
}

TEST_F(NewFiles, KeepTheModeOfWhatTheyReplace) {
  const mode_t mask = umask(022);
  for (const mode_t kept : {0600, 0640, 0777}) {
    write("a", "old");
    ASSERT_EQ(chmod(path("a").c_str(), kept), 0);
    NewFile file = NewFile::open(path("a")).value();
    ASSERT_TRUE(file.keep().ok());
    EXPECT_EQ(mode("a"), kept);
  }
  ASSERT_TRUE(NewFile::open(path("b")).value().keep().ok());
  EXPECT_EQ(mode("b"), mode_t{0644});
  ASSERT_TRUE(NewFile::open(path("c"), 0777).value().keep().ok());
  EXPECT_EQ(mode("c"), mode_t{0755});
  umask(mask);
}

TEST_F(NewFiles, KeepTheOwnerOfWhatTheyReplace) {
  write("a", "old");
  if (chown(path("a").c_str(), 4321, 4322) != 0) GTEST_SKIP() << "only root gives files away";
  ASSERT_TRUE(NewFile::open(path("a")).value().keep().ok());
  struct stat info{};
  ASSERT_EQ(::stat(path("a").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 4321u);
  EXPECT_EQ(info.st_gid, 4322u);
}

TEST_F(NewFiles, ReplaceTheFileOfALinkAndNotTheLink) {
  write("a", "old");
  std::filesystem::create_symlink("a", path("link"));
  NewFile file = NewFile::open(path("link")).value();
  ASSERT_TRUE(file.write("new").ok());
  ASSERT_TRUE(file.keep().ok());
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(content("a"), "new");
}

TEST_F(NewFiles, AtTheSameTimeAreEachWhole) {
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer)
    writers.emplace_back([this, writer] {
      for (int i = 0; i < 50; ++i) {
        NewFile file = NewFile::open(path("a")).value();
        EXPECT_TRUE(file.write(std::string(100000, static_cast<char>('a' + writer))).ok());
        EXPECT_TRUE(file.keep().ok());
      }
    });
  for (std::thread& writer : writers) writer.join();
  const std::string text = content("a");
  EXPECT_EQ(text, std::string(100000, text.at(0)));
  EXPECT_EQ(files(), 1);
}

TEST_F(NewFiles, GoBehindWhatAnOpenDescriptorHas) {
  write("log", "a line\n");
  const int log = ::open(path("log").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  ASSERT_GE(log, 0);
  for (const char* const folder : {"/proc/self/fd/", "/dev/fd/"}) {
    NewFile file = NewFile::open(folder + std::to_string(log)).value();
    EXPECT_TRUE(file.write("another\n").ok());
    EXPECT_TRUE(file.keep().ok());
  }
  close(log);
  EXPECT_EQ(content("log"), "a line\nanother\nanother\n");
}

TEST_F(NewFiles, ShareThePlaceOfADescriptorOfThisProcess) {
  const int out = ::open(path("out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::write(out, "head\n", 5), 5);
  std::filesystem::create_symlink("/proc/self/fd/" + std::to_string(out), path("stdout"));
  EXPECT_TRUE(NewFile::open(path("stdout")).value().write("page\n").ok());
  ASSERT_EQ(::write(out, "path\n", 5), 5);
  close(out);
  EXPECT_EQ(content("out"), "head\npage\npath\n");
}

TEST_F(NewFiles, SayWhyThereAreNone) {
  EXPECT_EQ(NewFile::open(path("no/a")).error().message,
            "cannot write \"" + path("no/a") + "\": No such file or directory");
  EXPECT_EQ(NewFile::open(folder_).error().message, "cannot write \"" + folder_ + "\": Is a directory");
  EXPECT_EQ(NewFile::open("/dev/full").value().write("x").error().message,
            "cannot write \"/dev/full\": No space left on device");
}

TEST_F(NewFiles, HaveRoomForTheLongestName) {
  const std::string longest(255, 'x');
  ASSERT_TRUE(NewFile::open(path(longest)).value().keep().ok());
  EXPECT_TRUE(std::filesystem::exists(path(longest)));
}

}  // namespace
}  // namespace whet
