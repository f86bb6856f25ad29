// PTX of whole kernels.

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "codegen/gpu/compile.h"
#include "codegen/testing/golden.h"
#include "codegen/testing/gpu_kernels.h"

namespace whet {
namespace gpu_kernel_test {

Target gpu(int arch) { return *parse_target("cuda -arch=sm_" + std::to_string(arch)); }

int count(const std::string& text, const std::string& word) {
  int times = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + word.size())) ++times;
  return times;
}

std::string refusal(const Program& p, const Target& target = gpu(80)) {
  const Result<Kernel> kernel = compile_kernel(p, target);
  const Result<Kernel> emulated = compile_emulated(p, target);
  EXPECT_EQ(kernel.ok(), emulated.ok());
  return kernel.ok() ? "compiled" : kernel.error().message;
}

TEST(GpuKernels, OfElements) {
  expect_golden("codegen/gpu/testdata/elementwise.ptx", compile_kernel(elementwise_kernel(1000), gpu(80))->code);
}
TEST(GpuKernels, OfRows) {
  expect_golden("codegen/gpu/testdata/row_sum.ptx", compile_kernel(row_sum_kernel(8, 100), gpu(80))->code);
}

TEST(GpuKernels, OfTiledProductsAccessFourElementsAtOnce) {
  const Kernel kernel = *compile_kernel(gemm_kernel(256, 256, 64), gpu(80));
  EXPECT_EQ(count(kernel.code, "ld.shared.v4.f32"), 2 * 8 + 8 * 2);
  EXPECT_EQ(count(kernel.code, "ld.shared"), 2 * 8 + 8 * 2);
  EXPECT_EQ(count(kernel.code, "fma.rn.ftz.f32"), 512);
  EXPECT_EQ(count(kernel.code, "cp.async.cg.shared.global"), 3 * 2);
  EXPECT_EQ(count(kernel.code, "st.global.v4.f32"), 16);
  EXPECT_EQ(count(kernel.code, ".local"), 0);
  EXPECT_EQ(kernel.format, CodeFormat::ptx);
  ASSERT_EQ(kernel.launches.size(), 1u);
  EXPECT_EQ(kernel.launches[0], (Launch{.entry = "whet_gemm", .grid = {4}, .block = {256}, .block_memory = 24'576}));
  EXPECT_EQ(kernel.argument_bytes, (std::vector<std::int64_t>{65'536, 65'536, 262'144}));
}

TEST(GpuKernels, AskForBlocksOnAnSm) {
  Program p = elementwise_kernel(1000);
  EXPECT_EQ(count(compile_kernel(p, gpu(80))->code, ".minnctapersm"), 0);
  Loop blocks = std::get<Loop>(p.body->kind);
  blocks.min_blocks = 4;
  p.body = make_stmt(blocks);
  EXPECT_EQ(count(compile_kernel(p, gpu(80))->code, ".maxntid 128, 1, 1\n.minnctapersm 4\n"), 1);
}

TEST(GpuKernels, AreEqualBytesForEqualPrograms) {
  const std::string first = compile_kernel(convolution_kernel(8, 16, 32, 64), gpu(90))->code;
  EXPECT_EQ(compile_kernel(gemm_kernel(128, 128, 32), gpu(90)).ok(), true);
  EXPECT_EQ(first, compile_kernel(convolution_kernel(8, 16, 32, 64), gpu(90))->code);
}

TEST(GpuKernels, AskForTheOldestVersionOfPtxThatHasTheProcessor) {
  const auto head = [](int arch) {
    const std::string code = compile_kernel(elementwise_kernel(64), gpu(arch))->code;
    const std::size_t at = code.find(".version");
    return code.substr(at, code.find("\n.address_size") - at);
  };
  EXPECT_EQ(head(75), ".version 6.5\n.target sm_75");
  EXPECT_EQ(head(80), ".version 7.0\n.target sm_80");
  EXPECT_EQ(head(86), ".version 7.1\n.target sm_86");
  EXPECT_EQ(head(89), ".version 7.8\n.target sm_89");
  EXPECT_EQ(head(90), ".version 7.8\n.target sm_90");
  EXPECT_EQ(head(120), ".version 7.8\n.target sm_90") << "newer processors run PTX for older ones";
}

TEST(GpuKernels, HaveAnEntryForEachLaunch) {
  GpuBuilder b("two phases");
  const BufferId x = b.input(64), y = b.output(64), between = b.scratch(Scope::workspace, 64);
  const auto phase = [&](BufferId to, BufferId from, double factor) {
    return b.launch(
        2, 32, [&](Expr block, Expr t) { return b.put(to, block * 32 + t, b.at(from, block * 32 + t) * f32(factor)); });
  };
  b.p.body = whet::block({phase(between, x, 2), b.grid_barrier(), phase(y, between, 3)});
  const Kernel kernel = *compile_kernel(b.p, gpu(80));
  ASSERT_EQ(kernel.launches.size(), 2u);
  EXPECT_EQ(kernel.launches[0].entry, "whet_two_phases_0");
  EXPECT_EQ(kernel.launches[1].entry, "whet_two_phases_1");
  EXPECT_EQ(kernel.workspace, 256);
  EXPECT_EQ(count(kernel.code, ".visible .entry"), 2);
  EXPECT_EQ(count(kernel.code, "ld.global.nc.f32"), 2) << "what a launch does not store to does not change in it";
}

/// As the terms of a sum that a thread reads of its row.
TEST(GpuKernels, ReadNeighboursAtOnceWhereTheirPlaceIsAligned) {
  const auto code_of = [](std::int64_t row) {
    GpuBuilder b;
    const BufferId x = b.input(4096), y = b.output(32), tile = b.scratch(Scope::block, 1024);
    b.p.body = b.launch(1, 32, [&](Expr, Expr t) {
      std::vector<Stmt> all;
      for (int i = 0; i < 4; ++i) all.push_back(b.put(tile, t * row + i, b.at(x, t * 7 + i * 3)));
      all.push_back(b.barrier());
      const auto term = [&](int i) { return b.at(tile, t * row + i); };
      all.push_back(b.put(y, t, term(0) * term(1) + term(2) * term(3)));
      return whet::block(std::move(all));
    });
    return compile_kernel(b.p, gpu(80))->code;
  };
  EXPECT_EQ(count(code_of(20), "ld.shared.v4.f32"), 1);
  EXPECT_EQ(count(code_of(20), "ld.shared"), 1);
  EXPECT_EQ(count(code_of(18), "ld.shared.v2.f32"), 2);
  EXPECT_EQ(count(code_of(17), "ld.shared.f32"), 4);
}

TEST(GpuKernels, KeepRegistersOfVaryingIndexInMemory) {
  GpuBuilder b;
  const BufferId y = b.output(32), tile = b.scratch(Scope::registers, 4);
  b.p.body = b.launch(1, 32, [&](Expr, Expr t) {
    return whet::block({b.loop(4, [&](Expr i) { return b.put(tile, i, cast(DType::f32, i)); }),
                        b.put(y, t, b.at(tile, floormod(t, 4)))});
  });
  EXPECT_GT(count(compile_kernel(b.p, gpu(80))->code, ".local"), 0);
}

TEST(GpuKernels, AreRefusedWithASentence) {
  EXPECT_EQ(refusal(gemm_kernel(128, 128, 16), gpu(75)), "program `gemm`: sm_75 has no asynchronous copies");
  {
    GpuBuilder b;
    const BufferId y = b.output(32), large = b.scratch(Scope::block, 60'000);
    b.p.body = b.launch(
        1, 32, [&](Expr, Expr t) { return whet::block({b.put(large, t, f32(0)), b.put(y, t, b.at(large, t))}); });
    EXPECT_EQ(refusal(b.p), "program `k`: a block needs 240000 bytes of memory; sm_80 has 166912");
  }
  {
    GpuBuilder b;
    const BufferId y = b.output(std::int64_t{1} << 29);
    b.p.body = b.launch(1, 32, [&](Expr, Expr t) { return b.put(y, t, f32(0)); });
    EXPECT_EQ(refusal(b.p), "program `k`: `y` has 2.0 GiB; kernels of a GPU index less than 2 GiB");
  }
  {
    GpuBuilder b;
    const BufferId y = b.output(32);
    b.p.body = b.loop(32, [&](Expr i) { return b.put(y, i, f32(0)); });
    EXPECT_EQ(refusal(b.p), "program `k`: a statement at the top is neither a launch nor a barrier of the grid");
  }
  {
    GpuBuilder b;
    const BufferId x = b.input(32), y = b.output(32);
    b.p.body = b.launch(1, 32, [&](Expr, Expr t) { return b.put(y, t, call(MathFn::tanh, {b.at(x, t)})); });
    EXPECT_EQ(refusal(b.p),
              "program `k`: no instruction computes `tanh`; expand_math must come before code generation");
  }
  {
    GpuBuilder b;
    const BufferId x = b.input(32), y = b.output(32);
    b.p.body = b.launch(1, 32, [&](Expr, Expr t) { return b.put(y, t, call(MathFn::round_tf32, {b.at(x, t)})); });
    EXPECT_EQ(refusal(b.p), "compiled");
    EXPECT_EQ(refusal(b.p, gpu(75)), "program `k`: sm_75 has no instruction that computes round_tf32");
  }
  {
    GpuBuilder b;
    const BufferId x = b.input(32), y = b.output(32);
    b.p.body = b.launch(1, 32, [&](Expr, Expr t) {
      return b.loop(2, [&](Expr i) { return b.put(y, t, b.at(x, t) + cast(DType::f32, i)); }, LoopKind::unrolled);
    });
    EXPECT_EQ(refusal(b.p), "program `k`: loop `i2` is still marked unrolled");
  }
  {
    GpuBuilder b;
    const BufferId x = b.input(32), s = b.scratch(Scope::block, 32);
    b.output(1);
    b.p.body = b.launch(1, 32, [&](Expr, Expr t) {
      return whet::block({b.copy(s, t, select(t < int_const(5), b.at(x, t), f32(1))), b.commit(), b.wait(0)});
    });
    EXPECT_EQ(refusal(b.p),
              "program `k`: the asynchronous copy to `t` stores another value than zero where nothing is read");
  }
  {
    GpuBuilder b;
    const BufferId y = b.output(32 * 19'000);
    b.p.body = b.launch(1, 32, [&](Expr, Expr t) {
      std::vector<Stmt> all;
      for (std::int64_t i = 0; i < 19'000; ++i) all.push_back(b.put(y, t + i * 32, f32(0)));
      return whet::block(std::move(all));
    });
    const std::string why = refusal(b.p);
    EXPECT_NE(why.find(" instructions, more than the limit of 12000; unroll less"), std::string::npos) << why;
  }
}

}  // namespace gpu_kernel_test
}  // namespace whet
