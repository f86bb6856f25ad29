#include "cli/fleet_report.h"

#include <gtest/gtest.h>

#include "workflow/fleet.h"

namespace whet::cli_fleet_test {
namespace {

FleetUnit unit(const std::string& key, const std::string& name, Presence::State state, double age = 1) {
  FleetUnit unit{{key, "lab", name}, {}, age};
  unit.presence.state = state;
  if (state == Presence::State::busy) unit.presence.ghz = 2.4, unit.presence.celsius = 61.2;
  if (state == Presence::State::lost)
    unit.presence.ghz = 1.5, unit.presence.celsius = 82, unit.presence.throttled = true;
  unit.presence.owner = state == Presence::State::busy ? "ann@laptop" : "";
  unit.presence.why = state == Presence::State::lost ? "the link is dead: no byte came for 10 s" : "";
  unit.presence.jobs = 12;
  return unit;
}

/// A fleet that stays as it is.
class StillFleet : public FleetQueue {
 public:
  explicit StillFleet(std::vector<FleetUnit> units) : units_(std::move(units)) {}
  Result<FleetAnswer> run(const std::string&, Priority, FleetJob::Kind, const std::string&,
                          const std::function<bool()>&) override {
    return Error{"this fleet runs nothing"};
  }
  Status keep(const std::string&, std::uint32_t, const std::string&, const std::function<bool()>&) override {
    return Error{"this fleet keeps nothing"};
  }
  Result<std::vector<FleetUnit>> units(const std::string&) override { return units_; }
  Result<std::vector<FleetQueueState>> queues(const std::string&) override {
    return std::vector<FleetQueueState>{{"h100", {}, {}},
                                        {"pi4", {7, 0, 0, {{"bob", 7}}}, {}},
                                        {"pi5", {3, 1, 0, {{"ann", 2}, {"bob", 2}}}, {0, 0, 1, {}}}};
  }

 private:
  std::vector<FleetUnit> units_;
};

TEST(FleetReport, HasUnitsReasonsAndQueues) {
  StillFleet fleet({unit("pi5", "pi5-01", Presence::State::busy), unit("pi5", "pi5-02", Presence::State::lost),
                    unit("pi5", "pi5-03", Presence::State::idle, 200)});
  EXPECT_EQ(fleet_report(fleet).value(),
            "| Key | Unit   | Agent | State            | Owner      | Jobs | Clock (GHz) | Temp (°C) |\n"
            "| pi5 | pi5-01 | lab   | busy             | ann@laptop |   12 |        2.40 |        61 |\n"
            "| pi5 | pi5-02 | lab   | lost             |            |   12 |        1.50 |    82 hot |\n"
            "| pi5 | pi5-03 | lab   | silent for 3 min |            |   12 |             |           |\n"
            "pi5-02 is lost: the link is dead: no byte came for 10 s\n"
            "Queue of pi4: hi 7 waiting, 0 taken (bob 7) · lo 0 waiting, 0 taken; no unit serves it\n"
            "Queue of pi5: hi 3 waiting, 1 taken (ann 2, bob 2) · lo 0 waiting, 0 taken, 1 again\n");
}
TEST(FleetReport, SaysThatNobodyIsThere) {
  StillFleet fleet({});
  EXPECT_TRUE(fleet_report(fleet).value().starts_with(
      "No unit is in the fleet: whet-agent --join brings devices into it\nQueue of pi4: hi 7 waiting"));
}
TEST(FleetUnits, OfAKeyAreThoseThatAreNotLost) {
  StillFleet fleet({unit("pi4", "a", Presence::State::idle), unit("pi5", "b", Presence::State::idle),
                    unit("pi5", "c", Presence::State::lost), unit("pi5", "d", Presence::State::busy)});
  EXPECT_EQ(units_text("pi5", units_of(fleet, "pi5").value()), "fleet:pi5 (2 units: b, d)");
  const auto none = units_of(fleet, "h100");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message, "the fleet has no unit of the key h100 just now; it has some of pi4, pi5");
}

}  // namespace
}  // namespace whet::cli_fleet_test
