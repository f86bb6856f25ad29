// Sessions of models for several sizes.

#include "runtime/shapes.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "artifact/sized_model_plan.h"
#include "base/rng.h"
#include "base/testing/random_cases.h"
#include "runtime/session.h"

namespace whet {
namespace shapes_test {

/// A kernel changes the shapes of this session, and keeps what that answered.
std::atomic<whet_session*> session_to_change{nullptr};
std::string answer_during_a_run;

/// y[n, m] = x[n, m] + mask[n] + w, through the arena.
std::int32_t add(const whet_kernel_args* args, int n, int m) {
  const auto* x = static_cast<const float*>(args->buffers[0]);
  const auto* mask = static_cast<const float*>(args->buffers[1]);
  const auto* w = static_cast<const float*>(args->buffers[2]);
  auto* held = static_cast<float*>(args->buffers[3]);
  auto* y = static_cast<float*>(args->buffers[4]);
  if (args->worker != 0) return 0;
  if (whet_session* session = session_to_change.load()) {
    whet_error error;
    answer_during_a_run = session_set_shapes(session, nullptr, &error) == 0 ? "no error" : error.message;
  }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) held[i * m + j] = x[i * m + j] + mask[i];
  static_cast<char*>(args->worker_workspace)[0] = 1;
  for (int i = 0; i < n * m; ++i) y[i] = held[i] + w[0];
  return 0;
}
template <int n, int m>
std::int32_t kernel(const whet_kernel_args* args) {
  return add(args, n, m);
}

const std::vector<std::int64_t> kRows = {1, 3, 64}, kColumns = {5, 160};
constexpr whet_kernel kKernels[] = {kernel<1, 5>,   kernel<1, 160>, kernel<3, 5>,
                                    kernel<3, 160>, kernel<64, 5>,  kernel<64, 160>};

class SizedModel {
 public:
  SizedModel() {
    plan_.sizes = {{"n", 0, 0, kRows}, {"x.1", 0, 1, kColumns}};
    for (std::size_t v = 0; v < variant_count(plan_.sizes); ++v) plan_.variants.push_back(plan_of(v));
    plan_.usual = 2;
    weights_[0] = 0.5f;
  }
  SizedModelPlan& plan() { return plan_; }

  int open(whet_model** model, whet_error* error) {
    const std::string stored = write_sized_plan(plan_);
    stored_.assign(stored.size() / 8, 0);
    std::memcpy(stored_.data(), stored.data(), stored.size());
    return model_open({stored_.data(), stored.size(), kKernels, weights_, 64, 0}, nullptr, model, error);
  }

 private:
  ModelPlan plan_of(std::size_t v) const {
    const std::vector<std::int64_t> at = values_at(plan_.sizes, v);
    const std::uint64_t bytes = static_cast<std::uint64_t>(4 * at[0] * at[1]),
                        rows = static_cast<std::uint64_t>(4 * at[0]);
    ModelPlan plan;
    plan.name = "sized";
    plan.entries = 6, plan.tuned_threads = 2, plan.weights_bytes = 64;
    plan.arena_bytes = (bytes + 63) / 64 * 64;
    plan.inputs = {{"x", 0, {at[0], at[1]}, bytes}, {"mask", 0, {at[0]}, rows}};
    plan.outputs = {{"y", 0, {at[0], at[1]}, bytes}};
    ModelPlan::Step step;
    step.entry = static_cast<std::uint32_t>(v);
    step.arguments = {{PlanPlace::input, 0, 0, bytes},
                      {PlanPlace::input, 1, 0, rows},
                      {PlanPlace::weights, 0, 0, 64},
                      {PlanPlace::arena, 0, 0, bytes},
                      {PlanPlace::output, 0, 0, bytes}};
    step.parallel = true;
    step.worker_bytes = 64 * (v + 1);
    step.node = "add" + std::to_string(v);
    plan.steps.assign(v + 1, step);  // plans differ in their length
    return plan;
  }

