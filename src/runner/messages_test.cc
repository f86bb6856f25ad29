#include "runner/messages.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/testing/golden_bytes.h"
#include "runner/wire.h"

namespace whet {
namespace {

KernelJob sample_job() {
  KernelJob job;
  job.kernel = {CodeFormat::native_object, std::string("object\0bytes", 12), {{"k", true}}, 128, 64, {16, 32}};
  job.arguments = {{ArgumentRole::constant, DType::i32, 16, 3, 10}, {ArgumentRole::output, DType::f32, 32}};
  job.threads = 2;
  job.cpu.cores = {0, 1};
  return job;
}
MeasureRequest sample_measure() {
  MeasureRequest r{sample_job(), {}};
  r.policy.incumbent_seconds = 0.5;
  r.policy.cache = CacheMode::cold;
  return r;
}

/// Its output fits the constant of `sample_job`.
KernelJob packing_job() {
  KernelJob job = sample_job();
  job.arguments[1].bytes = 16;
  return job;
}

TEST(Messages, GoThereAndBack) {
  const std::string measure = encode(sample_measure());
  EXPECT_EQ(encode(*decode<MeasureRequest>(measure)), measure);
  const std::string check = encode(CheckRequest{sample_job(), {{0, std::string(16, 'x')}}});
  EXPECT_EQ(encode(*decode<CheckRequest>(check)), check);
  const std::string packed = encode(CheckRequest{sample_job(), {}, packing_job(), {{0, 1}}});
  EXPECT_EQ(encode(*decode<CheckRequest>(packed)), packed);
  const std::string measured = encode(MeasureReply{OutcomeCode::runtime, "why", {1, 2}, true, 3});
  EXPECT_EQ(encode(*decode<MeasureReply>(measured)), measured);
  const std::string checked = encode(CheckReply{OutcomeCode::ok, "", {"a", "bc"}});
  EXPECT_EQ(encode(*decode<CheckReply>(checked)), checked);
  const auto beyond = static_cast<OutcomeCode>(kOutcomeCodes);
  EXPECT_FALSE(decode<MeasureReply>(encode(MeasureReply{beyond, "", {}, false, 0})).has_value());
  EXPECT_FALSE(decode<CheckReply>(encode(CheckReply{beyond, "", {}})).has_value());
  EXPECT_EQ(encode(*decode<KernelJob>(encode(sample_job()))), encode(sample_job()));
}
/// No two fields of a message have the same value.
TEST(Messages, HaveTheirGoldenBytes) {
  KernelJob job = sample_job();
  job.kernel.format = CodeFormat::ptx;
  job.kernel.launches = {{"first", true, {1, 2, 3}, {4, 5, 6}, 7}, {"second", false, {8, 9, 10}, {11, 12, 13}, 14}};
  job.arguments.push_back({ArgumentRole::activation, DType::i64, 40, 0x0102030405060708, 9, -2.5, 3.5});
  job.cpu = {{5, 6, 7}, true};
  job.device = 3;
  MeasureRequest measure{job, {}};
  measure.policy = {true, 31, 0.25, 0.5, 0.75, 1.25, 32, 33, 1.5, CacheMode::cold, 34, false};
  expect_golden_bytes(
      "src/runner/testdata/messages.txt",
      {{"kernel job", encode(job)},
       {"measure request", encode(measure)},
       {"measure reply", encode(MeasureReply{OutcomeCode::crash, "why", {1, 2.5}, true, 3})},
       {"check request", encode(CheckRequest{job, {{0, std::string(16, 'x')}, {2, std::string(40, 'y')}}})},
       {"check request with packing", encode(CheckRequest{sample_job(), {}, packing_job(), {{0, 1}}})},
       {"check reply", encode(CheckReply{OutcomeCode::wrong_answer, "so", {"a", "bc"}})},
       {"ticket", with_ticket(0x0123456789abcdef, "message")}});
}
TEST(Messages, ThatMakeNoSenseAreRefused) {
  const auto refused = [](auto change) {
    auto r = sample_measure();
    change(r);
    return !decode<MeasureRequest>(encode(r)).has_value();
  };
  EXPECT_FALSE(refused([](auto&) {}));
  EXPECT_TRUE(refused([](auto& r) { r.job.threads = 0; }));
  EXPECT_TRUE(refused([](auto& r) { r.job.threads = 3; }));  // but two cores
  EXPECT_TRUE(refused([](auto& r) { r.job.arguments[0].bytes = -1; }));
  EXPECT_TRUE(refused([](auto& r) { r.job.arguments[0].bytes = 15; }));  // i32
  EXPECT_TRUE(refused([](auto& r) { r.job.arguments[1].low = 2; }));
  EXPECT_FALSE(refused([](auto& r) { r.job.arguments[1] = sizes_spec({17, 3, 640}); }));
  EXPECT_TRUE(refused([](auto& r) { r.job.arguments[1] = sizes_spec({17, 0}); }));
  EXPECT_TRUE(refused([](auto& r) { (r.job.arguments[1] = sizes_spec({17})).bytes = 32; }));
  EXPECT_TRUE(refused([](auto& r) { (r.job.arguments[1] = sizes_spec({17})).seed = 0xffffffff; }));
  EXPECT_TRUE(refused([](auto& r) { (r.job.arguments[1] = sizes_spec({17})).high = 1e300; }));
  EXPECT_TRUE(refused([](auto& r) { r.job.kernel.format = static_cast<CodeFormat>(99); }));
  EXPECT_TRUE(refused([](auto& r) { r.job.arguments.resize(5000, r.job.arguments.front()); }));
  EXPECT_TRUE(refused([](auto& r) { r.job.kernel.argument_bytes.resize(5000, 4); }));
  EXPECT_TRUE(refused([](auto& r) { r.job.kernel.launches.resize(5000, r.job.kernel.launches.front()); }));
  EXPECT_TRUE(refused([](auto& r) { r.job.kernel.launches[0].block_memory = -1; }));
  EXPECT_TRUE(refused([](auto& r) { r.job.kernel.worker_workspace = std::int64_t{1} << 50; }));
  EXPECT_FALSE(decode<CheckRequest>(encode(CheckRequest{sample_job(), {{0, "short"}}})).has_value());
  EXPECT_FALSE(decode<CheckRequest>(encode(CheckRequest{sample_job(), {{9, std::string(16, 'x')}}})).has_value());
  const auto packed = [](std::uint32_t argument, std::uint32_t output) {
    return decode<CheckRequest>(encode(CheckRequest{sample_job(), {}, packing_job(), {{argument, output}}}))
        .has_value();
  };
  EXPECT_TRUE(packed(0, 1));
  EXPECT_FALSE(packed(1, 1));
  EXPECT_FALSE(packed(0, 0));
  EXPECT_FALSE(packed(9, 1));
  EXPECT_FALSE(packed(0, 9));
  EXPECT_FALSE(decode<CheckRequest>(encode(CheckRequest{sample_job(), {}, sample_job(), {{0, 1}}})).has_value());
  EXPECT_FALSE(decode<CheckRequest>(encode(CheckRequest{sample_job(), {}, {}, {{0, 1}}})).has_value());
}
TEST(Messages, SurviveAnyBytes) {
  Rng rng(1);
  const std::string good[] = {encode(sample_measure()), encode(CheckRequest{sample_job(), {{0, std::string(16, 'x')}}}),
                              encode(CheckRequest{sample_job(), {}, packing_job(), {{0, 1}}}),
                              encode(MeasureReply{OutcomeCode::runtime, "why", {1, 2}, true, 3}),
                              encode(CheckReply{OutcomeCode::ok, "", {"a", "bc"}})};
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good[rng.below(5)];
    for (auto n = rng.below(4); n > 0; --n)
      bytes[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(bytes.size())))] =
          static_cast<char>(rng.below(256));
    if (rng.chance(0.3)) bytes.resize(static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(bytes.size()))));
    (void)decode<MeasureRequest>(bytes);
    (void)decode<MeasureReply>(bytes);
    (void)decode<CheckRequest>(bytes);
    (void)decode<CheckReply>(bytes);
    (void)decode<KernelJob>(bytes);
  }
}
TEST(CacheMode, HasNames) {
  for (auto mode : {CacheMode::warm, CacheMode::cold, CacheMode::network})
    EXPECT_EQ(parse_cache_mode(name_of(mode)), mode);
  EXPECT_FALSE(parse_cache_mode("hot").has_value());
}

