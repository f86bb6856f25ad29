#include "space/legal.h"

#include <gtest/gtest.h>

#include <set>

#include "lower/testing/random_schedule.h"

namespace whet {
namespace {

std::optional<std::string> unless(bool holds) {
  return holds ? std::nullopt : std::optional<std::string>("is not allowed");
}

/// a * b <= 6, c != d, and e is free: 2 parts of two decisions and one of one.
Sketch small() {
  Sketch sketch;
  sketch.name = "small";
  sketch.decisions = {{"a", "", single({1, 2, 3, 4}), 0},
                      {"c", "", single({0, 1}), 0},
                      {"b", "", single({1, 2, 3, 4}), 0},
                      {"d", "", single({0, 1, 2}), 0},
                      {"e", "", single({5, 6, 7}), 0}};
  sketch.constraints = {
      {{"a", "b"}, [](const Choices& c) { return unless(c.at("a")[0] * c.at("b")[0] <= 6); }},
      {{"d", "c"}, [](const Choices& c) { return unless(c.at("c") != c.at("d")); }},
  };
  sketch.preferred = {{"a", {1}}, {"b", {1}}, {"c", {0}}, {"d", {1}}, {"e", {5}}};
  sketch.build = [](Scheduler&, const Choices&) {};
  return sketch;
}

/// Two decisions of 1000 options whose sum must be even: too many to list.
Sketch large() {
  Sketch sketch;
  sketch.name = "large";
  std::vector<std::int64_t> values;
  for (int i = 0; i < 1000; ++i) values.push_back(i);
  sketch.decisions = {{"a", "", single(values), 0}, {"b", "", single(values), 0}};
  sketch.constraints = {{{"a", "b"}, [](const Choices& c) { return unless((c.at("a")[0] + c.at("b")[0]) % 2 == 0); }}};
  sketch.preferred = {{"a", {0}}, {"b", {0}}};
  sketch.build = [](Scheduler&, const Choices&) {};
  return sketch;
}

DesignSpace space_of(Sketch sketch) { return {ComputeDag(), {std::move(sketch)}}; }

TEST(Legal, CountsWhatTheConstraintsLeaveAsAProductOfParts) {
  const SpaceSize size = space_of(small()).size();
  EXPECT_EQ(size.combinations, 4 * 2 * 4 * 3 * 3);
  EXPECT_EQ(size.legal, (4 + 3 + 2 + 1) * 4 * 3);
  EXPECT_TRUE(size.exact);
}
TEST(Legal, SaysThatACountIsAnEstimate) {
  const SpaceSize size = space_of(large()).size();
  EXPECT_FALSE(size.exact);
  EXPECT_NEAR(static_cast<double>(size.legal), 500'000, 50'000);
}
TEST(Legal, NumbersEveryCandidateOnce) {
  const DesignSpace space = space_of(small());
  std::set<Candidate> seen;
  for (std::int64_t i = 0; i < space.grid_size(); ++i) {
    const std::optional<Candidate> candidate = space.at(i);
    ASSERT_TRUE(candidate && space.contains(*candidate).ok());
    EXPECT_TRUE(seen.insert(*candidate).second);
  }
  EXPECT_EQ(static_cast<std::int64_t>(seen.size()), space.count());
  EXPECT_FALSE(space.at(space.grid_size()) || space.at(-1));
}
TEST(Legal, NumbersOfALargeSpaceMayStandForNothing) {
  const DesignSpace space = space_of(large());
  EXPECT_EQ(space.grid_size(), 1'000'000);
  EXPECT_TRUE(space.at(0));
  EXPECT_FALSE(space.at(1));
}
TEST(Legal, DrawsEveryCandidateAboutEquallyOften) {
  const DesignSpace space = space_of(small());
  std::map<Candidate, int> drawn;
  Rng rng(1);
  for (int i = 0; i < 12'000; ++i) ++drawn[space.sample(rng)];
  EXPECT_EQ(static_cast<std::int64_t>(drawn.size()), space.count());
  for (const auto& [candidate, times] : drawn) EXPECT_NEAR(times, 100, 50) << to_json(candidate);
}
TEST(Legal, RepairsToTheNearestCandidate) {
  const DesignSpace space = space_of(small());
  Rng rng(1);
  const std::optional<Candidate> repaired =
      space.repair({"small", {{"a", {4}}, {"b", {2}}, {"c", {1}}, {"d", {9}}, {"x", {1}}}}, rng);
  ASSERT_TRUE(repaired);
  // d goes to the nearest option, e to the preferred one; of 4 x 2 the nearest products are 4 x 1, 3 x 2.
  EXPECT_EQ(repaired->choices, (Choices{{"a", {3}}, {"b", {2}}, {"c", {1}}, {"d", {2}}, {"e", {5}}}));
  EXPECT_FALSE(space.repair({"other", {}}, rng));
}
TEST(Legal, SketchesAreDrawnByTheirShares) {
  Sketch one = small(), other = small();
  other.name = "other", other.share = 0.25;
  const DesignSpace space(ComputeDag(), {one, other});
  Rng rng(1);
  int others = 0;
  for (int i = 0; i < 4000; ++i) others += space.sample(rng).sketch == "other";
  EXPECT_NEAR(others, 800, 100);
}

/// A 1x1 convolution with a relu.
ComputeDag pointwise(int pixels, int in, int out) {
  const std::string p = std::to_string(pixels), i = std::to_string(in), o = std::to_string(out),
                    axes = " for n in 1, oh in " + p + ", ow in " + p + ", oc in " + o;
  return *parse_dag("x = PLACEHOLDER [1, " + p + ", " + p + ", " + i + "]\nw = PLACEHOLDER [1, 1, " + i + ", " + o +
                    "] const\nconv(n, oh, ow, oc) += (x[n, (oh + rh), (ow + rw), rc]*w[rh, rw, rc, oc])" + axes +
                    ", rh in 1, rw in 1, rc in " + i +
                    "  # conv n:batch oh:row ow:column oc:out_channel rh:tap rw:tap rc:in_channel\nout(n, oh, ow, oc) "
                    "= max(conv[n, oh, ow, oc], 0f)" +
                    axes + "  # elementwise\nreturn out\n");
}

/// A decision of one tile of an axis of `extent`, inner and outer level.
Sketch tiles(std::int64_t extent) {
  Sketch sketch;
  sketch.name = "tiles";
  Decision tile{"x", "", {}, extent};
  for (std::int64_t inner = 1; inner <= 16; inner *= 2)
    for (std::int64_t outer = inner; outer <= extent; outer *= 2) tile.options.push_back({outer, inner});
  sketch.decisions = {tile, {"order", "", single({0, 1}), 0}};
  sketch.preferred = {{"x", {1, 1}}, {"order", {0}}};
  sketch.build = [](Scheduler&, const Choices&) {};
  return sketch;
}

TEST(Refit, KeepsRegisterTilesAndLetsOuterOnesGrowWithTheExtent) {
  const DesignSpace from = space_of(tiles(64)), to = space_of(tiles(256));
  const Candidate candidate{"tiles", {{"x", {32, 8}}, {"order", {1}}}};
  EXPECT_EQ(to.refit(candidate, from.extents("tiles"))->choices, (Choices{{"x", {128, 8}}, {"order", {1}}}));
  EXPECT_EQ(to.refit(candidate)->choices, (Choices{{"x", {32, 8}}, {"order", {1}}}));
  EXPECT_EQ(from.refit({"tiles", {{"x", {256, 16}}, {"order", {1}}}}, to.extents("tiles"))->choices,
            (Choices{{"x", {64, 16}}, {"order", {1}}}));
}
TEST(Refit, GivesSchedulesOfAnotherShape) {
  const Target target = *parse_target("cpu -mcpu=skylake-avx512 -threads=2");
  const DesignSpace from = make_space(pointwise(28, 64, 96), target), to = make_space(pointwise(14, 256, 120), target);
  Rng rng(1);
  for (int i = 0; i < 40; ++i) {
    const Candidate candidate = from.sample(rng);
    for (const Extents& extents : {from.extents(candidate.sketch), Extents{}}) {
      const std::optional<Candidate> refitted = to.refit(candidate, extents);
      ASSERT_TRUE(refitted) << to_json(candidate);
      EXPECT_TRUE(to.contains(*refitted).ok()) << to_json(*refitted);
      EXPECT_TRUE(to.steps(*refitted).ok()) << to_json(*refitted);
    }
  }
}
TEST(Refit, GivesNothingForASketchThatIsNotHere) { EXPECT_FALSE(space_of(tiles(64)).refit({"small", {}})); }

/// Everything that a space gives is inside of it, and its count is that of its grid.
void expect_closed(const DesignSpace& space, std::uint64_t seed) {
  Rng rng(seed);
  const auto inside = [&](const std::optional<Candidate>& c, const char* from) {
    if (!c) return;
    const Status status = space.contains(*c);
    EXPECT_TRUE(status.ok()) << from << " " << to_json(*c) << ": " << status.error().message;
  };
  for (int i = 0; i < 30; ++i) {
    const Candidate a = space.sample(rng), b = space.sample(rng);
    inside(a, "sample");
    const std::optional<Candidate> mutant = space.mutate(a, rng);
    inside(mutant, "mutate");
    if (mutant) {
      int changed = 0;
      for (const auto& [name, choice] : a.choices) changed += mutant->choices.at(name) != choice;
      EXPECT_EQ(changed, 1) << to_json(a) << " -> " << to_json(*mutant);
    }
    const std::optional<Candidate> child = space.crossover(a, b, rng);
    EXPECT_EQ(child.has_value(), a.sketch == b.sketch);
    inside(child, "crossover");
    Candidate broken = a;
    for (auto& [name, choice] : broken.choices)
      if (rng.chance(0.3)) choice = {rng.between(0, 40)};
    const std::optional<Candidate> repaired = space.repair(broken, rng);
    ASSERT_TRUE(repaired) << to_json(broken);
    inside(repaired, "repair");
    EXPECT_EQ(space.repair(a, rng), a) << "nothing to repair";
    EXPECT_EQ(space.refit(a, space.extents(a.sketch)), a) << "nothing to refit";
  }
  std::int64_t counted = 0;
  for (std::int64_t i = 0; i < space.grid_size(); ++i) counted += space.at(i).has_value();
  if (space.size().exact) {
    EXPECT_EQ(counted, space.count());
  }
  for (const Sketch& sketch : space.sketches()) inside(Candidate{sketch.name, sketch.preferred}, "preferred");
}

TEST(EverySpace, IsClosedUnderWhatItOffers) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Rng rng(seed);
    const ComputeDag dag = testing::random_dag(rng);
    SCOPED_TRACE(to_text(dag));
    for (const char* text : {"cpu -mcpu=skylake-avx512 -threads=2", "cpu -mcpu=x86-64 -threads=8"})
      expect_closed(make_space(dag, *parse_target(text)), seed);
  }
}

}  // namespace
}  // namespace whet
