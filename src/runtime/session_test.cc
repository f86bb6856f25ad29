#include "runtime/session.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "artifact/cpu/isa.h"
#include "artifact/model_plan.h"
#include "base/testing/random_cases.h"
#include "runtime/description.h"
#include "runtime/testing/child.h"
#include "runtime/weights.h"

namespace whet {
namespace {

// ---- Kernels as the code generator would write them, by hand.

const float* in(const whet_kernel_args* args, int i) { return static_cast<const float*>(args->buffers[i]); }
float* out(const whet_kernel_args* args, int i) { return static_cast<float*>(args->buffers[i]); }

constexpr int kSize = 4096;

void share(const whet_kernel_args* args, int* begin, int* end) {
  *begin = static_cast<int>(kSize * std::uint64_t{args->worker} / args->workers);
  *end = static_cast<int>(kSize * (std::uint64_t{args->worker} + 1) / args->workers);
}

/// out[i] = in[i] + weights[i]
extern "C" std::int32_t add_weights(const whet_kernel_args* args) {
  int begin, end;
  share(args, &begin, &end);
  for (int i = begin; i < end; ++i) out(args, 2)[i] = in(args, 0)[i] + in(args, 1)[i];
  return 0;
}

/// Where the last run of `reverse` had it.
std::atomic<const float*> workspace_of_last_run{nullptr};

/// out[i] = in[size - 1 - i], through the workspace: two phases with a barrier between.
extern "C" std::int32_t reverse(const whet_kernel_args* args) {
  int begin, end;
  share(args, &begin, &end);
  float* shared = static_cast<float*>(args->workspace);
  if (begin == 0) workspace_of_last_run = shared;
  std::memcpy(shared + begin, in(args, 0) + begin, static_cast<std::size_t>(end - begin) * 4);
  args->runtime->barrier(args->team, args->worker);
  for (int i = begin; i < end; ++i) out(args, 1)[i] = shared[kSize - 1 - i];
  return 0;
}

/// out[i] = 2 in[i], by one worker, through its own workspace.
extern "C" std::int32_t twice_alone(const whet_kernel_args* args) {
  EXPECT_EQ(args->workers, 1u);
  float* own = static_cast<float*>(args->worker_workspace);
  for (int i = 0; i < kSize; ++i) own[i] = 2 * in(args, 0)[i];
  args->runtime->barrier(args->team, args->worker);
  std::memcpy(out(args, 1), own, kSize * 4);
  return 0;
}

extern "C" std::int32_t fail_with_five(const whet_kernel_args*) { return 5; }

/// Runs its own session and keeps what that answered.
whet_session* running_session = nullptr;
std::string answer_to_a_second_run;
extern "C" std::int32_t run_again(const whet_kernel_args* args) {
  if (args->worker != 0) return 0;
  whet_error error;
  answer_to_a_second_run = session_run(running_session, &error) == 0 ? "no error" : error.message;
  return 0;
}

/// As add_weights, with a long nap in some parts, and a count of those that are smaller than a worker's share.
std::atomic<int> naps_after{0}, small_parts{0};
extern "C" std::int32_t add_weights_with_naps(const whet_kernel_args* args) {
  small_parts += args->workers > 3;
  if (naps_after.fetch_add(1) % 5 == 4) usleep(2000);
  return add_weights(args);
}

constexpr whet_kernel kEntries[] = {add_weights,    reverse,   twice_alone,
                                    fail_with_five, run_again, add_weights_with_naps};

/// A model over those kernels: y = 2 · reverse(x + w), z = w.
class TestModel {
 public:
  explicit TestModel(std::uint64_t weights_repeated = 1) {
    constexpr std::uint64_t kBytes = kSize * 4;
    weights_.reset(static_cast<float*>(std::aligned_alloc(64, kBytes * weights_repeated)));
    for (std::uint64_t i = 0; i < kSize * weights_repeated; ++i) weights_.get()[i] = static_cast<float>(i % 100);
    plan_.name = "test";
    plan_.target = "cpu -mcpu=x86-64 -threads=2";
    plan_.entries = 6;
    plan_.tuned_threads = 2;
    plan_.arena_bytes = 3 * kBytes;
    plan_.weights_bytes = kBytes * weights_repeated;
    plan_.inputs = {{"x", 0, {64, 64}, kBytes}};
    plan_.outputs = {{"y", 0, {64, 64}, kBytes}, {"z", 0, {kSize}, kBytes}};
    const PlanArgument x{PlanPlace::input, 0, 0, kBytes},
        w{PlanPlace::weights, 0, kBytes * (weights_repeated - 1), kBytes};
    const PlanArgument a{PlanPlace::arena, 0, 0, kBytes}, b{PlanPlace::arena, 0, kBytes, kBytes};
    const PlanArgument y{PlanPlace::output, 0, 0, kBytes}, z{PlanPlace::output, 1, 0, kBytes};
    plan_.steps.resize(4);
    plan_.steps[0] = {PlanStepKind::kernel, 0, {x, w, a}, true, false};
    plan_.steps[1] = {PlanStepKind::kernel, 1, {a, b}, true, true, 2 * kBytes, kBytes};
    plan_.steps[2] = {PlanStepKind::kernel, 2, {b, y}, false, true, 0, 0, kBytes};
    plan_.steps[3] = {PlanStepKind::copy, 0, {w, z}, true, false};
    for (int i = 0; i < 4; ++i) plan_.steps[static_cast<std::size_t>(i)].node = "step" + std::to_string(i);
    for (ModelPlan::Step& step : plan_.steps) step.op = "op";
  }

