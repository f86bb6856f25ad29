#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "codegen/testing/answers.h"
#include "lower/lower.h"
#include "lower/testing/random_schedule.h"
#include "schedule/steps.h"

namespace whet {
namespace {

TEST(EverySchedule, RunsNativelyAsTheDagIsDefined) {
  const char* from = std::getenv("WHET_SEED");
  const std::uint64_t first = from != nullptr ? std::strtoull(from, nullptr, 10) : 1000;
  const std::vector<Target> targets = runnable_targets();
  int run = 0;
  for (std::uint64_t seed = first; seed < first + 60; ++seed) {
    Rng rng(seed);
    const ComputeDag dag = testing::random_dag(rng);
    const Steps steps = testing::random_steps(dag, rng, 60);
    Target target = targets[seed % targets.size()];
    target.threads = 1 + static_cast<int>(seed % 3);
    const Result<Lowered> lowered = lower(*replay(dag, steps), target);
    if (!lowered.ok()) continue;  // the schedule cannot be lowered: the business of `lower`
    const Result<double> error = error_of(dag, *lowered, target, seed);
    if (!error.ok() && error.error().kind == ErrorKind::limit) continue;
    ASSERT_TRUE(error.ok()) << "seed " << seed << ": " << error.error().message;
    ASSERT_LT(*error, 1e-4) << "seed " << seed << ", " << target.cpu().mcpu << "\n" << to_text(steps) << to_text(dag);
    ++run;
  }
  EXPECT_GE(run, 30);
}

TEST(EverySchedule, OfADagWithSizesRunsNativelyAtThem) {
  const std::vector<Target> targets = runnable_targets();
  int run = 0;
  for (std::uint64_t seed = 9000; seed < 9050; ++seed) {
    Rng rng(seed);
    const ComputeDag dag = testing::random_sized_dag(rng);
    const Steps steps = testing::random_steps(dag, rng, 40);
    Target target = targets[seed % targets.size()];
    target.threads = 1 + static_cast<int>(seed % 3);
    const Result<Lowered> lowered = lower(*replay(dag, steps), target);
    if (!lowered.ok()) continue;
    std::vector<SizeValues> values = testing::some_values(lowered->program.sizes, rng);
    values.resize(4);
    for (const SizeValues& sizes : values) {
      const ComputeDag exact = dag_at(dag, sizes);
      const Result<Evaluated> want = evaluated(exact, seed);
      ASSERT_TRUE(want.ok());
      const Result<double> error = error_of(exact, *lowered, target, *want, sizes);
      if (!error.ok() && error.error().kind == ErrorKind::limit) continue;
      ASSERT_TRUE(error.ok()) << "seed " << seed << ": " << error.error().message;
      ASSERT_LT(*error, 1e-4) << "seed " << seed << ", first size " << sizes[0] << ", " << target.cpu().mcpu << "\n"
                              << to_text(steps) << to_text(dag);
      ++run;
    }
  }
  EXPECT_GE(run, 100);
}

bool has_barrier(const Program& program) {
  bool found = false;
  for_each(program.body, [&](const Stmt& s) { found = found || std::holds_alternative<Barrier>(s->kind); }, nullptr);
  return found;
}

/// A random schedule whose outermost loops are parallel where they may be.
LoopTree random_parallel_tree(const ComputeDag& dag, Rng& rng) {
  LoopTree tree = *replay(dag, testing::random_steps(dag, rng, 60));
  for (std::size_t l = 0; l < tree.loops.size(); ++l) {
    LoopTree changed = tree;
    if (apply(changed, Annotate{LoopId(static_cast<std::int64_t>(l)), LoopKind::parallel}).ok()) tree = changed;
  }
  return tree;
}

/// Calls the kernel as each of `parts` workers, one after another in a random order, as a pool does where one worker
/// runs the parts of others: on one workspace, which the last call leaves as it is.
std::vector<Tensor> run_in_parts(const Kernel& kernel, std::vector<Tensor> arguments, std::uint32_t parts, Rng& rng) {
  const Result<LoadedKernel> loaded = LoadedKernel::load(kernel);
  WHET_CHECK(loaded.ok());
  std::vector<void*> buffers;
  for (Tensor& tensor : arguments) buffers.push_back(tensor.data());
  Tensor shared(DType::u8, {kernel.workspace + 1}), own(DType::u8, {kernel.worker_workspace + 1});
  std::vector<std::uint32_t> order(parts);
  std::iota(order.begin(), order.end(), 0u);
  for (std::size_t i = parts; i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(i)))]);
  for (const std::uint32_t part : order) {
    const whet_kernel_args args{buffers.data(), shared.data(), own.data(), nullptr, nullptr, part, parts};
    WHET_CHECK(loaded->entry()(&args) == 0);
  }
  return arguments;
}

TEST(EverySchedule, OfOnePhaseGivesTheSameBitsInPartsOfAnyNumberAndOrder) {
  if (emulated_processor() != nullptr) GTEST_SKIP() << "parts are called on this processor alone";
  const std::vector<Target> targets = runnable_targets();
  int run = 0;
  for (std::uint64_t seed = 3000; seed < 3120; ++seed) {
    Rng rng(seed);
    const ComputeDag dag = testing::random_dag(rng);
    const Target target = targets[seed % targets.size()];
    const Result<Lowered> lowered = lower(random_parallel_tree(dag, rng), target);
    // One that is refused, or has several phases, is of no account here.
    if (!lowered.ok() || has_barrier(lowered->program)) continue;
    const Result<Kernel> kernel = compile_kernel(lowered->program, target);
    if (!kernel.ok() || !kernel->launches[0].parallel) continue;
    const Result<std::vector<Tensor>> arguments =
        testing::arguments_of(*lowered, dag, testing::random_inputs(dag, rng));
    ASSERT_TRUE(arguments.ok());
    const auto copies = [&] {
      std::vector<Tensor> made;
      for (const Tensor& tensor : *arguments) made.push_back(tensor.clone());
      return made;
    };
    const std::vector<Tensor> whole = run_in_parts(*kernel, copies(), 1, rng);
    for (const std::uint32_t parts : {2u, 3u, 8u, 12u, 64u}) {
      const std::vector<Tensor> divided = run_in_parts(*kernel, copies(), parts, rng);
      for (std::size_t i = 0; i < whole.size(); ++i)
        ASSERT_EQ(std::memcmp(whole[i].data(), divided[i].data(), static_cast<std::size_t>(whole[i].bytes())), 0)
            << "seed " << seed << ", " << parts << " parts, argument " << i << "\n"
            << to_text(lowered->program);
    }
    ++run;
  }
  EXPECT_GE(run, 20);
}

}  // namespace
}  // namespace whet
