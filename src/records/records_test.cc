#include "records/records.h"

#include <gtest/gtest.h>

#include <thread>

#include "artifact/kernel.h"
#include "records/testing/sample.h"

namespace whet {
namespace {

using testing_records::failed;
using testing_records::timed;

Target target(const std::string& text) { return parse_target(text).value(); }
/// `steps`, `steps (reason)` or `none`.
std::string best(const Records& records, const std::string& key,
                 const std::string& wanted = "cpu -mcpu=znver5 -threads=2") {
  auto choice = records.best(key, {}, target(wanted));
  if (!choice) return "none";
  EXPECT_EQ(choice->exact, choice->reason.empty() || choice->reason.rfind("timed with", 0) == 0) << choice->reason;
  return choice->record->steps + (choice->reason.empty() ? "" : " (" + choice->reason + ")");
}
Record with(Record r, auto change) { return change(r), r; }

TEST(BestRecord, IsTheFastestOfTheTask) {
  Records records({timed("k", "a", 3), timed("k", "b", 1), timed("k", "c", 2), timed("other", "d", 0.5)});
  EXPECT_EQ(best(records, "k"), "b");
  EXPECT_EQ(best(records, "missing"), "none");
}
TEST(BestRecord, IsFoundAnewWhenARecordCame) {
  Records records;
  EXPECT_EQ(best(records, "k"), "none");
  records.add(timed("k", "a", 3));
  EXPECT_EQ(best(records, "k"), "a");
  records.add(timed("other", "c", 1));
  records.add(timed("k", "b", 2));
  EXPECT_EQ(best(records, "k"), "b");
  records.add(failed("k", "b", OutcomeCode::wrong_answer, "off by 1"));
  EXPECT_EQ(best(records, "k"), "a");
  Records moved = std::move(records);
  moved.add(timed("k", "d", 1));
  EXPECT_EQ(best(moved, "k"), "d");
}
TEST(BestRecord, IsAmongThoseThatAreAccepted) {
  const Records records({timed("k", "a", 3), timed("k", "b", 1), timed("k", "c", 2)});
  const auto choice =
      records.best("k", {}, target("cpu -mcpu=znver5 -threads=2"), [](const Record& r) { return r.steps != "b"; });
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->record->steps, "c");
}
TEST(BestRecord, HasNoTilesWhereTheTargetHasNoUnit) {
  const std::string wide = "cpu -mcpu=sapphirerapids -threads=2",
                    none = "cpu -mcpu=sapphirerapids -mattr=-amx-tile -threads=2";
  const auto there = [&](Record& record) { record.target = wide; };
  const Records records(
      {with(timed("k", "tensorize l4 tile_u8", 1), there), with(timed("k", "tensorize l4 dot4", 2), there)});
  EXPECT_EQ(best(records, "k", wide), "tensorize l4 tile_u8");
  EXPECT_EQ(best(records, "k", none).substr(0, 18), "tensorize l4 dot4 ");
  EXPECT_EQ(records.ranking("k", {}, target(wide)).size(), 2u);
  EXPECT_EQ(records.ranking("k", {}, for_ranges(target(wide))).size(), 1u) << "kernels of ranges have no tiles";
}
TEST(BestRecord, IsOfTheInputsThatItsTaskIsMeasuredWith) {
  const auto of_rows = [](Record& record) { record.inputs = "9f3c000000000000"; };
  Records records({timed("k", "random", 1), with(timed("k", "rows", 2), of_rows), timed("other", "o", 1)});
  EXPECT_EQ(best(records, "k"), "random") << "any inputs count at first";
  records.count_inputs(InputHashes{{"k", "9f3c000000000000"}});
  EXPECT_EQ(best(records, "k"), "rows");
  EXPECT_EQ(best(records, "other"), "o");
  records.count_inputs(InputHashes());
  EXPECT_EQ(best(records, "k"), "random");
  EXPECT_EQ(records.other_inputs({"k", "other"}), (std::vector<std::string>{"9f3c000000000000"}));
  records.count_inputs(std::nullopt);
  EXPECT_TRUE(records.other_inputs({"k"}).empty());
}
TEST(BestRecord, TakesAScheduleAtItsLastTime) {
  EXPECT_EQ(best(Records({timed("k", "a", 1), timed("k", "b", 2), timed("k", "a", 3)}), "k"), "b");
  EXPECT_EQ(best(Records({timed("k", "a", 3), timed("k", "b", 2), timed("k", "a", 1)}), "k"), "a");
}
TEST(BestRecord, IsFoundWhateverTheWhiteSpaceOfTheKey) {
  EXPECT_EQ(best(Records({timed("[\"k\",1,2]", "a", 3)}), "[\"k\", 1, 2]"), "a");
}
TEST(BestRecord, IsNeverAFailureNorAScheduleThatGaveWrongAnswers) {
  Records records({timed("k", "a", 3), timed("k", "b", 1), failed("k", "b", OutcomeCode::wrong_answer, "off by 1"),
                   failed("k", "c", OutcomeCode::crash, "SIGSEGV")});
  EXPECT_EQ(best(records, "k"), "a");
}
TEST(BestRecord, IsNoneThatFailedWhenItWasTriedLast) {
  const Record crashed = failed("k", "b", OutcomeCode::crash, "SIGSEGV");
  EXPECT_EQ(best(Records({timed("k", "a", 3), timed("k", "b", 1), crashed}), "k"), "a");
  EXPECT_EQ(best(Records({timed("k", "a", 3), crashed, timed("k", "b", 1)}), "k"), "b");
}
TEST(BestRecord, ForAnotherThreadCountIsUsedOnlyWhenNothingFitsAndIsNamed) {
  Records records(
      {timed("k", "four", 1, "cpu -mcpu=znver5 -threads=4"), timed("k", "one", 9, "cpu -mcpu=znver5 -threads=1")});
  EXPECT_EQ(best(records, "k", "cpu -mcpu=znver5 -threads=8"), "four (tuned for 4 threads, not 8)");
  records.add(timed("k", "eight", 5, "cpu -mcpu=znver5 -threads=8"));
  EXPECT_EQ(best(records, "k", "cpu -mcpu=znver5 -threads=8"), "eight");
}
TEST(BestRecord, OfAnotherKindOfCoreIsNamed) {
  Records records({timed("k", "a", 1, "cpu -mcpu=znver5 -threads=2 -cores=little")});
  EXPECT_EQ(best(records, "k"), "a (measured on little cores, not big)");
}
TEST(BestRecord, OfAnotherIsaIsUsedOnlyWhenItsVectorsAreAsWide) {
  Records records({timed("k", "a", 1, "cpu -mcpu=haswell -threads=2")});
  EXPECT_EQ(best(records, "k"), "none");
  records.add(timed("k", "b", 1, "cpu -mcpu=znver4 -threads=2"));
  EXPECT_EQ(best(records, "k"), "b (measured on znver4, not znver5)");
}
TEST(BestRecord, OfAnUnreadableTargetIsPassedOver) {
  EXPECT_EQ(best(Records({timed("k", "a", 1, "toaster")}), "k"), "none");
}
TEST(BestRecord, DoesNotCompareTimesOfDifferentCacheModes) {
  Records records({with(timed("k", "warm", 1), [](Record& r) { r.outcome.cache = "warm"; }), timed("k", "network", 2)});
  EXPECT_EQ(best(records, "k"), "network");
}
Record placed(Record r, double round_trip_ns) {
  r.outcome.placement = {round_trip_ns};
  return r;
}
constexpr double kNear = 78, kFar = 330;
/// The steps of all, the best first.
std::string ranked(const Records& records) {
  std::string text;
  for (const Record* r : records.ranking("k", {}, target("cpu -mcpu=znver5 -threads=2")))
    text += (text.empty() ? "" : " ") + r->steps;
  return text;
}
TEST(BestRecord, StaysTheFirstUntilItWasTimedWhereTheProcessorsLieNow) {
  Records records({placed(timed("k", "f4", 0.55), kNear), placed(timed("k", "f2", 0.65), kNear)});
  EXPECT_EQ(ranked(records), "f4 f2");
  records.add(placed(timed("k", "f1", 0.9), kFar));
  EXPECT_EQ(ranked(records), "f4 f2 f1") << "a run was killed here: of the new placement there are estimates";
  records.add(placed(timed("k", "f2", 0.7), kFar));
  EXPECT_EQ(ranked(records), "f4 f2 f1") << "f2 was not the first";
  records.add(placed(timed("k", "f4", 1.07), kFar));
  EXPECT_EQ(ranked(records), "f2 f1 f4") << "now they rank by their times there";
}
TEST(BestRecord, IsOfThePlacementOfTheLastLineThatTheFirstHasATimeIn) {
  Records records({placed(timed("k", "f4", 0.55), kNear), placed(timed("k", "f2", 0.65), kNear),
                   placed(timed("k", "f4", 1.07), kFar), placed(timed("k", "f2", 0.7), kFar)});
  EXPECT_EQ(ranked(records), "f2 f4");
  records.add(placed(timed("k", "f1", 0.9), 81));
  EXPECT_EQ(ranked(records), "f4 f2 f1") << "all have a time in it";
}
TEST(BestRecord, RanksTimesOfOtherPlacementsBehind) {
  Records records({placed(timed("k", "a", 1), kNear), placed(timed("k", "b", 2), kNear)});
  records.add(placed(timed("k", "c", 3), kFar));
  records.add(placed(timed("k", "a", 4), kFar));
  EXPECT_EQ(ranked(records), "c a b") << "what b takes there is an estimate";
  records.add(placed(timed("k", "c", 5), kNear));
  EXPECT_EQ(ranked(records), "a b c");
}
TEST(BestRecord, WithoutAPlacementComparesWithAll) {
  EXPECT_EQ(ranked(Records({timed("k", "a", 1), placed(timed("k", "b", 2), kFar)})), "a b");
  Records records({timed("k", "a", 1), placed(timed("k", "b", 2), kFar), placed(timed("k", "c", 3), kNear)});
  EXPECT_EQ(ranked(records), "a c b") << "the first counts as timed in each";
  records.add(timed("k", "d", 0.5));
  EXPECT_EQ(ranked(records), "d a c b");
}
TEST(BestRecord, ThatFailsInTheNewPlacementLeavesItToTheNextOfTheOld) {
  Records records({placed(timed("k", "a", 1), kNear), placed(timed("k", "b", 2), kNear),
                   placed(timed("k", "c", 3), kFar), failed("k", "a", OutcomeCode::crash, "SIGSEGV")});
  EXPECT_EQ(ranked(records), "b c");
  records.add(placed(timed("k", "b", 4), kFar));
  EXPECT_EQ(ranked(records), "c b");
  EXPECT_EQ(ranked(Records({placed(timed("k", "a", 1), kNear), placed(timed("k", "b", 2), kNear),
                            placed(timed("k", "b", 4), kFar), failed("k", "a", OutcomeCode::crash, "SIGSEGV"),
                            placed(timed("k", "c", 3), kFar)})),
            "c b")
      << "what is first then had a time there before";
}
TEST(BestRecord, ThatGaveWrongAnswersKeepsNoPlacement) {
  const std::string elsewhere = "cpu -mcpu=znver4 -threads=2";
  Record wrong = failed("k", "a", OutcomeCode::wrong_answer, "off by 1");
  wrong.target = elsewhere;
  EXPECT_EQ(ranked(Records({wrong, placed(timed("k", "a", 1), kNear), placed(timed("k", "b", 2), kNear),
                            placed(timed("k", "c", 3), kFar), placed(timed("k", "b", 4), kFar)})),
            "c b");
}
TEST(BestRecord, OfOneRoundingIsEnoughForAPlacement) {
  // A run that permits exact schedules alone never times the others again.
  const auto rounding = [](Record r) { return r.numerics.exact = false, r; };
  Records records({rounding(placed(timed("k", "winograd", 1), kNear)), placed(timed("k", "a", 2), kNear),
                   placed(timed("k", "b", 3), kFar)});
  EXPECT_EQ(ranked(records), "winograd a b");
  records.add(placed(timed("k", "a", 4), kFar));
  EXPECT_EQ(ranked(records), "b a winograd");
}
TEST(BestRecord, OfAnotherCodeGeneratorOrCacheModeHasAPlacementOfItsOwn) {
  const auto old = [](Record r) { return --r.codegen, r; };
  const auto warm = [](Record r) { return r.outcome.cache = "warm", r; };
  Records records({old(placed(timed("k", "a", 1), kNear)), placed(timed("k", "b", 2), kFar),
                   warm(placed(timed("k", "c", 1), kNear)), placed(timed("k", "d", 1), kNear)});
  EXPECT_EQ(ranked(records), "b d c a") << "b was never timed near";
}
TEST(BestRecord, IsFoundWhereProcessorsMoveWithEachLine) {
  Records records;
  for (int i = 0; i < 500; ++i)
    records.add(placed(timed("k", "s" + std::to_string(i % 49), 2 + i % 49), i % 2 == 0 ? kNear : kFar));
  EXPECT_TRUE(ranked(records).starts_with("s0 s1 s2 ")) << "each was timed in both";
  EXPECT_EQ(records.best("k", {}, target("cpu -mcpu=znver5 -threads=2"))->record->outcome.placement,
            ProcessorPlacement{kFar});
}
TEST(BestRecord, OfAnotherTargetHasAPlacementOfItsOwn) {
  const std::string one = "cpu -mcpu=znver5 -threads=1";
  Records records({placed(timed("k", "a", 1), kNear), placed(timed("k", "b", 1.5), kFar),
                   placed(timed("k", "a", 2), kFar), placed(timed("k", "c", 1, one), kNear)});
  EXPECT_EQ(best(records, "k"), "b");
  EXPECT_EQ(best(records, "k", one), "c");
}
TEST(BestRecord, IsTheSameWhereProcessorsStay) {
  for (const double round_trip : {0.0, 78.0}) {
    std::vector<Record> list = {timed("k", "a", 3), timed("k", "b", 1), timed("k", "c", 2), timed("k", "b", 4)};
    for (Record& record : list) record.outcome.placement = {round_trip};
    EXPECT_EQ(best(Records(std::move(list)), "k"), "c");
  }
}
TEST(BestRecord, OfTheEmulatedDeviceCountsWhereItIsAskedFor) {
  const Record estimated = with(timed("k", "e", 1), [](Record& r) { r.outcome.device = kEmulatedDevice; });
  const Record wrong = with(failed("k", "a", OutcomeCode::wrong_answer, "off by 1"),
                            [](Record& r) { r.outcome.device = kEmulatedDevice; });
  Records records({timed("k", "a", 3), estimated, wrong});
  EXPECT_EQ(best(records, "k"), "a") << "at first they are left out";
  EXPECT_EQ(records.of("k").size(), 1u);
  records.count(EmulatedRecords::alone);
  EXPECT_EQ(best(records, "k"), "e");
  EXPECT_EQ(records.of("k").size(), 2u);
  records.count(EmulatedRecords::too);
  EXPECT_EQ(best(records, "k"), "e") << "a gave wrong answers there";
  EXPECT_EQ(records.of("k").size(), 3u);
  Records both({timed("k", "a", 3), estimated});
  both.count(EmulatedRecords::too);
  EXPECT_EQ(best(both, "k"), "a") << "estimates stand behind what was measured";
}
TEST(BestRecord, OfAnotherGpuIsAnEstimate) {
  const auto on = [](const char* gpu, const char* steps, double ms) {
    return with(timed("k", steps, ms, "cuda -arch=sm_90 -sms=132"), [&](Record& r) {
      r.outcome.device = gpu;
      r.codegen = codegen_version(CodeFormat::ptx);
    });
  };
  const Target target = *parse_target("cuda -arch=sm_90 -sms=132");
  Records records({on("NVIDIA H200", "a", 1), on("NVIDIA H100", "b", 2), on("NVIDIA H100", "a", 3)});
  EXPECT_EQ(records.best("k", {}, target)->record->steps, "a") << "no GPU is preferred";
  EXPECT_EQ(records.ranking("k", {}, target).size(), 3u);

  records.prefer_device("NVIDIA H100");
  const RecordChoice here = *records.best("k", {}, target);
  EXPECT_EQ(here.record->steps, "b");
  EXPECT_TRUE(here.exact);
  EXPECT_EQ(here.reason, "");
  EXPECT_EQ(records.ranking("k", {}, target).size(), 2u);

  records.prefer_device("NVIDIA H100 PCIe");
  const RecordChoice near = *records.best("k", {}, target);
  EXPECT_EQ(near.record->steps, "a");
  EXPECT_FALSE(near.exact);
  EXPECT_EQ(near.reason, "timed on NVIDIA H200, not on NVIDIA H100 PCIe");
}
TEST(BestRecord, IsWhatWasFasterInTheWholeNetwork) {
  auto chosen = with(timed("k", "b", 1.01), [](Record& r) { r.ranks_as = 1; });
  EXPECT_EQ(best(Records({timed("k", "a", 1), chosen}), "k"), "b");
  EXPECT_EQ(best(Records({timed("k", "a", 1), chosen, timed("k", "c", 0.9)}), "k"), "c") << "until a faster one comes";
  EXPECT_EQ(best(Records({timed("k", "a", 1), chosen, timed("k", "b", 1.02)}), "k"), "a")
      << "measured again it stands by its last figure";
}
TEST(Ranking, BeginsWithTheBest) {
  auto chosen = with(timed("k", "b", 1.01), [](Record& r) { r.ranks_as = 1; });
  auto wrong = with(timed("k", "wrong", 0.5), [](Record& r) { r.outcome.code = OutcomeCode::wrong_answer; });
  const Records records({timed("k", "a", 1), timed("k", "slow", 3), chosen, timed("k", "c", 2), timed("k", "a", 1),
                         timed("other", "a", 0.1), wrong});
  std::string order;
  for (const Record* r : records.ranking("k", {}, *parse_target(records.of("k")[0]->target))) order += r->steps + " ";
  EXPECT_EQ(order, "b a c slow ");
}
std::string best_within(const Records& records, const Shape& within) {
  const auto choice = records.best("k", within, target("cpu -mcpu=znver5 -threads=2"));
  return choice ? choice->record->steps + (choice->reason.empty() ? "" : " (" + choice->reason + ")") : "none";
}
TEST(BestRecord, OfAWholeIsAnEstimateForAPart) {
  const auto part = with(timed("k", "part", 2), [](Record& r) { r.within = {6, 48}; });
  EXPECT_EQ(best_within(Records({timed("k", "whole", 1)}), {6, 48}), "whole (timed as a whole, not as a part of 6x48)");
  EXPECT_EQ(best_within(Records({timed("k", "whole", 1), part}), {6, 48}), "part");
  EXPECT_EQ(best_within(Records({timed("k", "whole", 1), part}), {6, 64}),
            "whole (timed as a whole, not as a part of 6x64)");
  EXPECT_EQ(best_within(Records({part}), {6, 64}), "part (timed as a part of 6x48, not as a part of 6x64)");
  EXPECT_EQ(best_within(Records({part}), {}), "part (timed as a part of 6x48, not as a whole)");
  EXPECT_EQ(best_within(Records({timed("k", "whole", 3), part}), {}), "whole");
}
TEST(BestRecord, OfAWholeIsNoneWhereTheScheduleFailedAsThisPart) {
  const auto fell = with(failed("k", "a", OutcomeCode::crash, "SIGSEGV"), [](Record& r) { r.within = {6, 48}; });
  const Records records({timed("k", "a", 1), timed("k", "b", 2), fell});
  EXPECT_EQ(best_within(records, {6, 48}), "b (timed as a whole, not as a part of 6x48)");
  EXPECT_EQ(best_within(records, {}), "a");
}
TEST(BestRecord, OfFilesFromBeforeThereWereParts) {
  // What was chosen for a task then is what is chosen for its parts now.
  const Records records(
      {timed("k", "a", 3), timed("k", "b", 1), with(timed("k", "c", 2), [](Record& r) { r.ranks_as = 0.5; })});
  for (const Shape& within : {Shape(), Shape{6, 48}, Shape{6, 64}})
    EXPECT_EQ(best_within(records, within).substr(0, 1), "c");
}
TEST(BestRecord, OfAnOlderCodeGeneratorIsAnEstimate) {
  const int now_version = codegen_version(CodeFormat::native_object);
  auto older = with(timed("k", "old", 1), [&](Record& r) { r.codegen = now_version - 1; });
  auto now = with(timed("k", "new", 2), [&](Record& r) { r.codegen = now_version; });
  const std::string estimate = "old (timed with code generator " + std::to_string(now_version - 1) + ", now " +
                               std::to_string(now_version) + ")";
  EXPECT_EQ(best(Records({older}), "k"), estimate);
  EXPECT_EQ(best(Records({older, now}), "k"), "new");
}

TEST(LargeHeaps, KeepWhatThreadsPutThere) {
  make_large_heaps();
  std::vector<std::string> texts;
  std::thread([&] {
    use_huge_pages();
    for (int i = 0; i < 100'000; ++i) texts.push_back("a text that is longer than a word: " + std::to_string(i));
  }).join();
  for (int i = 0; i < 100'000; i += 999) EXPECT_EQ(texts[i], "a text that is longer than a word: " + std::to_string(i));
}

}  // namespace
}  // namespace whet