  SizedModelPlan plan_;
  std::vector<std::uint64_t> stored_;
  alignas(64) float weights_[16] = {};
};

struct Close {
  void operator()(whet_model* model) const { model_close(model); }
  void operator()(whet_session* session) const { session_destroy(session); }
  void operator()(whet_pool* pool) const { pool_destroy(pool); }
};
using ModelHandle = std::unique_ptr<whet_model, Close>;
using SessionHandle = std::unique_ptr<whet_session, Close>;
using PoolHandle = std::unique_ptr<whet_pool, Close>;

ModelHandle open(SizedModel& sized) {
  whet_model* model = nullptr;
  whet_error error;
  EXPECT_EQ(sized.open(&model, &error), 0) << error.message;
  return ModelHandle(model);
}
PoolHandle make_pool(std::uint32_t threads) {
  whet_pool_options options{};
  options.threads = threads;
  whet_pool* pool = nullptr;
  whet_error error;
  EXPECT_EQ(pool_create(&options, 0, &pool, &error), 0) << error.message;
  return PoolHandle(pool);
}
SessionHandle make_session(const ModelHandle& model, whet_pool* pool) {
  whet_session* session = nullptr;
  whet_error error;
  EXPECT_EQ(session_create(model.get(), pool, &session, &error), 0) << error.message;
  return SessionHandle(session);
}

std::string set_shapes(whet_session* session, std::vector<std::int64_t> x, std::vector<std::int64_t> mask) {
  const std::int64_t* shapes[] = {x.empty() ? nullptr : x.data(), mask.empty() ? nullptr : mask.data()};
  whet_error error;
  return session_set_shapes(session, shapes, &error) == 0 ? "no error" : error.message;
}

/// Inputs that serve every size, aligned or a float behind it.
struct Inputs {
  explicit Inputs(float first) {
    for (std::size_t i = 0; i < sizeof x / 4; ++i) x[i] = first + static_cast<float>(i % 1000);
    for (std::size_t i = 0; i < sizeof mask / 4; ++i) mask[i] = static_cast<float>(i);
  }
  alignas(64) float x[64 * 160 + 1];
  alignas(64) float mask[65];
};

/// Runs at the shapes that are set.
void expect_right(whet_session* session, std::int64_t n, std::int64_t m, float first, std::size_t behind = 0) {
  const auto inputs = std::make_unique<Inputs>(first);
  whet_error error;
  const float *x = inputs->x + behind, *mask = inputs->mask + behind;
  ASSERT_EQ(session_set_input(session, 0, x, nullptr, &error), 0) << error.message;
  ASSERT_EQ(session_set_input(session, 1, mask, nullptr, &error), 0) << error.message;
  ASSERT_EQ(session_run(session, &error), 0) << error.message;
  ASSERT_EQ(session_output_info(session, 0)->shape[0], n);
  ASSERT_EQ(session_output_info(session, 0)->shape[1], m);
  ASSERT_EQ(session_output_info(session, 0)->bytes, 4 * n * m);
  const float* y = static_cast<const float*>(session_output(session, 0));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < m; ++j) ASSERT_EQ(y[i * m + j], x[i * m + j] + mask[i] + 0.5f) << i << " " << j;
}

TEST(Shapes, BeginAtTheUsualSizesAsAModelForOneSize) {
  SizedModel sized;
  const ModelHandle model = open(sized);
  const PoolHandle pool = make_pool(2);
  EXPECT_EQ(model_input(model.get(), 0)->shape[0], 3);
  EXPECT_EQ(model_input(model.get(), 0)->shape[1], 5);
  EXPECT_EQ(model_info(model.get())->steps, 3u);
  expect_right(make_session(model, pool.get()).get(), 3, 5, 1);
}

TEST(Shapes, AreTheSizesThatTheModelTells) {
  SizedModel sized;
  const ModelHandle model = open(sized);
  ASSERT_EQ(model_size_count(model.get()), 2u);
  const whet_size_info& n = *model_size(model.get(), 0);
  EXPECT_STREQ(n.name, "n");
  EXPECT_EQ(n.count, 3u);
  EXPECT_EQ((std::vector<std::int64_t>{n.min, n.max, n.step, n.usual}), (std::vector<std::int64_t>{1, 64, 0, 3}));
  EXPECT_EQ(n.values[1], 3);
  EXPECT_EQ(model_size(model.get(), 1)->dimension, 1u);
  EXPECT_EQ(model_size(model.get(), 2), nullptr);
}

TEST(Shapes, ChangeBetweenRuns) {
  SizedModel sized;
  const ModelHandle model = open(sized);
  for (const std::uint32_t threads : {1u, 2u}) {
    const PoolHandle pool = make_pool(threads);
    const SessionHandle session = make_session(model, pool.get());
    for (const std::int64_t n : kRows)
      for (const std::int64_t m : kColumns) {
        EXPECT_EQ(set_shapes(session.get(), {n, m}, {n}), "no error");
        EXPECT_EQ(session_input_info(session.get(), 1)->shape[0], n);
        expect_right(session.get(), n, m, static_cast<float>(n));
        expect_right(session.get(), n, m, static_cast<float>(m), 1);
      }
  }
}

