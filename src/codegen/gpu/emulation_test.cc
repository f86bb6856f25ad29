// Kernels for a GPU, emulated on the host: the emitter's code gives what the interpreter gives.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/testing/random_cases.h"
#include "codegen/compile.h"
#include "codegen/testing/emulated.h"
#include "codegen/testing/gpu_kernels.h"
#include "lower/lower.h"
#include "lower/testing/random_gpu_schedule.h"
#include "lower/testing/random_schedule.h"
#include "lower/testing/warp_product.h"
#include "program/interpret.h"
#include "schedule/steps.h"
#include "tensor/compare.h"

namespace whet {
namespace {

Target sm_80() { return *parse_target("cuda -arch=sm_80"); }

constexpr EmulatedOrder kOrders[] = {EmulatedOrder::forward, EmulatedOrder::backward, EmulatedOrder::shuffled};

/// Random arguments; those that the program writes hold zeros.
std::vector<Tensor> arguments_of(const Program& p, std::uint64_t seed = 1) {
  Rng rng(seed);
  std::vector<Tensor> list;
  for (const Buffer& buffer : p.buffers) {
    if (buffer.scope != Scope::argument) continue;
    Tensor t(buffer.dtype, buffer.extents);
    for (std::int64_t i = 0; i < t.size() && !buffer.written; ++i) t.set(i, rng.uniform(-1, 1));
    list.push_back(std::move(t));
  }
  return list;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0;
}

/// In every order the same bytes as the interpreter.
void expect_interpreted(const Program& p) {
  const std::vector<Tensor> arguments = arguments_of(p);
  std::vector<Tensor> want;
  for (const Tensor& t : arguments) want.push_back(t.clone());
  const Status interpreted = interpret(p, want);
  ASSERT_TRUE(interpreted.ok()) << interpreted.error().message;
  for (EmulatedOrder order : kOrders) {
    const auto got = run_emulated(p, sm_80(), arguments, {.order = order, .seed = 5, .workers = 2});
    ASSERT_TRUE(got.ok()) << got.error().message;
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_TRUE(same_bytes((*got)[i], want[i])) << p.name << ", argument " << i;
  }
}

TEST(EmulatedKernels, OfElementsGiveWhatTheInterpreterGives) { expect_interpreted(elementwise_kernel(1000)); }
TEST(EmulatedKernels, OfRowsGiveWhatTheInterpreterGives) { expect_interpreted(row_sum_kernel(8, 100)); }
TEST(EmulatedKernels, OfTiledProductsGiveWhatTheInterpreterGives) { expect_interpreted(gemm_kernel(128, 128, 48)); }
TEST(EmulatedKernels, OfConvolutionsGiveWhatTheInterpreterGives) {
  expect_interpreted(convolution_kernel(4, 16, 16, 64));
}

/// Products of rounded operands are exact in f32, and both add them in one order.
TEST(EmulatedKernels, OfTilesOfWarpsGiveWhatTheInterpreterGives) {
  for (const Intrinsic intrinsic :
       {Intrinsic::mma_tf32, Intrinsic::mma_f16, Intrinsic::mma_bf16, Intrinsic::mma_half, Intrinsic::mma_half_bf16})
    for (const bool epilogue : {true, false})
      for (const std::int64_t pad : {8, 2}) {  // rows of whole 16 bytes, of which the second is refused
        const testing::WarpProduct product{.pad = pad, .intrinsic = intrinsic, .epilogue = epilogue};
        const ComputeDag dag = testing::product_dag(product, 41, 52, 36);
        const Result<Lowered> lowered = lower(*replay(dag, testing::product_steps(dag, product)), sm_80());
        ASSERT_EQ(lowered.ok(), pad == 8) << (lowered.ok() ? "" : lowered.error().message);
        if (lowered.ok()) expect_interpreted(lowered->program);
      }
}
TEST(EmulatedKernels, OfRandomTilesOfWarpsGiveWhatTheInterpreterGives) {
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(testing::random_cases(8)); ++seed) {
    Rng rng(seed);
    const testing::RandomWarpProduct random = testing::random_warp_product(rng);
    expect_interpreted(lower(*replay(random.dag, random.steps), sm_80())->program);
  }
}

/// Products of bytes, four at a time; with `shift` the left operand's words are not aligned, and bytes are taken one by one.
Program dots(bool is_signed, int shift) {
  const std::string left = is_signed ? "i8" : "u8";
  const ComputeDag dag =
      *parse_dag("a = PLACEHOLDER [9, 28] " + left + "\nb = PLACEHOLDER [21, 24] i8\nc(i, j): i32 += (i32(a[i, (r + " +
                 std::to_string(shift) + ")])*i32(b[j, r])) for i in 9, j in 21, r in 24\nreturn c\n");
  const Steps steps = *parse_steps(
      "split l0 4 guard; split l1 8 guard; split l2 4 guard; reorder l3 l5 l4 l6 l7 l8; bind l3 block; bind l5 block; "
      "bind l4 thread; bind l6 thread; cache_write o2 l6; tensorize l8 dp4a_" +
      std::string(is_signed ? "s8" : "u8"));
  return lower(*replay(dag, steps), sm_80())->program;
}
TEST(EmulatedKernels, OfDotsOfBytesGiveWhatTheInterpreterGives) {
  for (const bool is_signed : {true, false})
    for (const int shift : {0, 1, 4}) {
      const Program p = dots(is_signed, shift);
      expect_interpreted(p);
      const std::string ptx = compile_kernel(p, sm_80())->code;
      const std::string wanted = is_signed ? "dp4a.s32.s32" : "dp4a.u32.s32";
      EXPECT_EQ(ptx.find(wanted) != std::string::npos, shift != 1) << wanted << ", " << shift;
    }
}

/// Words of bytes that may lie anywhere are copied byte by byte, at once.
TEST(EmulatedKernels, CopyBytesThatLieAnywhere) {
  for (const int shift : {0, 1}) {
    const ComputeDag dag =
        *parse_dag("a = PLACEHOLDER [8, 49] u8\nb = PLACEHOLDER [48, 32] i8\nc(i, j): i32 += (i32(a[i, (r + " +
                   std::to_string(shift) + ")])*i32(b[r, j])) for i in 8, j in 32, r in 48\nreturn c\n");
    const Steps steps = *parse_steps(
        "unfold o0 o2; bind l2 block; bind l3 thread; split l4 16 guard; compute_at o2 l5 block; split l8 4 guard; "
        "bind "
        "l9 thread; vectorize l10; pipeline l5 2");
    const Program p = lower(*replay(dag, steps), sm_80())->program;
    EXPECT_NE(to_text(p).find("# async"), std::string::npos);
    expect_interpreted(p);
    EXPECT_EQ(compile_kernel(p, sm_80())->code.find("cp.async.ca"), std::string::npos);
  }
}

TEST(EmulatedKernels, ReadWhereEveryConditionHoldsAlone) {
  GpuBuilder b("conditions");
  const BufferId x = b.input(128), y = b.output(128);
  b.p.body = b.launch(1, 32, [&](Expr, Expr t) {
    const Expr at = b.vec(t * 4), same = broadcast(t < int_const(20), 4), mixed = at < broadcast(int_const(42), 4);
    const Expr even = equal(floormod(at, broadcast(int_const(2), 4)), broadcast(int_const(0), 4));
    return b.put(y, at, select(mixed, b.masked(x, at, same), select(same, b.masked(x, at, even), f32(7, 4))));
  });
  expect_interpreted(b.p);
}

/// The largest difference from the right product, in any of the orders.
double error_of_product(const Program& p, std::int64_t m, std::int64_t n, std::int64_t k) {
  const std::vector<Tensor> arguments = arguments_of(p);
  double worst = 0;
  for (EmulatedOrder order : kOrders) {
    const auto got = run_emulated(p, sm_80(), arguments, {.order = order, .seed = 9});
    if (!got.ok()) return INFINITY;
    for (std::int64_t i = 0; i < m; i += 7)
      for (std::int64_t j = 0; j < n; j += 3) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l) sum += arguments[0].get(i * k + l) * arguments[1].get(l * n + j);
        const double difference = std::abs((*got)[2].get(i * n + j) - sum);
        worst = difference <= worst ? worst : difference;  // also NaN
      }
  }
  return worst;
}

