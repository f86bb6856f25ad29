#include "codegen/compile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "codegen/testing/builder.h"
#include "codegen/testing/native.h"
#include "program/interpret.h"

namespace whet {
namespace {

/// "1 2 0.5"
std::string text(const Tensor& tensor) {
  std::ostringstream out;
  for (std::int64_t i = 0; i < tensor.size(); ++i) out << (i ? " " : "") << tensor.get(i);
  return out.str();
}

Tensor iota(std::int64_t n, DType dtype = DType::f32) {
  Tensor t(dtype, {n});
  for (std::int64_t i = 0; i < n; ++i) t.set(i, static_cast<double>(i));
  return t;
}

/// Runs on every processor that this machine can stand in for and expects the last argument to read so.
void expect(const Builder& b, const std::vector<Tensor>& arguments, const std::string& wanted, int workers = 1) {
  for (const Target& target : runnable_targets()) {
    const Result<std::vector<Tensor>> got = run_native(b.p, target, arguments, workers);
    ASSERT_TRUE(got.ok()) << target.cpu().mcpu << ": " << got.error().message;
    EXPECT_EQ(text(got.value().back()), wanted) << target.cpu().mcpu;
  }
}

std::string refusal(const Builder& b, const Target& target = Target{}) {
  const Result<Kernel> kernel = compile_kernel(b.p, target);
  return kernel.ok() ? "compiled" : kernel.error().message;
}

TEST(Codegen, CopiesThroughLoops) {
  Builder b;
  const BufferId x = b.input(6), y = b.output(6);
  b.p.body =
      b.loop(2, [&](Expr i) { return b.loop(3, [&](Expr j) { return b.put(y, j * 2 + i, b.at(x, i * 3 + j)); }); });
  expect(b, {iota(6), Tensor(DType::f32, {6})}, "0 3 1 4 2 5");
}

TEST(Codegen, CarriesRegistersThroughNestedLoopsAndConditions) {
  Builder b;
  const BufferId x = b.input(12), y = b.output(3), acc = b.scratch(Scope::registers, 2);
  b.p.body = b.loop(3, [&](Expr i) {
    Stmt init = block({b.put(acc, 0, f32(0)), b.put(acc, 1, f32(100))});
    Stmt sum = b.loop(2, [&](Expr j) {
      return b.loop(2, [&](Expr k) {
        Expr value = b.at(x, i * 4 + j * 2 + k);
        return b.when(value > f32(4), b.put(acc, 0, b.at(acc, 0) + value), b.put(acc, 1, b.at(acc, 1) - value));
      });
    });
    return block({init, sum, b.put(y, i, b.at(acc, 0) + b.at(acc, 1))});
  });
  expect(b, {iota(12), Tensor(DType::f32, {3})}, "94 114 138");
}

TEST(Codegen, RunsLoopsOfVariableExtentAlsoZeroTimes) {
  Builder b;
  const BufferId x = b.input(4), y = b.output(4), acc = b.scratch(Scope::registers, 1);
  b.p.body = b.loop(4, [&](Expr i) {
    Stmt sum = b.loop(min(i, int_const(2)), i - 1, [&](Expr j) { return b.put(acc, 0, b.at(acc, 0) + b.at(x, j)); });
    return block({b.put(acc, 0, f32(0)), sum, b.put(y, i, b.at(acc, 0))});
  });
  expect(b, {iota(4), Tensor(DType::f32, {4})}, "0 0 2 5");
}

TEST(Codegen, LoadsAndStoresVectorsOfAnyStride) {
  for (std::int64_t stride : {0, 1, 2, 3, -1}) {
    Builder b;
    const BufferId x = b.input(32), y = b.output(8);
    const Expr from = ramp(int_const(stride < 0 ? 7 : 1), stride, 8);
    b.p.body = b.put(y, ramp(int_const(0), 1, 8), b.at(x, from) * f32(2, 8));
    std::string wanted;
    for (int i = 0; i < 8; ++i)
      wanted += (i ? " " : "") + std::to_string(2 * ((stride < 0 ? 7 : 1) + i * static_cast<int>(stride)));
    expect(b, {iota(32), Tensor(DType::f32, {8})}, wanted);
  }
}

TEST(Codegen, ScattersGathersAndMasks) {
  Builder b;
  const BufferId x = b.input(16), y = b.output(16);
  const Expr lane = ramp(int_const(0), 1, 8);
  const Expr swapped = floormod(lane * 3, 8);
  b.p.body = block({b.put(y, swapped, b.at(x, lane)),
                    b.put(y, ramp(int_const(8), 1, 8), b.masked(x, lane + 8, lane < broadcast(int_const(3), 8)),
                          lane > broadcast(int_const(0), 8))});
  expect(b, {iota(16), Tensor(DType::f32, {16})}, "0 3 6 1 4 7 2 5 0 9 10 0 0 0 0 0");
}

TEST(Codegen, MasksTailsByVariableBounds) {
  Builder b;
  const BufferId x = b.input(21), y = b.output(21);
  b.p.body = b.loop(3, [&](Expr i) {
    const Expr lane = ramp(i * 8, 1, 8);
    const Expr inside = lane < broadcast(int_const(21), 8);
    return b.put(y, lane, b.masked(x, lane, inside) + f32(1, 8), inside);
  });
  expect(b, {iota(21), Tensor(DType::f32, {21})}, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21");
}

TEST(Codegen, GivesZeroInLanesWithoutALoadAsTheInterpreterDoes) {
  Builder b;
  b.p.sizes = {{"n", 1, 8}};
  b.input(1, DType::i64, "sizes");
  const BufferId x = b.input(8), y = b.output(8);
  const Expr lane = ramp(int_const(0), 1, 8), taken = lane < broadcast(size_expr(0, "n"), 8);
  b.p.body = b.put(y, lane, b.masked(x, broadcast(int_const(5), 8), taken) + f32(1, 8));
  Tensor three(DType::i64, {1});
  three.set(0, 3);
  std::vector<Tensor> arguments = {three, iota(8), Tensor(DType::f32, {8})};
  expect(b, arguments, "6 6 6 1 1 1 1 1");
  const Status interpreted = interpret(b.p, arguments);
  ASSERT_TRUE(interpreted.ok()) << interpreted.error().message;
  EXPECT_EQ(text(arguments.back()), "6 6 6 1 1 1 1 1");
}

TEST(Codegen, ReadsOnlyTheChosenSideOfASelect) {
  constexpr std::int64_t kFar = std::int64_t{1} << 40;  // faults if touched
  Builder b;
  const BufferId x = b.input(8), y = b.output(40);
  const Expr lane = ramp(int_const(0), 1, 8), wild = lane * kFar;
  const Expr is_zero = lane < broadcast(int_const(1), 8);
  b.p.body = b.loop(8, [&](Expr i) {
    const Expr scalar = select(equal(i, int_const(0)), b.at(x, i * kFar), f32(7));
    const Expr uniform = select(i < int_const(1), b.at(x, ramp(i * kFar, 1, 8)), f32(5, 8));
    return block({b.put(y, i, scalar), b.when(equal(i, int_const(7)), b.put(y, ramp(i + 1, 1, 8), uniform)),
                  b.put(y, ramp(int_const(16), 1, 8), select(is_zero, b.at(x, wild), f32(3, 8))),
                  b.put(y, ramp(int_const(24), 1, 8), select(is_zero, b.at(x, lane), broadcast(b.at(x, i * 0), 8))),
                  b.put(y, ramp(int_const(32), 1, 8),
                        select(lane < broadcast(int_const(0), 8), broadcast(b.at(x, i * kFar + kFar), 8), f32(2, 8)))});
  });
  Tensor input = iota(8);
  input.set(0, 9);
  expect(b, {input, Tensor(DType::f32, {40})},
         "9 7 7 7 7 7 7 7 5 5 5 5 5 5 5 5 9 3 3 3 3 3 3 3 9 9 9 9 9 9 9 9 2 2 2 2 2 2 2 2");
}

TEST(Codegen, DividesOnlyWhereChosen) {
  Builder b;
  const BufferId x = b.input(4, DType::i32), y = b.output(4, DType::i32);
  b.p.body = b.loop(4, [&](Expr i) {
    const Expr divisor = b.at(x, i);
    const Expr zero = int_const(0, DType::i32);
    return b.put(y, i, select(divisor > zero, floordiv(int_const(-7, DType::i32), divisor), zero));
  });
  expect(b, {iota(4, DType::i32), Tensor(DType::i32, {4})}, "0 -7 -4 -3");
}

TEST(Codegen, SharesParallelLoopsAmongWorkers) {
  Builder b;
  const BufferId x = b.input(7), t = b.scratch(Scope::workspace, 7), own = b.scratch(Scope::local, 3), y = b.output(7);
  Stmt first =
      b.parallel(7, [&](Expr i) { return block({b.put(own, 2, b.at(x, i) * f32(2)), b.put(t, i, b.at(own, 2))}); });
  Stmt serial = b.put(t, 0, f32(50));
  Stmt second = b.parallel(7, [&](Expr i) { return b.put(y, int_const(6) - i, b.at(t, i)); });
  b.p.body = block({first, make_stmt(Barrier{}), serial, make_stmt(Barrier{}), second});
  for (int workers = 1; workers <= 3; ++workers)
    expect(b, {iota(7), Tensor(DType::f32, {7})}, "12 10 8 6 4 2 50", workers);
  const Kernel kernel = compile_kernel(b.p, Target{}).value();
  ASSERT_EQ(kernel.launches.size(), 1u);
  EXPECT_TRUE(kernel.launches[0].parallel);
  EXPECT_EQ(kernel.workspace, 64);
  EXPECT_EQ(kernel.worker_workspace, 64);
  EXPECT_EQ(kernel.argument_bytes, (std::vector<std::int64_t>{28, 28}));
}

TEST(Codegen, KeepsRegistersFromOneSerialStatementToTheNext) {
  Builder b;
  const BufferId x = b.input(2), t = b.scratch(Scope::registers, 1), y = b.output(2);
  b.p.body =
      block({b.put(t, 0, b.at(x, 1) * f32(2)),
             b.let(b.at(x, 0) + f32(5), [&](Expr v) { return b.put(y, 0, v * b.at(t, 0)); }), b.put(y, 1, b.at(t, 0))});
  for (int workers = 1; workers <= 2; ++workers) expect(b, {iota(2), Tensor(DType::f32, {2})}, "10 2", workers);
}

TEST(Codegen, ConvertsBetweenAllTypes) {
  const DType types[] = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8,
                         DType::u8,  DType::i16, DType::i32, DType::i64};
  for (DType from : types) {
    Builder b;
    const BufferId x = b.input(12, from);
    std::vector<Tensor> arguments = {iota(12, from)};
    std::vector<Stmt> stores;
    for (DType to : types) {
      const BufferId y = b.output(12, to);
      const Expr vector = ramp(int_const(0), 1, 8);
      stores.push_back(b.put(y, vector, cast(to, b.at(x, vector))));
      stores.push_back(b.loop(4, [&](Expr i) { return b.put(y, i + 8, cast(to, b.at(x, i + 8))); }));
      arguments.push_back(Tensor(to, {12}));
    }
    b.p.body = block(std::move(stores));
    for (const Target& target : runnable_targets()) {
      const Result<std::vector<Tensor>> got = run_native(b.p, target, arguments);
      ASSERT_TRUE(got.ok()) << got.error().message;
      for (const Tensor& y : got.value())
        EXPECT_EQ(text(y), text(iota(12))) << name_of(from) << " to " << name_of(y.dtype()) << target.cpu().mcpu;
    }
  }
}

TEST(Codegen, RoundsHalfPrecisionLikeTheProcessorsThatHaveIt) {
  std::vector<float> values = {0.1f,     -0.1f,   65519.f, 65520.f,   1e9f,    -INFINITY, 6e-8f,  3e-8f,
                               2.98e-8f, 6.1e-5f, 1.0005f, -1.00049f, 0.3333f, 2049.f,    2051.f, 5.96046448e-8f};
  Builder b;
  const BufferId x = b.input(16), half = b.output(16, DType::f16), y = b.output(16);
  const Expr all = ramp(int_const(0), 1, 16);
  b.p.body = block({b.put(half, all, b.at(x, all)), b.put(y, all, cast(DType::f32, b.at(half, all)))});
  Tensor wanted(DType::f32, {16});
  for (int i = 0; i < 16; ++i) wanted.set(i, half_to_float(float_to_half(values[static_cast<std::size_t>(i)])));
  expect(b, {Tensor::of(DType::f32, {16}, values), Tensor(DType::f16, {16}), Tensor(DType::f32, {16})}, text(wanted));
}

TEST(Codegen, KeepsPartsOfWiderRegistersAndIndexedOnesInOrder) {
  Builder b;
  const BufferId x = b.input(8), y = b.output(16), wide = b.scratch(Scope::registers, 8),
                 indexed = b.scratch(Scope::registers, 4);
  const Expr all = ramp(int_const(0), 1, 8);
  Stmt parts = block({b.put(wide, all, b.at(x, all)), b.put(wide, 2, f32(70)),
                      b.put(wide, ramp(int_const(4), 1, 4), b.at(wide, ramp(int_const(0), 1, 4))),
                      b.put(y, all, b.at(wide, all))});
  Stmt fill = b.loop(4, [&](Expr i) { return b.put(indexed, int_const(3) - i, b.at(x, i)); });
  Stmt read = b.loop(4, [&](Expr i) { return b.put(y, i + 8, b.at(indexed, i)); });
  b.p.body = block({parts, fill, read});
  expect(b, {iota(8), Tensor(DType::f32, {16})}, "0 1 70 3 0 1 70 3 3 2 1 0 0 0 0 0");
}

TEST(Codegen, KeepsTheLastLaneOfSeveralStoredToOneElement) {
  Builder b;
  const BufferId x = b.input(8), y = b.output(3), one = b.scratch(Scope::registers, 1);
  const Expr all = ramp(int_const(0), 1, 8), nowhere = broadcast(int_const(0), 8);
  b.p.body = block({b.put(one, nowhere, b.at(x, all)), b.put(y, 0, b.at(one, 0)), b.put(y, nowhere + 1, b.at(x, all)),
                    b.put(y, nowhere + 2, b.at(x, all), all < broadcast(int_const(5), 8))});
  expect(b, {iota(8), Tensor(DType::f32, {3})}, "7 7 4");
}

TEST(Codegen, SeesStoresOfEarlierIterationsAndStatements) {
  Builder b;
  const BufferId y = b.output(6);
  b.p.body = block({b.put(y, 0, f32(1)), b.put(y, 1, f32(1)), b.loop(2, [&](Expr i) {
                      return b.loop(2, [&](Expr j) {
                        const Expr k = i * 2 + j;
                        return b.put(y, k + 2, b.at(y, k) + b.at(y, k + 1) + b.at(y, 0));
                      });
                    })});
  expect(b, {Tensor(DType::f32, {6})}, "1 1 3 5 9 15");
}

TEST(Codegen, KeepsLetsWhereTheyStand) {
  Builder b;
  const BufferId x = b.input(4, DType::i64), y = b.output(4);
  b.p.body = b.loop(4, [&](Expr i) {
    return b.let(b.at(x, i), [&](Expr target) {
      return b.let(target * 2, [&](Expr twice) { return b.put(y, target, cast(DType::f32, twice + i)); });
    });
  });
  expect(b, {Tensor::of<int>(DType::i64, {4}, {2, 0, 3, 1}), Tensor(DType::f32, {4})}, "1 5 4 8");
}

TEST(Codegen, SaysWhyItRefuses) {
  Builder function;
  const BufferId x = function.input(1), y = function.output(1);
  function.p.body = function.put(y, 0, call(MathFn::exp, {function.at(x, 0)}));
  EXPECT_EQ(refusal(function),
            "program `k`: no instruction computes `exp`; expand_math must come before code generation");
  function.p.body = function.put(y, 0, call(MathFn::floor, {function.at(x, 0)}));
  EXPECT_EQ(refusal(function),
            "-mcpu=x86-64 has no instruction for floor, ceil and round; expand_math must come before code generation");

  Builder marked;
  const BufferId z = marked.output(4);
  marked.p.body = marked.loop(4, [&](Expr i) { return marked.put(z, i, f32(0)); }, LoopKind::unrolled);
  EXPECT_EQ(refusal(marked), "program `k`: loop `i0` is still marked unrolled");

  Builder inner;
  const BufferId o = inner.output(4);
  inner.p.body =
      inner.loop(2, [&](Expr) { return inner.parallel(2, [&](Expr i) { return inner.put(o, i, f32(0)); }); });
  EXPECT_EQ(refusal(inner), "program `k`: parallel loop `i1` is inside another loop or a condition");

  inner.p.body = inner.loop(2, [&](Expr i) { return inner.put(o, i, f32(0)); }, LoopKind::thread);
  EXPECT_EQ(refusal(inner), "program `k`: loop `i2` is bound to a GPU's blocks or threads");

  Builder constant;
  const BufferId c = constant.input(4);
  constant.p.body = constant.put(c, 0, f32(1));
  EXPECT_EQ(refusal(constant), "program `k`: argument `x` is stored to but not marked as written");

  Target unknown;
  unknown.cpu().mcpu = "pentium9";
  EXPECT_EQ(refusal(constant, unknown), "-mcpu=pentium9: LLVM knows no such x86-64 processor");
  unknown = Target{};
  unknown.cpu().mattr = {"+avx1024"};
  EXPECT_EQ(refusal(constant, unknown), "-mattr=+avx1024: LLVM knows no such feature; expected +name or -name");
}

TEST(Codegen, RefusesWhatWouldBeTooLongToCompile) {
  Builder b;
  const BufferId y = b.output(1 << 20);
  std::vector<Stmt> stores;
  for (int i = 0; i < 200; ++i) {
    const Expr at = ramp(int_const(i * 1024), 1, 1024);  // 256 vectors of the baseline
    stores.push_back(b.put(y, at, b.at(y, at)));
  }
  b.p.body = block(std::move(stores));
  EXPECT_EQ(refusal(b), "program `k`: about 102800 instructions, more than the limit of 100000; unroll less");
}

/// 1x1 convolution of `pixels` x `vectors` registers: the shape of every hot loop.
/// `steps` of the reduction are unrolled.
Builder register_tile(int pixels, int vectors, int lanes, int steps = 1) {
  Builder b("tile");
  const int row = vectors * lanes;
  const BufferId x = b.input(pixels * 64), w = b.input(64 * row), y = b.output(pixels * row);
  const BufferId acc = b.scratch(Scope::registers, pixels * row);
  auto tile = [&](const std::function<Stmt(int, int, Expr)>& element) {
    std::vector<Stmt> list;
    for (int i = 0; i < pixels; ++i)
      for (int v = 0; v < vectors; ++v) list.push_back(element(i, v, ramp(int_const(i * row + v * lanes), 1, lanes)));
    return block(std::move(list));
  };
  Stmt init = tile([&](int, int, Expr at) { return b.put(acc, at, f32(0, lanes)); });
  Stmt sum = b.loop(64 / steps, [&](Expr round) {
    std::vector<Stmt> all;
    for (int step = 0; step < steps; ++step)
      all.push_back(tile([&](int i, int v, Expr at) {
        const Expr k = round * steps + step;
        const Expr weights = b.at(w, ramp(k * row + v * lanes, 1, lanes));
        return b.put(acc, at, b.at(acc, at) + broadcast(b.at(x, k + i * 64), lanes) * weights);
      }));
    return block(std::move(all));
  });
  Stmt result = tile([&](int, int, Expr at) { return b.put(y, at, b.at(acc, at)); });
  b.p.body = block({init, sum, result});
  return b;
}

std::string code(const Builder& b, const std::string& mcpu, int vector_bytes) {
  Target target;
  target.cpu().mcpu = mcpu, target.cpu().vector_bytes = vector_bytes;
  const Result<Kernel> kernel = compile_kernel(b.p, target);
  return kernel.ok() ? disassemble(kernel.value(), target).value() : kernel.error().message;
}

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

TEST(Codegen, KeepsARegisterTileInRegisters) {
  for (const char* mcpu : {"skylake-avx512", "sapphirerapids", "znver5"}) {
    const std::string text = code(register_tile(14, 2, 16), mcpu, 64);
    EXPECT_EQ(count(text, "vfmadd231ps"), 28) << text;
    EXPECT_EQ(count(text, "vbroadcastss\tzmm") + count(text, "{1to16}") / 2, 14) << text;
    EXPECT_EQ(count(text, "[rsp"), 0) << text;
    EXPECT_EQ(count(text, "zmmword ptr"), 2 + 28) << text;  // two loads of weights, the stores at the end
  }
  const std::string haswell = code(register_tile(6, 2, 8), "haswell", 32);
  EXPECT_EQ(count(haswell, "vfmadd231ps"), 12) << haswell;
  EXPECT_EQ(count(haswell, "[rsp"), 0) << haswell;
  const std::string baseline = code(register_tile(6, 2, 4), "x86-64", 16);
  EXPECT_EQ(count(baseline, "mulps"), 12) << baseline;
  EXPECT_EQ(count(baseline, "[rsp"), 0) << baseline;
}

TEST(Codegen, KeepsAccumulatorsInTheirRegistersThroughUnrolledSteps) {
  const std::string haswell = code(register_tile(12, 1, 8, 4), "haswell", 32);
  EXPECT_EQ(count(haswell, "vfmadd231ps"), 4 * 12) << haswell;
  EXPECT_EQ(count(haswell, "[rsp"), 0) << haswell;
}

TEST(Codegen, GivesTheSameCodeWhateverWasCompiledBefore) {
  const std::string first = compile_kernel(register_tile(6, 2, 8).p, Target{}).value().code;
  for (int i = 0; i < 300; ++i) compile_kernel(register_tile(1, 1, 4).p, Target{}).value();  // past a new context
  EXPECT_EQ(compile_kernel(register_tile(6, 2, 8).p, Target{}).value().code, first);
}

TEST(Codegen, ReadsInvariantsOnceBeforeTheLoop) {
  Builder b;
  const BufferId scale = b.input(16), x = b.input(640), y = b.output(640);
  b.p.body = b.loop(40, [&](Expr i) {
    const Expr at = ramp(i * 16, 1, 16);
    return b.put(y, at, b.at(x, at) * b.at(scale, ramp(int_const(0), 1, 16)));
  });
  const std::string text = code(b, "skylake-avx512", 64);
  EXPECT_LT(text.find("vmovups\tzmm0, zmmword ptr"), text.find("inc")) << text;
  EXPECT_EQ(count(text, ", zmmword ptr"), 2) << text;  // the scale before the loop, x as an operand in it
}

TEST(Codegen, FetchesAheadWithoutReading) {
  Builder b;
  const BufferId x = b.input(64), y = b.output(4);
  b.p.body = b.loop(4, [&](Expr i) {
    return block({make_stmt(Prefetch{x, {i * 16 + (std::int64_t{1} << 40)}}), b.put(y, i, b.at(x, i * 16))});
  });
  expect(b, {iota(64), Tensor(DType::f32, {4})}, "0 16 32 48");
  EXPECT_EQ(count(code(b, "skylake-avx512", 64), "prefetcht0"), 1);
}

TEST(Codegen, DamagedObjectsAreLoadedOrRefusedWithoutHarm) {
  const Kernel good = compile_kernel(register_tile(2, 2, 4).p, Target{}).value();
  Rng rng(7);
  for (int round = 0; round < 2000; ++round) {
    Kernel bad = good;
    for (std::int64_t edits = rng.between(1, 3); edits > 0; --edits)
      bad.code[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(bad.code.size())))] =
          static_cast<char>(rng.next());
    if (round % 4 == 0)
      bad.code.resize(static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(bad.code.size()))));
    (void)LoadedKernel::load(bad);
  }
}

}  // namespace
}  // namespace whet
