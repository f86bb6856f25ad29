// What each hook becomes as PTX, in the smallest kernel that has it. The files in testdata/hooks show the entry's body.

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "codegen/gpu/compile.h"
#include "codegen/testing/golden.h"
#include "codegen/testing/gpu_kernels.h"
#include "codegen/testing/ptxas.h"
#include "lower/lower.h"
#include "lower/testing/warp_product.h"

namespace whet {
namespace {

struct Sketch : GpuBuilder {
  BufferId x = input(256), y = output(256), s = scratch(Scope::block, 256, DType::f32, "s"),
           r = scratch(Scope::registers, 4, DType::f32, "r");
  Program run(const std::function<std::vector<Stmt>(Expr t)>& body) {
    p.body = launch(1, 32, [&](Expr, Expr t) { return whet::block(body(t)); });
    return p;
  }
};

Program barrier() {
  Sketch k;
  return k.run([&](Expr t) -> std::vector<Stmt> {
    return {k.put(k.s, t, k.at(k.x, t)), k.barrier(), k.put(k.y, t, k.at(k.s, int_const(31) - t))};
  });
}

/// `lanes` elements of each thread, those of the first ten threads only where `guarded`.
Program copy(int lanes, bool guarded) {
  Sketch k;
  return k.run([&](Expr t) -> std::vector<Stmt> {
    const Expr at = lanes == 1 ? t : ramp(t * lanes, 1, lanes);
    Expr value = k.at(k.x, at);
    if (guarded) value = select(broadcast(t < int_const(10), lanes), value, f32(0, lanes));
    return {k.copy(k.s, at, value), k.commit(), k.wait(0), k.put(k.y, t, k.at(k.s, t))};
  });
}

Program wait() {
  Sketch k;
  return k.run([&](Expr t) -> std::vector<Stmt> {
    return {k.copy(k.s, t, k.at(k.x, t)), k.commit(), k.commit(), k.wait(1), k.put(k.y, t, k.at(k.s, t)), k.wait(0)};
  });
}

Program exchange() {
  Sketch k;
  return k.run(
      [&](Expr t) -> std::vector<Stmt> { return {k.cross(k.r, 0, k.at(k.x, t), 16), k.put(k.y, t, k.at(k.r, 0))}; });
}

Program exchange_of_words() {
  GpuBuilder k;
  const BufferId x = k.input(32, DType::f64), y = k.output(32, DType::f64),
                 r = k.scratch(Scope::registers, 1, DType::f64, "r");
  k.p.body = k.launch(
      1, 32, [&](Expr, Expr t) { return whet::block({k.cross(r, 0, k.at(x, t), 1), k.put(y, t, k.at(r, 0))}); });
  return k.p;
}

Program function(MathFn fn) {
  Sketch k;
  return k.run([&](Expr t) -> std::vector<Stmt> { return {k.put(k.y, t, call(fn, {k.at(k.x, t)}))}; });
}

Program arithmetic() {
  Sketch k;
  return k.run([&](Expr t) -> std::vector<Stmt> {
    const Expr a = k.at(k.x, t), b = k.at(k.x, t + 32);
    return {k.put(k.y, t, a * b + a / b), k.put(k.y, t + 32, min(a, b)), k.put(k.y, t + 64, max(a, b))};
  });
}

Program kept_loop() {
  Sketch k;
  return k.run([&](Expr t) -> std::vector<Stmt> {
    return {k.put(k.r, 0, f32(0)),
            k.loop(4, [&](Expr i) { return k.put(k.r, 0, k.at(k.r, 0) + k.at(k.x, i * 32 + t)); }),
            k.put(k.y, t, k.at(k.r, 0))};
  });
}

Program prefetch() {
  Sketch k;
  return k.run(
      [&](Expr t) -> std::vector<Stmt> { return {make_stmt(Prefetch{k.x, {t + 32}}), k.put(k.y, t, k.at(k.x, t))}; });
}

Program half() {
  GpuBuilder k;
  const BufferId x = k.input(128, DType::f16), y = k.output(128, DType::f16);
  k.p.body = k.launch(
      1, 32, [&](Expr, Expr t) { return k.put(y, k.vec(t * 4), k.at(x, k.vec(t * 4)) + k.at(x, k.vec(t * 4))); });
  return k.p;
}

/// Nothing is known of the alignment of rows of 7: elements are loaded one by one.
Program unaligned() {
  Sketch k;
  return k.run([&](Expr t) -> std::vector<Stmt> { return {k.put(k.y, k.vec(t * 4), k.at(k.x, k.vec(t * 7)))}; });
}

Program masked() {
  Sketch k;
  return k.run([&](Expr t) -> std::vector<Stmt> {
    const Expr at = k.vec(t * 4), same = broadcast(t < int_const(10), 4), mixed = at < broadcast(int_const(42), 4);
    return {k.put(k.y, at, k.masked(k.x, at, same), same), k.put(k.y, at + 128, k.masked(k.x, at, mixed), mixed)};
  });
}

/// Every comparison of two conditions, as a condition.
Program bits() {
  Sketch k;
  return k.run([&](Expr t) {
    std::vector<Stmt> all;
    const Expr a = t < int_const(20), b = t < int_const(22);
    std::int64_t place = 0;
    for (BinaryOp op : {BinaryOp::lt, BinaryOp::le, BinaryOp::gt, BinaryOp::ge, BinaryOp::eq, BinaryOp::ne})
      all.push_back(k.when(binary(op, a, b), k.put(k.y, t + 32 * place++, f32(1))));
    return all;
  });
}

/// One tile of one warp, its operands and its sums, or two that are neighbours. `rounded`: operands are so when they are copied.
/// `along`: the right one's rows lie along the depth.
Program warp_tile(Intrinsic intrinsic, bool rounded = false, std::int64_t columns = 8, bool along = false) {
  const std::int64_t depth = op_of(intrinsic).element().reduce_axes.front().extent;
  const testing::WarpProduct product{.rows = 16,
                                     .columns = columns,
                                     .warp_rows = 16,
                                     .warp_columns = columns,
                                     .depth = depth,
                                     .stages = 1,
                                     .pad = multiplies_bytes(intrinsic)                   ? 16
                                            : rounded || intrinsic >= Intrinsic::mma_half ? 8
                                                                                          : 4,
                                     .intrinsic = intrinsic,
                                     .rounds_left = rounded,
                                     .rounds_right = rounded,
                                     .right_along_depth = along,
                                     .epilogue = false};
  const ComputeDag dag = testing::product_dag(product, 16, columns, depth);
  return lower(*replay(dag, testing::product_steps(dag, product)), *parse_target("cuda -arch=sm_80"))->program;
}

/// One sum of eight products of bytes a thread.
Program dots(const char* left, const char* intrinsic) {
  const ComputeDag dag = *parse_dag(std::string("a = PLACEHOLDER [4, 8] ") + left +
                                    "\nb = PLACEHOLDER [8, 8] i8\n"
                                    "c(i, j): i32 += (i32(a[i, r])*i32(b[j, r])) for i in 4, j in 8, r in 8\n"
                                    "return c\n");
  const Steps steps = *parse_steps(std::string("bind l0 block; bind l1 thread; split l2 4 guard; cache_write o2 l1; "
                                               "tensorize l4 ") +
                                   intrinsic);
  return lower(*replay(dag, steps), *parse_target("cuda -arch=sm_80"))->program;
}

struct Row {
  const char* name;
  Program program;
  int least_arch = 75;
};
std::vector<Row> rows() {
  return {{"barrier", barrier()},
          {"copy_4", copy(1, false), 80},
          {"copy_8", copy(2, false), 80},
          {"copy_16", copy(4, false), 80},
          {"copy_4_guarded", copy(1, true), 80},
          {"copy_8_guarded", copy(2, true), 80},
          {"copy_16_guarded", copy(4, true), 80},
          {"wait", wait(), 80},
          {"exchange", exchange()},
          {"exchange_of_words", exchange_of_words()},
          {"exp", function(MathFn::exp)},
          {"rsqrt", function(MathFn::rsqrt)},
          {"sqrt", function(MathFn::sqrt)},
          {"floor", function(MathFn::floor)},
          {"ceil", function(MathFn::ceil)},
          {"round", function(MathFn::round)},
          {"abs", function(MathFn::abs)},
          {"arithmetic", arithmetic()},
          {"kept_loop", kept_loop()},
          {"prefetch", prefetch()},
          {"half", half()},
          {"unaligned", unaligned()},
          {"masked", masked()},
          {"bits", bits()},
          {"dp4a_s8", dots("i8", "dp4a_s8")},
          {"dp4a_u8", dots("u8", "dp4a_u8")},
          {"mma_tf32", warp_tile(Intrinsic::mma_tf32), 80},
          {"mma_f16", warp_tile(Intrinsic::mma_f16), 80},
          {"mma_bf16", warp_tile(Intrinsic::mma_bf16), 80},
          {"mma_tf32_rounded", warp_tile(Intrinsic::mma_tf32, true), 80},
          {"mma_f16_rounded", warp_tile(Intrinsic::mma_f16, true), 80},
          {"mma_s8", warp_tile(Intrinsic::mma_s8)},
          {"mma_u8", warp_tile(Intrinsic::mma_u8)},
          {"mma_half", warp_tile(Intrinsic::mma_half), 80},
          {"mma_half_pair", warp_tile(Intrinsic::mma_half, false, 16), 80},
          {"mma_half_bf16", warp_tile(Intrinsic::mma_half_bf16, false, 16), 80},
          {"mma_half_along", warp_tile(Intrinsic::mma_half, false, 8, true), 80},
          {"mma_tf32_along", warp_tile(Intrinsic::mma_tf32, false, 16, true), 80}};
}

TEST(Hooks, BecomeThesePtxInstructions) {
  for (const Row& row : rows()) {
    const Result<Kernel> kernel = compile_kernel(row.program, *parse_target("cuda -arch=sm_80"));
    ASSERT_TRUE(kernel.ok()) << row.name << ": " << kernel.error().message;
    const std::string& code = kernel->code;
    expect_golden("codegen/gpu/testdata/hooks/" + std::string(row.name) + ".ptx", code.substr(code.find(".visible")));
  }
}

/// Four of 8 x 8 sums of 16 products.
TEST(Hooks, OfTilesOfBytesOnSm75BecomeItsSmallerInstruction) {
  for (const Intrinsic intrinsic : {Intrinsic::mma_s8, Intrinsic::mma_u8}) {
    const Result<Kernel> kernel = compile_kernel(warp_tile(intrinsic), *parse_target("cuda -arch=sm_75"));
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    expect_golden("codegen/gpu/testdata/hooks/" + std::string(name_of(intrinsic)) + "_sm_75.ptx",
                  kernel->code.substr(kernel->code.find(".visible")));
  }
}

TEST(Hooks, RoundToTf32OnSm90ByOneInstruction) {
  const Result<Kernel> kernel = compile_kernel(warp_tile(Intrinsic::mma_tf32), *parse_target("cuda -arch=sm_90"));
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  expect_golden("codegen/gpu/testdata/hooks/mma_tf32_sm_90.ptx", kernel->code.substr(kernel->code.find(".visible")));
}

/// A NaN stays one: max(x, number) is x where x is none.
TEST(Hooks, OfALargerNumberBecomeOneInstructionFromSm80On) {
  Sketch k;
  const Program program =
      k.run([&](Expr t) -> std::vector<Stmt> { return {k.put(k.y, t, min(max(k.at(k.x, t), f32(0)), f32(6)))}; });
  for (const int arch : {75, 80, 90}) {
    const Result<Kernel> kernel = compile_kernel(program, *parse_target("cuda -arch=sm_" + std::to_string(arch)));
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    EXPECT_EQ(kernel->code.find("NaN") != std::string::npos, arch >= 80) << kernel->code;
    EXPECT_EQ(kernel->code.find("selp") == std::string::npos, arch >= 80) << kernel->code;
  }
}

/// Its reads of what other launches write are plain ones: memory that is read past the coherent caches must not change
/// from the start of a launch on.
TEST(Hooks, BeginOnSm90WithAWaitForTheLaunchesInFront) {
  GpuBuilder k;
  const BufferId x = k.input(32), w = k.input(32), y = k.output(32);
  k.p.buffers[w.index()].constant = true;
  k.p.body = k.launch(1, 32, [&](Expr, Expr t) { return k.put(y, t, k.at(x, t) + k.at(w, t)); });
  const Result<Kernel> kernel = compile_kernel(k.p, *parse_target("cuda -arch=sm_90"));
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  expect_golden("codegen/gpu/testdata/hooks/starts_early.ptx", kernel->code.substr(kernel->code.find(".visible")));
}

TEST(Hooks, NoticeAnAccessInFrontOfTheWait) {
  const std::string open = ".visible .entry k(\n)\n{\n", wait = "griddepcontrol.wait;\n", close = "ret;\n}\n",
                    load = "ld.global.f32 %f1, [%rd1];\n", store = "st.global.f32 [%rd1], %f1;\n",
                    copy = "cp.async.cg.shared.global [%r1], [%rd1], 16;\n";
  for (const std::string& access : {load, store, copy}) {
    EXPECT_TRUE(waits_first(open + wait + access + close));
    EXPECT_FALSE(waits_first(open + access + wait + close)) << access;
    EXPECT_FALSE(waits_first(open + access + close)) << access;
    EXPECT_FALSE(waits_first(open + wait + access + close + open + access + close)) << "the second entry";
  }
}

/// LLVM ends the process where it cannot select an instruction.
TEST(Hooks, AreMadeOrRefusedForEveryArch) {
  for (const int arch : {75, 80, 86, 87, 89, 90, 100, 120})
    for (const Row& row : rows()) {
      const Result<Kernel> kernel = compile_kernel(row.program, *parse_target("cuda -arch=sm_" + std::to_string(arch)));
      EXPECT_EQ(kernel.ok(), arch >= row.least_arch) << row.name << " for sm_" << arch;
      if (kernel.ok()) continue;
      EXPECT_NE(kernel.error().message.find("`: sm_75 has no "), std::string::npos) << kernel.error().message;
    }
}

TEST(Hooks, OfTensorCoresAssemble) {
  if (installed_ptxas().path.empty()) GTEST_SKIP() << "ptxas is not installed";
  for (const int arch : {75, 80, 86, 89, 90})
    for (const Row& row : rows()) {
      if (arch < row.least_arch || !std::string(row.name).starts_with("mma")) continue;
      const Result<Kernel> kernel = compile_kernel(row.program, *parse_target("cuda -arch=sm_" + std::to_string(arch)));
      ASSERT_TRUE(kernel.ok()) << kernel.error().message;
      EXPECT_EQ(testing::assemble(kernel->code, arch).spills, 0) << row.name << " for sm_" << arch;
    }
}

}  // namespace
}  // namespace whet
