#include "runner/wire.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/rng.h"

namespace whet {
namespace {

struct Ends {
  Ends() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0); }
  ~Ends() { close_first(), close(fd[1]); }
  void close_first() {
    if (fd[0] >= 0) close(fd[0]);
    fd[0] = -1;
  }
  void write(const std::string& bytes) {
    EXPECT_EQ(::send(fd[0], bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  int fd[2] = {-1, -1};
};

/// What the other end makes of these bytes: `type:payload ...`, then how it ended.
std::string received(const std::string& bytes) {
  Ends ends;
  ends.write(bytes);
  ends.close_first();
  std::string text;
  for (;;) {
    auto result = receive_frame(ends.fd[1]);
    if (!result.ok) return text + (result.end == WireEnd::closed ? "closed" : result.message);
    text += std::to_string(static_cast<int>(result.frame.type)) + ":" + result.frame.payload + " ";
  }
}
std::string frame(FrameType type, const std::string& payload) {
  Ends ends;
  EXPECT_TRUE(send_frame(ends.fd[0], type, payload));
  ends.close_first();
  std::string bytes(16 + payload.size() + 1, '\0');
  bytes.resize(static_cast<std::size_t>(recv(ends.fd[1], bytes.data(), bytes.size(), 0)));
  return bytes;
}

TEST(Wire, FramesArriveWholeAndInOrder) {
  EXPECT_EQ(received(frame(FrameType::measure, "abc") + frame(FrameType::built, "")), "1:abc 7: closed");
}
TEST(Wire, BytesAreThoseOfTheDocument) {
  EXPECT_EQ(frame(FrameType::built, "xy"), std::string("WHET\x06\0\x07\0\x02\0\0\0\0\0\0\0xy", 18));
}
TEST(Wire, LargeFramesPassThroughASmallSocket) {
  Ends ends;
  const std::string payload(3 << 20, 'x');
  std::thread writer([&] { EXPECT_TRUE(send_frame(ends.fd[0], FrameType::check, payload)); });
  auto result = receive_frame(ends.fd[1]);
  writer.join();
  ASSERT_TRUE(result.ok);
  EXPECT_TRUE(result.frame.payload == payload);
}
TEST(Wire, SendsALargeFrameOnASocketThatDoesNotBlock) {
  Ends ends;
  fcntl(ends.fd[0], F_SETFL, fcntl(ends.fd[0], F_GETFL) | O_NONBLOCK);
  const std::string payload(3 << 20, 'x');
  std::thread writer([&] { EXPECT_TRUE(send_frame(ends.fd[0], FrameType::check, payload)); });
  auto result = receive_frame(ends.fd[1]);
  writer.join();
  ASSERT_TRUE(result.ok);
  EXPECT_TRUE(result.frame.payload == payload);
}
TEST(Wire, RefusesBytesThatAreNoFrame) {
  EXPECT_EQ(received("GET / HTTP/1.1\r\n\r\n"), "the bytes are no frame");
  EXPECT_EQ(received(std::string("WHET\x01\0\x01\0\0\0\0\0\0\0\0\0", 16)),
            "the frame has version 1; this program needs 6");
  EXPECT_EQ(received(std::string("WHET\x06\0\x01\0\0\0\0\0\0\0\0\x7f", 16)),
            "the frame claims 9151314442816847872 bytes; at most 4294967296 are taken");
}
TEST(Wire, TakesNoLongerFrameThanIsExpected) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  send_frame(ends[1], FrameType::measured, "12345");
  EXPECT_TRUE(has_bytes(ends[0]));
  EXPECT_EQ(receive_frame(ends[0], 1, 5).frame.payload, "12345");
  EXPECT_FALSE(has_bytes(ends[0]));
  send_frame(ends[1], FrameType::measured, "123456");
  EXPECT_EQ(receive_frame(ends[0], 1, 5).message, "the frame claims 6 bytes; at most 5 are taken");
  close(ends[0]), close(ends[1]);
}
TEST(Wire, WaitsNoLongerThanItsOwnerForAnEndThatTakesNothing) {
  int ends[2], asked = 0;
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  EXPECT_FALSE(send_frame(ends[0], FrameType::build, std::string(4 << 20, 'x'), [&] { return ++asked < 3; }));
  EXPECT_EQ(asked, 3);
  close(ends[0]), close(ends[1]);
}
TEST(Wire, AFrameCutShortReadsAsClosed) { EXPECT_EQ(received(frame(FrameType::built, "xyz").substr(0, 18)), "closed"); }
TEST(Wire, WaitsNoLongerThanAsked) {
  Ends ends;
  auto result = receive_frame(ends.fd[1], 0.01);
  EXPECT_TRUE(!result.ok && result.end == WireEnd::timed_out);
}
TEST(Wire, SaysWhenTheOtherEndIsGoneAndHadNotReadWhatWasSent) {
  for (const bool reads : {true, false}) {
    Ends ends;
    EXPECT_TRUE(send_frame(ends.fd[0], FrameType::build, "a request"));
    if (reads) {
      EXPECT_TRUE(receive_frame(ends.fd[1]).ok);
    }
    close(std::exchange(ends.fd[1], -1));
    const ReceiveResult result = receive_frame(ends.fd[0]);
    EXPECT_FALSE(result.ok);
    EXPECT_EQ(result.end, WireEnd::closed);
    EXPECT_EQ(result.unread, !reads);
  }
}
TEST(Wire, SendingToADeadEndIsNoSignal) {
  Ends ends;
  close(ends.fd[1]);
  ends.fd[1] = -1;
  EXPECT_FALSE(send_frame(ends.fd[0], FrameType::built, "x"));
}
TEST(Wire, SurvivesAnyBytes) {
  Rng rng(1);
  const std::string good = frame(FrameType::measure, "payload") + frame(FrameType::built, "more");
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = good;
    for (auto n = rng.below(4); n > 0; --n)
      bytes[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(bytes.size())))] =
          static_cast<char>(rng.below(256));
    bytes.resize(static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(bytes.size()) + 1)));
    (void)received(bytes);
  }
}

}  // namespace
}  // namespace whet
