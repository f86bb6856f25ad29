#include "fleet/messages.h"

#include <gtest/gtest.h>

#include <limits>

#include "artifact/made_weights.h"
#include "base/rng.h"
#include "base/testing/golden_bytes.h"

namespace whet::fleet_messages_test {
namespace {

FleetAnswer sample_answer() {
  return {FleetAnswer::Kind::lost, "pi5-01", "the link is lost", 1, {"item 0", "item 1"}, "0123"};
}
Presence sample_presence() {
  Presence presence{Presence::State::busy, "0.1.0", "ann@laptop", "", 12, {}, 2.4, 61, false};
  presence.device.name = "pi5-01";
  presence.device.machine = "aarch64";
  presence.device.cores = {{0, 0, 0, 1024, false, true, 0}};
  return presence;
}
std::string big_answer() { return std::string(3 * kAnswerPartBytes, 'x'); }

TEST(FleetMessages, GoThereAndBack) {
  const std::string job = encode(FleetJob{1, "ann@laptop", "job"}), answer = encode(sample_answer()),
                    part = encode(FleetPart{7, 2, "bytes"}), presence = encode(sample_presence());
  EXPECT_EQ(encode(*decode<FleetJob>(job)), job);
  EXPECT_EQ(encode(*decode<FleetAnswer>(answer)), answer);
  EXPECT_EQ(encode(*decode<FleetPart>(part)), part);
  EXPECT_EQ(encode(*decode<Presence>(presence)), presence);
}
/// No two fields of a message have the same value.
TEST(FleetMessages, HaveTheirGoldenBytes) {
  Presence presence = sample_presence();
  presence.why = "the link is lost";
  presence.throttled = true;
  expect_golden_bytes("src/fleet/testdata/messages.txt",
                      {{"job", encode(FleetJob{3, "ann@laptop", "job", FleetJob::Kind::models})},
                       {"answer", encode(sample_answer())},
                       {"part", encode(FleetPart{7, 2, "bytes"})},
                       {"presence", encode(presence)},
                       {"piece", encode_file_piece("piece")}});
}
TEST(FleetMessages, OfAnotherVersionAreNone) {
  for (std::string bytes : {encode(FleetJob{1, "", "job"}), encode(sample_answer()), encode(FleetPart{7, 2, "bytes"}),
                            encode(sample_presence())}) {
    bytes[0] = static_cast<char>(kFleetVersion + 1);
    EXPECT_FALSE(decode<FleetJob>(bytes) || decode<FleetAnswer>(bytes) || decode<FleetPart>(bytes) ||
                 decode<Presence>(bytes));
  }
}
TEST(FleetMessages, AreBounded) {
  EXPECT_FALSE(decode<FleetJob>(encode(FleetJob{1, "a\x1b[2J", "job"}))) << "what a terminal acts on";
  EXPECT_FALSE(decode<FleetJob>(encode(FleetJob{1, "", std::string(kMostJobBytes, 'x')})));
  EXPECT_FALSE(decode<FleetPart>(encode(FleetPart{1, 0, ""})));
  EXPECT_FALSE(decode<FleetPart>(encode(FleetPart{1, kMostAnswerParts + 1, ""})));
  EXPECT_FALSE(decode<FleetPart>(encode(FleetPart{1, 1, std::string(kAnswerPartBytes + 1, 'x')})));
  FleetAnswer answer = sample_answer();
  answer.items.resize(65537);
  EXPECT_FALSE(decode<FleetAnswer>(encode(answer)));
  Presence presence = sample_presence();
  presence.device.cores.clear();
  EXPECT_FALSE(decode<Presence>(encode(presence)));
  for (const double strange : {-1.0, 1e9, std::numeric_limits<double>::quiet_NaN()}) {
    presence = sample_presence();
    presence.celsius = strange;
    EXPECT_FALSE(decode<Presence>(encode(presence)));
  }
}
TEST(FleetMessages, CarryPiecesOfFilesWithoutTheirMadePages) {
  const auto made = made_weights();
  Rng rng(5);
  for (int round = 0; round < 200; ++round) {
    std::string piece;
    while (piece.size() + kMadePage < kFilePieceBytes && rng.chance(0.9)) {
      if (rng.chance(0.5))
        piece.append(made.data(), kMadePage);
      else
        piece.append(rng.chance(0.8) ? kMadePage : static_cast<std::size_t>(rng.below(2 * kMadePage)),
                     static_cast<char>(rng.below(256)));
    }
    const std::string message = encode_file_piece(piece);
    EXPECT_EQ(decode_file_piece(message, piece.size()), piece);
    EXPECT_FALSE(decode_file_piece(message, piece.size() + 1));
    EXPECT_TRUE(piece.empty() || !decode_file_piece(message, piece.size() - 1));
  }
  std::string weights;
  while (weights.size() < kFilePieceBytes) weights.append(made.data(), kMadePage);
  const std::string message = encode_file_piece(weights);
  EXPECT_LT(message.size(), 100u);
  EXPECT_EQ(decode_file_piece(message, weights.size()), weights);
  EXPECT_FALSE(decode_file_piece(message, kFilePieceBytes + kMadePage)) << "more than a piece";
}
TEST(FleetMessages, OfFilesSurviveGarbage) {
  const auto made = made_weights();
  const std::string piece = std::string(kMadePage, 'x') + std::string(made.data(), kMadePage) + "yz",
                    sample = encode_file_piece(piece);
  Rng rng(6);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = sample;
    for (int i = 0; i < 3; ++i) {
      const std::int64_t head = rng.chance(0.5) ? 16 : static_cast<std::int64_t>(bytes.size());
      bytes[static_cast<std::size_t>(rng.below(head))] = static_cast<char>(rng.below(256));
    }
    if (rng.chance(0.3)) bytes.resize(static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(bytes.size()))));
    const auto read = decode_file_piece(bytes, piece.size());
    EXPECT_EQ(read.value_or(piece).size(), piece.size());
  }
}
TEST(FleetMessages, SurviveGarbage) {
  Rng rng(3);
  const std::string samples[] = {encode(FleetJob{1, "ann@laptop", "job"}), encode(sample_answer()),
                                 encode(FleetPart{7, 2, "bytes"}), encode(sample_presence())};
  for (const std::string& sample : samples)
    for (int round = 0; round < 3000; ++round) {
      std::string bytes = sample;
      for (int i = 0; i < 3; ++i)
        bytes[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(bytes.size())))] =
            static_cast<char>(rng.below(256));
      if (rng.chance(0.3)) bytes.resize(static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(bytes.size()))));
      if (const auto job = decode<FleetJob>(bytes)) {
        EXPECT_EQ(encode(*job), bytes);
      }
      if (const auto answer = decode<FleetAnswer>(bytes)) {
        EXPECT_EQ(encode(*answer), bytes);
      }
      if (const auto part = decode<FleetPart>(bytes)) {
        EXPECT_EQ(encode(*part), bytes);
      }
      if (const auto presence = decode<Presence>(bytes)) {
        EXPECT_EQ(encode(*presence).size(), bytes.size());
      }
    }
}
TEST(Answers, ComeInPartsOfAnyOrder) {
  const FleetAnswer answer{FleetAnswer::Kind::done, "pi5-01", "", 0, {big_answer()}};
  const std::vector<std::string> parts = parts_of(answer, 1);
  ASSERT_EQ(parts.size(), 4u);
  AnswerParts collected;
  for (const std::uint32_t part : {3u, 0u, 0u, 2u}) EXPECT_FALSE(collected.add(part, parts[part]).has_value());
  const auto whole = collected.add(1, parts[1]);
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->items, answer.items);
  EXPECT_EQ(collected.parts(), 4u);
}
TEST(Answers, AreNeverOfTwoRuns) {
  const std::vector<std::string> first = parts_of({FleetAnswer::Kind::done, "a", "", 0, {big_answer()}}, 1),
                                 second = parts_of({FleetAnswer::Kind::done, "b", "", 0, {big_answer()}}, 2);
  AnswerParts collected;
  for (const std::uint32_t part : {0u, 1u, 2u}) collected.add(part, first[part]);
  EXPECT_FALSE(collected.add(3, second[3]).has_value());
  for (const std::uint32_t part : {0u, 1u}) collected.add(part, second[part]);
  const auto whole = collected.add(2, second[2]);
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->unit, "b");
}
TEST(Answers, DropPartsThatMakeNoSense) {
  AnswerParts collected;
  EXPECT_FALSE(collected.add(0, "garbage").has_value());
  EXPECT_FALSE(collected.add(2, encode(FleetPart{1, 2, "x"})).has_value()) << "there is no third of two parts";
  EXPECT_FALSE(collected.add(0, encode(FleetPart{1, 1, "no answer"})).has_value());
  EXPECT_TRUE(collected.add(0, parts_of(sample_answer(), 2).front()).has_value());
}

}  // namespace
}  // namespace whet::fleet_messages_test
