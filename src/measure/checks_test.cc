#include "measure/checks.h"

#include <gtest/gtest.h>

#include <cstring>

#include "device/testing/fake_devices.h"

namespace whet::checks_test {
namespace {

/// The bytes of four numbers.
std::string fours(float number) {
  const float numbers[] = {number, number, number, number};
  std::string bytes(sizeof numbers, '\0');
  std::memcpy(bytes.data(), numbers, sizeof numbers);
  return bytes;
}

/// What is found of a kernel that answers `reply` where four times 2 is right.
Outcome found(CheckReply reply, Precision precision = Precision::f32) {
  Zygote zygote = std::move(Zygote::start()).value();
  BuilderPool builders(zygote, 1);
  testing::FormulaDevice device([](const KernelJob&) { return 1e-3; }, [&](const CheckRequest&) { return reply; });
  Builds builds(builders, device.info(), {});
  Units units({&device}, 1, {});
  const MeasureOptions options;
  Checks checks(builds, units, options);
  const MeasureTask task{"key", "name", *parse_dag("q(i) = 2f for i in 4\nreturn q\n"), {}};
  BuildResult built;
  built.code = OutcomeCode::ok;
  BuiltArgument output;
  output.kind = BuiltArgument::Kind::output;
  output.spec.role = ArgumentRole::output;
  output.spec.bytes = 16;
  built.arguments = {output};
  return checks.check(task, built, precision);
}

TEST(Checks, FindRightAnswers) { EXPECT_EQ(found({OutcomeCode::ok, "", {fours(2)}}).code, OutcomeCode::ok); }
TEST(Checks, FindWrongAnswers) {
  const Outcome outcome = found({OutcomeCode::ok, "", {fours(3)}});
  EXPECT_EQ(outcome.code, OutcomeCode::wrong_answer);
  EXPECT_NE(outcome.message.find("output `q` differs by "), std::string::npos) << outcome.message;
}
TEST(Checks, AllowWhatThePrecisionRoundsAway) {
  const CheckReply off{OutcomeCode::ok, "", {fours(2 + 2e-3f)}};
  EXPECT_EQ(found(off).code, OutcomeCode::wrong_answer);
  EXPECT_EQ(found(off, Precision::tf32).code, OutcomeCode::ok);
}
TEST(Checks, TellWhatElseHappened) {
  const Outcome outcome = found({OutcomeCode::crash, "SIGSEGV", {}});
  EXPECT_EQ(outcome.code, OutcomeCode::crash);
  EXPECT_EQ(outcome.message, "SIGSEGV");
}

}  // namespace
}  // namespace whet::checks_test