TEST(Tickets, StandBeforeAMessage) {
  const std::string payload = with_ticket(0x0123456789abcdef, "message");
  std::string_view rest = payload;
  EXPECT_EQ(take_ticket(rest), 0x0123456789abcdefu);
  EXPECT_EQ(rest, "message");
  EXPECT_FALSE(take_ticket(rest).has_value()) << "seven bytes";
}
TEST(Answers, AreNoLongerThanTheirRequestsAllow) {
  MeasureRequest measure;
  const MeasureReply timed{OutcomeCode::ok, std::string(2000, 'x'), std::vector<double>(16), false, 1};
  EXPECT_LE(with_ticket(1, encode(timed)).size(), most_answer_bytes(measure));
  measure.policy.classic = true;
  measure.policy.repeat = 100000;
  EXPECT_GE(most_answer_bytes(measure), measure.policy.repeat * sizeof(double));
  EXPECT_LT(most_answer_bytes(measure), 1000000u);
  CheckRequest check;
  check.job.arguments = {{ArgumentRole::activation, DType::f32, 1 << 30}, {ArgumentRole::output, DType::f32, 100000}};
  const CheckReply outputs{OutcomeCode::ok, "", {std::string(100000, 'x')}};
  EXPECT_LE(with_ticket(1, encode(outputs)).size(), most_answer_bytes(check));
  EXPECT_LT(most_answer_bytes(check), 200000u);
  check.job.arguments[1].bytes = std::int64_t{1} << 60;
  EXPECT_EQ(most_answer_bytes(check), kMaxFrameBytes);
}

}  // namespace
}  // namespace whet
