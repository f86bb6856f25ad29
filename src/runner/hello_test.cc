#include "runner/hello.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>

#include "runner/wire.h"

namespace whet {
namespace {

/// What is made of what the other end does before it closes.
std::string received(const std::function<void(int)>& other) {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  other(ends[1]);
  close(ends[1]);
  const Status status = receive_hello(ends[0], 5);
  close(ends[0]);
  return status.ok() ? "ok" : status.error().message;
}

TEST(Hello, OfTheSameVersionsIsAccepted) {
  EXPECT_EQ(received([](int fd) { EXPECT_TRUE(send_hello(fd)); }), "ok");
}
TEST(Hello, OfAnotherVersionIsRefusedWithBothNumbers) {
  EXPECT_EQ(received([](int fd) { send_hello(fd, {99}); }),
            "it calls kernels by version 99 of their arguments; this program needs " +
                std::to_string(WHET_KERNEL_ARGS_VERSION));
}
TEST(Hello, ThatDoesNotComeIsAnError) {
  EXPECT_EQ(received([](int) {}), "it ended before it said which versions it speaks");
  EXPECT_EQ(received([](int fd) { send_frame(fd, FrameType::measured, "1234"); }), "its first frame is no hello");
  EXPECT_EQ(received([](int fd) { send_frame(fd, FrameType::hello, "1"); }), "its first frame is no hello");
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  EXPECT_EQ(receive_hello(ends[0], 0.01).error().message, "it did not say which versions it speaks");
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace whet
