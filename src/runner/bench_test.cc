#include "runner/bench.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runner/testing/kernels.h"

namespace whet {
namespace {

KernelJob job_of(CodeFormat format) {
  KernelJob job = testing_kernels::job(WHET_TEST_KERNELS, "add_one");
  job.kernel.format = format;
  return job;
}

TEST(Benches, RunTheKernelsOfEveryFormatInTheirTable) {
  Benches benches;
  EXPECT_EQ(benches.measure({job_of(CodeFormat::native_object), {}}).message, "");
  EXPECT_EQ(benches.check({job_of(CodeFormat::native_object), {}, {}, {}}).outputs.size(), 1u);
}
TEST(Benches, NameAFormatThatTheyCannotRun) {
  Benches benches(kernel_benches().first(1));
  const std::string why = "this runner runs no kernels of format ptx; it runs native_object";
  const MeasureReply measured = benches.measure({job_of(CodeFormat::ptx), {}});
  EXPECT_EQ(measured.code, OutcomeCode::runtime);
  EXPECT_EQ(measured.message, why);
  EXPECT_EQ(benches.check({job_of(CodeFormat::ptx), {}, {}, {}}).message, why);
}
TEST(Benches, AreThereForEveryFormatOfCode) {
  for (std::uint8_t number = 0; is_code_format(number); ++number)
    EXPECT_EQ(std::ranges::count(kernel_benches(), static_cast<CodeFormat>(number), &BenchOfFormat::format), 1)
        << name_of(static_cast<CodeFormat>(number));
}

/// Answers with its own name.
class FakeBench final : public KernelBench {
 public:
  MeasureReply measure(const MeasureRequest&) override { return {OutcomeCode::ok, "fake"}; }
  CheckReply check(const CheckRequest&) override { return {OutcomeCode::ok, "fake", {}}; }
  bool is_lost() const override { return true; }
  std::size_t describe(std::uintptr_t, char* text, std::size_t) const override {
    text[0] = 'f';
    return 1;
  }
};

TEST(Benches, AskTheBenchOfTheKernelsFormat) {
  static constexpr BenchOfFormat kTable[] = {
      {CodeFormat::ptx, []() -> std::unique_ptr<KernelBench> { return std::make_unique<FakeBench>(); }}};
  Benches benches(kTable);
  char text[8];
  EXPECT_EQ(benches.describe(0, text, sizeof text), 0u);
  EXPECT_FALSE(benches.is_lost());
  EXPECT_EQ(benches.measure({job_of(CodeFormat::ptx), {}}).message, "fake");
  EXPECT_TRUE(benches.is_lost());
  EXPECT_EQ(benches.describe(0, text, sizeof text), 1u);
  EXPECT_EQ(benches.check({job_of(CodeFormat::native_object), {}, {}, {}}).message,
            "this runner runs no kernels of format native_object; it runs ptx");
}

}  // namespace
}  // namespace whet
