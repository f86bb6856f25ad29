#include "tuner/placements.h"

#include <gtest/gtest.h>

#include <deque>

#include "records/testing/sample.h"
#include "tuner/testing/dense_task.h"

namespace whet {
namespace placements_test {

constexpr double kNear = 78, kFar = 330;

/// Lines of one task.
struct Lines {
  Record& add(const std::string& steps, double seconds, double round_trip_ns) {
    Record& record = records.emplace_back(testing_records::timed("k", steps, seconds));
    record.outcome.placement = {round_trip_ns};
    return record;
  }
  void fail(const std::string& steps) {
    records.push_back(testing_records::failed("k", steps, OutcomeCode::crash, "SIGSEGV"));
  }
  std::vector<PlacedRecords> placed(double at_hand = kFar) const {
    std::vector<const Record*> list;
    for (const Record& record : records) list.push_back(&record);
    return by_placement(list, {at_hand});
  }
  /// "a b" of those that are worth measuring again.
  std::string finalists(std::size_t n, double at_hand = kFar) const {
    std::string text;
    for (const Record* record : finalists_of(placed(at_hand), n, 1.04))
      text += (text.empty() ? "" : " ") + record->steps;
    return text;
  }
  std::deque<Record> records;
};

/// Half of the time near, unless told otherwise, and the rest far.
PlacementTimes moved(double near_seconds = 1) {
  PlacementTimes times;
  times.see({kNear}, 0);
  times.see({kFar}, near_seconds);
  times.see({kFar}, 2);
  return times;
}
std::string best(const PlacementTimes& times, const Lines& lines) {
  const Record* record = best_over(times, lines.placed());
  return record ? record->steps : "none";
}

TEST(ByPlacement, KeepsTheLastLineOfEachScheduleInEachPlacement) {
  Lines lines;
  lines.add("a", 1, kNear);
  lines.add("a", 2, 80);
  lines.add("b", 3, kNear);
  lines.add("a", 4, kFar);
  const auto placed = lines.placed();
  ASSERT_EQ(placed.size(), 2u);
  EXPECT_EQ(placed[0].placement, ProcessorPlacement{kFar});
  EXPECT_EQ(placed[0].last.size(), 1u);
  EXPECT_EQ(placed[1].last.at("a")->outcome.best_seconds(), 2);
  EXPECT_EQ(placed[1].last.size(), 2u);
}
TEST(ByPlacement, BeginsWithTheOneAtHand) {
  Lines lines;
  EXPECT_TRUE(lines.placed().at(0).last.empty());
  lines.add("a", 1, kNear);
  ASSERT_EQ(lines.placed(kFar).size(), 2u);
  EXPECT_TRUE(lines.placed(kFar)[0].last.empty()) << "nothing was timed in it";
  EXPECT_EQ(lines.placed(80).size(), 1u);
  lines.add("b", 2, kFar);
  EXPECT_EQ(lines.placed(kNear)[0].last.count("a"), 1u);
  EXPECT_EQ(lines.placed(0)[0].placement, ProcessorPlacement{kNear}) << "it is not known";
}
TEST(ByPlacement, CountsALineWithoutOneInEach) {
  Lines lines;
  lines.add("a", 1, 0);
  lines.add("b", 2, kNear);
  lines.add("b", 3, kFar);
  lines.fail("b");
  const auto placed = lines.placed();
  ASSERT_EQ(placed.size(), 2u);
  EXPECT_FALSE(placed[0].last.at("b")->outcome.ok());
  EXPECT_FALSE(placed[1].last.at("b")->outcome.ok());
  EXPECT_EQ(placed[0].last.count("a"), 1u);
  EXPECT_EQ(placed[1].last.count("a"), 1u) << "also where the placement came later";
}

TEST(Finalists, AreTheNearestToTheFirst) {
  Lines lines;
  for (const double round_trip : {0.0, kNear}) {
    lines.records.clear();
    lines.add("a", 1.03, round_trip);
    lines.add("b", 1, round_trip);
    lines.add("c", 1.05, round_trip);
    lines.add("d", 1.02, round_trip);
    lines.add("e", 0.5, round_trip).outcome.truncated = true;
    lines.add("f", 0.4, round_trip);
    lines.fail("f");
    EXPECT_EQ(lines.finalists(4, round_trip), "b d a");
    EXPECT_EQ(lines.finalists(2, round_trip), "b d");
  }
}
TEST(Finalists, OfOtherPlacementsAreTheFastestOfEachAlgorithm) {
  Lines lines;
  lines.add("winograd 4; split a", 0.55, kNear);
  lines.add("winograd 4; split b", 0.56, kNear);
  lines.add("winograd 2; split a", 0.65, kNear);
  lines.add("winograd 2; split b", 0.7, kNear);
  lines.add("split a", 2, kNear);
  EXPECT_EQ(lines.finalists(4), "winograd 4; split a winograd 2; split a") << "the processors have just moved";
  lines.add("winograd 4; split b", 1.1, kFar);
  lines.add("winograd 4; split c", 1.2, kFar);
  EXPECT_EQ(lines.finalists(4), "winograd 4; split b winograd 4; split a winograd 2; split a");
  EXPECT_EQ(lines.finalists(1), "winograd 4; split b winograd 4; split a");
}

TEST(BestOver, IsTheFastestByTheTimeOfEachPlacement) {
  Lines lines;
  lines.add("f4", 0.55, kNear);
  lines.add("f2", 0.65, kNear);
  lines.add("f4", 1.07, kFar);
  lines.add("f2", 0.7, kFar);
  EXPECT_EQ(best(moved(), lines), "f2");
  EXPECT_EQ(best(moved(1.5), lines), "f2") << "0.66 in the mean, and f4 has 0.68";
  EXPECT_EQ(best(moved(1.7), lines), "f4");
  EXPECT_EQ(best(moved(1.95), lines), "f4") << "far was a moment";
  EXPECT_EQ(best_over(moved(), lines.placed())->outcome.placement, ProcessorPlacement{kFar}) << "its record at hand";
}
TEST(BestOver, IsOneThatWasTimedInEachPlacement) {
  Lines lines;
  lines.add("near alone", 0.1, kNear);
  lines.add("both", 0.65, kNear);
  lines.add("both", 0.7, kFar);
  lines.add("far alone", 0.1, kFar);
  EXPECT_EQ(best(moved(), lines), "both");
  lines.fail("both");
  EXPECT_EQ(best(moved(), lines), "none");
  EXPECT_EQ(best(moved(), Lines()), "none");
}

TEST(Streaming, IsWhatReadsMoreThanTheOwnCachesHold) {
  const Task large = dense_task("large", 64, 1024, 1024, 1), small = dense_task("small", 16, 64, 32, 1);
  Target target = *parse_target("cpu -mcpu=haswell -threads=2");
  target.cpu().l2_bytes = 1 << 20;
  const auto does = [&](const Task& task) { return streams({task.key, task.name, task.dag, target}); };
  EXPECT_TRUE(does(large));
  EXPECT_FALSE(does(small));
  target.cpu().l2_bytes = 4 << 20;
  EXPECT_FALSE(does(large)) << "its constants stay in the caches";
}

}  // namespace placements_test
}  // namespace whet
