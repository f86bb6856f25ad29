#include "compiler/even_shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/arithmetic.h"
#include "compiler/choose.h"
#include "schedule/steps_for_sizes.h"
#include "space/space.h"

namespace whet {
namespace even_shares_test {

const Target kTarget = *parse_target("cpu -mcpu=skylake-avx512 -threads=2");

/// A product of n rows by weights, of which the default schedule is for the largest n.
struct Product {
  Task sized, exact;
  ScheduleSource source = best_of(nullptr, kTarget);
  Attempt usual;

  Product(int least, int most, int inner, int width)
      : usual{Steps(), TaskReport::Source::default_schedule, 0, "", {}, {}, {}} {
    const std::string n = std::to_string(most), k = std::to_string(inner), w = std::to_string(width);
    sized.dag =
        *parse_dag("n = SIZE " + std::to_string(least) + ".." + n + " at " + n + "\nx = PLACEHOLDER [n, " + k +
                   "]\nw = PLACEHOLDER [" + k + ", " + w + "] const\ny(i, j) += (x[i, r]*w[r, j]) for i in n, j in " +
                   w + ", r in " + k + "  # matmul i:row j:out_channel r:in_channel\nreturn y\n");
    exact.dag = dag_at(sized.dag, sized.dag.at);
    usual.steps = source.fallback(exact.dag);
  }
  Candidate candidate() const { return source.space(exact.dag).default_candidate(); }
  std::optional<Attempt> even() const { return with_even_shares(sized, exact, usual, source, kTarget); }
};

std::int64_t parallel_iterations(const ComputeDag& dag, const Steps& steps) {
  const Result<LoopTree> tree = replay(dag, steps);
  EXPECT_TRUE(tree.ok()) << tree.error().message;
  if (!tree.ok()) return 0;
  for (std::size_t k = 0; k < tree->loops.size(); ++k)
    if (tree->loops[k].alive && tree->loops[k].kind == LoopKind::parallel)
      return extent_of(*tree, LoopId(static_cast<std::int64_t>(k)));
  return 0;
}

/// 1 MB of weights pass through the cache: one block of rows a worker, and all of few rows in one block.
TEST(EvenShares, ShareOutChannelsWhereABlockWouldHoldAllRows) {
  const Product product(16, 512, 256, 1024);
  ASSERT_EQ(product.candidate().choices.at("blocks"), Choice{2});
  EXPECT_EQ(parallel_iterations(product.exact.dag, *product.usual.steps), 2);
  const std::optional<Attempt> even = product.even();
  ASSERT_TRUE(even.has_value());
  EXPECT_EQ(even->candidate.choices.at("blocks"), Choice{0});
  EXPECT_EQ(even->candidate.choices.at("order"), Choice{2});
  const std::int64_t shares = parallel_iterations(product.exact.dag, *even->steps);
  EXPECT_EQ(shares % 2, 0);
  EXPECT_EQ(shares, ceil_div(1024, even->candidate.choices.at("oc").front())) << "tiles of channels, at all sizes";
  const Result<Steps> all = steps_for_sizes(product.sized.dag, *even->steps);
  ASSERT_TRUE(all.ok()) << all.error().message;
  EXPECT_TRUE(replay(product.sized.dag, *all).ok());
}

/// 17 rows are three tiles, or 8 and 9 columns of tiles for each of two workers.
TEST(EvenShares, ShareOutTilesOfRowsAndChannelsTogetherWhereRowsMayBeFew) {
  const Product product(16, 512, 256, 256);
  const Candidate usual = product.candidate();
  ASSERT_EQ(usual.choices.at("parallel"), Choice{1});
  const std::optional<Attempt> even = product.even();
  ASSERT_TRUE(even.has_value());
  EXPECT_GT(even->candidate.choices.at("parallel").front(), 1);
  EXPECT_GT(parallel_iterations(product.exact.dag, *even->steps),
            parallel_iterations(product.exact.dag, *product.usual.steps));
}

TEST(EvenShares, LeaveWhatHasManyTilesAtAllSizes) {
  EXPECT_FALSE(Product(4096, 8192, 64, 64).even().has_value());
  Product product(16, 512, 256, 1024);
  product.usual.steps = Error{"none"};
  EXPECT_FALSE(product.even().has_value());
}

}  // namespace even_shares_test
}  // namespace whet
