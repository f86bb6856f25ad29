// Random schedules for a GPU: after all passes the interpreter computes the values of the DAG.

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "base/testing/random_cases.h"
#include "lower/lower.h"
#include "lower/testing/random_gpu_schedule.h"
#include "lower/testing/verify_passes.h"
#include "program/interpret.h"
#include "tensor/compare.h"

namespace whet {
namespace gpu_random_test {

/// What lowering may refuse: memory of a thread that others use, too many threads, what no barrier can order.
bool is_refusal(const Error& error) { return error.kind == ErrorKind::unsupported || error.kind == ErrorKind::limit; }

/// The largest relative difference from the DAG's own evaluation, for an order of blocks and threads.
Result<double> difference(const Lowered& lowered, const ComputeDag& dag, const InterpretOptions& options) {
  Rng rng(options.seed);
  const std::vector<Tensor> inputs = testing::random_inputs(dag, rng);
  std::vector<Tensor> arguments;
  for (const KernelArgument& a : lowered.arguments)
    arguments.push_back(a.kind == KernelArgument::Kind::input ? inputs[static_cast<std::size_t>(a.index)]
                                                              : Tensor(a.type.dtype, a.type.shape));
  WHET_RETURN_IF_ERROR(interpret(lowered.program, arguments, options));
  WHET_TRY(const std::vector<Tensor> want, evaluate(dag, inputs));
  double worst = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (lowered.arguments[i].kind == KernelArgument::Kind::output)
      worst =
          std::max(worst, compare(arguments[i], want[static_cast<std::size_t>(lowered.arguments[i].index)]).relative);
  return worst;
}

TEST(RandomGpuSchedules, ComputeWhatTheDagSaysInEveryOrder) {
  const char* from = std::getenv("WHET_FROM");  // one seed alone
  const int cases = from != nullptr ? 1 : testing::random_cases(2000);
  const std::uint64_t first = from != nullptr ? std::strtoull(from, nullptr, 10) : 1;
  std::map<std::string, int> used, refused;  // steps of schedules that were lowered; refusals
  int lowered_cases = 0, with_barriers = 0, with_copies = 0, with_exchanges = 0, with_gaps = 0;
  for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(cases); ++seed) {
    Rng rng(seed);
    const bool tensorized = seed % 12 == 0;
    testing::RandomTensorized random;
    if (tensorized) {
      random = testing::random_tensorized(rng);
    } else {
      random.dag = seed % 31 == 0 ? testing::random_softmax_product(rng) : testing::random_gpu_dag(rng);
      random.steps = testing::random_gpu_steps(random.dag, rng);
    }
    const Steps& steps = random.steps;
    const LoopTree tree = *replay(random.dag, steps);
    // What is rounded on the way may be rounded to either side.
    const bool rounds = numerics_of(steps).precision != Precision::f32;
    const ComputeDag& dag = tensorized || rounds ? tree.dag : random.dag;
    const Target target = *parse_target(seed % 4 == 0 && !tensorized ? "cuda -arch=sm_75" : "cuda -arch=sm_80");
    const char* pass = seed % 3 == 0 ? "place_barriers" : "merge_guards";
    const Result<Lowered> lowered = lower_until(tree, target, pass, testing::verify_gpu_passes(target));
    if (!lowered.ok() && is_refusal(lowered.error())) {
      ++refused[lowered.error().message.substr(0, 60)];
      continue;
    }
    const auto what = [&] {
      return "seed " + std::to_string(seed) + " after " + pass + "\n" + to_text(steps) + "\n" + to_text(dag) +
             to_text(tree) + (lowered.ok() ? to_text(lowered->program) : "");
    };
    ASSERT_TRUE(lowered.ok()) << lowered.error().message << "\n" << what();
    InterpretOptions options;
    options.blocks = static_cast<InterpretOptions::BlockOrder>(seed % 3);
    options.seed = seed;
    const Result<double> error = difference(*lowered, dag, options);
    ASSERT_TRUE(error.ok()) << error.error().message << "\n" << what();
    ASSERT_LT(*error, rounds && !tensorized ? 2e-3 : 1e-4) << what();
    ++lowered_cases;
    const std::string text = to_text(lowered->program);
    with_barriers += text.find("barrier block") != std::string::npos;
    with_copies += text.find("# async") != std::string::npos;
    with_gaps += text.find(" with gaps") != std::string::npos;
    with_exchanges += text.find("# of thread ^") != std::string::npos;
    for (const Step& step : steps) {
      const std::string words = to_text(step);
      ++used[words.substr(0, words.find(' '))];
      for (const char* word : {"block", "thread", "virtual", "warp", "mma_tf32", "mma_s8", "dp4a_s8"})
        if (words.ends_with(word)) ++used[words.substr(0, words.find(' ')) + " " + word];
    }
  }
  if (from != nullptr) return;
  std::string tally;
  for (const auto& [what, times] : refused) tally += std::to_string(times) + " " + what + "\n";
  EXPECT_GE(lowered_cases, cases * 3 / 4) << tally;
  EXPECT_GE(with_barriers, cases / 20);
  EXPECT_GE(with_copies, cases / 200);
  EXPECT_GE(with_exchanges, cases / 20);
  EXPECT_GE(with_gaps, cases / 200);
  for (const char* step :
       {"bind block",  "bind thread", "bind virtual", "compute_at block", "compute_at", "unfold", "cache_read",
        "cache_write", "merge",       "pipeline",     "pad_storage",      "split",      "fuse",   "reorder",
        "inline",      "rfactor",     "split_sum",    "min_blocks",       "bind warp",  "round"})
    EXPECT_GE(used[step], cases / 100) << step;
  for (const char* step : {"tensorize mma_tf32", "tensorize mma_s8", "tensorize dp4a_s8", "split_softmax", "online"})
    EXPECT_GE(used[step], cases / 400) << step;
}

}  // namespace gpu_random_test
}  // namespace whet