TEST(Shapes, ThatAreNewHaveNoOutputBeforeTheNextRun) {
  SizedModel sized;
  const ModelHandle model = open(sized);
  const PoolHandle pool = make_pool(1);
  const SessionHandle session = make_session(model, pool.get());
  EXPECT_EQ(set_shapes(session.get(), {1, 5}, {1}), "no error");
  expect_right(session.get(), 1, 5, 1);
  EXPECT_NE(session_output(session.get(), 0), nullptr);
  EXPECT_EQ(set_shapes(session.get(), {64, 160}, {64}), "no error");
  EXPECT_EQ(session_output(session.get(), 0), nullptr) << "its memory is of 1x5";
  whet_dltensor tensor;
  whet_error error;
  ASSERT_EQ(session_output_dlpack(session.get(), 0, &tensor, &error), 0);
  EXPECT_EQ(tensor.data, nullptr);
  expect_right(session.get(), 64, 160, 1);
  EXPECT_NE(session_output(session.get(), 0), nullptr);
}

TEST(Shapes, KeepInputsAndOutputsThatAreSet) {
  SizedModel sized;
  const ModelHandle model = open(sized);
  const PoolHandle pool = make_pool(1);
  const SessionHandle session = make_session(model, pool.get());
  const auto inputs = std::make_unique<Inputs>(2.0f);
  const auto y = std::make_unique<Inputs>(0.0f);
  whet_error error;
  const std::int64_t strides[] = {20, 8};  // every second element: not kept
  ASSERT_EQ(session_set_input(session.get(), 0, inputs->x, strides, &error), 0);
  ASSERT_EQ(session_set_input(session.get(), 1, inputs->mask, nullptr, &error), 0);
  ASSERT_EQ(session_bind_output(session.get(), 0, y->x, &error), 0);
  EXPECT_EQ(set_shapes(session.get(), {64, 160}, {64}), "no error");
  ASSERT_EQ(session_run(session.get(), &error), 0) << error.message;
  EXPECT_EQ(session_output(session.get(), 0), y->x);
  for (std::size_t i = 0; i < 64 * 160; ++i) ASSERT_EQ(y->x[i], inputs->x[i] + inputs->mask[i / 160] + 0.5f) << i;
}

TEST(Shapes, ThatDoNotFitLeaveTheSessionAsItWas) {
  SizedModel sized;
  const ModelHandle model = open(sized);
  const PoolHandle pool = make_pool(2);
  const SessionHandle session = make_session(model, pool.get());
  EXPECT_EQ(set_shapes(session.get(), {600, 5}, {3}), "input \"x\" is 600x5; n is 1, 3 or 64");
  EXPECT_EQ(set_shapes(session.get(), {3, 6}, {3}), "input \"x\" is 3x6; x.1 is 5 or 160");
  EXPECT_EQ(set_shapes(session.get(), {64, 160}, {3}), "input \"mask\" is 3; with input \"x\" 64x160 it must be 64");
  EXPECT_EQ(set_shapes(session.get(), {}, {64}), "input \"mask\" is 64; with input \"x\" 3x5 it must be 3");
  EXPECT_EQ(set_shapes(session.get(), {-1, 7}, {}), "input \"x\" is ?x7; x.1 is 5 or 160");
  expect_right(session.get(), 3, 5, 1);
}

TEST(Shapes, ThatAreNotGivenFollow) {
  SizedModel sized;
  const ModelHandle model = open(sized);
  const PoolHandle pool = make_pool(2);
  const SessionHandle session = make_session(model, pool.get());
  EXPECT_EQ(set_shapes(session.get(), {64, -1}, {}), "no error");
  expect_right(session.get(), 64, 5, 1);
  EXPECT_EQ(set_shapes(session.get(), {-1, 160}, {-1}), "no error");
  expect_right(session.get(), 64, 160, 1);
  whet_error error;
  EXPECT_EQ(session_set_shapes(session.get(), nullptr, &error), 0);
  expect_right(session.get(), 64, 160, 2);
}

