#include "device/protocol/frames.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace whet::frames_test {
namespace {

constexpr std::size_t kMost = 1 << 16;

std::vector<SessionMessage> read_all(std::string_view bytes, std::size_t at_once, std::string* error = nullptr) {
  SessionReader reader(kMost);
  std::vector<SessionMessage> messages;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(at_once, bytes.size()))) {
    reader.add(bytes.substr(0, at_once));
    while (auto message = reader.next()) messages.push_back(std::move(*message));
  }
  if (error) *error = reader.error();
  return messages;
}
std::string error_of(std::string_view bytes) {
  std::string error;
  read_all(bytes, bytes.size(), &error);
  return error;
}

TEST(SessionFrames, GoThereAndBackInPiecesOfAnySize) {
  Rng rng(1);
  for (int round = 0; round < 200; ++round) {
    std::string bytes;
    std::vector<SessionMessage> sent;
    for (int i = 0; i < 4; ++i) {
      std::string payload(static_cast<std::size_t>(rng.below(300)), 'a');
      for (char& c : payload) c = static_cast<char>(rng.below(256));
      sent.push_back({i % 2 ? SessionType::item : SessionType::ping, static_cast<std::uint32_t>(i), payload});
      bytes += frames_of(sent.back(), static_cast<std::size_t>(rng.between(1, 100)));
    }
    const auto got = read_all(bytes, static_cast<std::size_t>(rng.between(1, 64)));
    ASSERT_EQ(got.size(), sent.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].type, sent[i].type);
      EXPECT_EQ(got[i].id, sent[i].id);
      EXPECT_EQ(got[i].payload, sent[i].payload);
    }
  }
}
TEST(SessionFrames, LetAPingPassBetweenTheParts) {
  const std::string long_one = frames_of({SessionType::item, 5, "abcdef"}, 2);
  const std::size_t frame = kSessionHeaderBytes + 2;
  const std::string bytes = long_one.substr(0, frame) + frames_of({SessionType::ping, 0, "p"}) + long_one.substr(frame);
  const auto got = read_all(bytes, bytes.size());
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0].type, SessionType::ping);
  EXPECT_EQ(got[1].payload, "abcdef");
}
TEST(SessionFrames, TakeNoMoreThanIsAllowed) {
  EXPECT_EQ(error_of(frames_of({SessionType::job, 1, std::string(kMost + 1, 'x')}, 1000)),
            "the message claims 65537 bytes; at most 65536 are taken");
  std::string huge = frames_of({SessionType::job, 1, ""});
  huge[15] = '\x7f';
  EXPECT_EQ(error_of(huge), "the message claims 2130706432 bytes; at most 65536 are taken");
}
TEST(SessionFrames, QuoteTextThatCameBeforeThem) {
  SessionReader reader(kMost);
  reader.add("\r\nWelcome to pi5!\x1b[0m\nLast login");
  EXPECT_FALSE(reader.next().has_value());
  EXPECT_TRUE(reader.began_with_text());
  EXPECT_EQ(reader.error(), "the bytes are no frame of a session: \"Welcome to pi5!?[0m\"");
}
TEST(SessionFrames, AreOfOneVersionButForHello) {
  std::string bytes = frames_of({SessionType::ping, 1, ""});
  bytes[4] = 9;
  SessionReader reader(kMost);
  reader.add(bytes);
  EXPECT_FALSE(reader.next().has_value());
  EXPECT_EQ(reader.strange_version(), 9);
  EXPECT_EQ(reader.error(), "the frame has version 9 of the session; this program speaks 3");
  std::string hello = frames_of({SessionType::hello, 0, "h"});
  hello[4] = 9;
  EXPECT_EQ(read_all(hello, hello.size()).size(), 1u) << "it says which versions there are";
}
TEST(SessionFrames, SurviveGarbage) {
  Rng rng(2);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = frames_of({SessionType::job, 1, std::string(200, 'x')}, 50);
    for (int i = 0; i < 3; ++i)
      bytes[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(bytes.size())))] =
          static_cast<char>(rng.below(256));
    std::string error;
    for (const SessionMessage& message : read_all(bytes, 37, &error)) EXPECT_LE(message.payload.size(), kMost);
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace whet::frames_test
