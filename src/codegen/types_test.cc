#include <gtest/gtest.h>

#include <cmath>

#include "artifact/cpu/object_loader.h"
#include "artifact/cpu/relocate.h"
#include "codegen/testing/builder.h"
#include "codegen/testing/emulated.h"
#include "codegen/testing/native.h"
#include "lower/lower.h"
#include "schedule/steps.h"

namespace whet {
namespace types_test {

/// DAGs of element ops and reductions in every dtype. Floats hold small whole numbers, so that every order of operations
/// gives the same result; integers wrap around.
class RandomTypes {
 public:
  explicit RandomTypes(std::uint64_t seed) : rng_(seed) {
    rows_ = rng_.between(1, 5), columns_ = rng_.between(1, 75);
    for (DType dtype : kDTypes)
      sources_.push_back(dag_.add({.name = "in_" + std::string(name_of(dtype)),
                                   .dtype = dtype,
                                   .shape = {rows_, columns_},
                                   .def = Placeholder{}}));
    for (int i = 0; i < 4; ++i) sources_.push_back(add_element(pick_type(), i));
    for (int i = 0; i < 2; ++i) dag_.outputs.push_back(add_reduction(pick_type(), i));
    for (std::size_t k = std::size(kDTypes); k < sources_.size(); ++k) dag_.outputs.push_back(sources_[k]);
  }

  const ComputeDag& dag() const { return dag_; }

  std::vector<Tensor> inputs() {
    std::vector<Tensor> tensors;
    for (DType dtype : kDTypes) {
      Tensor t(dtype, {rows_, columns_});
      for (std::int64_t i = 0; i < t.size(); ++i)
        if (is_float(dtype))
          t.set(i, static_cast<double>(rng_.between(-4, 4)));
        else
          t.set_integer(i, dtype == DType::boolean ? rng_.between(0, 1)
                           : dtype == DType::i64   ? rng_.between(-1'000'000, 1'000'000)
                                                   : static_cast<std::int64_t>(rng_.next()));
      tensors.push_back(std::move(t));
    }
    return tensors;
  }

  /// Vectors along the rows of every nest, in tiles of a random width.
  Steps steps() {
    Scheduler s(dag_);
    for (std::size_t k = 0; k < dag_.ops.size(); ++k) {
      const OpId op(static_cast<std::int64_t>(k));
      if (dag_.op(op).is_placeholder()) continue;
      std::vector<LoopId> loops = s.loops(op);
      if (rng_.chance(0.5)) s.annotate(loops[0], LoopKind::parallel);
      const Tail tail = rng_.chance(0.5) && !dag_.op(op).element().reducer ? Tail::overlap : Tail::guard;
      LoopId inner = loops.back();
      if (rng_.chance(0.6)) inner = s.split(inner, rng_.between(1, columns_), tail).inner;
      if (dag_.op(op).element().reducer && rng_.chance(0.7)) s.rfactor(inner);
      if (!dag_.op(op).element().reducer || is_rfactored(s.tree(), inner)) s.annotate(inner, LoopKind::vectorized);
    }
    return *s.finish();
  }

  /// Rows are blocks, their elements threads, some of which compute a vector; sums have a thread a row.
  Steps gpu_steps() {
    Scheduler s(dag_);
    for (std::size_t k = 0; k < dag_.ops.size(); ++k) {
      const OpId op(static_cast<std::int64_t>(k));
      if (dag_.op(op).is_placeholder()) continue;
      const std::vector<LoopId> loops = s.loops(op);
      if (dag_.op(op).element().reducer) {
        const auto [block, thread] = s.split(loops[0], std::min<std::int64_t>(rows_, 2), Tail::guard);
        s.bind(block, LoopKind::block);
        s.bind(thread, LoopKind::thread);
      } else {
        s.bind(loops[0], LoopKind::block);
        const auto [thread, inner] =
            s.split(loops[1], std::min(columns_, std::int64_t{1} << rng_.below(3)), Tail::guard);
        s.bind(thread, LoopKind::thread);
        if (rng_.chance(0.7)) s.annotate(inner, LoopKind::vectorized);
      }
    }
    return *s.finish();
  }

