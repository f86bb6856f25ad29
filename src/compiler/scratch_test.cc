#include "compiler/scratch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "compiler/scratch_paths.h"

namespace whet {
namespace {

class ScratchDirectories : public ::testing::Test {
 protected:
  ScratchDirectories() {
    folder_ = ::testing::TempDir() + "scratch_XXXXXX";
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    if (const char* const was = std::getenv("TMPDIR")) was_ = was;
    setenv("TMPDIR", folder_.c_str(), 1);
  }
  ~ScratchDirectories() override {
    was_ ? setenv("TMPDIR", was_->c_str(), 1) : unsetenv("TMPDIR");
    std::filesystem::remove_all(folder_);
  }
  long directories() const { return std::distance(std::filesystem::directory_iterator(folder_), {}); }
  /// As a process does that is killed.
  static void leave_one_behind() {
    const pid_t child = fork();
    if (child == 0) {
      const auto made = ScratchDirectory::make();
      std::ofstream(made->path() + "/file") << "half";
      raise(SIGKILL);
    }
    waitpid(child, nullptr, 0);
  }

  std::string folder_;
  std::optional<std::string> was_;
};

TEST_F(ScratchDirectories, OfKilledProcessesGoWithTheNext) {
  leave_one_behind();
  EXPECT_EQ(directories(), 1);
  const auto next = ScratchDirectory::make();
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(directories(), 1);
  EXPECT_TRUE(std::filesystem::is_empty(next->path()));
}

/// Three threads make directories with a file in them and drop them until a signal ends the process.
[[noreturn]] void make_and_drop() {
  signal(SIGTERM, [](int) {
    remove_scratch();
    _exit(0);
  });
  const auto work = [] {
    for (;;)
      if (const auto made = ScratchDirectory::make(); made.ok()) std::ofstream(made->path() + "/file") << "half";
  };
  const std::thread first(work), second(work);
  work();
  std::abort();
}

TEST_F(ScratchDirectories, GoWhereASignalEndsTheProcessWhileTheyAreMade) {
  for (int i = 0; i < 100; ++i) {
    const pid_t child = fork();
    if (child == 0) make_and_drop();
    usleep(2000 + 37 * i);
    kill(child, SIGTERM);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status) || WTERMSIG(status) == SIGTERM) << status;
    ASSERT_EQ(directories(), 0) << "after " << i << " processes";
  }
}

TEST_F(ScratchDirectories, OfTheLivingStay) {
  const auto first = ScratchDirectory::make(), second = ScratchDirectory::make();
  leave_one_behind();
  EXPECT_TRUE(std::filesystem::is_directory(first->path()));
  EXPECT_TRUE(std::filesystem::is_directory(second->path()));
}

TEST_F(ScratchDirectories, OfOtherNamesStay) {
  std::filesystem::create_directory(folder_ + "/whet-scratch-of-mine");
  std::filesystem::create_directory(folder_ + "/whet-models");
  (void)ScratchDirectory::make();
  EXPECT_EQ(directories(), 2);
}

TEST_F(ScratchDirectories, AreUnderTmpWhereTheVariableIsEmpty) {
  setenv("TMPDIR", "", 1);
  const auto made = ScratchDirectory::make();
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->path().substr(0, 18), "/tmp/whet-scratch-");
}

TEST_F(ScratchDirectories, SayWhyThereAreNone) {
  setenv("TMPDIR", "/nowhere", 1);
  EXPECT_EQ(ScratchDirectory::make().error().message,
            "no directory for temporary files can be made in \"/nowhere\": No such file or directory; set TMPDIR to a "
            "folder that may be written");
}

}  // namespace
}  // namespace whet