  ModelPlan& plan() { return plan_; }
  float weight(int i) const {
    return static_cast<float>((plan_.weights_bytes / 4 - kSize + static_cast<unsigned>(i)) % 100);
  }

  int open(whet_model** model, whet_error* error, whet_open_options options = {}) {
    const std::string stored = write_plan(plan_);
    stored_.assign(stored.size() / 8, 0);
    std::memcpy(stored_.data(), stored.data(), stored.size());
    return model_open({stored_.data(), stored.size(), kEntries, weights_.get(), plan_.weights_bytes, 0}, &options,
                      model, error);
  }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  ModelPlan plan_;
  std::vector<std::uint64_t> stored_;
  std::unique_ptr<float, Free> weights_;
};

struct Close {
  void operator()(whet_model* model) const { model_close(model); }
  void operator()(whet_session* session) const { session_destroy(session); }
  void operator()(whet_pool* pool) const { pool_destroy(pool); }
};
using ModelHandle = std::unique_ptr<whet_model, Close>;
using SessionHandle = std::unique_ptr<whet_session, Close>;
using PoolHandle = std::unique_ptr<whet_pool, Close>;

ModelHandle open(TestModel& test, whet_open_options options = {}) {
  whet_model* model = nullptr;
  whet_error error;
  EXPECT_EQ(test.open(&model, &error, options), 0) << error.message;
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
SessionHandle make_session(const ModelHandle& model, whet_pool* pool = nullptr) {
  whet_session* session = nullptr;
  whet_error error;
  EXPECT_EQ(session_create(model.get(), pool, &session, &error), 0) << error.message;
  return SessionHandle(session);
}

struct alignas(64) Image {
  float at[kSize];
  explicit Image(float first = 0) {
    for (int i = 0; i < kSize; ++i) at[i] = first + static_cast<float>(i);
  }
};

/// 0 where y = 2 · reverse(x + w) and z = w; else 1 + where it is not.
int first_wrong(const TestModel& test, const float* x, const void* y, const void* z) {
  for (int i = 0; i < kSize; ++i) {
    const int j = kSize - 1 - i;
    if (static_cast<const float*>(y)[i] != 2 * (x[j] + test.weight(j))) return 1 + i;
    if (static_cast<const float*>(z)[i] != test.weight(i)) return 1 + i;
  }
  return 0;
}

std::string error_of_run(whet_session* session) {
  whet_error error;
  return session_run(session, &error) == 0 ? "no error" : error.message;
}

void expect_right(const TestModel& test, whet_session* session, float first) {
  const auto x = std::make_unique<Image>(first);
  whet_error error;
  ASSERT_EQ(session_set_input(session, 0, x->at, nullptr, &error), 0) << error.message;
  ASSERT_EQ(session_run(session, &error), 0) << error.message;
  EXPECT_EQ(first_wrong(test, x->at, session_output(session, 0), session_output(session, 1)), 0);
}

TEST(Session, RunsThePlanWithAnyNumberOfThreads) {
  TestModel test;
  const ModelHandle model = open(test);
  for (std::uint32_t threads : {1u, 2u, 3u, 7u}) {
    const PoolHandle pool = make_pool(threads);
    const SessionHandle session = make_session(model, pool.get());
    for (int round = 0; round < 20; ++round) expect_right(test, session.get(), static_cast<float>(round));
  }
}

/// y = 2 · reverse(x + w) where the first step may be divided into parts, and takes naps.
TestModel model_with_naps() {
  TestModel test;
  test.plan().steps[0].entry = 5;
  test.plan().steps[0].divisible = true;
  return test;
}

TEST(Session, GivesTheSameBitsWhereAWorkerIsLateAndOthersTakeItsParts) {
  TestModel test = model_with_naps();
  const ModelHandle model = open(test);
  for (std::uint32_t threads : {2u, 3u}) {
    const PoolHandle pool = make_pool(threads);
    const SessionHandle session = make_session(model, pool.get());
    small_parts = 0;
    expect_right(test, session.get(), 1);
    EXPECT_EQ(small_parts, 0) << "the first run has fixed shares";
    for (int round = 0; round < 200 && (round < 40 || small_parts == 0); ++round)
      expect_right(test, session.get(), static_cast<float>(round));
    EXPECT_GT(small_parts, 0) << "a worker was late all the time";
  }
}

TEST(Session, RunsOnAPoolOfAnOlderVersion) {
  TestModel test = model_with_naps();
  const ModelHandle model = open(test);
  for (std::uint32_t threads : {1u, 2u, 3u}) {
    const PoolHandle pool = make_pool(threads);
    pool->head_version = 1;
    pool->run_work = nullptr;
    const SessionHandle session = make_session(model, pool.get());
    small_parts = 0;
    for (int round = 0; round < 20; ++round) expect_right(test, session.get(), static_cast<float>(round));
    EXPECT_EQ(small_parts, 0);
  }
}

const void* workspace_of(const TestModel& test, whet_session* session) {
  static float round = 0;
  expect_right(test, session, ++round);
  return workspace_of_last_run;
}

TEST(Session, OnOnePoolShareTheMemoryOfActivations) {
  TestModel small, large;
  large.plan().arena_bytes *= 2;
  const ModelHandle first = open(small), second = open(large);
  const PoolHandle pool = make_pool(2), other = make_pool(2);
  const SessionHandle a = make_session(first, pool.get()), b = make_session(first, pool.get());
  EXPECT_EQ(workspace_of(small, a.get()), workspace_of(small, b.get()));
  const SessionHandle c = make_session(second, pool.get()), d = make_session(first, pool.get());
  EXPECT_NE(workspace_of(small, a.get()), workspace_of(large, c.get())) << "which needs more";
  EXPECT_EQ(workspace_of(large, c.get()), workspace_of(small, d.get())) << "the largest serves all";
  const SessionHandle alone = make_session(first, other.get());
  EXPECT_NE(workspace_of(small, alone.get()), workspace_of(small, d.get()));
}

TEST(Session, OnAPoolOfAnOlderVersionHasMemoryOfItsOwn) {
  TestModel test;
  const ModelHandle model = open(test);
  const PoolHandle pool = make_pool(2);
  pool->head_version = 2;
  pool->scratch = nullptr;
  const SessionHandle a = make_session(model, pool.get()), b = make_session(model, pool.get());
  EXPECT_NE(workspace_of(test, a.get()), workspace_of(test, b.get()));
}

TEST(Model, HoldsTheWeightsOfALibraryThatIsOpenedTwiceOnce) {
  TestModel test(200);
  ModelHandle first = open(test), second = open(test);
  EXPECT_NE(first->weights, first->image.weights) << "a copy in huge pages";
  EXPECT_EQ(first->weights, second->weights);
  first.reset();
  expect_right(test, make_session(second).get(), 3);
  second.reset();
  expect_right(test, make_session(open(test)).get(), 4);
}

TEST(Session, CopiesWeightsToHugePagesOrKeepsTheMapping) {
  for (std::uint32_t map : {0u, 1u}) {
    TestModel test(200);
    whet_open_options options{};
    options.map_weights = map;
    const ModelHandle model = open(test, options);
    EXPECT_EQ(model->weights == model->image.weights, map == 1);
    expect_right(test, make_session(model).get(), 3);
  }
}

TEST(Session, SaysHowThreadsAgreeWithTuning) {
  TestModel test;
  const ModelHandle model = open(test);
  const PoolHandle two = make_pool(2), three = make_pool(3);
  EXPECT_STREQ(session_note(make_session(model, two.get()).get()), "");
  EXPECT_STREQ(session_note(make_session(model, three.get()).get()),
               "tuned for 2 threads, running with 3: expect up to 10% from the best; re-tune with --threads 3");
}

TEST(Session, TakesUnalignedAndStridedInputsAndOutputs) {
  TestModel test;
  const ModelHandle model = open(test);
  const SessionHandle session = make_session(model);
  std::vector<float> wide(64 * 65 + 1), y(kSize + 1), want(kSize);
  for (int i = 0; i < kSize; ++i) {
    want[static_cast<std::size_t>(i)] = static_cast<float>(3 * i);
    wide[static_cast<std::size_t>(1 + i / 64 + i % 64 * 65)] =
        static_cast<float>(3 * i);  // transposed, padded, unaligned
  }
  const std::int64_t strides[] = {4, 65 * 4};
  whet_error error;
  ASSERT_EQ(session_set_input(session.get(), 0, wide.data() + 1, strides, &error), 0) << error.message;
  ASSERT_EQ(session_bind_output(session.get(), 0, y.data() + 1, &error), 0) << error.message;
  session_set_profiling(session.get(), 1);
  ASSERT_EQ(session_run(session.get(), &error), 0) << error.message;
  EXPECT_EQ(first_wrong(test, want.data(), y.data() + 1, session_output(session.get(), 1)), 0);
  EXPECT_EQ(session_output(session.get(), 0), y.data() + 1);
  whet_profile profile;
  session_profile(session.get(), &profile);
  EXPECT_GT(profile.copy_total_ns, 0u) << "copies are counted";
}

TEST(Session, WritesIntoBoundOutputs) {
  TestModel test;
  const ModelHandle model = open(test);
  const SessionHandle session = make_session(model);
  const auto y = std::make_unique<Image>(), x = std::make_unique<Image>(5.0f);
  ASSERT_EQ(session_bind_output(session.get(), 0, y->at, nullptr), 0);
  expect_right(test, session.get(), 5);
  EXPECT_EQ(first_wrong(test, x->at, y->at, session_output(session.get(), 1)), 0);
  ASSERT_EQ(session_bind_output(session.get(), 0, nullptr, nullptr), 0);
  expect_right(test, session.get(), 6);
  EXPECT_EQ(first_wrong(test, x->at, y->at, session_output(session.get(), 1)), 0) << "no longer written";
}

TEST(Session, ExchangesDlpackTensors) {
  TestModel test;
  const ModelHandle model = open(test);
  const SessionHandle session = make_session(model);
  const auto x = std::make_unique<Image>(2.0f);
  std::int64_t shape[] = {64, 64}, wrong[] = {64, 63};
  whet_dltensor tensor{x->at - 16, {1, 0}, 2, {2, 32, 1}, shape, nullptr, 64};
  whet_error error;
  ASSERT_EQ(session_set_input_dlpack(session.get(), 0, &tensor, &error), 0) << error.message;
  ASSERT_EQ(session_run(session.get(), &error), 0) << error.message;
  whet_dltensor y;
  ASSERT_EQ(session_output_dlpack(session.get(), 0, &y, &error), 0);
  EXPECT_EQ(first_wrong(test, x->at, y.data, session_output(session.get(), 1)), 0);
  EXPECT_EQ(y.ndim, 2);
  EXPECT_EQ(y.shape[1], 64);
  EXPECT_EQ(y.dtype.bits, 32);

  tensor.shape = wrong;
  EXPECT_EQ(session_set_input_dlpack(session.get(), 0, &tensor, &error), -1);
  EXPECT_STREQ(error.message, "input 0 \"x\" is f32[64x64]; the DLPack tensor is f32[64x63]");
  tensor.dtype.code = 0;
  EXPECT_EQ(session_set_input_dlpack(session.get(), 0, &tensor, &error), -1);
  EXPECT_STREQ(error.message, "input 0 \"x\" is f32[64x64]; the DLPack tensor has type code 0, 32 bits, 1 lanes");
  tensor.device.device_type = 2;
  EXPECT_EQ(session_set_input_dlpack(session.get(), 0, &tensor, &error), -1);
  EXPECT_STREQ(error.message, "input 0 \"x\" is f32[64x64]; the DLPack tensor is on device type 2; expected 1 (CPU)");
}

TEST(Session, TakesDlpackTensorsWithStrides) {
  TestModel test;
  const ModelHandle model = open(test);
  const SessionHandle session = make_session(model);
  std::vector<float> turned(kSize), want(kSize);
  for (int i = 0; i < kSize; ++i) {
    want[static_cast<std::size_t>(i)] = static_cast<float>(3 * i);
    turned[static_cast<std::size_t>(i / 64 + i % 64 * 64)] = static_cast<float>(3 * i);
  }
  std::int64_t shape[] = {64, 64}, strides[] = {1, 64};  // in elements
  const whet_dltensor tensor{turned.data(), {1, 0}, 2, {2, 32, 1}, shape, strides, 0};
  whet_error error;
  ASSERT_EQ(session_set_input_dlpack(session.get(), 0, &tensor, &error), 0) << error.message;
  ASSERT_EQ(session_run(session.get(), &error), 0) << error.message;
  EXPECT_EQ(first_wrong(test, want.data(), session_output(session.get(), 0), session_output(session.get(), 1)), 0);
}

TEST(Session, RefusesDlpackTensorsOfVectorsOrForNoInput) {
  TestModel test;
  const ModelHandle model = open(test);
  const SessionHandle session = make_session(model);
  std::int64_t shape[] = {64, 64};
  whet_dltensor tensor{nullptr, {1, 0}, 2, {2, 32, 4}, shape, nullptr, 0};
  whet_error error;
  EXPECT_EQ(session_set_input_dlpack(session.get(), 0, &tensor, &error), -1);
  EXPECT_STREQ(error.message, "input 0 \"x\" is f32[64x64]; the DLPack tensor has type code 2, 32 bits, 4 lanes");
  tensor.dtype.lanes = 1;
  EXPECT_EQ(session_set_input_dlpack(session.get(), 0, &tensor, &error), -1);
  EXPECT_STREQ(error.message, "input 0 \"x\" is f32[64x64]; the pointer given is null");
  EXPECT_EQ(session_set_input_dlpack(session.get(), 1, &tensor, &error), -1);
  EXPECT_STREQ(error.message, "there is no input 1; the model has 1, counted from 0");
  EXPECT_EQ(session_output_dlpack(session.get(), 2, &tensor, &error), -1);
  EXPECT_STREQ(error.message, "there is no output 2; the model has 2, counted from 0");
}

TEST(Session, RefusesToRunWhileItRuns) {
  TestModel test;
  test.plan().steps[0].entry = 4;
  const ModelHandle model = open(test);
  const SessionHandle session = make_session(model);
  const auto x = std::make_unique<Image>();
  ASSERT_EQ(session_set_input(session.get(), 0, x->at, nullptr, nullptr), 0);
  running_session = session.get();
  for (int again = 0; again < 2; ++again) {
    answer_to_a_second_run.clear();
    EXPECT_EQ(error_of_run(session.get()), "no error");
    EXPECT_EQ(answer_to_a_second_run,
              "the session is already running in another thread; expected one session a thread");
  }
}

TEST(Session, RefusesWrongUseWithASentence) {
  TestModel test;
  const ModelHandle model = open(test);
  const SessionHandle session = make_session(model);
  EXPECT_EQ(error_of_run(session.get()), "input 0 \"x\" is not set; expected f32[64x64]");
  whet_error error;
  EXPECT_EQ(session_set_input(session.get(), 1, nullptr, nullptr, &error), -1);
  EXPECT_STREQ(error.message, "there is no input 1; the model has 1, counted from 0");
  EXPECT_EQ(session_set_input(session.get(), 0, nullptr, nullptr, &error), -1);
  EXPECT_STREQ(error.message, "input 0 \"x\" is f32[64x64]; the pointer given is null");
  EXPECT_EQ(session_bind_output(session.get(), 2, nullptr, &error), -1);
  EXPECT_STREQ(error.message, "there is no output 2; the model has 2, counted from 0");
  EXPECT_EQ(session_output(session.get(), 2), nullptr);
  EXPECT_EQ(model_input(model.get(), 1), nullptr);
}

TEST(Session, ReportsTheKernelThatFailed) {
  TestModel test;
  test.plan().steps[0].entry = 3;
  const ModelHandle model = open(test);
  const SessionHandle session = make_session(model);
  const auto x = std::make_unique<Image>();
  ASSERT_EQ(session_set_input(session.get(), 0, x->at, nullptr, nullptr), 0);
  EXPECT_EQ(error_of_run(session.get()), "step 0 (step0: op) reported error 5");
}

TEST(Session, ProfilesEveryStepAndTheirSumIsTheWhole) {
  TestModel test;
  const ModelHandle model = open(test);
  const SessionHandle session = make_session(model);
  session_set_profiling(session.get(), 1);
  for (int round = 0; round < 10; ++round) expect_right(test, session.get(), 1);
  whet_profile profile;
  session_profile(session.get(), &profile);
  EXPECT_EQ(profile.runs, 10u);
  ASSERT_EQ(profile.steps, 4u);
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_LE(profile.step[i].min_ns * 10, profile.step[i].total_ns);
    sum += profile.step[i].total_ns;
  }
  EXPECT_LE(sum, profile.total_ns);
  EXPECT_STREQ(profile.step[2].node, "step2");
  EXPECT_EQ(profile.step[1].parallel, 1u);
  EXPECT_EQ(profile.step[2].parallel, 0u);
  session_set_profiling(session.get(), 0);
  expect_right(test, session.get(), 1);
  session_profile(session.get(), &profile);
  EXPECT_EQ(profile.runs, 10u) << "numbers stay when profiling stops";
}

TEST(Sessions, OfOneModelRunFromManyThreads) {
  TestModel test;
  const ModelHandle model = open(test);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const PoolHandle own = t % 2 ? make_pool(2) : nullptr;  // two of them share the model's pool
      const SessionHandle session = make_session(model, own.get());
      for (int round = 0; round < 25; ++round) expect_right(test, session.get(), static_cast<float>(100 * t + round));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Sessions, OfTwoModelsShareAPool) {
  TestModel one, two(3);
  const ModelHandle first = open(one), second = open(two);
  const PoolHandle pool = make_pool(2);
  std::thread other([&] {
    const SessionHandle session = make_session(second, pool.get());
    for (int round = 0; round < 50; ++round) expect_right(two, session.get(), 1);
  });
  const SessionHandle session = make_session(first, pool.get());
  for (int round = 0; round < 50; ++round) expect_right(one, session.get(), 2);
  other.join();
}

/// Holds what `work` expects in a child.
template <typename Work>
void expect_in_a_child(Work work) {
  EXPECT_EQ(testing::in_a_child([&] { return work(), !::testing::Test::HasFailure(); }), 1);
}

TEST(Session, RunsInAChildAfterFork) {
  TestModel test;
  const ModelHandle model = open(test);
  const SessionHandle session = make_session(model);
  expect_right(test, session.get(), 1);
  expect_in_a_child([&] { expect_right(test, session.get(), 4); });
  expect_right(test, session.get(), 2);
}

TEST(Session, RunsInAChildWhileAnotherThreadRanIt) {
  TestModel test;
  const ModelHandle model = open(test);
  const SessionHandle session = make_session(model);
  expect_right(test, session.get(), 1);
  std::atomic<bool> stop = false;
  std::thread other([&] {
    for (float first = 1; !stop; ++first) expect_right(test, session.get(), first);
  });
  const int forks = testing::random_cases(100);
  for (int time = 0; time < forks && !::testing::Test::HasFailure(); ++time)
    expect_in_a_child([&] { expect_right(test, session.get(), 4); });
  stop = true;
  other.join();
}

TEST(Session, IsMadeInAChildWhileAnotherThreadMadeTheModelsFirst) {
  TestModel test;
  const int forks = testing::random_cases(100);
  for (int time = 0; time < forks && !::testing::Test::HasFailure(); ++time) {
    const ModelHandle model = open(test);
    std::atomic<bool> begun = false;
    std::thread other([&] {
      begun = true;
      make_session(model);
    });
    while (!begun) sched_yield();
    usleep(static_cast<useconds_t>(time));
    expect_in_a_child([&] { expect_right(test, make_session(model).get(), 4); });
    other.join();
  }
}

TEST(Weights, AreCopiedInAChildWhateverOtherThreadsDidAtTheFork) {
  const std::vector<char> weights(std::size_t{3} << 20, 'w');
  ModelImage image{};
  image.weights = weights.data(), image.weights_bytes = weights.size();
  std::atomic<bool> stop = false;
  std::thread other([&] {
    while (!stop) return_weights_copy(take_weights_copy(image));
  });
  for (int time = 0; time < 20; ++time) {
    const auto is_right = [&] {
      const char* copy = take_weights_copy(image);
      const bool right = copy != nullptr && copy[0] == 'w' && copy[image.weights_bytes - 1] == 'w';
      if (copy != nullptr) return_weights_copy(copy);
      return right;
    };
    EXPECT_EQ(testing::in_a_child(is_right), 1);
    if (::testing::Test::HasFailure()) break;
  }
  stop = true;
  other.join();
}

TEST(Model, DescribesItself) {
  TestModel test;
  const ModelHandle model = open(test);
  EXPECT_STREQ(model_info(model.get())->name, "test");
  EXPECT_EQ(model_info(model.get())->tuned_threads, 2u);
  EXPECT_STREQ(model_output(model.get(), 1)->name, "z");
  char type[32];
  write_type(*model_input(model.get(), 0), type, sizeof type);
  EXPECT_STREQ(type, "f32[64x64]");
}

std::string error_of_open(TestModel& test) {
  whet_model* model = nullptr;
  whet_error error;
  if (test.open(&model, &error) == 0) {
    model_close(model);
    return "no error";
  }
  return error.message;
}

TEST(Model, RefusesAProcessorThatLacksWhatItNeeds) {
  TestModel test;
  test.plan().required_isa = "sse3,avx9000,popcnt,magic";
  EXPECT_EQ(
      error_of_open(test),
      "model test needs avx9000, magic, which this processor does not offer: it is compiled for \"cpu -mcpu=x86-64 "
      "-threads=2\"; compile it for this machine");
}

#if defined(__x86_64__)
/// In a process of its own, whose thread has a signal stack of 8 KiB: the system gives it no tiles.
TEST(Model, SaysThatTheSystemGivesNoTiles) {
  TestModel test;
  test.plan().required_isa = "amx-tile";
  std::array<int, 2> pipe_ends = {};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    static char stack[8192];
    const stack_t small = {stack, 0, sizeof stack};
    sigaltstack(&small, nullptr);
    const std::string message = error_of_open(test);
    _exit(write(pipe_ends[1], message.data(), message.size()) < 0);
  }
  close(pipe_ends[1]);
  std::string message(1000, '\0');
  message.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read(pipe_ends[0], message.data(), message.size()))));
  close(pipe_ends[0]);
  waitpid(child, nullptr, 0);
  const bool here = (host_isa() & isa_set("amx-tile")) != 0;
  EXPECT_NE(
      message.find(here ? "needs tiles (AMX), which this system refuses to this process: a thread's signal stack is"
                        : "needs amx-tile, which this processor does not offer"),
      std::string::npos)
      << message;
}
#endif

