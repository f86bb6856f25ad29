#include "tuner/plan_hopes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "passes/optimize.h"
#include "passes/testing/graph_builder.h"
#include "records/testing/sample.h"

namespace whet {
namespace plan_hopes_test {

/// Convolutions of 8 to 40 channels on whole pictures; the usual kernels take 10 us for each 10^6 operations.
class PlanHopesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::GraphBuilder b;
    ValueId x = b.relu("r", b.input("x", {1, 8, 8, 8}));
    for (int i = 2; i <= 5; ++i)
      x = b.relu("r" + std::to_string(i), b.conv("c" + std::to_string(i), x, 8 * i, 3, 1, 1));
    fused_ = optimize(b.finish({x}), {}).value();
    alternatives_ = find_alternatives(fused_, target_, {.forms = {{8}}, .covers = false}).value();
    for (std::size_t a = 0; a < alternatives_.usual; ++a)
      if (alternatives_.all[a].task >= 0) add(alternatives_.all[a], 10e-6);
  }
  const Task& task(const Alternative& a) const { return alternatives_.tasks[static_cast<std::size_t>(a.task)]; }
  void add(const Alternative& a, double seconds_a_megaflop) {
    const double seconds = flops(task(a).dag) * 1e-6 * seconds_a_megaflop;
    records_.add(testing_records::timed(task(a).key, "", seconds, to_string(target_)));
  }
  PlanHopes hopes() const { return {fused_, target_, alternatives_, records_, {.hope = 0.5}}; }
  /// Convolutions on blocks from blocks.
  std::vector<int> blocked() const {
    std::vector<int> found;
    for (std::size_t a = alternatives_.usual; a < alternatives_.all.size(); ++a)
      if (alternatives_.all[a].name == "nchw8c" && hope_name(alternatives_.all[a]).starts_with("convolution"))
        found.push_back(static_cast<int>(a));
    return found;
  }
  const Alternative& alternative(int number) const { return alternatives_.all[static_cast<std::size_t>(number)]; }

  Target target_ = parse_target("cpu -mcpu=haswell -threads=1").value();
  FusedGraph fused_;
  Alternatives alternatives_;
  Records records_;
};

TEST_F(PlanHopesTest, TheMostPromisingComeFirst) {
  PlanHopes hopes = this->hopes();
  hopes.learn({});
  const std::vector<Task> tasks = hopes.unmeasured(blocked());
  ASSERT_EQ(tasks.size(), blocked().size());
  ASSERT_GE(tasks.size(), 4u);
  for (std::size_t t = 1; t < tasks.size(); ++t) EXPECT_GE(flops(tasks[t - 1].dag), flops(tasks[t].dag));
  EXPECT_EQ(flops(hopes.most_promising().front().dag), flops(tasks.front().dag));
  std::vector<int> heaviest;
  for (std::size_t a = 0; a < alternatives_.all.size(); ++a)
    if (alternatives_.all[a].task >= 0 && flops(task(alternatives_.all[a]).dag) == flops(tasks.front().dag))
      heaviest.push_back(static_cast<int>(a));
  EXPECT_LT(flops(hopes.most_promising(heaviest).front().dag), flops(tasks.front().dag)) << "without those";
}

TEST_F(PlanHopesTest, NothingIsHopedOfWhatWasMeasuredOrGivenUp) {
  PlanHopes hopes = this->hopes();
  const std::vector<int> numbers = blocked();
  add(alternative(numbers[0]), 7e-6);
  hopes.learn({});
  hopes.give_up(task(alternative(numbers[1])));
  const std::vector<Task> tasks = hopes.unmeasured(numbers);
  EXPECT_EQ(tasks.size(), numbers.size() - 2);
  for (const Task& left : tasks) {
    EXPECT_NE(left.key, task(alternative(numbers[0])).key);
    EXPECT_NE(left.key, task(alternative(numbers[1])).key);
  }
  const NetworkPlans plans = hopes.best(hopes.prices(), 1).value();  // which the loop does not keep alive
  for (const int a : plans.best.front().alternatives) EXPECT_NE(a, numbers[1]);
  EXPECT_EQ(std::ranges::count(hopes.not_measured(), numbers[0]), 0);
  EXPECT_EQ(std::ranges::count(hopes.not_measured(), numbers[1]), 1);
}

TEST_F(PlanHopesTest, ThreeKernelsOfAKindSayWhatIsHopedOfTheNext) {
  PlanHopes hopes = this->hopes();
  const std::vector<int> numbers = blocked();
  const auto next = static_cast<std::size_t>(numbers[3]);
  hopes.learn({});
  const double usual = flops(task(alternative(numbers[3])).dag) * 1e-6 * 10e-6;
  EXPECT_NEAR(hopes.prices()[next].bound, 0.5 * usual, 1e-9);
  for (int k = 0; k < 3; ++k) add(alternative(numbers[static_cast<std::size_t>(k)]), 8e-6);
  hopes.read({});
  EXPECT_NEAR(hopes.prices()[next].bound, 0.5 * usual, 1e-9);
  hopes.learn({});
  EXPECT_NEAR(hopes.prices()[next].bound, 0.95 * 0.8 * usual, 1e-9);
}

