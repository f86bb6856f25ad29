#include "board/layers.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <thread>

#include "base/testing/random_cases.h"

namespace whet::layers_test {
namespace {

/// What `inside` gives in a process that has entered its layers; -1: a signal ended it.
int in_sandbox(const std::function<int(int layers)>& inside) {
  const pid_t child = fork();
  if (child == 0) _exit(inside(enter_layers(FileAccess::none)));
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
int layers_here() {
  return in_sandbox([](int layers) { return layers; });
}

/// Threads that can be started, 100 at most.
int threads_that_start() {
  int started = 0;
  const auto sleep = [](void*) -> void* {
    for (;;) usleep(100000);
  };
  for (pthread_t thread; started < 100 && pthread_create(&thread, nullptr, sleep, nullptr) == 0;) ++started;
  return started;
}

TEST(Layers, HaveNames) {
  std::string names;
  for (const int layer : kSandboxLayers) names += std::string(layer_name(layer)) + " ";
  EXPECT_EQ(names, "no_new_privs uid nproc rlimits namespaces seccomp ");
}
TEST(Layers, LimitThreadsWhereTheUserIsTheirOwn) {
  if (testing::kSanitized) GTEST_SKIP() << "the sanitizer's threads need more memory than foreign code may have";
  if ((layers_here() & kNproc) == 0) GTEST_SKIP() << "a runner has no user of its own here";
  const int processors = static_cast<int>(sysconf(_SC_NPROCESSORS_CONF));
  EXPECT_EQ(in_sandbox([](int) { return threads_that_start(); }), processors + 7) << "beside the first one";
  EXPECT_EQ(in_sandbox([](int) { return threads_that_start(); }), processors + 7) << "another runner is another user";
}
TEST(Layers, LeaveNoNetworkWhereTheSystemAllows) {
  if ((layers_here() & kNamespaces) == 0) GTEST_SKIP() << "this system makes no namespaces";
  struct Names {
    char own[64] = {}, inside[64] = {};
  };
  int both[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, both), 0);
  // The name is read by the parent: the child may open nothing.
  const pid_t child = fork();
  if (child == 0) {
    enter_layers(FileAccess::none);
    char byte = 1;
    write(both[1], &byte, 1);
    read(both[1], &byte, 1);
    _exit(0);
  }
  char byte;
  ASSERT_EQ(read(both[0], &byte, 1), 1);
  Names names;
  EXPECT_GT(readlink("/proc/self/ns/net", names.own, sizeof names.own - 1), 0);
  EXPECT_GT(readlink(("/proc/" + std::to_string(child) + "/ns/net").c_str(), names.inside, sizeof names.inside - 1), 0);
  EXPECT_STRNE(names.own, names.inside);
  EXPECT_EQ(write(both[0], &byte, 1), 1);
  waitpid(child, nullptr, 0);
  close(both[0]), close(both[1]);
}

/// 0 where a call inside is answered, else the error.
int error_of(bool granted) { return granted ? 0 : errno; }
int error_of_mapping(int flags, std::size_t bytes = 1 << 16, int access = PROT_READ | PROT_WRITE) {
  return in_sandbox([=](int) {
    return error_of(mmap(nullptr, bytes, access, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED);
  });
}

TEST(Layers, GiveNoMemoryThatTheirLimitsDoNotCount) {
  if ((layers_here() & kSeccomp) == 0) GTEST_SKIP() << "this system filters no calls";
  if (!testing::kSanitized) {  // the sanitizer has more addresses already
    EXPECT_EQ(error_of_mapping(MAP_PRIVATE), 0);
    EXPECT_EQ(error_of_mapping(MAP_PRIVATE | MAP_STACK | MAP_POPULATE), 0);
  }
  EXPECT_EQ(error_of_mapping(MAP_SHARED), EACCES);
  EXPECT_EQ(error_of_mapping(MAP_PRIVATE | MAP_GROWSDOWN), EACCES);
  EXPECT_EQ(error_of_mapping(MAP_PRIVATE | MAP_HUGETLB), EACCES);
  EXPECT_EQ(in_sandbox([](int) {
              void* page = mmap(nullptr, 1 << 16, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              return error_of(mremap(page, 1 << 16, 1 << 20, MREMAP_MAYMOVE) != MAP_FAILED);
            }),
            EACCES);
}
TEST(Layers, LimitMemoryAndAddresses) {
  if (testing::kSanitized) GTEST_SKIP() << "the sanitizer has more addresses already";
  constexpr std::size_t kMuch = std::size_t{1} << 45;
  EXPECT_EQ(error_of_mapping(MAP_PRIVATE, kMuch), ENOMEM) << "data";
  EXPECT_EQ(error_of_mapping(MAP_PRIVATE, kMuch, PROT_READ), ENOMEM) << "what is only read";
  EXPECT_EQ(error_of_mapping(MAP_PRIVATE, std::size_t{1} << 30, PROT_NONE), 0) << "what honest code reserves";
}
/// As a user who is not root, whose processes may otherwise place each other.
TEST(Layers, LetThreadsPlaceNobodyButThemselves) {
  if ((layers_here() & kSeccomp) == 0) GTEST_SKIP() << "this system filters no calls";
  constexpr unsigned kSomebody = 1900000007;
  const pid_t parent = fork();
  if (parent == 0) {
    if (geteuid() == 0 &&
        (setresgid(kSomebody, kSomebody, kSomebody) != 0 || setresuid(kSomebody, kSomebody, kSomebody) != 0))
      _exit(0);
    cpu_set_t mask;
    sched_getaffinity(0, sizeof mask, &mask);
    const int others = in_sandbox([&](int) { return error_of(sched_setaffinity(getppid(), sizeof mask, &mask) == 0); });
    const int own = in_sandbox([&](int) { return error_of(sched_setaffinity(0, sizeof mask, &mask) == 0); });
    _exit(others == EPERM && own == 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(parent, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace whet::layers_test
