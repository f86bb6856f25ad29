#include "measure/bursts.h"

#include <gtest/gtest.h>

#include "device/testing/fake_devices.h"

namespace whet::bursts_test {
namespace {

/// Takes as long as a kernel's code tells, and remembers in which order it was asked.
class Clocked : public testing::FormulaDevice {
 public:
  explicit Clocked(int candidates)
      : FormulaDevice([this](const KernelJob& job) { return asked += job.kernel.code[0], std::stod(job.kernel.code); }),
        info_(FormulaDevice::info()) {
    info_.job_candidates = candidates;
  }
  const DeviceInfo& info() const override { return info_; }
  JobReply run(const MeasureJob& job) override { return asked += "|", FormulaDevice::run(job); }
  std::string asked;

 private:
  DeviceInfo info_;
};

std::shared_ptr<const BuildResult> built(const std::string& code) {
  BuildResult result;
  result.code = code.empty() ? OutcomeCode::compile_host : OutcomeCode::ok;
  result.kernel.code = code;
  return std::make_shared<const BuildResult>(std::move(result));
}

std::string order_of(int candidates) {
  Clocked device(candidates);
  const BuildResults kernels{built("1e-3"), built(""), built("2e-3")};
  const auto outcomes = compare_on(device, "pi", {"key", "name", {}, {}}, kernels, {}, {3});
  EXPECT_EQ(outcomes[0].seconds, std::vector<double>(3, 1e-3));
  EXPECT_EQ(outcomes[1].code, OutcomeCode::compile_host);
  EXPECT_EQ(outcomes[2].seconds, std::vector<double>(3, 2e-3));
  return device.asked;
}

TEST(Bursts, AreInTurnOfWhatWasBuilt) { EXPECT_EQ(order_of(1), "121212"); }
TEST(Bursts, OfARoundAreOneJobWhereTheDeviceTakesSeveral) { EXPECT_EQ(order_of(4), "|121|212"); }

TEST(Bursts, OfWhatIsClearlySlowerAreOneAtAFirstLook) {
  Clocked device(1);
  const BuildResults kernels{built("2e-3"), built("1e-3"), built("8e-3")};
  const auto outcomes = compare_on(device, "pi", {"key", "name", {}, {}}, kernels, {}, {.first_look = true});
  EXPECT_EQ(device.asked, "21821");
  EXPECT_FALSE(outcomes[0].truncated) << "nothing was faster before it";
  EXPECT_TRUE(outcomes[2].truncated);
}
TEST(Bursts, EndWhenTheUserInterrupts) {
  Clocked device(1);
  MeasureOptions options;
  options.interrupted = [&] { return device.asked.size() == 1; };
  const auto outcomes = compare_on(device, "pi", {"key", "name", {}, {}}, {built("1e-3"), built("2e-3")}, options, {});
  EXPECT_EQ(outcomes[1].code, OutcomeCode::device_lost);
  EXPECT_EQ(device.asked, "1");
}

}  // namespace
}  // namespace whet::bursts_test
