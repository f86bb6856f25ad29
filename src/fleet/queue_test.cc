#include "fleet/queue.h"

#include <gtest/gtest.h>

namespace whet::fleet_queue_test {
namespace {

FleetUnit unit(const std::string& name, Presence::State state, const std::string& words, double age = 1) {
  FleetUnit unit{{"pi5", "lab", name}, {}, age};
  unit.presence.state = state;
  (state == Presence::State::lost ? unit.presence.why : unit.presence.owner) = words;
  return unit;
}

TEST(FleetQueues, SayThatNobodyServesThem) {
  EXPECT_EQ(what_is_awaited("pi5", {}, {}),
            "fleet:pi5 has no unit just now: the jobs wait until a whet-agent serves it");
  EXPECT_EQ(
      what_is_awaited(
          "pi5", {unit("a", Presence::State::lost, "the link is dead"), unit("b", Presence::State::idle, "", 60)}, {}),
      "fleet:pi5 has no unit just now (a is lost: the link is dead, b is silent): the jobs wait until a whet-agent "
      "serves it");
}
TEST(FleetQueues, SayWhoseTurnItIs) {
  const FleetQueueState queue{"pi5", {5, 1, 0, {{"ann", 2}, {"bob", 4}}}, {1, 0, 0, {{"bob", 1}}}};
  EXPECT_EQ(what_is_awaited(
                "pi5", {unit("a", Presence::State::busy, "bob@desk"), unit("b", Presence::State::lost, "off")}, queue),
            "fleet:pi5 is busy (a works for bob@desk): the jobs wait for their turn (in the queue: ann 2, bob 5)");
}

}  // namespace
}  // namespace whet::fleet_queue_test