TEST(Shapes, CannotChangeWhileTheSessionRuns) {
  SizedModel sized;
  const ModelHandle model = open(sized);
  const PoolHandle pool = make_pool(2);
  const SessionHandle session = make_session(model, pool.get());
  session_to_change = session.get();
  expect_right(session.get(), 3, 5, 1);
  session_to_change = nullptr;
  EXPECT_EQ(answer_during_a_run, "the session is already running in another thread; expected one session a thread");
}

TEST(Shapes, ThatAreManyAreNamedInPart) {
  SizedModel sized;
  std::vector<std::int64_t> many;
  for (std::int64_t i = 1; i <= 40; ++i) many.push_back(i);
  sized.plan().sizes = {{"n", 0, 0, many}};
  sized.plan().variants.clear();
  sized.plan().usual = 0;
  ModelPlan plan;
  plan.entries = 6, plan.weights_bytes = 64;
  for (const std::int64_t n : many) {
    plan.inputs = {{"x", 0, {n}, static_cast<std::uint64_t>(4 * n)}};
    sized.plan().variants.push_back(plan);
  }
  const ModelHandle model = open(sized);
  const std::int64_t shape[] = {41};
  const std::int64_t* const shapes[] = {shape};
  std::uint32_t found = 0;
  std::int64_t size = 0;
  whet_error error;
  const std::int64_t first = 1, eighth = 8;
  EXPECT_EQ(find_sizes(model_shapes(model.get()), &first, shapes, &size, &found, &error), -1);
  EXPECT_STREQ(error.message, "input \"x\" is 41; n is 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ... or 40");
  for (std::uint32_t n = 1; n <= 40; ++n) {
    const std::int64_t one[] = {n};
    const std::int64_t* const ones[] = {one};
    EXPECT_EQ(find_sizes(model_shapes(model.get()), &eighth, ones, &size, &found, &error), 0);
    EXPECT_EQ(found, n - 1);
    EXPECT_EQ(size, n);
  }
}

/// What the process has of memory: of the heap, and mapped.
struct Memory {
  std::size_t pages = mapped(), heap = mallinfo2().uordblks;
  static std::size_t mapped() {
    std::ifstream file("/proc/self/statm");
    std::size_t pages = 0;
    file >> pages;
    return pages;
  }
  bool operator==(const Memory&) const = default;
};

/// Changes the shapes `times` at random, and runs at some.
void change_at_random(whet_session* session, int times, std::uint64_t seed) {
  static const Inputs kInputs(1.0f);
  const Inputs* const inputs = &kInputs;
  Rng rng(seed);
  for (int time = 0; time < times; ++time) {
    const std::int64_t n = kRows[static_cast<std::size_t>(rng.below(3))],
                       m = kColumns[static_cast<std::size_t>(rng.below(2))];
    const std::int64_t x[] = {n, m}, mask[] = {rng.chance(0.1) ? n + 1 : n};
    const std::int64_t* const shapes[] = {x, mask};
    whet_error error;
    const int answer = session_set_shapes(session, shapes, &error);
    ASSERT_EQ(answer, mask[0] == n ? 0 : -1);
    if (answer != 0 || !rng.chance(0.2)) continue;
    const std::size_t behind = rng.chance(0.5);
    ASSERT_EQ(session_set_input(session, 0, inputs->x + behind, nullptr, &error), 0);
    ASSERT_EQ(session_set_input(session, 1, inputs->mask + behind, nullptr, &error), 0);
    ASSERT_EQ(session_run(session, &error), 0) << error.message;
    const float* y = static_cast<const float*>(session_output(session, 0));
    const std::int64_t last = n * m - 1;
    ASSERT_EQ(y[last], inputs->x[static_cast<std::size_t>(last) + behind] +
                           inputs->mask[static_cast<std::size_t>(n - 1) + behind] + 0.5f);
  }
}

TEST(Shapes, ChangeTenThousandTimesWithoutAnAllocationAfterReserve) {
  SizedModel sized;
  const ModelHandle model = open(sized);
  for (const bool lent : {true, false}) {
    const PoolHandle pool = make_pool(2);
    if (!lent) pool->head_version = 2, pool->scratch = nullptr;
    const SessionHandle session = make_session(model, pool.get());
    whet_error error;
    ASSERT_EQ(session_reserve(session.get(), nullptr, &error), 0) << error.message;
    change_at_random(session.get(), 100, 1);
    const Memory before;
    change_at_random(session.get(), testing::random_cases(10000), 2);
    if (!testing::kSanitized) {
      EXPECT_EQ(Memory(), before);
    }
  }
}