 private:
  DType pick_type() { return kDTypes[rng_.below(std::size(kDTypes))]; }

  OpId add_element(DType dtype, int number) {
    Op op{.name = "e" + std::to_string(number), .dtype = dtype, .shape = {rows_, columns_}, .def = Element{}};
    op.element().axes = {{.name = "i", .extent = rows_}, {.name = "j", .extent = columns_}};
    i_ = axis_var(op.element(), 0), j_ = axis_var(op.element(), 1);
    op.element().body = bounded(value(dtype, 3));
    return dag_.add(std::move(op));
  }

  OpId add_reduction(DType dtype, int number) {
    static constexpr Reducer kReducers[] = {Reducer::sum, Reducer::prod, Reducer::max, Reducer::min};
    const bool boolean = dtype == DType::boolean;
    Op op{.name = "r" + std::to_string(number), .dtype = dtype, .shape = {rows_}, .def = Element{}};
    op.element().axes = {{.name = "i", .extent = rows_}};
    op.element().reduce_axes = {{.name = "j", .extent = columns_}};
    op.element().reducer = kReducers[boolean                ? rng_.between(2, 3)
                                     : dtype == DType::bf16 ? 2  // whose sums would be rounded
                                     : is_float(dtype)      ? rng_.below(2) * 2
                                                            : rng_.below(4)];
    i_ = axis_var(op.element(), 0), j_ = axis_var(op.element(), 1);
    op.element().body = bounded(value(dtype, 1));
    return dag_.add(std::move(op));
  }

  /// Keeps floats exact, and i64 within its range: simplification takes indices, which are i64, not to overflow.
  static Expr bounded(const Expr& e) {
    if (!is_float(e->dtype) && e->dtype != DType::i64) return e;
    const std::int64_t most = is_float(e->dtype) ? 9 : 1'000'000;
    const auto limit = [&](std::int64_t v) { return constant_like(e, static_cast<double>(v)); };
    return min(max(e, limit(-most)), limit(most));
  }

  Expr read(DType dtype) {
    std::vector<OpId> fitting;
    for (OpId id : sources_)
      if (dag_.op(id).dtype == dtype) fitting.push_back(id);
    return load(dag_, fitting[static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(fitting.size())))],
                {i_, j_});
  }

  Expr condition(int depth) {
    if (depth == 0) return read(DType::boolean);
    static constexpr BinaryOp kComparisons[] = {BinaryOp::lt, BinaryOp::le, BinaryOp::gt,
                                                BinaryOp::ge, BinaryOp::eq, BinaryOp::ne};
    switch (rng_.below(5)) {
      case 0:
        return condition(depth - 1) && condition(depth - 1);
      case 1:
        return condition(depth - 1) || unary(UnaryOp::logical_not, condition(depth - 1));
      case 2:
        return j_ < int_const(rng_.between(0, columns_));
      default: {
        const DType dtype = pick_type();
        return binary(kComparisons[rng_.below(6)], value(dtype, depth - 1), value(dtype, depth - 1));
      }
    }
  }

