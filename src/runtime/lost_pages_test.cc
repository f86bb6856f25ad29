#include "runtime/lost_pages.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "runtime/memory.h"

namespace whet::lost_pages_test {
namespace {

/// A file of four pages, each filled with its number from 1 on, mapped and watched.
class MappedFile {
 public:
  MappedFile() {
    file_ = memfd_create("lost_pages", MFD_CLOEXEC);
    std::string bytes;
    for (const char page : {1, 2, 3, 4}) bytes.append(page_bytes(), page);
    EXPECT_EQ(write(file_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    data_ = static_cast<char*>(mmap(nullptr, bytes.size(), PROT_READ, MAP_SHARED, file_, 0));
    watched_ = watch_pages(data_, bytes.size());
  }
  ~MappedFile() {
    forget_pages(watched_);
    munmap(data_, 4 * page_bytes());
    close(file_);
  }

  void cut(std::size_t pages) const { EXPECT_EQ(ftruncate(file_, static_cast<off_t>(pages * page_bytes())), 0); }
  int page(std::size_t number) const {
    return *static_cast<const volatile char*>(data_ + number * page_bytes());  // volatile: read now
  }
  const WatchedPages* watched() const { return watched_; }
  bool has_lost() const { return has_lost_pages(watched_); }

 private:
  int file_ = -1;
  char* data_ = nullptr;
  WatchedPages* watched_ = nullptr;
};

int own_signals = 0;
void count_signal(int) { ++own_signals; }
void (*handler_now())(int) {
  struct sigaction now = {};
  sigaction(SIGBUS, nullptr, &now);
  return now.sa_handler;
}

TEST(LostPages, AreZerosWhileTheyAreInUse) {
  const MappedFile file;
  const PagesInUse use(file.watched());
  file.cut(2);
  EXPECT_EQ(file.page(3), 0);
  EXPECT_EQ(file.page(2), 0);
  EXPECT_EQ(file.page(1), 2) << "what is left is read";
  EXPECT_TRUE(file.has_lost());
}

TEST(LostPages, StayLostWhereTheFileGrowsAgain) {
  const MappedFile file;
  {
    const PagesInUse use(file.watched());
    file.cut(1);
    EXPECT_EQ(file.page(2), 0);
  }
  file.cut(4);
  EXPECT_TRUE(file.has_lost());
}

TEST(LostPages, AreNoneOfAFileThatIsWhole) {
  const MappedFile file;
  const PagesInUse use(file.watched());
  EXPECT_EQ(file.page(0) + file.page(3), 5);
  EXPECT_FALSE(file.has_lost());
  EXPECT_FALSE(has_lost_pages(nullptr));
}

TEST(LostPages, AreOfTheMappingThatHasThem) {
  const MappedFile first, second;
  const PagesInUse use(second.watched());
  second.cut(0);
  EXPECT_EQ(second.page(0), 0);
  EXPECT_FALSE(first.has_lost());
  EXPECT_EQ(first.page(0), 1);
}

TEST(LostPages, AreForgottenWithTheirMapping) {
  for (int round = 0; round < 3; ++round) {
    const MappedFile file;
    EXPECT_FALSE(file.has_lost()) << round;
    const PagesInUse use(file.watched());
    file.cut(0);
    EXPECT_EQ(file.page(1), 0);
  }
}

TEST(LostPages, MayBeReadByManyThreads) {
  const MappedFile file;
  const PagesInUse use(file.watched());
  file.cut(1);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&file] {
      const PagesInUse own(file.watched());
      EXPECT_EQ(file.page(1) + file.page(2) + file.page(3), 0);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(LostPages, LeaveTheProgramsOwnHandlerInPlace) {
  struct sigaction own = {}, before = {};
  own.sa_handler = count_signal;
  sigaction(SIGBUS, &own, &before);
  own_signals = 0;
  {
    const MappedFile file;
    EXPECT_EQ(handler_now(), count_signal);
    const PagesInUse use(file.watched());
    EXPECT_NE(handler_now(), count_signal);
    raise(SIGBUS);
    EXPECT_EQ(own_signals, 1) << "what is not about the pages is the program's";
    file.cut(0);
    EXPECT_EQ(file.page(0), 0);
    EXPECT_EQ(own_signals, 1);
  }
  EXPECT_EQ(handler_now(), count_signal);
  sigaction(SIGBUS, &before, nullptr);
}

TEST(LostPages, AreWatchedBelowAHandlerThatIsSetMeanwhile) {
  struct sigaction before = {}, ours = {}, own = {};
  sigaction(SIGBUS, nullptr, &before);
  const MappedFile file;
  {
    const PagesInUse use(file.watched());
    own.sa_handler = count_signal;
    sigaction(SIGBUS, &own, &ours);
  }
  EXPECT_EQ(handler_now(), count_signal) << "what the program has set meanwhile stays";
  sigaction(SIGBUS, &ours, nullptr);  // as another library does that set its own above ours
  {
    const PagesInUse use(file.watched());
    file.cut(0);
    EXPECT_EQ(file.page(0), 0);
  }
  EXPECT_EQ(handler_now(), before.sa_handler) << "ours is set back once it is the last one again";
}

TEST(LostPages, AreNoneOfAParentsUsersInAChild) {
  struct sigaction own = {}, before = {};
  own.sa_handler = count_signal;
  sigaction(SIGBUS, &own, &before);
  const MappedFile file;
  {
    const PagesInUse parents(file.watched());
    const pid_t child = fork();
    if (child == 0) {
      {
        const PagesInUse use(file.watched());
        file.cut(0);
        if (file.page(0) != 0) _exit(2);
      }
      _exit(handler_now() == count_signal ? 7 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  }
  EXPECT_EQ(handler_now(), count_signal);
  sigaction(SIGBUS, &before, nullptr);
}

TEST(LostPages, LeaveASignalThatTheProgramIgnores) {
  struct sigaction ignored = {}, before = {};
  ignored.sa_handler = SIG_IGN;
  sigaction(SIGBUS, &ignored, &before);
  {
    const MappedFile file;
    const PagesInUse use(file.watched());
    raise(SIGBUS);
  }
  EXPECT_EQ(handler_now(), SIG_IGN);
  sigaction(SIGBUS, &before, nullptr);
}

TEST(LostPages, EndTheProcessWhereNobodyUsesThem) {
  const auto read_after_cut = [] {
    signal(SIGBUS, SIG_DFL);
    const MappedFile file;
    {
      const PagesInUse use(file.watched());
    }
    file.cut(0);
    file.page(0);
  };
  EXPECT_EXIT(read_after_cut(), ::testing::KilledBySignal(SIGBUS), "");
}

TEST(LostPages, EndTheProcessWhereAnotherFilesAreLost) {
  const auto read_other = [] {
    signal(SIGBUS, SIG_DFL);
    const MappedFile file;
    const int other = memfd_create("other", MFD_CLOEXEC);
    if (ftruncate(other, 4096) != 0) _exit(2);
    const auto* const page = static_cast<const volatile char*>(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, other, 0));
    const PagesInUse use(file.watched());
    if (ftruncate(other, 0) != 0) _exit(2);
    (void)*page;
  };
  EXPECT_EXIT(read_other(), ::testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace whet::lost_pages_test
