#include "board/layers.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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

}  // namespace
}  // namespace whet::layers_test
