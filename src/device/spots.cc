#include "device/spots.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "tensor/difference.h"

namespace whet {
namespace {

/// Outputs before a check (GuardedBuffer::poison).
constexpr char kUntouched = '\xff';

template <typename T>
T value_at(const char* bytes, std::int64_t i) {
  T value;
  std::memcpy(&value, bytes + i * static_cast<std::int64_t>(sizeof value), sizeof value);
  return value;
}

double element(DType dtype, const char* bytes, std::int64_t i) {
  switch (dtype) {
    case DType::f32:
      return value_at<float>(bytes, i);
    case DType::f64:
      return value_at<double>(bytes, i);
    case DType::f16:
      return half_to_float(value_at<std::uint16_t>(bytes, i));
    case DType::bf16:
      return bf16_to_float(value_at<std::uint16_t>(bytes, i));
    case DType::i8:
      return value_at<std::int8_t>(bytes, i);
    case DType::u8:
    case DType::boolean:
      return value_at<std::uint8_t>(bytes, i);
    case DType::i16:
      return value_at<std::int16_t>(bytes, i);
    case DType::i32:
      return value_at<std::int32_t>(bytes, i);
    case DType::i64:
      return static_cast<double>(value_at<std::int64_t>(bytes, i));
  }
  return 0;
}

std::vector<std::uint64_t> output_bytes(const KernelJob& job) {
  std::vector<std::uint64_t> bytes;
  for (const ArgumentSpec& argument : job.arguments)
    if (argument.role == ArgumentRole::output) bytes.push_back(static_cast<std::uint64_t>(argument.bytes));
  return bytes;
}

bool is_sane(const AskedOutput& asked, std::uint64_t bytes) {
  const auto size = static_cast<std::uint64_t>(size_of(asked.dtype));
  if (asked.row_bytes == 0 || bytes % asked.row_bytes != 0 || asked.used_bytes == 0 ||
      asked.used_bytes > asked.row_bytes || asked.used_bytes % size != 0 || asked.spots.size() > kMostSpots ||
      !std::isfinite(asked.tolerance) || asked.tolerance < 0)
    return false;
  const std::uint64_t elements = bytes / asked.row_bytes * (asked.used_bytes / size);
  return std::ranges::all_of(asked.spots, [&](std::uint32_t spot) { return spot < elements; });
}

/// The output without what is beside it.
std::string used_of(std::string bytes, const AskedOutput& asked, std::int64_t& stray_row) {
  if (asked.used_bytes == asked.row_bytes) return bytes;
  std::string used;
  for (std::size_t at = 0; at < bytes.size(); at += asked.row_bytes) {
    used.append(bytes, at, asked.used_bytes);
    const auto beside = bytes.begin() + static_cast<std::ptrdiff_t>(at + asked.used_bytes);
    const auto end = bytes.begin() + static_cast<std::ptrdiff_t>(at + asked.row_bytes);
    if (stray_row < 0 && std::any_of(beside, end, [](char byte) { return byte != kUntouched; }))
      stray_row = static_cast<std::int64_t>(at / asked.row_bytes);
  }
  return used;
}

void compare(const AskedOutput& asked, const std::string& got, std::string whole, SeenOutput& seen) {
  std::int64_t ignored = -1;
  const std::string want = used_of(std::move(whole), asked, ignored);
  const Difference d = difference([&](std::int64_t i) { return element(asked.dtype, got.data(), i); },
                                  [&](std::int64_t i) { return element(asked.dtype, want.data(), i); },
                                  static_cast<std::int64_t>(got.size()) / size_of(asked.dtype), asked.tolerance);
  seen.max_abs = d.max_abs;
  seen.largest = d.largest;
  seen.where = d.where;
  seen.mismatches = d.mismatches;
}

}  // namespace

bool is_sane(const SpotsRequest& request) {
  const std::vector<std::uint64_t> bytes = output_bytes(request.check.job);
  const std::vector<std::uint64_t> passed = request.passed ? output_bytes(request.passed->job) : bytes;
  if (bytes.size() != request.outputs.size()) return false;
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    const AskedOutput& asked = request.outputs[k];
    if (!is_sane(asked, bytes[k]) || asked.passed >= passed.size()) return false;
    if (request.passed && passed[asked.passed] != bytes[k]) return false;
  }
  return true;
}

SpotsReply look_at_spots(const SpotsRequest& request, const std::function<CheckReply(const CheckRequest&)>& check) {
  CheckReply got = check(request.check);
  SpotsReply reply{got.code, std::move(got.message), false, {}};
  if (reply.code != OutcomeCode::ok) return reply;
  const auto fit = [&](const CheckReply& answer, const CheckRequest& asked) {
    return answer.code == OutcomeCode::ok &&
           std::ranges::equal(output_bytes(asked.job), answer.outputs, {}, {}, [](const auto& o) { return o.size(); });
  };
  if (!fit(got, request.check)) return {OutcomeCode::unknown, "the kernel gave other outputs than it has", false, {}};
  CheckReply passed;
  if (request.passed) {
    passed = check(*request.passed);
    reply.compared = fit(passed, *request.passed);
  }
  for (std::size_t k = 0; k < request.outputs.size(); ++k) {
    const AskedOutput& asked = request.outputs[k];
    SeenOutput seen;
    const std::string used = used_of(std::move(got.outputs[k]), asked, seen.stray_row);
    const auto size = static_cast<std::size_t>(size_of(asked.dtype));
    for (const std::uint32_t spot : asked.spots) seen.spots.append(used, spot * size, size);
    if (reply.compared) compare(asked, used, passed.outputs[asked.passed], seen);
    reply.outputs.push_back(std::move(seen));
  }
  return reply;
}

}  // namespace whet