TEST(Shapes, AreReservedUpToThoseThatAreGiven) {
  SizedModel sized;
  for (ModelPlan& plan : sized.plan().variants) plan.arena_bytes *= 1024;
  const ModelHandle model = open(sized);
  const PoolHandle pool = make_pool(1);
  const SessionHandle session = make_session(model, pool.get());
  const std::int64_t x[] = {3, 160}, mask[] = {3};
  const std::int64_t* const shapes[] = {x, mask};
  whet_error error;
  ASSERT_EQ(session_reserve(session.get(), shapes, &error), 0) << error.message;
  EXPECT_EQ(session_output_info(session.get(), 0)->shape[1], 5) << "the shapes that are set stay";
  expect_right(session.get(), 3, 5, 1);
  const std::size_t before = Memory::mapped();
  EXPECT_EQ(set_shapes(session.get(), {3, 160}, {3}), "no error");
  expect_right(session.get(), 3, 160, 1);
  if (!testing::kSanitized) {
    EXPECT_EQ(Memory::mapped(), before);
  }
  EXPECT_EQ(set_shapes(session.get(), {64, 160}, {64}), "no error");
  EXPECT_GT(Memory::mapped(), before) << "larger than what was reserved";
}

TEST(Shapes, TooLargeForMemoryLeaveTheSessionAsItWas) {
  SizedModel sized;
  sized.plan().variants.back().arena_bytes = std::uint64_t{1} << 60;
  const ModelHandle model = open(sized);
  const PoolHandle pool = make_pool(2);
  const SessionHandle session = make_session(model, pool.get());
  EXPECT_EQ(set_shapes(session.get(), {64, 160}, {64}), "no memory for 1152921504606846976 bytes of activations");
  expect_right(session.get(), 3, 5, 1);
}

TEST(Shapes, OfTwoSessionsOfAModelDifferAtTheSameTime) {
  SizedModel sized;
  const ModelHandle model = open(sized);
  const PoolHandle shared = make_pool(2);
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const PoolHandle own = t % 2 ? make_pool(2) : nullptr;
      const SessionHandle session = make_session(model, own ? own.get() : shared.get());
      change_at_random(session.get(), 500, t);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Shapes, ThatChangeBeginAProfileFromZero) {
  SizedModel sized;
  const ModelHandle model = open(sized);
  const PoolHandle pool = make_pool(2);
  const SessionHandle session = make_session(model, pool.get());
  session_set_profiling(session.get(), 1);
  expect_right(session.get(), 3, 5, 1);
  EXPECT_EQ(set_shapes(session.get(), {64, 160}, {64}), "no error");
  expect_right(session.get(), 64, 160, 1);
  whet_profile profile;
  session_profile(session.get(), &profile);
  EXPECT_EQ(profile.runs, 1u);
  ASSERT_EQ(profile.steps, 6u);
  EXPECT_STREQ(profile.step[5].node, "add5");
}

TEST(Shapes, AreRefusedWherePlansDoNotAgree) {
  SizedModel sized;
  sized.plan().variants[4].inputs[1].dtype = 5;
  whet_model* model = nullptr;
  whet_error error;
  EXPECT_EQ(sized.open(&model, &error), -1);
  EXPECT_STREQ(error.message,
               "the model's plan: variant 4 has other kernels, weights, inputs or outputs than the usual one; expected "
               "other extents alone");
}

// ---- Ranges of sizes.

constexpr std::int64_t kMostRows = 64;

/// `add` of as many rows as argument 0 says.
std::int32_t sized_kernel(const whet_kernel_args* args) {
  whet_kernel_args rest = *args;
  rest.buffers = args->buffers + 1;
  return add(&rest, static_cast<int>(*static_cast<const std::int64_t*>(args->buffers[0])), 5);
}
constexpr whet_kernel kRangedKernels[] = {kernel<1, 5>, sized_kernel};