  Expr value(DType dtype, int depth) {
    if (dtype == DType::boolean) return condition(depth);
    if (depth == 0) return read(dtype);
    auto sub = [&] { return value(dtype, depth - 1); };
    auto constant = [&](std::int64_t low, std::int64_t high) {
      return constant_like(read(dtype), rng_.between(low, high));
    };
    switch (rng_.below(12)) {
      case 0:
        return sub() + sub();
      case 1:
        return sub() - sub();
      case 2:
        return bounded(sub()) * bounded(read(dtype));
      case 3:
        return min(sub(), sub());
      case 4:
        return max(sub(), constant(0, 9));
      case 5:
      case 6:
        return select(condition(depth - 1), sub(), sub());
      case 7:
      case 8: {
        const DType from = pick_type();
        return cast(dtype, bounded(value(from, depth - 1)));
      }
      case 9:
        return dtype == DType::u8 ? sub() : -sub();
      case 10:
        if (is_float(dtype)) return call(MathFn::abs, {sub()});
        return binary(rng_.chance(0.5) ? BinaryOp::floordiv : BinaryOp::div, sub(), constant(1, 9));
      default:
        if (is_float(dtype)) return call(rng_.chance(0.5) ? MathFn::floor : MathFn::round, {sub()});
        return floormod(sub(), constant(1, 9));
    }
  }

  Rng rng_;
  ComputeDag dag_;
  std::int64_t rows_, columns_;
  std::vector<OpId> sources_;
  Expr i_, j_;
};

std::vector<Tensor> arguments_of(const Lowered& lowered, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> arguments;
  for (const KernelArgument& a : lowered.arguments)
    arguments.push_back(a.kind == KernelArgument::Kind::input ? inputs[static_cast<std::size_t>(a.index)]
                                                              : Tensor(a.type.dtype, a.type.shape));
  return arguments;
}

void expect_outputs(const RandomTypes& random, const Lowered& lowered, const std::vector<Tensor>& got,
                    const std::vector<Tensor>& wanted, const std::string& what, const Steps& steps) {
  for (std::size_t k = 0; k < got.size(); ++k) {
    if (lowered.arguments[k].kind != KernelArgument::Kind::output) continue;
    const Tensor &have = got[k], &want = wanted[static_cast<std::size_t>(lowered.arguments[k].index)];
    for (std::int64_t i = 0; i < have.size(); ++i) {
      const bool no_number = is_float(have.dtype()) && std::isnan(have.get(i)) && std::isnan(want.get(i));
      const bool same = is_float(have.dtype()) ? have.get(i) == want.get(i) : have.integer(i) == want.integer(i);
      ASSERT_TRUE(same || no_number) << what << ", output " << lowered.arguments[k].index << " element " << i << ": "
                                     << have.get(i) << ", expected " << want.get(i) << "\n"
                                     << to_text(random.dag()) << to_text(steps);
    }
  }
}

void check(std::uint64_t seed) {
  RandomTypes random(seed);
  ASSERT_TRUE(verify(random.dag()).ok()) << verify(random.dag()).error().message;
  const std::vector<Tensor> inputs = random.inputs();
  const std::vector<Tensor> wanted = *evaluate(random.dag(), inputs);
  const Steps steps = random.steps();
  for (Target target : runnable_targets()) {
    target.threads = 1 + static_cast<int>(seed % 2);
    const Result<Lowered> lowered = lower(*replay(random.dag(), steps), target);
    ASSERT_TRUE(lowered.ok()) << "seed " << seed << ": " << lowered.error().message << "\n" << to_text(random.dag());
    const Result<std::vector<Tensor>> got =
        run_native(lowered->program, target, arguments_of(*lowered, inputs), target.threads);
    ASSERT_TRUE(got.ok()) << "seed " << seed << ": " << got.error().message;
    expect_outputs(random, *lowered, *got, wanted, "seed " + std::to_string(seed) + ", " + target.cpu().mcpu, steps);
  }
}

