#include "plan/uniform_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "alternatives/not_lowered.h"
#include "passes/optimize.h"
#include "passes/testing/graph_builder.h"
#include "plan/plan.h"

namespace whet {
namespace uniform_plan_test {

/// Three convolutions that multiply bytes behind one that reads three channels, which no word of four fits.
FusedGraph network() {
  testing::GraphBuilder b;
  ValueId x = b.relu("first", b.conv("f", b.input("x", {1, 3, 6, 6}), 16, 3, 1, 1));
  for (const char* name : {"a", "b", "c"}) x = b.relu(std::string(name) + "_relu", b.conv(name, x, 16, 3, 1, 1));
  return optimize(b.finish({x}), {}).value();
}

class UniformPlan : public ::testing::Test {
 protected:
  UniformPlan() {
    AlternativeOptions options{.lowered = {StoredAs::u8}};
    for (const Value& value : fused_.graph.values)
      if (!value.constant) options.ranges[value.name] = {-1, 1};
    alternatives_ = find_alternatives(fused_, target_, options).value();
  }
  const std::string& node_of(int group) const {
    return fused_.graph.value(fused_.groups[static_cast<std::size_t>(group)].outputs.front()).name;
  }
  /// The layers with a product of which some kernel that is not among the numbers does not multiply bytes.
  std::set<std::string> free_without(const std::vector<int>& numbers) const {
    std::set<std::string> free;
    for (std::size_t a = 0; a < alternatives_.all.size(); ++a) {
      const Alternative& each = alternatives_.all[a];
      const bool is_left = std::ranges::find(numbers, static_cast<int>(a)) == numbers.end();
      if (each.group < 0 || !has_product(fused_, fused_.groups[static_cast<std::size_t>(each.group)])) continue;
      if (is_left && each.rounds_product != StoredAs::u8) free.insert(node_of(each.group));
    }
    return free;
  }
  /// Kernels on bytes take long, all others nothing.
  std::vector<Price> dear_bytes() const {
    std::vector<Price> prices;
    for (const Alternative& each : alternatives_.all) {
      const double seconds = each.rounds_product ? 1 : 1e-6;
      prices.push_back({PriceKind::measured, seconds, seconds, 0});
    }
    return prices;
  }

  FusedGraph fused_ = network();
  Target target_ = parse_target("cpu -mcpu=znver4 -threads=1").value();
  Alternatives alternatives_;
};

TEST_F(UniformPlan, LeavesNoOtherKernelToALayerThatCanMultiplyBytes) {
  EXPECT_EQ(free_without(others_than(alternatives_, StoredAs::u8)), (std::set<std::string>{"first"}));
}

TEST_F(UniformPlan, IsThereHoweverLongItTakes) {
  const Result<NetworkPlans> plans =
      best_plans(fused_, alternatives_, dear_bytes(), {.forbidden = others_than(alternatives_, StoredAs::u8)});
  ASSERT_TRUE(plans.ok()) << plans.error().message;
  const std::vector<int>& chosen = plans->best.front().alternatives;
  EXPECT_EQ(
      std::ranges::count_if(
          chosen, [&](int a) { return alternatives_.all[static_cast<std::size_t>(a)].rounds_product.has_value(); }),
      3);
  EXPECT_TRUE(assemble(fused_, alternatives_, chosen).ok());
}

TEST_F(UniformPlan, LeavesALayerWhoseKernelsCannotRunToOtherTypes) {
  std::vector<int> broken;
  for (std::size_t a = 0; a < alternatives_.all.size(); ++a)
    if (const Alternative& each = alternatives_.all[a]; each.rounds_product && node_of(each.group) == "b_relu")
      broken.push_back(static_cast<int>(a));
  ASSERT_FALSE(broken.empty());
  std::vector<int> forbidden = others_than(alternatives_, StoredAs::u8, broken);
  EXPECT_EQ(free_without(forbidden), (std::set<std::string>{"b_relu", "first"}));
  forbidden.insert(forbidden.end(), broken.begin(), broken.end());
  EXPECT_TRUE(best_plans(fused_, alternatives_, dear_bytes(), {.forbidden = forbidden}).ok());
}

TEST_F(UniformPlan, IsAskedForByItsOwnWord) {
  EXPECT_EQ(precision_word(""), "auto");
  EXPECT_EQ(precision_word("u8"), "int8");
}

}  // namespace uniform_plan_test
}  // namespace whet