/// The same network of n rows of 5, by a kernel for one row and one for 2 to 64.
class RangedModel {
 public:
  RangedModel() {
    plan_.sizes = {{"n", 0, 0, {}, 1, kMostRows, 1}};
    plan_.variants = {plan_of(1), plan_of(kMostRows)};
    plan_.boxes = {{0, {1}, {1}}, {1, {2}, {kMostRows}}};
    ModelPlan::Step& step = plan_.variants[1].steps[0];
    step.entry = 1;
    step.arguments.insert(step.arguments.begin(), {PlanPlace::sizes, 0, 0, 8});
    PlanFunctions changing;
    changing.slots = 1;
    changing.numbers = {{PlanNumberOp::size, 0, 0},
                        {PlanNumberOp::constant, 0, 20},
                        {PlanNumberOp::mul, 1, 0},
                        {PlanNumberOp::constant, 0, 4},
                        {PlanNumberOp::mul, 3, 0}};
    changing.fields = {{PlanFieldKind::extent, 0, 0}, {PlanFieldKind::extent, 2, 0}, {PlanFieldKind::extent, 3, 0},
                       {PlanFieldKind::bytes, 1, 2},  {PlanFieldKind::bytes, 2, 4},  {PlanFieldKind::bytes, 4, 2},
                       {PlanFieldKind::bytes, 5, 2},  {PlanFieldKind::value, 0, 0}};
    plan_.functions = {{}, changing};
    weights_[0] = 0.5f;
  }
  SizedModelPlan& plan() { return plan_; }

  std::string open(ModelHandle* model) {
    const std::string stored = write_sized_plan(plan_);
    stored_.assign(stored.size() / 8, 0);
    std::memcpy(stored_.data(), stored.data(), stored.size());
    whet_model* made = nullptr;
    whet_error error;
    const ModelImage image{stored_.data(), stored.size(), kRangedKernels, weights_, 64, 0};
    if (model_open(image, nullptr, &made, &error) != 0) return error.message;
    model->reset(made);
    return "no error";
  }

 private:
  static ModelPlan plan_of(std::int64_t n) {
    const auto rows = static_cast<std::uint64_t>(4 * n), bytes = 5 * rows;
    ModelPlan plan;
    plan.name = "ranged";
    plan.entries = 2, plan.tuned_threads = 2, plan.weights_bytes = 64;
    plan.arena_bytes = (bytes + 63) / 64 * 64;
    plan.inputs = {{"x", 0, {n, 5}, bytes}, {"mask", 0, {n}, rows}};
    plan.outputs = {{"y", 0, {n, 5}, bytes}};
    ModelPlan::Step step;
    step.arguments = {{PlanPlace::input, 0, 0, bytes},
                      {PlanPlace::input, 1, 0, rows},
                      {PlanPlace::weights, 0, 0, 64},
                      {PlanPlace::arena, 0, 0, bytes},
                      {PlanPlace::output, 0, 0, bytes}};
    step.parallel = true;
    step.worker_bytes = 64;
    step.node = "add";
    plan.steps = {step};
    return plan;
  }

  SizedModelPlan plan_;
  std::vector<std::uint64_t> stored_;
  alignas(64) float weights_[16] = {};
};

ModelHandle open(RangedModel& ranged) {
  ModelHandle model;
  EXPECT_EQ(ranged.open(&model), "no error");
  return model;
}

TEST(RangesOfShapes, RunAtEverySize) {
  RangedModel ranged;
  const ModelHandle model = open(ranged);
  ASSERT_EQ(model_size_count(model.get()), 1u);
  const whet_size_info& size = *model_size(model.get(), 0);
  EXPECT_EQ(size.count, 0u);
  EXPECT_EQ(size.values, nullptr);
  EXPECT_EQ(std::vector({size.min, size.max, size.step, size.usual}), (std::vector<std::int64_t>{1, 64, 1, 1}));
  for (const std::uint32_t threads : {1u, 2u}) {
    const PoolHandle pool = make_pool(threads);
    const SessionHandle session = make_session(model, pool.get());
    expect_right(session.get(), 1, 5, 1);
    for (std::int64_t n = kMostRows; n >= 1; --n) {
      EXPECT_EQ(set_shapes(session.get(), {n, 5}, {n}), "no error");
      EXPECT_EQ(session_input_info(session.get(), 1)->shape[0], n);
      EXPECT_EQ(session_input_info(session.get(), 1)->bytes, 4 * n);
      expect_right(session.get(), n, 5, static_cast<float>(n));
      expect_right(session.get(), n, 5, 2, 1);
    }
  }
}

