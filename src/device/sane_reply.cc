#include "device/sane_reply.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "device/protocol/bounds.h"
#include "trial/outcome.h"

namespace whet {
namespace {

constexpr std::size_t kLongestMessage = 2000;
/// Algorithms with fewer operations than the direct one, and rates that were measured beside something else.
constexpr double kMargin = 64;

/// Without what a terminal would act on.
std::string safe(std::string_view message) {
  return printable(message, kLongestMessage) + (message.size() > kLongestMessage ? "..." : "");
}

/// The least that a kernel can take on this device.
double least_seconds(const MachineRates& rates, double flops, double bytes) {
  double least = kLeastKernelSeconds;
  if (rates.gflops > 0) least = std::max(least, flops / (rates.gflops * 1e9) / kMargin);
  const double fastest_gbs = std::max({rates.l1_gbs, rates.l2_gbs, rates.l3_gbs, rates.memory_gbs});
  if (fastest_gbs > 0) least = std::max(least, bytes / (fastest_gbs * 1e9) / kMargin);
  return least;
}

bool has_name(OutcomeCode code) { return outcome_code(static_cast<int>(code)).has_value(); }

std::string what_makes_no_sense(const MeasureReply& reply, const MeasureRequest& request, double least) {
  if (!has_name(reply.code)) return "code " + std::to_string(static_cast<int>(reply.code));
  if (!std::isfinite(reply.run_seconds) || reply.run_seconds < 0) return "wall seconds that are no time";
  if (reply.code != OutcomeCode::ok) return reply.seconds.empty() ? "" : "times of a kernel that failed";
  if (reply.seconds.empty()) return "no time of a kernel that ran";
  if (reply.truncated && request.policy.incumbent_seconds <= 0) return "a truncated time without an incumbent";
  for (const double seconds : reply.seconds) {
    if (is_kernel_time(seconds) && seconds >= least) continue;
    char text[96];
    const bool is_long = seconds > kMostKernelSeconds;
    std::snprintf(text, sizeof text, "%g s, where %.2g s is the %s that is possible", seconds,
                  is_long ? kMostKernelSeconds : least, is_long ? "most" : "least");
    return text;
  }
  return "";
}

std::string what_makes_no_sense(const CheckReply& reply, const CheckRequest& request) {
  if (!has_name(reply.code)) return "code " + std::to_string(static_cast<int>(reply.code));
  if (reply.code != OutcomeCode::ok) return "";
  std::vector<std::int64_t> wanted, got;
  for (const ArgumentSpec& a : request.job.arguments)
    if (a.role == ArgumentRole::output) wanted.push_back(a.bytes);
  for (const std::string& output : reply.outputs) got.push_back(static_cast<std::int64_t>(output.size()));
  if (got.size() != wanted.size())
    return std::to_string(got.size()) + " outputs of a kernel that has " + std::to_string(wanted.size());
  return got == wanted ? "" : "outputs of other sizes than the kernel's";
}

std::string what_makes_no_sense(const SpotsReply& reply, const SpotsRequest& request) {
  if (!has_name(reply.code)) return "code " + std::to_string(static_cast<int>(reply.code));
  if (reply.code != OutcomeCode::ok) return "";
  if (reply.compared && !request.passed) return "a comparison that it was not asked for";
  if (reply.outputs.size() != request.outputs.size())
    return std::to_string(reply.outputs.size()) + " outputs of a kernel that has " +
           std::to_string(request.outputs.size());
  for (std::size_t k = 0; k < request.outputs.size(); ++k) {
    const SeenOutput& seen = reply.outputs[k];
    const AskedOutput& asked = request.outputs[k];
    if (seen.spots.size() != asked.spots.size() * static_cast<std::size_t>(size_of(asked.dtype)))
      return "elements of another number than it was asked for";
    if (std::isnan(seen.max_abs) || std::isnan(seen.largest) || seen.mismatches < 0)
      return "differences that are no numbers";
  }
  return "";
}

std::string sentence(const std::string& what) { return "the device's answer makes no sense: " + what; }

}  // namespace

MeasureReply sane_reply(MeasureReply reply, const MeasureRequest& request, const DeviceInfo& info, double flops,
                        double bytes) {
  const std::string what = what_makes_no_sense(reply, request, least_seconds(info.rates, flops, bytes));
  if (!what.empty()) return {OutcomeCode::unknown, sentence(what)};
  reply.message = safe(reply.message);
  return reply;
}

SpotsReply sane_reply(SpotsReply reply, const SpotsRequest& request) {
  const std::string what = what_makes_no_sense(reply, request);
  if (!what.empty()) return {OutcomeCode::unknown, sentence(what), false, {}};
  reply.message = safe(reply.message);
  return reply;
}

CheckReply sane_reply(CheckReply reply, const CheckRequest& request) {
  const std::string what = what_makes_no_sense(reply, request);
  if (!what.empty()) return {OutcomeCode::unknown, sentence(what), {}};
  reply.message = safe(reply.message);
  return reply;
}

}  // namespace whet