TEST(Model, RefusesADeviceThatItsRuntimeDoesNotKnow) {
  TestModel test;
  test.plan().device = "cuda sm_80";
  for (ModelPlan::Step& step : test.plan().steps)
    if (step.kind == PlanStepKind::kernel) step.launches = {{"entry"}};
  whet_model* model = nullptr;
  whet_error error;
  EXPECT_NE(test.open(&model, &error), 0);
  EXPECT_STREQ(error.message, "model test is compiled for the device cuda sm_80; its runtime knows the CPU alone");
}

TEST(Model, RefusesAPlanThatIsDamagedOrOfOtherWeights) {
  const std::string stored = write_plan(TestModel().plan());
  std::vector<std::uint64_t> plan(stored.size() / 8);
  std::memcpy(plan.data(), stored.data(), stored.size());
  const auto refusal = [&](std::uint64_t weights_bytes) {
    whet_model* model = nullptr;
    whet_error error;
    EXPECT_EQ(model_open({plan.data(), stored.size(), kEntries, nullptr, weights_bytes, 0}, nullptr, &model, &error),
              -1);
    EXPECT_EQ(model, nullptr);
    return std::string(error.message);
  };
  EXPECT_EQ(refusal(64), "the model's plan asks for 16384 bytes of weights; there are 64");
  plan.back() ^= 1;
  EXPECT_NE(refusal(16384).find("checksum"), std::string::npos) << refusal(16384);
}

TEST(Model, RefusesAnArenaThatMemoryCannotHold) {
  TestModel test;
  for (const std::uint64_t bytes : {std::uint64_t{1} << 60, ~std::uint64_t{0}}) {
    test.plan().arena_bytes = bytes;
    const ModelHandle model = open(test);
    whet_session* session = nullptr;
    whet_error error;
    EXPECT_EQ(session_create(model.get(), nullptr, &session, &error), -1);
    EXPECT_EQ(error.message, "no memory for " + std::to_string(bytes) + " bytes of activations");
  }
}

}  // namespace
}  // namespace whet
