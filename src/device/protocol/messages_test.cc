#include "device/protocol/messages.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/rng.h"
#include "base/testing/golden_bytes.h"
#include "device/protocol/bounds.h"

namespace whet::session_messages_test {
namespace {

KernelJob sample_kernel() {
  KernelJob job;
  job.kernel = {CodeFormat::native_object, "object", {{"k", true}}, 128, 64, {16, 32}};
  job.arguments = {{ArgumentRole::activation, DType::f32, 16, 3}, {ArgumentRole::output, DType::f32, 32}};
  return job;
}
DeviceDescription sample_device() {
  DeviceDescription device;
  device.name = "pi5-02";
  device.machine = "aarch64";
  device.features = {"neon", "dotprod"};
  device.cores = {{0, 0, 0, 1024, false, true, 0x410fd0b1}, {1, 0, 1, 400, true, false, 0}};
  device.sandbox = {"rlimits"};
  return device;
}
SpotsRequest sample_spots() {
  const CheckRequest check{sample_kernel(), {}, {}, {}};
  return {check, check, {{DType::f32, 32, 16, 0, 1e-4, {0, 3}}}};
}
std::string sample_job() {
  return encode(SessionJob{
      2.5, {MeasureRequest{sample_kernel(), {}}, CheckRequest{sample_kernel(), {}, {}, {}}, sample_spots()}});
}
SessionItem sample_seen() {
  SpotsReply reply{OutcomeCode::ok, "", true, {}};
  reply.outputs = {{"12345678", -1, 0.5, 2, 3, 1}};
  return {2, reply};
}

TEST(SessionMessages, GoThereAndBack) {
  EXPECT_EQ(decode<DeviceDescription>(encode(sample_device())), sample_device());
  const SessionHello hello{1, 4, "0.1.0", 2, encode(sample_device())};
  EXPECT_EQ(encode(*decode<SessionHello>(encode(hello))), encode(hello));
  EXPECT_EQ(encode(*decode_session_job(sample_job(), 3)), sample_job());
  const std::string open = encode(SessionOpen{"ann@laptop", 3}), waiting = encode(SessionWaiting{1.5, "bob"});
  EXPECT_EQ(encode(*decode<SessionOpen>(open)), open);
  EXPECT_EQ(encode(*decode<SessionWaiting>(waiting)), waiting);
  for (const SessionItem& item : {SessionItem{3, MeasureReply{OutcomeCode::ok, "", {1, 2}, true, 3}},
                                  SessionItem{4, CheckReply{OutcomeCode::crash, "why", {"out"}}}, sample_seen()})
    EXPECT_EQ(encode(*decode<SessionItem>(encode(item))), encode(item));
  EXPECT_EQ(decode<std::uint64_t>(encode(std::uint64_t{1} << 40)), 1ull << 40);
  MeasureReply hot{OutcomeCode::ok, "", {1}};
  hot.conditions = {"", {0, 1, 2}, "schedutil", 1.5, 82, true};
  const auto item = decode<SessionItem>(encode(SessionItem{1, hot}));
  ASSERT_TRUE(item.has_value());
  EXPECT_EQ(std::get<MeasureReply>(item->reply).conditions, hot.conditions);
}
/// No two fields of a message have the same value.
TEST(SessionMessages, HaveTheirGoldenBytes) {
  DeviceDescription device{"pi5",     "0123456789abcdef", "cpu", "aarch64", "Linux 6.1", "cortex-a76",
                           "a board", {"neon", "fp16"},   4096,  1 << 30};
  device.l1_bytes = 1 << 16, device.l2_bytes = 1 << 19, device.l3_bytes = 1 << 21;
  device.quota = 2.5;
  device.cores = {{2, 3, 4, 1024, true, false, 0x410fd0b1}, {5, 6, 7, 400, false, true, 8}};
  device.governors = {"schedutil"};
  device.emulator = "qemu";
  device.sandbox = {"rlimits", "seccomp"};
  device.limits = {1000, 16, 4, 30};
  SpotsRequest spots = sample_spots();
  spots.outputs = {{DType::i32, 32, 16, 0, 0.5, {0, 3}}};
  SpotsReply seen{OutcomeCode::runtime, "why", true, {{"12345678", 5, 0.5, 2, 3, 4}, {}}};
  MeasureReply timed{OutcomeCode::ok, "", {1, 2}, true, 3};
  timed.conditions = {"", {0, 1, 2}, "schedutil", 1.5, 82, true};
  const CheckRequest check{sample_kernel(), {}, {}, {}};
  expect_golden_bytes(
      "src/device/protocol/testdata/messages.txt",
      {{"description", encode(device)},
       {"hello", encode(SessionHello{1, 4, "0.1.0", 2, encode(sample_device())})},
       {"open", encode(SessionOpen{"ann@laptop", 3})},
       {"job",
        encode(SessionJob{
            2.5, {MeasureRequest{sample_kernel(), {}}, check, spots, SpotsRequest{check, {}, spots.outputs}}, true})},
       {"item of a measurement", encode(SessionItem{3, timed})},
       {"item of a check", encode(SessionItem{4, CheckReply{OutcomeCode::crash, "why", {"out"}}})},
       {"item of spots", encode(SessionItem{5, seen})},
       {"waiting", encode(SessionWaiting{1.5, "bob"})},
       {"number", encode(std::uint64_t{1} << 40)}});
}
TEST(SessionMessages, SayHowManyItemsAnswerAJob) {
  SessionJob job{1, {MeasureRequest{}, CheckRequest{}}};
  EXPECT_EQ(job.items(), 2u);
  job.champion = true;
  EXPECT_EQ(job.items(), 3u);
  EXPECT_TRUE(std::holds_alternative<MeasureRequest>(job.request(2)));
}
TEST(SessionMessages, OfALaterVersionMayBeLonger) {
  const std::string hello = encode(SessionHello{.program = "9.0"}) + "more";
  EXPECT_EQ(decode<SessionHello>(hello)->program, "9.0");
}
TEST(SessionMessages, AreBounded) {
  EXPECT_FALSE(decode_session_job(sample_job(), 1).has_value()) << "more requests than the device takes";
  EXPECT_FALSE(decode_session_job(encode(SessionJob{1, {}}), 16).has_value());
  EXPECT_FALSE(
      decode_session_job(encode(SessionJob{1, {CheckRequest{sample_kernel(), {}, {}, {}}}, true}), 16).has_value())
      << "a champion is measured";
  SpotsRequest spots = sample_spots();
  spots.outputs[0].spots = {4};
  EXPECT_FALSE(decode_session_job(encode(SessionJob{1, {spots}}), 16).has_value()) << "the output has four elements";
  spots.outputs[0].spots.assign(kMostSpots + 1, 0);
  EXPECT_FALSE(decode_session_job(encode(SessionJob{1, {spots}}), 16).has_value());
  const auto strange = [](RunConditions conditions) {
    MeasureReply reply{OutcomeCode::ok, "", {1}};
    reply.conditions = std::move(conditions);
    return !decode<SessionItem>(encode(SessionItem{1, reply})).has_value();
  };
  EXPECT_FALSE(strange({}));
  EXPECT_TRUE(strange({"", std::vector<std::uint32_t>(1025)}));
  EXPECT_TRUE(strange({"", {}, "a\x1b[2Jb"}));
  EXPECT_TRUE(strange({"", {}, "", std::numeric_limits<double>::quiet_NaN()}));
  EXPECT_TRUE(strange({"", {}, "", 1, 1e9}));
  const auto refused = [](auto change) {
    DeviceDescription device = sample_device();
    change(device);
    return !decode<DeviceDescription>(encode(device)).has_value();
  };
  EXPECT_TRUE(refused([](DeviceDescription& d) { d.name = "a\x1b[2Jb"; })) << "what a terminal acts on";
  EXPECT_TRUE(refused([](DeviceDescription& d) { d.brand = std::string(257, 'x'); }));
  EXPECT_TRUE(refused([](DeviceDescription& d) { d.features.resize(65, "x"); }));
  EXPECT_TRUE(refused([](DeviceDescription& d) { d.cores.clear(); }));
  EXPECT_TRUE(refused([](DeviceDescription& d) { d.cores.resize(1025); }));
  EXPECT_TRUE(refused([](DeviceDescription& d) { d.cores[0].id = 5000; }));
  EXPECT_TRUE(refused([](DeviceDescription& d) { d.l2_bytes = -1; }));
  EXPECT_TRUE(refused([](DeviceDescription& d) { d.quota = std::numeric_limits<double>::quiet_NaN(); }));
  EXPECT_TRUE(refused([](DeviceDescription& d) { d.limits.threads = 0; }));
}
TEST(SessionMessages, SurviveGarbage) {
  Rng rng(3);
  const std::string samples[] = {encode(sample_device()),
                                 encode(SessionHello{1, 1, "x", 2, "details"}),
                                 encode(SessionOpen{"me", 1}),
                                 sample_job(),
                                 encode(SessionItem{1, MeasureReply{OutcomeCode::ok, "", {1}, false, 1}}),
                                 encode(sample_seen()),
                                 encode(SessionWaiting{1, "w"})};
  for (const std::string& sample : samples)
    for (int round = 0; round < 1000; ++round) {
      std::string bytes = sample;
      for (int i = 0; i < 3; ++i)
        bytes[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(bytes.size())))] =
            static_cast<char>(rng.below(256));
      if (rng.chance(0.3)) bytes.resize(static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(bytes.size()))));
      if (const auto device = decode<DeviceDescription>(bytes)) {
        EXPECT_EQ(encode(*device).size(), bytes.size());
      }
      decode<SessionHello>(bytes);
      decode<SessionOpen>(bytes);
      if (const auto job = decode_session_job(bytes, 16)) {
        EXPECT_LE(job->requests.size(), 16u);
      }
      decode<SessionItem>(bytes);
      decode<SessionWaiting>(bytes);
      decode<std::uint64_t>(bytes);
    }
}
TEST(SessionMessages, ArePrintableForPeople) {
  EXPECT_EQ(printable("a\x1b\n\xff"
                      "b",
                      10),
            "a???b");
  EXPECT_EQ(printable("abcdef", 3), "abc");
}

}  // namespace
}  // namespace whet::session_messages_test