TEST_F(PlanHopesTest, ALayerIsBegunWhereAKernelThatMultipliesTheSameWasMeasured) {
  AlternativeOptions options{.covers = false, .lowered = {StoredAs::i16, StoredAs::u8}};
  for (const Value& value : fused_.graph.values) options.ranges[value.name] = {-1, 2};
  alternatives_ = find_alternatives(fused_, target_, options).value();
  const auto multiplies = [&](int a, StoredAs type) { return alternative(a).rounds_product == type; };
  PlanHopes hopes = this->hopes();
  hopes.read({});
  const std::vector<int> before = hopes.not_begun();
  const auto first = std::ranges::find_if(before, [&](int a) { return multiplies(a, StoredAs::u8); });
  ASSERT_NE(first, before.end());
  const int group = alternative(*first).group;
  add(alternative(*first), 2e-6);
  hopes.read({});
  const std::vector<int> after = hopes.not_begun();
  int begun = 0;
  for (const int a : before) {
    const bool same = alternative(a).group == group && multiplies(a, StoredAs::u8);
    begun += same;
    EXPECT_EQ(std::ranges::count(after, a), same ? 0 : 1) << alternative(a).name;
  }
  EXPECT_GE(begun, 2) << "whatever they write";
}

/// Two depthwise convolutions, each with a pointwise one behind it; the usual kernels were measured.
class KnownChains : public PlanHopesTest {
 protected:
  void SetUp() override {
    testing::GraphBuilder b;
    ValueId x = b.input("in", {1, 32, 14, 14});
    for (const char* name : {"a", "b"}) {
      const int channels = name[0] == 'a' ? 32 : 16;
      x = b.relu(std::string(name) + "d", b.conv(std::string(name) + "dc", x, channels, 3, 1, 1, channels));
      x = b.relu(std::string(name) + "p", b.conv(std::string(name) + "pc", x, 16, 1));
    }
    fused_ = optimize(b.finish({x}), {}).value();
    alternatives_ = find_alternatives(fused_, target_, {}).value();
    for (std::size_t a = 0; a < alternatives_.usual; ++a)
      if (alternatives_.all[a].task >= 0) add(alternatives_.all[a], 10e-6);
  }
  /// Those of a depthwise and a pointwise convolution, the first one first.
  std::vector<int> pairs() const {
    std::vector<int> found;
    for (std::size_t a = alternatives_.usual; a < alternatives_.all.size(); ++a)
      if (names_chain(alternatives_.all[a].name) && chains_depthwise(alternatives_.all[a]) &&
          alternatives_.all[a].instead.size() == 2)
        found.push_back(static_cast<int>(a));
    return found;
  }
  /// Each pair takes its parts' time over this.
  std::vector<Task> known(double gain) const {
    PlanHopes hopes = this->hopes();
    hopes.read({});
    const std::vector<int> of = pairs();
    return hopes.known_chains([&](const Task& chain) -> std::optional<double> {
      const bool is_pair = std::ranges::any_of(of, [&](int a) { return task(alternative(a)).key == chain.key; });
      return is_pair ? std::optional(gain) : std::nullopt;
    });
  }
};
TEST_F(KnownChains, ComeInTheOrderOfWhatTheySave) {
  const std::vector<Task> tasks = known(1.25);
  ASSERT_EQ(tasks.size(), pairs().size());
  ASSERT_GE(tasks.size(), 2u);
  EXPECT_EQ(tasks.front().key, task(alternative(pairs().front())).key) << "it has the most channels";
}
TEST_F(KnownChains, AreThoseThatGainAndNobodyHasMeasured) {
  EXPECT_TRUE(known(1).empty());
  add(alternative(pairs().front()), 8e-6);
  EXPECT_EQ(known(1.25).size(), pairs().size() - 1);
}

TEST_F(PlanHopesTest, AChoiceWithoutTimeIsTheUsualPlan) {
  PlanHopes hopes = this->hopes();
  hopes.learn({});
  const NetworkPlans plans = hopes.best(hopes.prices(), 0).value();
  EXPECT_FALSE(plans.optimal);
  EXPECT_EQ(plans.best.front().alternatives.size(), alternatives_.usual);
  EXPECT_TRUE(hopes.other_tasks(plans.best).empty());
  EXPECT_FALSE(hopes.other_tasks({*hopes.best(hopes.prices(), 1)->best.begin()}).empty());
}

}  // namespace plan_hopes_test
}  // namespace whet