TEST(EmulatedKernels, ShowABarrierOrAWaitThatIsLeftOut) {
  EXPECT_LT(error_of_product(gemm_kernel(128, 128, 64), 128, 128, 64), 1e-4);
  for (const LeftOut& left_out : {LeftOut{.first_barrier = true}, LeftOut{.wait = true}})
    EXPECT_FALSE(error_of_product(gemm_kernel(128, 128, 64, left_out), 128, 128, 64) < 1e-4);
}

/// The largest error of fn over `from` .. `to`, in units of the last place.
double error_in_units(MathFn fn, double from, double to, const std::function<double(double)>& exact) {
  constexpr std::int64_t kCount = 32 * 512;
  GpuBuilder b;
  const BufferId x = b.input(kCount), y = b.output(kCount);
  b.p.body = b.launch(kCount / 512, 128, [&](Expr block, Expr t) {
    const Expr at = b.vec(block * 512 + t * 4);
    return b.put(y, at, call(fn, {b.at(x, at)}));
  });
  std::vector<Tensor> arguments = arguments_of(b.p);
  for (std::int64_t i = 0; i < kCount; ++i)
    arguments[0].set(i, from + (to - from) * static_cast<double>(i) / static_cast<double>(kCount - 1));
  const std::vector<Tensor> got = *run_emulated(b.p, sm_80(), arguments);
  double worst = 0;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const double want = exact(got[0].get(i));
    const double unit = std::ldexp(1.0, std::ilogb(want) - 23);
    worst = std::max(worst, std::abs(got[1].get(i) - want) / unit);
  }
  return worst;
}

