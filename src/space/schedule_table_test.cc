#include "space/schedule_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"

namespace whet::schedule_table_test {
namespace {

ComputeDag product() {
  return parse_dag(R"(A = PLACEHOLDER [64, 32]
B = PLACEHOLDER [32, 64]
C(i, j) += (A[i, k]*B[k, j]) for i in 64, j in 64, k in 32
return C
)")
      .value();
}

const std::vector<Decision> kDecisions = {{"i", "", single({1, 2, 4}), 64}, {"j", "", single({8, 16}), 64}};

std::string blocked(std::int64_t i, std::int64_t j) {
  return fmt::format("split l0 {} guard; split l1 {} guard; reorder l3 l5 l2 l4 l6; vectorize l6; parallel l3", i, j);
}

ScheduleTable table(const std::vector<Decision>& decisions = kDecisions) {
  return ScheduleTable::make("own", decisions).value();
}
void add(ScheduleTable& table, std::int64_t i, std::int64_t j) {
  const Status added = table.add(product(), {}, table.point({{i}, {j}}).value(), blocked(i, j));
  ASSERT_TRUE(added.ok()) << added.error().message;
}
ScheduleTable full() {
  ScheduleTable all = table();
  for (const std::int64_t i : {1, 2, 4})
    for (const std::int64_t j : {8, 16}) add(all, i, j);
  return all;
}

TEST(ScheduleTable, WritesTheSchedulesOfTheTemplateThatItWasMadeOf) {
  Sketch written{.name = "own", .decisions = kDecisions, .build = [](Scheduler& s, const Choices& c) {
                   s.apply(parse_steps(blocked(c.at("i")[0], c.at("j")[0])).value());
                 }};
  written.preferred = {{"i", {1}}, {"j", {8}}};
  const DesignSpace direct(product(), {written}), looked_up(product(), {full().sketch()});
  ASSERT_EQ(looked_up.grid_size(), direct.grid_size());
  EXPECT_EQ(looked_up.default_candidate(), direct.default_candidate());
  for (std::int64_t n = 0; n < direct.grid_size(); ++n) {
    ASSERT_EQ(looked_up.at(n), direct.at(n));
    EXPECT_EQ(to_text(looked_up.steps(*direct.at(n)).value()), to_text(direct.steps(*direct.at(n)).value()));
    EXPECT_EQ(looked_up.neighbours(*direct.at(n)), direct.neighbours(*direct.at(n)));
  }
}
TEST(ScheduleTable, OffersOnlyTheChoicesThatHaveARow) {
  ScheduleTable some = table();
  add(some, 1, 8), add(some, 4, 16), add(some, 2, 16);
  const DesignSpace space(product(), {some.sketch()});
  EXPECT_EQ(space.count(), 3);
  EXPECT_TRUE(space.size().exact);
  Rng rng(1);
  std::set<Candidate> drawn;
  for (int i = 0; i < 100; ++i) drawn.insert(space.sample(rng));
  EXPECT_EQ(drawn.size(), 3u);
  const Candidate last{"own", {{"i", {4}}, {"j", {16}}}}, missing{"own", {{"i", {4}}, {"j", {8}}}};
  EXPECT_EQ(space.neighbours(last), (std::vector<Candidate>{{"own", {{"i", {2}}, {"j", {16}}}}}));
  EXPECT_EQ(space.contains(missing).error().message, "sketch own has no row for these choices");
  EXPECT_TRUE(space.contains(space.repair(missing, rng).value()).ok());
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(space.contains(space.mutate(last, rng).value()).ok());
}
TEST(ScheduleTable, SamplesAFewRowsOfManyCombinations) {
  std::vector<Decision> decisions = kDecisions;
  std::vector<std::int64_t> many(1000);
  for (std::size_t n = 0; n < many.size(); ++n) many[n] = static_cast<std::int64_t>(n);
  for (const char* name : {"a", "b", "c"}) decisions.push_back({name, "", single(many)});
  ScheduleTable sparse = table(decisions);
  for (const std::int64_t n : {3, 500, 999})
    ASSERT_TRUE(sparse.add(product(), {}, sparse.point({{2}, {8}, {n}, {n}, {n}}).value(), blocked(2, 8)).ok());
  const DesignSpace space(product(), {sparse.sketch()});
  Rng rng(1);
  std::set<Candidate> drawn;
  for (int i = 0; i < 100; ++i) drawn.insert(space.sample(rng));
  EXPECT_EQ(drawn.size(), 3u);
  for (std::int64_t n = 0; n < 3; ++n) EXPECT_TRUE(space.contains(space.at(n).value()).ok());
}
TEST(ScheduleTable, MovesDecisionsByOptions) {
  const DesignSpace space(product(), {full().sketch()});
  const Candidate here{"own", {{"i", {2}}, {"j", {8}}}};
  EXPECT_EQ(space.shift(here, {}), here);
  EXPECT_EQ(space.shift(here, {{"i", 1}, {"j", 1}}), (Candidate{"own", {{"i", {4}}, {"j", {16}}}}));
  EXPECT_EQ(space.shift(here, {{"i", 2}}), std::nullopt);
  EXPECT_EQ(space.shift(here, {{"j", -1}}), std::nullopt);
  EXPECT_EQ(space.shift({"other", here.choices}, {}), std::nullopt);
}
TEST(ScheduleTable, RefusesRowsThatDoNotReplay) {
  ScheduleTable rows = table();
  const auto refused = [&](const std::string& steps, const SpaceOptions& options = {}) {
    const Status added = rows.add(product(), options, rows.point({{1}, {8}}).value(), steps);
    return added.ok() ? "" : added.error().message;
  };
  EXPECT_NE(refused("split l0 2 guard; vectorize l2").find("step 2 (vectorize l2)"), std::string::npos)
      << refused("split l0 2 guard; vectorize l2");
  EXPECT_NE(refused("splt l0 2"), "");
  EXPECT_EQ(rows.size(), 0);
  EXPECT_EQ(refused(blocked(1, 8)), "");
  EXPECT_EQ(rows.size(), 1);
}
TEST(ScheduleTable, SaysWhatIsWrongWithItsDecisionsAndChoices) {
  const auto error = [](const std::string& name, std::vector<Decision> decisions) {
    return ScheduleTable::make(name, std::move(decisions)).error().message;
  };
  EXPECT_EQ(error("", {}), "a template has no name; records know its schedules by it");
  EXPECT_EQ(error("own", {{"i", "", {}}}), "template own: decision i has no option");
  EXPECT_EQ(error("own", {{"i", "", single({1, 1})}}), "template own: decision i has an option twice");
  EXPECT_EQ(error("own", {{"i", "", single({1})}, {"i", "", single({1})}}), "template own: two decisions are called i");
  EXPECT_EQ(error("own", {{"sketch", "", single({1})}}), "template own: a decision cannot be called \"sketch\"");
  EXPECT_EQ(table().point({{3}, {8}}).error().message, "i is 3, which is none of its 3 options");
  EXPECT_EQ(table().point({{1}}).error().message, "1 choices; the decisions are 2");
  EXPECT_EQ(table().text(table().point({{4}, {16}}).value()), "i=4, j=16");
  std::vector<Decision> wide;
  std::vector<std::int64_t> many(1 << 13);
  for (std::size_t n = 0; n < many.size(); ++n) many[n] = static_cast<std::int64_t>(n);
  for (const char* name : {"a", "b", "c", "d", "e"}) wide.push_back({name, "", single(many)});
  EXPECT_EQ(error("own", wide), "template own: its decisions have more than 2^62 combinations");
}
TEST(WithSketches, KeepsTheDefaultScheduleUnlessTheyAreAlone) {
  const Target target = parse_target("cpu -mcpu=haswell -threads=1").value();
  const DesignSpace usual = make_space(product(), target);
  const DesignSpace both = with_sketches(product(), usual, {{full().sketch()}, false});
  EXPECT_EQ(both.default_candidate(), usual.default_candidate());
  EXPECT_EQ(both.count(), usual.count() + 6);
  const DesignSpace alone = with_sketches(product(), usual, {{full().sketch()}, true});
  EXPECT_EQ(alone.count(), 6);
  EXPECT_FALSE(alone.contains(usual.default_candidate()).ok());
}

}  // namespace
}  // namespace whet::schedule_table_test
