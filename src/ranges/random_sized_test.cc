#include <gtest/gtest.h>

#include "base/testing/random_cases.h"
#include "passes/optimize.h"
#include "ranges/ranges.h"
#include "ranges/testing/sized_graph.h"
#include "task/group_dag.h"

namespace whet {
namespace {

using testing::kLeastSize;

Result<FusedGraph> read_random(std::uint64_t seed, const SizeValues& sizes) {
  WHET_TRY(Graph graph, testing::random_sized_graph(seed, sizes));
  return optimize(std::move(graph), {});
}

/// The tasks of the family give, at these sizes, the DAGs of the network as it is read there.
void expect_the_network(const Family& family, const SizeValues& sizes, const ReadAtSizes& read,
                        const std::string& where) {
  const Variant* variant = variant_at(family, sizes);
  ASSERT_NE(variant, nullptr) << where;
  const auto fused = read(sizes);
  ASSERT_TRUE(fused.ok()) << where;
  ASSERT_EQ(fused->groups.size(), variant->fused.groups.size()) << where;
  for (const SizedTask& task : variant->tasks) {
    const ComputeDag at = dag_at(task.task.dag, values_of(task, sizes));
    for (const int g : task.task.groups) {
      const auto dag = group_dag(*fused, fused->groups[static_cast<std::size_t>(g)]);
      ASSERT_TRUE(dag.ok());
      ASSERT_TRUE(same_dag(at, *dag)) << where << "\n" << to_text(task.task.dag) << to_text(at) << to_text(*dag);
    }
  }
  for (const auto& [id, functions] : variant->shapes) {
    const Shape& shape = fused->graph.value(id).type.shape;
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (functions[d].defined()) {
        EXPECT_EQ(value_at(functions[d], sizes), shape[d]) << where;
      }
  }
}

TEST(EverySizedGraph, IsAtEachSizeTheNetworkThatIsReadThere) {
  int variants = 0;
  for (int k = 0; k < testing::random_cases(200) && !::testing::Test::HasFailure(); ++k) {
    const auto seed = static_cast<std::uint64_t>(k);
    const bool two = k % 4 == 0;
    const ReadAtSizes read = [&](const SizeValues& sizes) {
      return read_random(seed, {sizes[0], two ? sizes[1] : kLeastSize + 3});
    };
    std::vector<SizeRange> sizes = {{"n", kLeastSize, two ? kLeastSize + 6 : kLeastSize + 24}};
    if (two) sizes.push_back({"m", kLeastSize, kLeastSize + 8, 2});
    const auto family = find_family(sizes, read);
    // A stride may end a graph of small sizes, and structures may be many: those are refused with a sentence.
    if (!family.ok()) {
      EXPECT_FALSE(family.error().message.empty());
      continue;
    }
    variants += static_cast<int>(family->variants.size());
    EXPECT_EQ(family->points, family->checked);
    for (std::int64_t n = sizes[0].min; n <= sizes[0].max; ++n) {
      if (!two) expect_the_network(*family, {n}, read, "seed " + std::to_string(k) + ", n " + std::to_string(n));
      for (std::int64_t m = kLeastSize; two && m <= sizes[1].max; m += 2)
        expect_the_network(*family, {n, m}, read,
                           "seed " + std::to_string(k) + ", " + std::to_string(n) + " by " + std::to_string(m));
    }
  }
  EXPECT_GE(variants, testing::random_cases(100)) << "most graphs are families";
}

}  // namespace
}  // namespace whet