/// Emulated code for a GPU; its PTX is made as well.
void check_emulated(std::uint64_t seed) {
  RandomTypes random(seed);
  const std::vector<Tensor> inputs = random.inputs();
  const std::vector<Tensor> wanted = *evaluate(random.dag(), inputs);
  const Steps steps = random.gpu_steps();
  const Target target = *parse_target(seed % 2 == 0 ? "cuda -arch=sm_75" : "cuda -arch=sm_90");
  const Result<Lowered> lowered = lower(*replay(random.dag(), steps), target);
  ASSERT_TRUE(lowered.ok()) << "seed " << seed << ": " << lowered.error().message << "\n" << to_text(random.dag());
  const Result<Kernel> ptx = compile_kernel(lowered->program, target);
  ASSERT_TRUE(ptx.ok()) << "seed " << seed << ": " << ptx.error().message;
  const Result<std::vector<Tensor>> got = run_emulated(lowered->program, target, arguments_of(*lowered, inputs));
  ASSERT_TRUE(got.ok()) << "seed " << seed << ": " << got.error().message;
  expect_outputs(random, *lowered, *got, wanted, "seed " + std::to_string(seed) + ", emulated", steps);
}

TEST(EveryType, IsComputedByEmulatedThreadsAsTheDagIsDefined) {
  const char* from = std::getenv("WHET_SEED");
  const std::uint64_t first = from != nullptr ? std::strtoull(from, nullptr, 10) : 0;
  const std::uint64_t cases = from != nullptr ? 1 : 100;
  for (std::uint64_t seed = first; seed < first + cases && !::testing::Test::HasFatalFailure(); ++seed)
    check_emulated(seed);
}

TEST(EveryType, IsComputedNativelyAsTheDagIsDefined) {
  const char* from = std::getenv("WHET_SEED");
  const std::uint64_t first = from != nullptr ? std::strtoull(from, nullptr, 10) : 0;
  for (std::uint64_t seed = first; seed < first + 24 && !HasFatalFailure(); ++seed) check(seed);
}

TEST(Casts, OfWhatDoesNotFitGiveTheNearestThatDoes) {
  std::vector<double> values = {0, -0.0, 0.99, -0.99, 1.5, -1.5, INFINITY, -INFINITY, NAN, 1e30, -1e30};
  for (int bits : {7, 8, 15, 31, 63})
    for (double around : {-1.0, -0.5, 0.0, 0.5, 1.0})
      for (double sign : {1.0, -1.0}) values.push_back(sign * (std::ldexp(1.0, bits) + around));
  for (int bits : {31, 63}) values.push_back(std::nextafter(std::ldexp(1.0f, bits), 0.0f));
  const auto n = static_cast<std::int64_t>(values.size());
  for (DType from : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    ComputeDag dag;
    const OpId x = dag.add({.name = "x", .dtype = from, .shape = {n}, .def = Placeholder{}});
    for (DType to : {DType::i8, DType::u8, DType::i16, DType::i32, DType::i64}) {
      Op op{.name = std::string(name_of(to)), .dtype = to, .shape = {n}, .def = Element{}};
      op.element().axes = {{.name = "i", .extent = n}};
      op.element().body = cast(to, load(dag, x, {axis_var(op.element(), 0)}));
      dag.outputs.push_back(dag.add(std::move(op)));
    }
    Tensor input(from, {n});
    for (std::int64_t i = 0; i < n; ++i) input.set(i, values[static_cast<std::size_t>(i)]);
    const std::vector<Tensor> wanted = *evaluate(dag, {input});
    Scheduler s(dag);
    for (OpId op : dag.outputs) s.annotate(s.split(s.loops(op)[0], 16, Tail::guard).inner, LoopKind::vectorized);
    for (const Target& target : runnable_targets()) {
      std::vector<Tensor> arguments = {input};
      for (const Tensor& want : wanted) arguments.emplace_back(want.dtype(), want.shape());
      const Result<Lowered> lowered = lower(*replay(dag, *s.finish()), target);
      ASSERT_TRUE(lowered.ok()) << lowered.error().message;
      const std::vector<Tensor> got = *run_native(lowered->program, target, arguments, 1);
      for (std::size_t k = 0; k < wanted.size(); ++k)
        for (std::int64_t i = 0; i < n; ++i)
          EXPECT_EQ(got[k + 1].integer(i), wanted[k].integer(i))
              << name_of(from) << " " << input.get(i) << " to " << name_of(wanted[k].dtype()) << ", "
              << target.cpu().mcpu;
    }
  }
}