TEST(EmulatedKernels, ComputeFunctionsToTwoUnits) {
  EXPECT_LT(error_in_units(MathFn::exp, -87, 88.7, [](double x) { return std::exp(x); }), 2);
  EXPECT_LT(error_in_units(MathFn::exp, -1, 1, [](double x) { return std::exp(x); }), 2);
  EXPECT_LT(error_in_units(MathFn::rsqrt, 1e-30, 1e30, [](double x) { return 1 / std::sqrt(x); }), 2);
}

TEST(EmulatedKernels, ComputeFunctionsOfInfinitiesAndNan) {
  GpuBuilder b;
  const BufferId x = b.input(32), y = b.output(32);
  b.p.body = b.launch(1, 32, [&](Expr, Expr t) { return b.put(y, t, call(MathFn::exp, {b.at(x, t)})); });
  std::vector<Tensor> arguments = arguments_of(b.p);
  const double values[] = {INFINITY, -INFINITY, NAN, 1000, -1000, 0};
  for (std::int64_t i = 0; i < 6; ++i) arguments[0].set(i, values[i]);
  const std::vector<Tensor> got = *run_emulated(b.p, sm_80(), arguments);
  EXPECT_EQ(got[1].get(0), INFINITY);
  EXPECT_EQ(got[1].get(1), 0);
  EXPECT_TRUE(std::isnan(got[1].get(2)));
  EXPECT_EQ(got[1].get(3), INFINITY);
  EXPECT_EQ(got[1].get(4), 0);
  EXPECT_EQ(got[1].get(5), 1);
}

TEST(EmulatedKernels, RunTheBlocksThatAreAskedFor) {
  const Program p = elementwise_kernel(1500);
  const std::uint32_t blocks[] = {0, 2, 99};
  const auto got = run_emulated(p, sm_80(), arguments_of(p), {.blocks = blocks});
  ASSERT_TRUE(got.ok()) << got.error().message;
  double touched[3] = {};
  for (std::int64_t i = 0; i < 1500; ++i) touched[i / 512] += std::abs((*got)[1].get(i));
  EXPECT_GT(touched[0], 0);
  EXPECT_EQ(touched[1], 0);
  EXPECT_GT(touched[2], 0);
}

/// Random schedules: the emulated code has the interpreter's bits, without exp and rsqrt, which only codegen rounds so.
TEST(EmulatedKernels, OfRandomSchedulesGiveWhatTheInterpreterGives) {
  const int cases = testing::random_cases(300);
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(cases); ++seed) {
    Rng rng(seed);
    const ComputeDag dag = testing::random_gpu_dag(rng);
    const Steps steps = testing::random_gpu_steps(dag, rng);
    const Target target = *parse_target(seed % 4 == 0 ? "cuda -arch=sm_75" : "cuda -arch=sm_80");
    const Result<Lowered> lowered = lower(*replay(dag, steps), target);
    if (!lowered.ok()) continue;
    const Program& p = lowered->program;
    const std::string what = "seed " + std::to_string(seed) + "\n" + to_text(steps) + "\n" + to_text(dag) + to_text(p);
    const Result<Kernel> ptx = compile_kernel(p, target);
    ASSERT_TRUE(ptx.ok() || ptx.error().kind == ErrorKind::limit) << ptx.error().message << "\n" << what;
    const std::vector<Tensor> inputs = testing::random_inputs(dag, rng);
    std::vector<Tensor> arguments, want;
    for (const KernelArgument& a : lowered->arguments)
      arguments.push_back(a.kind == KernelArgument::Kind::input ? inputs[static_cast<std::size_t>(a.index)]
                                                                : Tensor(a.type.dtype, a.type.shape));
    for (const Tensor& t : arguments) want.push_back(t.clone());
    const auto got = run_emulated(p, target, arguments, {.order = kOrders[seed % 3], .seed = seed});
    if (!got.ok() && got.error().kind == ErrorKind::limit) continue;
    ASSERT_TRUE(got.ok()) << got.error().message << "\n" << what;
    const Status interpreted = interpret(p, want);
    ASSERT_TRUE(interpreted.ok()) << interpreted.error().message << "\n" << what;
    for (std::size_t i = 0; i < want.size(); ++i)
      ASSERT_TRUE(same_bytes((*got)[i], want[i])) << "argument " << i << "\n" << what;
    ++compared;
  }
  EXPECT_GE(compared, cases / 2);
}

}  // namespace
}  // namespace whet
