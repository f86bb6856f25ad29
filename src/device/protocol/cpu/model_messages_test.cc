#include "device/protocol/cpu/model_messages.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/rng.h"
#include "base/sha256.h"
#include "base/testing/golden_bytes.h"

namespace whet::model_messages_test {
namespace {

BlobName blob(const std::string& content) { return {sha256(content), content.size()}; }

ModelOrder sample_order() {
  ModelOrder order;
  order.models = {blob("a"), blob("b")};
  order.inputs = {blob("x")};
  order.threads = 2;
  order.cores = {0, 1};
  order.work = ModelWork::bursts;
  order.timed_seconds = 0.1;
  order.runs = 3;
  return order;
}
std::vector<ModelAnswer> sample_answers() {
  std::vector<ModelAnswer> answers(7);
  for (std::size_t i = 0; i < answers.size(); ++i) answers[i].kind = static_cast<ModelAnswerKind>(i);
  answers[1].sentence = "the compiled model crashed: SIGSEGV";
  answers[1].model = 1;
  DescribedModel& model = answers[2].opened;
  model.name = "mlp";
  model.target = "cpu -mcpu=cortex-a72";
  model.inputs = {{"größe", {DType::f32, {1, 784}}}};
  model.outputs = {{"y", {DType::i64, {}}}};
  model.threads = 2;
  model.cores = {0, 1};
  answers[2].sandbox = {"rlimits"};
  answers[3].outputs = {"abcd", ""};
  answers[4].seconds = {0.5, 0.25};
  answers[5].profile = {3, 1, 2, 3, 4, {{"Conv_0", "conv2d", 1e6, 1e3, 0, 7, 9, true}}};
  answers[6].model = 0;
  answers[6].seconds = {0.5, 0.25};
  return answers;
}

TEST(ModelMessages, GoThereAndBack) {
  const std::string need = encode(SessionNeed{{blob("a"), blob("")}});
  EXPECT_EQ(encode(*decode<SessionNeed>(need)), need);
  const std::string have = encode(SessionHave{"", {1, 0}}), refused = encode(SessionHave{"the disk is full", {}});
  EXPECT_EQ(encode(*decode<SessionHave>(have)), have);
  EXPECT_EQ(encode(*decode<SessionHave>(refused)), refused);
  const std::string piece = encode(SessionBlob{sha256("abc"), 1, "bc"});
  EXPECT_EQ(encode(*decode<SessionBlob>(piece)), piece);
  const std::string order = encode(sample_order());
  EXPECT_EQ(encode(*decode<ModelOrder>(order)), order);
  for (const ModelAnswer& answer : sample_answers()) {
    const auto again = decode<ModelAnswer>(encode(answer));
    ASSERT_TRUE(again.has_value()) << static_cast<int>(answer.kind);
    EXPECT_EQ(encode(*again), encode(answer)) << static_cast<int>(answer.kind);
  }
}
/// No two fields of a message have the same value.
TEST(ModelMessages, HaveTheirGoldenBytes) {
  const ModelOrder order{20,   {blob("a"), blob("bc")}, {blob("x")}, 2, {3, 4}, false,
                         true, ModelWork::time,         0.5,         5, 0.25,   6};
  std::vector<ModelAnswer> answers = sample_answers();
  answers[2].model = 7;
  answers[2].opened = {"mlp",
                       "cpu",
                       "avx2",
                       "a.jsonl",
                       "whet 1",
                       11,
                       12,
                       13,
                       14,
                       15.5,
                       16.5,
                       {{"größe", {DType::i8, {1, 784}}}},
                       {{"y", {DType::i64, {}}}}};
  answers[2].opened.threads = 2;
  answers[2].opened.cores = {3, 4};
  answers[2].opened.pool_note = "on a pool";
  answers[2].opened.note = "a note";
  answers[5].profile = {21, 22, 23, 24, 25, {{"Conv_0", "conv2d", 1e6, 1e3, 0.5, 7, 9, true}, {"b", "copy"}}};
  answers[6].model = 8;
  std::vector<std::pair<std::string, std::string>> messages = {
      {"need", encode(SessionNeed{{blob("a"), blob("")}})},
      {"have", encode(SessionHave{"", {1, 2}})},
      {"refused", encode(SessionHave{"the disk is full", {}})},
      {"blob", encode(SessionBlob{sha256("abc"), 1, "bc", 4096})},
      {"order", encode(order)}};
  for (const ModelAnswer& answer : answers)
    messages.emplace_back("answer " + std::to_string(static_cast<int>(answer.kind)), encode(answer));
  expect_golden_bytes("src/device/protocol/testdata/model_messages.txt", messages);
}
TEST(ModelMessages, AreBounded) {
  EXPECT_FALSE(decode<SessionBlob>(encode(SessionBlob{sha256("a"), 0, std::string(kBlobPiece + 1, 'x')})).has_value());
  EXPECT_FALSE(decode<SessionBlob>(encode(SessionBlob{sha256("a"), 0, ""})).has_value()) << "it would bring nothing";
  EXPECT_FALSE(decode<SessionBlob>(encode(SessionBlob{"../../etc/passwd", 0, "x"})).has_value());
  EXPECT_FALSE(decode<SessionNeed>(encode(SessionNeed{{{std::string(64, 'G'), 1}}})).has_value());
  EXPECT_FALSE(decode<SessionNeed>(encode(SessionNeed{{{sha256(""), 1ull << 60}}})).has_value());
  EXPECT_FALSE(decode<SessionNeed>(encode(SessionNeed{std::vector<BlobName>(kMostBlobs + 1, blob(""))})).has_value());
  const auto refuses = [](auto change) {
    ModelOrder order = sample_order();
    change(order);
    return !decode<ModelOrder>(encode(order)).has_value();
  };
  EXPECT_TRUE(refuses([](ModelOrder& o) { o.seconds = std::numeric_limits<double>::quiet_NaN(); }));
  EXPECT_TRUE(refuses([](ModelOrder& o) { o.timed_seconds = -1; }));
  EXPECT_TRUE(refuses([](ModelOrder& o) { o.work = static_cast<ModelWork>(9); }));
  EXPECT_TRUE(refuses([](ModelOrder& o) { o.cores.resize(2000); }));
  const auto lies = [](auto change) {
    ModelAnswer answer = sample_answers()[2];
    change(answer);
    return !decode<ModelAnswer>(encode(answer)).has_value();
  };
  EXPECT_TRUE(lies([](ModelAnswer& a) { a.opened.outputs[0].type.shape = {-1}; }));
  EXPECT_TRUE(lies([](ModelAnswer& a) { a.opened.outputs[0].type.shape = {1ll << 40, 1ll << 40}; }));
  EXPECT_TRUE(lies([](ModelAnswer& a) { a.opened.cores = {0}; })) << "two threads, one core";
  ModelAnswer burst = sample_answers()[6];
  burst.seconds = {1};
  EXPECT_FALSE(decode<ModelAnswer>(encode(burst)).has_value());
}
TEST(ModelMessages, HaveNothingThatATerminalActsOn) {
  ModelAnswer answer = sample_answers()[1];
  answer.sentence = "a\x1b[2Jb é";
  EXPECT_EQ(decode<ModelAnswer>(encode(answer))->sentence, "a?[2Jb é");
}
TEST(ModelMessages, SurviveGarbage) {
  Rng rng(9);
  std::vector<std::string> samples = {encode(SessionNeed{{blob("a"), blob("b")}}), encode(SessionHave{"", {1, 2, 3}}),
                                      encode(SessionBlob{sha256("abc"), 1, "bc"}), encode(sample_order())};
  for (const ModelAnswer& answer : sample_answers()) samples.push_back(encode(answer));
  for (const std::string& sample : samples)
    for (int round = 0; round < 1000; ++round) {
      std::string bytes = sample;
      for (int i = 0; i < 3; ++i)
        bytes[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(bytes.size())))] =
            static_cast<char>(rng.below(256));
      if (rng.chance(0.3)) bytes.resize(static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(bytes.size()))));
      if (const auto need = decode<SessionNeed>(bytes)) {
        EXPECT_EQ(encode(*need), bytes);
      }
      if (const auto have = decode<SessionHave>(bytes)) {
        EXPECT_EQ(encode(*have), bytes);
      }
      if (const auto piece = decode<SessionBlob>(bytes)) {
        EXPECT_EQ(encode(*piece), bytes);
      }
      if (const auto order = decode<ModelOrder>(bytes)) {
        EXPECT_EQ(encode(*order).size(), bytes.size());
      }
      if (const auto answer = decode<ModelAnswer>(bytes)) {
        EXPECT_EQ(encode(*answer).size(), bytes.size());
      }
    }
}

}  // namespace
}  // namespace whet::model_messages_test
