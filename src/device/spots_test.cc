#include "device/spots.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "tensor/compare.h"

namespace whet::spots_test {
namespace {

constexpr std::int64_t kRows = 3, kRow = 16, kUsed = 8;  // bytes

SpotsRequest request_of(std::uint64_t row = kRow, std::uint64_t used = kRow) {
  SpotsRequest request;
  request.check.job.arguments = {{ArgumentRole::activation, DType::f32, 4},
                                 {ArgumentRole::output, DType::f32, kRows * kRow}};
  request.outputs = {{DType::f32, row, used, 0, 1e-3, {0, 5}}};
  return request;
}
/// Twelve floats, or eight where some are not touched.
std::string floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}
const std::string kWhole = floats({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
CheckReply reply_of(std::string output) { return {OutcomeCode::ok, "", {std::move(output)}}; }
float at(const SeenOutput& seen, std::size_t i) {
  float value = -1;
  if (seen.spots.size() >= 4 * (i + 1)) std::memcpy(&value, seen.spots.data() + 4 * i, sizeof value);
  return value;
}

TEST(Spots, AreTheElementsThatWereAskedFor) {
  const SpotsReply reply = look_at_spots(request_of(), [](const CheckRequest&) { return reply_of(kWhole); });
  ASSERT_EQ(reply.outputs.size(), 1u);
  EXPECT_EQ(reply.outputs[0].spots.size(), 8u);
  EXPECT_EQ(at(reply.outputs[0], 0), 0);
  EXPECT_EQ(at(reply.outputs[0], 1), 5);
  EXPECT_FALSE(reply.compared);
}
TEST(Spots, OfAPartAreNumberedInThePart) {
  std::string part = kWhole;
  for (std::int64_t row = 0; row < kRows; ++row)
    std::memset(part.data() + row * kRow + kUsed, 0xff, static_cast<std::size_t>(kRow - kUsed));
  const SpotsRequest request = request_of(kRow, kUsed);
  SpotsReply reply = look_at_spots(request, [&](const CheckRequest&) { return reply_of(part); });
  EXPECT_EQ(reply.outputs[0].stray_row, -1);
  EXPECT_EQ(at(reply.outputs[0], 1), 9) << "the second of the third row";
  part[kRow + kRow - 1] = 0;
  reply = look_at_spots(request, [&](const CheckRequest&) { return reply_of(part); });
  EXPECT_EQ(reply.outputs[0].stray_row, 1);
}
TEST(Spots, ComeWithAComparisonOfAllElements) {
  SpotsRequest request = request_of();
  request.passed = request.check;
  request.passed->job.threads = 2;  // to tell them apart
  std::string other = kWhole;
  const float wrong = 100;
  std::memcpy(other.data() + 28, &wrong, sizeof wrong);
  const auto check = [&](const CheckRequest& asked) { return reply_of(asked.job.threads == 2 ? kWhole : other); };
  SpotsReply reply = look_at_spots(request, check);
  EXPECT_TRUE(reply.compared);
  EXPECT_EQ(reply.outputs[0].mismatches, 1);
  EXPECT_EQ(reply.outputs[0].where, 7);
  EXPECT_EQ(reply.outputs[0].max_abs, 93);
  EXPECT_EQ(reply.outputs[0].largest, 11);
  other = kWhole;
  reply = look_at_spots(request, check);
  EXPECT_EQ(reply.outputs[0].mismatches, 0);
}
TEST(Spots, DoNotCountTheFailureOfTheKernelThatPassed) {
  SpotsRequest request = request_of();
  request.passed = request.check;
  int runs = 0;
  const SpotsReply reply = look_at_spots(
      request, [&](const CheckRequest&) { return runs++ == 0 ? reply_of(kWhole) : CheckReply{OutcomeCode::crash}; });
  EXPECT_EQ(reply.code, OutcomeCode::ok);
  EXPECT_FALSE(reply.compared);
  EXPECT_EQ(reply.outputs[0].spots.size(), 8u);
}
TEST(Spots, HaveNoElementsWhereTheKernelFails) {
  const auto crash = [](const CheckRequest&) { return CheckReply{OutcomeCode::crash, "why", {}}; };
  const SpotsReply reply = look_at_spots(request_of(), crash);
  EXPECT_EQ(reply.code, OutcomeCode::crash);
  EXPECT_EQ(reply.message, "why");
  EXPECT_TRUE(reply.outputs.empty());
  const auto shorter = [](const CheckRequest&) { return reply_of("abc"); };
  EXPECT_EQ(look_at_spots(request_of(), shorter).code, OutcomeCode::unknown);
}
TEST(Spots, OfAllTypesCompareAsTensorsDo) {
  for (const DType dtype : kDTypes) {
    Tensor got(dtype, {6}), want(dtype, {6});
    for (std::int64_t i = 0; i < 6; ++i) got.set(i, dtype == DType::boolean ? i % 2 : i), want.set(i, i == 4 ? 1 : i);
    const auto bytes = [](const Tensor& t) {
      return std::string(static_cast<const char*>(t.data()), static_cast<std::size_t>(t.bytes()));
    };
    SpotsRequest request = request_of(static_cast<std::uint64_t>(got.bytes()), static_cast<std::uint64_t>(got.bytes()));
    request.check.job.arguments[1] = {ArgumentRole::output, dtype, got.bytes()};
    request.outputs[0].dtype = dtype;
    request.passed = request.check;
    ASSERT_TRUE(is_sane(request)) << name_of(dtype);
    int runs = 0;
    const SpotsReply reply =
        look_at_spots(request, [&](const CheckRequest&) { return reply_of(runs++ == 0 ? bytes(got) : bytes(want)); });
    const Difference d = compare(got, want, request.outputs[0].tolerance);
    EXPECT_EQ(reply.outputs[0].mismatches, d.mismatches) << name_of(dtype);
    EXPECT_EQ(reply.outputs[0].where, d.where) << name_of(dtype);
    EXPECT_EQ(reply.outputs[0].max_abs, d.max_abs) << name_of(dtype);
    EXPECT_EQ(reply.outputs[0].largest, d.largest) << name_of(dtype);
  }
}
TEST(Spots, OfOtherThingsThanTheKernelHasAreRefused) {
  ASSERT_TRUE(is_sane(request_of()));
  const auto refused = [](auto change) {
    SpotsRequest request = request_of();
    change(request);
    return !is_sane(request);
  };
  EXPECT_TRUE(refused([](SpotsRequest& r) { r.outputs.clear(); }));
  EXPECT_TRUE(refused([](SpotsRequest& r) { r.outputs[0].spots = {12}; })) << "the elements are 0 to 11";
  EXPECT_TRUE(refused([](SpotsRequest& r) { r.outputs[0].spots.resize(kMostSpots + 1); }));
  EXPECT_TRUE(refused([](SpotsRequest& r) { r.outputs[0].row_bytes = 0; }));
  EXPECT_TRUE(refused([](SpotsRequest& r) { r.outputs[0].row_bytes = 7; }));
  EXPECT_TRUE(refused([](SpotsRequest& r) { r.outputs[0].used_bytes = 20; }));
  EXPECT_TRUE(refused([](SpotsRequest& r) { r.outputs[0].used_bytes = 6; }));
  EXPECT_TRUE(refused([](SpotsRequest& r) { r.outputs[0].passed = 1; }));
  EXPECT_TRUE(refused([](SpotsRequest& r) { r.outputs[0].tolerance = std::numeric_limits<double>::quiet_NaN(); }));
  EXPECT_TRUE(refused([](SpotsRequest& r) {
    r.passed = r.check;
    r.passed->job.arguments[1].bytes = 4;
  })) << "the kernel that passed has outputs of the same size";
}

}  // namespace
}  // namespace whet::spots_test
