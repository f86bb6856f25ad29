// Tiles that the threads of a warp compute together: the lowered programs compute the values of the DAG.

#include <gtest/gtest.h>

#include "base/testing/random_cases.h"
#include "lower/lower.h"
#include "lower/testing/random_schedule.h"
#include "lower/testing/verify_passes.h"
#include "lower/testing/warp_product.h"
#include "program/interpret.h"
#include "program/launch.h"
#include "program/verify.h"
#include "tensor/compare.h"

namespace whet {
namespace {

using testing::product_dag;
using testing::product_steps;
using testing::WarpProduct;

Target sm_80() { return *parse_target("cuda -arch=sm_80"); }

/// The largest relative difference from the DAG with rounded operands.
Result<double> error_of(const ComputeDag& dag, const Steps& steps, const InterpretOptions& options = {.seed = 7}) {
  const LoopTree tree = *replay(dag, steps);
  WHET_TRY(const Lowered lowered, lower(tree, sm_80(), {}, testing::verify_gpu_passes(sm_80())));
  Rng rng(3);
  const std::vector<Tensor> inputs = testing::random_inputs(dag, rng);
  std::vector<Tensor> arguments;
  for (const KernelArgument& a : lowered.arguments)
    arguments.push_back(a.kind == KernelArgument::Kind::input ? inputs[static_cast<std::size_t>(a.index)]
                                                              : Tensor(a.type.dtype, a.type.shape));
  WHET_RETURN_IF_ERROR(interpret(lowered.program, arguments, options));
  WHET_TRY(const std::vector<Tensor> want, evaluate(tree.dag, inputs));
  double worst = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (lowered.arguments[i].kind == KernelArgument::Kind::output)
      worst = std::max(worst, compare(arguments[i], want[0]).relative);
  return worst;
}

void expect_right(const WarpProduct& p, std::int64_t m, std::int64_t n, std::int64_t k) {
  const ComputeDag dag = product_dag(p, m, n, k);
  const Result<double> error = error_of(dag, product_steps(dag, p));
  ASSERT_TRUE(error.ok()) << error.error().message;
  EXPECT_LT(*error, 1e-5);
}

TEST(WarpTiles, ComputeProductsOfRoundedOperands) {
  expect_right({}, 64, 64, 32);
  expect_right({.epilogue = false}, 64, 64, 32);
  expect_right({.rows = 64, .columns = 32, .warp_rows = 32, .warp_columns = 32, .depth = 32, .stages = 3}, 64, 64, 96);
}
TEST(WarpTiles, OfF16AndBf16ComputeProductsOfRoundedOperands) {
  expect_right({.intrinsic = Intrinsic::mma_f16}, 64, 64, 32);
  expect_right({.intrinsic = Intrinsic::mma_bf16}, 64, 64, 32);
}
TEST(WarpTiles, TakeOperandsThatWereRoundedWhenTheyWereCopied) {
  for (const Intrinsic intrinsic : {Intrinsic::mma_tf32, Intrinsic::mma_f16}) {
    expect_right({.pad = 8, .intrinsic = intrinsic, .rounds_left = true}, 64, 64, 64);
    expect_right({.pad = 8, .intrinsic = intrinsic, .rounds_right = true}, 64, 64, 64);
    expect_right({.stages = 3, .pad = 8, .intrinsic = intrinsic, .rounds_left = true, .rounds_right = true}, 41, 52,
                 40);
  }
}
TEST(WarpTiles, OfHalvesComputeProductsOfThem) {
  expect_right({.pad = 8, .intrinsic = Intrinsic::mma_half}, 64, 64, 32);
  expect_right({.stages = 3, .pad = 8, .intrinsic = Intrinsic::mma_half, .epilogue = false}, 41, 52, 40);
}
TEST(WarpTiles, OfBytesComputeProductsOfIntegers) {
  expect_right({.depth = 32, .pad = 16, .intrinsic = Intrinsic::mma_s8}, 64, 64, 64);
  expect_right({.depth = 64, .stages = 1, .pad = 0, .intrinsic = Intrinsic::mma_u8}, 41, 52, 80);
}
TEST(WarpTiles, ReachBeyondTheEndsOfAxes) {
  expect_right({}, 41, 52, 20);
  expect_right({.stages = 1, .epilogue = false}, 41, 52, 20);
  expect_right({.rows = 16, .columns = 8, .warp_rows = 16, .warp_columns = 8, .stages = 3}, 20, 12, 36);
}

TEST(WarpTiles, OfRandomProductsComputeWhatTheDagSaysInEveryOrder) {
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(testing::random_cases(40)); ++seed) {
    Rng rng(seed);
    const testing::RandomWarpProduct random = testing::random_warp_product(rng);
    const InterpretOptions options{.blocks = static_cast<InterpretOptions::BlockOrder>(seed % 3), .seed = seed};
    const Result<double> error = error_of(random.dag, random.steps, options);
    ASSERT_TRUE(error.ok()) << error.error().message << "\n" << to_text(random.dag) << to_text(random.steps);
    ASSERT_LT(*error, 1e-5) << to_text(random.dag) << to_text(random.steps);
  }
}

/// The refusal of a schedule of kTile, without loops bound to warps being cut otherwise than here.
std::string refusal(const std::string& steps, const char* target = "cuda -arch=sm_80") {
  const ComputeDag dag = parse_dag(R"(
a = PLACEHOLDER [32, 16]
b = PLACEHOLDER [16, 16]
u(i, k) = a[i, k] for i in 32, k in 16
v(k, j) = b[k, j] for k in 16, j in 16
c(i, j) += (u[i, k]*v[k, j]) for i in 32, j in 16, k in 16
y(i, j) = (c[i, j] + c[i, 0]) for i in 32, j in 16
return c, y
)")
                             .value();
  const Result<LoopTree> tree = replay(dag, parse_steps(steps).value());
  if (!tree.ok()) return tree.error().message;
  const Result<Lowered> lowered = lower(*tree, *parse_target(target));
  return lowered.ok() ? "" : lowered.error().message;
}
constexpr const char* kCut =
    "split l4 16 guard; split l5 8 guard; split l6 8 guard; reorder l9 l11 l13 l10 l12 l14; bind l9 block; bind l11 "
    "warp; "
    "cache_write o4 l11; ";

TEST(WarpTiles, AreRefusedWhereALaneWouldNeedWhatAnotherOneHas) {
  const std::string tile = std::string(kCut) + "tensorize l10 mma_tf32; ",
                    copies = "compute_at o2 l13 block; compute_at o3 l13 block";
  EXPECT_EQ(refusal(tile + copies), "");
  EXPECT_NE(refusal(tile + copies, "cuda -arch=sm_75")
                .find("a tile of mma_tf32 needs instructions that compute capability 75 lacks"),
            std::string::npos);
  EXPECT_NE(refusal(tile + "compute_at o2 l13 block").find("reads 'v', which is no block memory"), std::string::npos);
  EXPECT_NE(refusal(tile + copies + "; pad_storage o2 2")
                .find("reads 'u', which is no block memory with rows of whole 16 bytes"),
            std::string::npos);
  EXPECT_NE(refusal(kCut + copies).find("c.acc is memory of a thread, and is used by whole warps"), std::string::npos);
}

/// A lane's condition around each tile: half of the warp would not come.
TEST(WarpTiles, AreFoundWhereAPartOfAWarpComputesThem) {
  const ComputeDag dag = product_dag({}, 32, 32, 16);
  Program program = lower_until(*replay(dag, product_steps(dag, {})), sm_80(), "verify")->program;
  const auto under = [&](const Expr& condition) {
    Program cut = program;
    cut.body = rewrite(
        program.body,
        [&](const Stmt& s) {
          const Loop* loop = std::get_if<Loop>(&s->kind);
          return loop && is_warp_wide(loop->intrinsic) ? make_stmt(If{condition, s, Stmt()}) : Stmt();
        },
        nullptr);
    return cut;
  };
  const Expr t = var(launch_nest(program.body)->threads->index, "t");
  const Program halves = under(floormod(t, 32) < int_const(16)), warps = under(t < int_const(64));
  const VerifyOptions options{.launches = &limits_of(sm_80().gpu())};
  EXPECT_TRUE(verify(warps, options).ok());
  const Status refused = verify(halves, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("a tile of mma_tf32 is computed where not the whole warp may be"),
            std::string::npos);
  std::vector<Tensor> arguments;
  for (const Buffer& buffer : program.buffers)
    if (buffer.scope == Scope::argument) arguments.emplace_back(buffer.dtype, buffer.extents);
  const Status found = interpret(halves, arguments);
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().message.find("is in a warp of which a part alone computes a tile"), std::string::npos);
}

}  // namespace
}  // namespace whet