TEST(RangesOfShapes, MayBeginInTheMiddle) {
  RangedModel ranged;
  ranged.plan().usual = 1;
  const ModelHandle model = open(ranged);
  EXPECT_EQ(model_input(model.get(), 0)->shape[0], 2);
  EXPECT_EQ(model_output(model.get(), 0)->bytes, 40);
  const PoolHandle pool = make_pool(2);
  const SessionHandle session = make_session(model, pool.get());
  expect_right(session.get(), 2, 5, 1);
  EXPECT_EQ(set_shapes(session.get(), {1, 5}, {}), "no error");
  expect_right(session.get(), 1, 5, 1);
}

TEST(RangesOfShapes, ThatDoNotFitLeaveTheSessionAsItWas) {
  RangedModel ranged;
  const ModelHandle model = open(ranged);
  const PoolHandle pool = make_pool(2);
  const SessionHandle session = make_session(model, pool.get());
  for (const std::int64_t n : {7, 1}) {
    EXPECT_EQ(set_shapes(session.get(), {n, 5}, {}), "no error");
    EXPECT_EQ(set_shapes(session.get(), {65, 5}, {}), "input \"x\" is 65x5; n is 1..64");
    EXPECT_EQ(set_shapes(session.get(), {0, 5}, {}), "input \"x\" is 0x5; n is 1..64");
    EXPECT_EQ(set_shapes(session.get(), {32, 5}, {24}), "input \"mask\" is 24; with input \"x\" 32x5 it must be 32");
    EXPECT_EQ(set_shapes(session.get(), {32, 6}, {}), "input \"x\" is 32x6; it must be 32x5");
    expect_right(session.get(), n, 5, 1);
  }
}

TEST(RangesOfShapes, SayTheirStep) {
  RangedModel ranged;
  ranged.plan().sizes[0] = {"n", 0, 0, {}, 1, 64, 3};
  const ModelHandle model = open(ranged);
  const PoolHandle pool = make_pool(1);
  const SessionHandle session = make_session(model, pool.get());
  EXPECT_EQ(set_shapes(session.get(), {4, 5}, {}), "no error");
  EXPECT_EQ(set_shapes(session.get(), {5, 5}, {}), "input \"x\" is 5x5; n is 1..64:3");
}

/// Changes the rows `times` at random, and runs at some.
void change_rows_at_random(whet_session* session, int times, std::uint64_t seed) {
  Rng rng(seed);
  for (int time = 0; time < times; ++time) {
    const std::int64_t n = rng.between(1, kMostRows);
    const std::int64_t x[] = {n, 5}, mask[] = {rng.chance(0.1) ? n + 1 : n};
    const std::int64_t* const shapes[] = {x, mask};
    whet_error error;
    ASSERT_EQ(session_set_shapes(session, shapes, &error), mask[0] == n ? 0 : -1);
    if (mask[0] == n && rng.chance(0.1)) expect_right(session, n, 5, 3, rng.chance(0.5));
  }
}

TEST(RangesOfShapes, ChangeTenThousandTimesWithoutAnAllocationAfterReserve) {
  RangedModel ranged;
  const ModelHandle model = open(ranged);
  const PoolHandle pool = make_pool(2);
  const SessionHandle session = make_session(model, pool.get());
  whet_error error;
  ASSERT_EQ(session_reserve(session.get(), nullptr, &error), 0) << error.message;
  change_rows_at_random(session.get(), 100, 1);
  const Memory before;
  change_rows_at_random(session.get(), testing::random_cases(10000), 2);
  if (!testing::kSanitized) {
    EXPECT_EQ(Memory(), before);
  }
}

TEST(RangesOfShapes, OfTwoSessionsOfAModelDifferAtTheSameTime) {
  RangedModel ranged;
  const ModelHandle model = open(ranged);
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const PoolHandle pool = make_pool(1 + t % 2);
      const SessionHandle session = make_session(model, pool.get());
      change_rows_at_random(session.get(), 300, t);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(RangesOfShapes, OfADamagedPlanAreASentence) {
  RangedModel ranged;
  ranged.plan().functions[1].numbers[3].a = 8;  // the mask is read twice as far
  const ModelHandle model = open(ranged);
  const PoolHandle pool = make_pool(1);
  const SessionHandle session = make_session(model, pool.get());
  EXPECT_EQ(set_shapes(session.get(), {7, 5}, {}),
            "the model's plan: argument 2 is place 2, number 1, offset 0, 56 bytes; expected an aligned range inside "
            "the 28 bytes there");
  expect_right(session.get(), 1, 5, 1);
}

}  // namespace shapes_test
}  // namespace whet
