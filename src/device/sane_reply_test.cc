#include "device/sane_reply.h"

#include <gtest/gtest.h>

#include <limits>

#include "trial/outcome.h"

namespace whet {
namespace {

KernelJob job() {
  KernelJob job;
  job.arguments = {{ArgumentRole::activation, DType::f32, 16}, {ArgumentRole::output, DType::f32, 8}};
  return job;
}
std::string judged(MeasureReply reply, const MachineRates& rates = {}, double incumbent = 0) {
  MeasureRequest request{job(), {}};
  request.policy.incumbent_seconds = incumbent;
  DeviceInfo info;
  info.rates = rates;
  const MeasureReply sane = sane_reply(std::move(reply), request, info, 64e6, 1e3);
  return std::to_string(static_cast<int>(sane.code)) + (sane.message.empty() ? "" : " " + sane.message);
}
const std::string kNonsense = "8 the device's answer makes no sense: ";

TEST(SaneReply, LetsThroughWhatMakesSense) {
  EXPECT_EQ(judged({OutcomeCode::ok, "", {1e-3}, false, 1}), "0");
  EXPECT_EQ(judged({OutcomeCode::crash, "SIGSEGV", {}, false, 1}), "9 SIGSEGV");
  EXPECT_EQ(judged({OutcomeCode::ok, "", {1e-3}, true, 1}, {}, 1e-4), "0");
}
TEST(SaneReply, SaysWhatMakesNone) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(judged({static_cast<OutcomeCode>(200), "", {}, false, 0}), kNonsense + "code 200");
  EXPECT_EQ(judged({OutcomeCode::ok, "", {}, false, 0}), kNonsense + "no time of a kernel that ran");
  EXPECT_EQ(judged({OutcomeCode::crash, "", {1e-3}, false, 0}), kNonsense + "times of a kernel that failed");
  EXPECT_EQ(judged({OutcomeCode::ok, "", {1e-3}, true, 0}), kNonsense + "a truncated time without an incumbent");
  EXPECT_EQ(judged({OutcomeCode::ok, "", {1e-3}, false, kNan}), kNonsense + "wall seconds that are no time");
  EXPECT_EQ(judged({OutcomeCode::ok, "", {1e-9}, false, 0}),
            kNonsense + "1e-09 s, where 2e-09 s is the least that is possible");
  for (const double seconds : {kNan, std::numeric_limits<double>::infinity(), -1.0, 0.0})
    EXPECT_EQ(judged({OutcomeCode::ok, "", {1e-3, seconds}, false, 0}).substr(0, kNonsense.size()), kNonsense);
}
TEST(SaneReply, KnowsWhatTheDeviceCanDo) {
  MachineRates rates;
  rates.gflops = 100;
  EXPECT_EQ(judged({OutcomeCode::ok, "", {1.1e-5}, false, 0}, rates), "0")
      << "64 times the peak: an algorithm with fewer operations";
  EXPECT_EQ(judged({OutcomeCode::ok, "", {9e-6}, false, 0}, rates),
            kNonsense + "9e-06 s, where 1e-05 s is the least that is possible");
}
TEST(SaneReply, CutsLongMessages) {
  EXPECT_LT(judged({OutcomeCode::crash, std::string(1 << 20, 'x'), {}, false, 0}).size(), 2100u);
}
TEST(SaneReply, PrintsNothingThatATerminalActsOn) {
  EXPECT_EQ(judged({OutcomeCode::crash, "\033]0;title\007\033[31mred\r\n", {}, false, 0}),
            std::to_string(static_cast<int>(OutcomeCode::crash)) + " ?]0;title??[31mred??");
}
TEST(SaneReply, CountsOutputs) {
  const auto judged = [](std::vector<std::string> outputs) {
    const CheckReply reply =
        sane_reply(CheckReply{OutcomeCode::ok, "", std::move(outputs)}, CheckRequest{job(), {}, {}, {}});
    return std::to_string(static_cast<int>(reply.code)) + (reply.message.empty() ? "" : " " + reply.message);
  };
  EXPECT_EQ(judged({"12345678"}), "0");
  EXPECT_EQ(judged({}), kNonsense + "0 outputs of a kernel that has 1");
  EXPECT_EQ(judged({"1234"}), kNonsense + "outputs of other sizes than the kernel's");
}

}  // namespace
}  // namespace whet