/// Processors that round to bf16 by integers, and by an instruction where this machine has it.
std::vector<Target> bf16_targets() {
  std::vector<Target> targets = runnable_targets();
  if (emulated_processor() != nullptr) return targets;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    targets.push_back(*parse_target("cpu -mcpu=znver3"));
  if (__builtin_cpu_supports("avx512bf16")) targets.push_back(*parse_target("cpu -mcpu=znver4"));
#endif
  return targets;
}

/// All numbers of bf16, and a million others.
Tensor rounded_numbers() {
  constexpr std::int64_t kAll = 1 << 16, kOthers = 1'000'000;
  Tensor x(DType::f32, {kAll + kOthers});
  Rng rng(7);
  auto bits = x.as<std::uint32_t>();
  for (std::int64_t i = 0; i < x.size(); ++i)
    bits[static_cast<std::size_t>(i)] =
        i < kAll ? static_cast<std::uint32_t>(i) << 16 : static_cast<std::uint32_t>(rng.next());
  return x;
}

/// Rounded when it is stored, and in a register.
Program rounds_to_bf16(std::int64_t count, int lanes) {
  Builder b;
  const BufferId x = b.input(count), y = b.output(count, DType::bf16), z = b.output(count);
  b.p.body = b.loop(count / lanes, [&](Expr i) {
    const Expr at = lanes == 1 ? i : ramp(i * lanes, 1, lanes), rounded = cast(DType::bf16, b.at(x, at));
    return block({b.put(y, at, rounded), b.put(z, at, cast(DType::f32, rounded))});
  });
  return b.p;
}

TEST(Bf16, RoundsHalfToEvenAndKeepsNaN) {
  const Tensor x = rounded_numbers();
  for (const Target& target : bf16_targets())
    for (const int lanes : {1, 4, 8, 16}) {
      const std::string what = target.cpu().mcpu + ", " + std::to_string(lanes) + " lanes";
      const auto got = run_native(rounds_to_bf16(x.size(), lanes), target,
                                  {x, Tensor(DType::bf16, x.shape()), Tensor(DType::f32, x.shape())});
      ASSERT_TRUE(got.ok()) << what << ": " << got.error().message;
      // The instruction takes subnormal numbers for 0.
      const bool flushes = target.cpu().mcpu == "znver4";
      int wrong = 0;
      for (std::int64_t i = 0; i < x.size() && wrong < 5; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const float number = x.as<float>()[at];
        std::uint16_t want = float_to_bf16(number);
        if (flushes && std::fabs(number) < 0x1p-126f) want &= 0x8000;
        const std::uint16_t stored = (*got)[1].as<std::uint16_t>()[at];
        const std::uint32_t kept = (*got)[2].as<std::uint32_t>()[at];
        const bool same = stored == want && kept == static_cast<std::uint32_t>(want) << 16;
        wrong += !same;
        EXPECT_TRUE(same) << what << ": bits " << x.as<std::uint32_t>()[at] << " became " << stored << " and " << kept
                          << ", expected " << want;
      }
    }
}

TEST(Bf16, CallsNoFunctionOfALibrary) {
  for (const char* processor : {"aarch64", "cortex-a53", "cortex-a76", "neoverse-n2"})
    for (const int lanes : {1, 4, 16}) {
      const Kernel kernel =
          compile_kernel(rounds_to_bf16(64, lanes), *parse_target("cpu -mcpu=" + std::string(processor))).value();
      LoadedObject loaded;
      char error[200] = "";
      EXPECT_TRUE(load_object_of(kAArch64Relocations, kernel.code.data(), kernel.code.size(),
                                 kernel.launches[0].entry.c_str(), &loaded, error, sizeof error))
          << processor << ": " << error;
      unload_object(&loaded);
    }
}

}  // namespace types_test
}  // namespace whet
