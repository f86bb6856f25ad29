#include "workflow/record_rates.h"

#include <gtest/gtest.h>

#include "board/describe.h"

namespace whet::record_rates_test {
namespace {

Record record_of(const std::string& unit) {
  Record record;
  record.key = R"(["0123456789abcdef",4])", record.target = "cpu -mcpu=haswell -threads=1";
  record.outcome.code = OutcomeCode::ok, record.outcome.seconds = {1e-3};
  record.outcome.device = "pi5", record.outcome.conditions.unit = unit;
  return record;
}

TEST(RecordsElsewhere, AreThoseOfAnotherUnit) {
  EXPECT_EQ(measured_elsewhere(record_of("00000000000000aa").outcome), "pi5");
  EXPECT_EQ(measured_elsewhere(record_of("").outcome), "") << "without a session";
  EXPECT_EQ(measured_elsewhere(record_of(describe_board().unit).outcome), "") << "a session with this machine";
}

TEST(RecordsElsewhere, AreFoundByTheTasksOfATarget) {
  const Record record = record_of("00000000000000aa");
  const Records records({record});
  Task task, other;
  task.key = record.key, other.key = R"(["0123456789abcdef",8])";
  const std::vector<Task> both = {other, task}, one = {other};
  const Target target = parse_target(record.target).value();
  EXPECT_EQ(measured_elsewhere(records, both, target), "pi5");
  EXPECT_EQ(measured_elsewhere(records, one, target), "");
  EXPECT_EQ(measured_elsewhere(records, both, parse_target("cpu -mcpu=haswell -threads=2").value()), "");
}

TEST(RatesHere, AreNotThoseOfAnotherMachine) {
  const TargetOnCores here = choose_target({}).value();
  const RecordRates elsewhere = rates_here(here, "pi5");
  EXPECT_FALSE(elsewhere.known());
  EXPECT_EQ(elsewhere.text, "unknown: pi5 timed these kernels; --device measures the rates of a device");
  const RecordRates own = rates_here(here, "");
  EXPECT_TRUE(own.known());
  EXPECT_EQ(own.text, "on this machine, measured now");
}

TEST(RatesHere, AreUnknownForCodeThatCannotRunHere) {
  const TargetOnCores board{parse_target("cpu -mcpu=cortex-a72 -threads=1").value(), {{0}}, "", ""};
  const RecordRates rates = rates_here(board, "");
  EXPECT_FALSE(rates.known());
  EXPECT_EQ(rates.text.substr(0, 9), "unknown: ");
}

TEST(AskedPlaces, AreThisMachineOrElsewhere) {
  EXPECT_TRUE(choose_asked_place({}, "", {}, {})->devices.empty());
  const auto gpu = choose_asked_place({}, "cuda:0", {}, {});
  ASSERT_FALSE(gpu.ok());
  EXPECT_EQ(gpu.error().message, "--device is \"cuda:0\"; expected ssh://user@host:port, exec:COMMAND or fleet:KEY");
}

}  // namespace
}  // namespace whet::record_rates_test
