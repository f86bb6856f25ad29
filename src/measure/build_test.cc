#include "measure/build.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/testing/golden_bytes.h"
#include "codegen/gpu/ptxas.h"
#include "runner/fill.h"

namespace whet {
namespace {

constexpr const char* kDense = R"(p0 = PLACEHOLDER [4, 32]
p1 = PLACEHOLDER [32, 16] const
dense(i, j) += (p0[i, k]*p1[k, j]) for i in 4, j in 16, k in 32  # matmul
relu(a, b) = max(dense[a, b], 0f) for a in 4, b in 16  # elementwise
return relu
)";

std::string built(const std::string& dag, const std::string& steps,
                  const std::string& target = "cpu -mcpu=x86-64 -threads=1") {
  const BuildResult r = build_candidate({dag, steps, target});
  return std::to_string(static_cast<int>(r.code)) + (r.message.empty() ? "" : ": " + r.message);
}

TEST(BuildCandidate, GivesAKernelAndItsArguments) {
  const BuildResult r = build_candidate({kDense, "", "cpu -mcpu=x86-64 -threads=1"});
  ASSERT_EQ(r.code, OutcomeCode::ok) << r.message;
  EXPECT_FALSE(r.kernel.code.empty());
  EXPECT_EQ(r.tree_hash.size(), 16u);
  ASSERT_EQ(r.arguments.size(), 3u);
  std::string text;
  for (const BuiltArgument& a : r.arguments)
    text += std::to_string(static_cast<int>(a.kind)) + "/" + std::to_string(a.index) + " " +
            std::to_string(static_cast<int>(a.spec.role)) + " " + std::to_string(a.spec.bytes) + "; ";
  EXPECT_EQ(text, "0/0 0 512; 0/1 1 2048; 2/0 2 256; ");
  EXPECT_GT(r.seconds, 0);
}
TEST(BuildCandidate, CallsARefusalByItsNumber) {
  EXPECT_EQ(built("nonsense", "").substr(0, 3), "1: ");
  EXPECT_EQ(built(kDense, "dance l0").substr(0, 3), "1: ");
  EXPECT_EQ(built(kDense, "split l99 4 guard").substr(0, 3), "1: ");
  EXPECT_EQ(built(kDense, "", "toaster").substr(0, 3), "1: ");
}
TEST(BuildCandidate, GivesTheCodeThatTheDeviceOfAGpuRuns) {
  BuildRequest request{"p0 = PLACEHOLDER [1024]\nrelu(a) = max(p0[a], 0f) for a in 1024\nreturn relu\n",
                       "split l0 128 guard; bind l1 block; bind l2 thread", "cuda -arch=sm_80 -sms=108"};
  const BuildResult ptx = build_candidate(request);  // nothing is known of the driver
  ASSERT_EQ(ptx.code, OutcomeCode::ok) << ptx.message;
  EXPECT_EQ(ptx.kernel.format, CodeFormat::ptx);
  ASSERT_EQ(ptx.kernel.launches.size(), 1u);
  EXPECT_EQ(ptx.kernel.launches[0].grid.x, 8u);
  request.emulated = true;
  EXPECT_EQ(build_candidate(request).kernel.format, CodeFormat::emulated);
  request.emulated = false;
  if (installed_ptxas().path.empty()) GTEST_SKIP() << "ptxas is not installed";
  request.driver = installed_ptxas().release;
  const BuildResult cubin = build_candidate(request);
  ASSERT_EQ(cubin.code, OutcomeCode::ok) << cubin.message;
  EXPECT_EQ(cubin.kernel.format, CodeFormat::cubin);
  EXPECT_GT(cubin.report.registers, 0);
  request.driver = installed_ptxas().release - 1;
  EXPECT_EQ(build_candidate(request).kernel.format, CodeFormat::ptx) << "an older driver does not load its code";
}
TEST(BuildMessages, GoThereAndBack) {
  const BuildResult r = build_candidate({kDense, "", "cpu -mcpu=x86-64 -threads=1"});
  EXPECT_EQ(encode(*decode<BuildResult>(encode(r))), encode(r));
  BuildResult with_report = r;
  with_report.report = {124, 16, 49152, 3000};
  EXPECT_EQ(decode<BuildResult>(encode(with_report))->report, with_report.report);
  for (const bool emulated : {false, true}) {
    const BuildRequest request{"dag", "steps", "target", {2, 3}, emulated, 13};
    EXPECT_EQ(*decode<BuildRequest>(encode(request)), request);
  }
}
/// No two fields of a message have the same value.
TEST(BuildMessages, HaveTheirGoldenBytes) {
  BuildResult result{OutcomeCode::rejected,
                     "why",
                     {CodeFormat::ptx, "code", {{"k", true, {1, 2, 3}, {4, 5, 6}, 7}}, 8, 9, {16, 32}},
                     {124, 16, 49152, 3000}};
  result.arguments = {{BuiltArgument::Kind::packed, 10, {ArgumentRole::constant, DType::f32, 16, 11, 12, -2, 3}},
                      {BuiltArgument::Kind::output, 13, {ArgumentRole::output, DType::i8, 32}}};
  result.tree_hash = "0123456789abcdef";
  result.packing = "a dag";
  result.seconds = 0.5;
  expect_golden_bytes(
      "src/measure/testdata/messages.txt",
      {{"request", encode(BuildRequest{"dag", "steps", "target", {2, 3}, true, 13})}, {"result", encode(result)}});
}
TEST(BuildMessages, SurviveAnyBytes) {
  Rng rng(1);
  BuildResult r;
  r.kernel.code = "object";
  r.arguments = {{BuiltArgument::Kind::packed, 1, {}}};
  const std::string good[] = {encode(r), encode(BuildRequest{"dag", "steps", "target"})};
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good[rng.below(2)];
    for (auto n = rng.below(4); n > 0; --n)
      bytes[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(bytes.size())))] =
          static_cast<char>(rng.below(256));
    if (rng.chance(0.3)) bytes.resize(static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(bytes.size()))));
    (void)decode<BuildRequest>(bytes);
    (void)decode<BuildResult>(bytes);
  }
}

}  // namespace
}  // namespace whet
