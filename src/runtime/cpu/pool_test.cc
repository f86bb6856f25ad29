#include "runtime/cpu/pool.h"

#include <fenv.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/rng.h"
#include "base/testing/random_cases.h"
#include "runtime/testing/child.h"

namespace whet {
namespace cpu_pool_test {

using testing::in_a_child;

struct Destroy {
  void operator()(whet_pool* pool) const { pool_destroy(pool); }
};
using PoolHandle = std::unique_ptr<whet_pool, Destroy>;

PoolHandle make_pool(std::uint32_t threads, whet_pool_options options = {}) {
  options.threads = threads;
  whet_pool* pool = nullptr;
  whet_error error;
  EXPECT_EQ(pool_create(&options, 0, &pool, &error), 0) << error.message;
  return PoolHandle(pool);
}

template <typename Job>
void run(whet_pool* pool, Job job) {
  const auto call = [](void* context, std::uint32_t worker) { (*static_cast<Job*>(context))(worker); };
  ASSERT_EQ(pool_run(pool, call, &job), 0);
}

/// Every worker writes its number; all must be there afterwards.
void expect_all_workers_run(whet_pool* pool, std::uint32_t round) {
  std::vector<std::uint32_t> seen(pool->workers, ~0u);
  run(pool, [&](std::uint32_t worker) { seen[worker] = worker + round; });
  for (std::uint32_t w = 0; w < pool->workers; ++w) ASSERT_EQ(seen[w], w + round);
}

TEST(Pool, RunsEveryWorkerOnceAJob) {
  for (std::uint32_t threads : {1u, 2u, 3u, 8u}) {
    const PoolHandle pool = make_pool(threads);
    ASSERT_EQ(pool->workers, threads);
    for (std::uint32_t round = 0; round < 2000 / threads; ++round) expect_all_workers_run(pool.get(), round);
  }
}

TEST(Pool, CallsWorkerZeroInTheCallersThread) {
  const PoolHandle pool = make_pool(2);
  const std::thread::id caller = std::this_thread::get_id();
  run(pool.get(), [&](std::uint32_t worker) { EXPECT_EQ(worker == 0, std::this_thread::get_id() == caller); });
}

TEST(Pool, WakesWorkersThatSleep) {
  whet_pool_options options{};
  options.spin_microseconds = 1;
  const PoolHandle pool = make_pool(3, options);
  for (std::uint32_t round = 0; round < 200; ++round) {
    if (round % 3 == 0) usleep(300);
    expect_all_workers_run(pool.get(), round);
  }
}

TEST(Pool, BarrierSeparatesPhases) {
  for (std::uint32_t threads : {2u, 5u, 9u}) {
    const PoolHandle pool = make_pool(threads);
    std::vector<std::uint32_t> phase(threads, 0);
    std::atomic<int> wrong{0};
    run(pool.get(), [&](std::uint32_t worker) {
      for (std::uint32_t step = 1; step <= 200; ++step) {
        phase[worker] = step;
        pool->barrier(pool.get(), worker);
        for (std::uint32_t other : phase) wrong += other != step;
        pool->barrier(pool.get(), worker);
      }
    });
    EXPECT_EQ(wrong, 0);
  }
}

TEST(Pool, SurvivesWorkersThatComeLateToABarrier) {
  const PoolHandle pool = make_pool(2);
  std::atomic<int> count{0};
  run(pool.get(), [&](std::uint32_t worker) {
    for (int round = 0; round < 5; ++round) {
      if (worker == static_cast<std::uint32_t>(round % 2)) usleep(8000);  // longer than anyone spins
      pool->barrier(pool.get(), worker);
      ++count;
    }
  });
  EXPECT_EQ(count, 10);
}

TEST(Pool, TakesCallersInTurn) {
  const PoolHandle pool = make_pool(2);
  std::atomic<int> inside{0}, clashes{0}, jobs{0};
  const auto caller = [&] {
    for (int i = 0; i < 200; ++i) {
      run(pool.get(), [&](std::uint32_t worker) {
        if (worker != 0) return;
        clashes += inside.fetch_add(1) != 0;
        ++jobs;
        --inside;
      });
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back(caller);
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(clashes, 0);
  EXPECT_EQ(jobs, 800);
}

/// `steps` steps of four parts a worker, one after another, each of which takes its own number from the sum.
struct CountedWork {
  explicit CountedWork(std::uint32_t steps) : kinds(steps, WHET_WORK_DIVIDED) {
    for (std::uint32_t i = 0; i <= steps; ++i) first.push_back(i);
  }
  std::uint64_t run(whet_pool* pool) {
    done = 0;
    const whet_work work{this, static_cast<std::uint32_t>(kinds.size()), first.data(), kinds.data(),
                         [](void* self, std::uint32_t, std::uint32_t, std::uint32_t parts, std::uint32_t) {
                           static_cast<CountedWork*>(self)->done += 840 / parts;
                         }};
    EXPECT_EQ(pool->run_work(pool, &work), 0);
    return done;
  }
  std::vector<std::uint32_t> first;
  std::vector<std::uint8_t> kinds;
  std::atomic<std::uint64_t> done{0};
};

TEST(Pool, RunsWorkAndJobsInTurn) {
  for (std::uint32_t threads : {2u, 3u, 5u}) {
    whet_pool_options options{};
    options.spin_microseconds = threads == 3 ? 1 : 0;
    const PoolHandle pool = make_pool(threads, options);
    ASSERT_TRUE(pool_shares_work(pool.get()));
    CountedWork work(7);
    for (std::uint32_t round = 0; round < 300; ++round) {
      ASSERT_EQ(work.run(pool.get()), 7u * 840);
      if (round % 3 == 0) expect_all_workers_run(pool.get(), round);
      if (round % 50 == 0) usleep(300);
    }
  }
}

TEST(Pool, RunsWorkOfSeveralCallersInTurn) {
  const PoolHandle pool = make_pool(2);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      CountedWork work(3);
      for (int round = 0; round < 100; ++round) EXPECT_EQ(work.run(pool.get()), 3u * 840);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// A group of four steps in whose parts worker 1 takes naps: how many of its parts it ran, of 4 or 16.
std::uint32_t parts_of_a_late_worker(whet_pool* pool) {
  static std::atomic<std::uint32_t> parts_of_1;
  static std::atomic<bool> in_part;
  const std::uint32_t first[] = {0, 4};
  const std::uint8_t kinds[] = {WHET_WORK_DIVIDED, WHET_WORK_DIVIDED, WHET_WORK_DIVIDED, WHET_WORK_DIVIDED};
  const auto run = [](void*, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t worker) {
    if (worker == 0) {
      while (!in_part) sched_yield();
      return;
    }
    ++parts_of_1;
    in_part = true;
    usleep(20000);
  };
  parts_of_1 = 0, in_part = false;
  const whet_work work{nullptr, 1, first, kinds, run};
  EXPECT_EQ(pool->run_work(pool, &work), 0);
  return parts_of_1;
}

TEST(Pool, LetsWorkersTakeFromEachOtherOnceOneWasLate) {
  const PoolHandle pool = make_pool(2);
  EXPECT_EQ(parts_of_a_late_worker(pool.get()), 4u) << "a new pool has seen nothing";
  // The sign counts for a while, which may pass where the test itself is kept from its processors, and so may the naps.
  std::uint32_t least = 4;
  for (int round = 0; round < 40 && least > 1; ++round) least = std::min(least, parts_of_a_late_worker(pool.get()));
  EXPECT_EQ(least, 1u);
}

void stay_on(std::uint32_t core) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(core, &mask);
  ASSERT_EQ(sched_setaffinity(0, sizeof mask, &mask), 0);
}

/// The core of worker 1 after at most 50 runs that disturb the pool, or earlier where it is `wanted`.
int core_of_a_late_worker(whet_pool* pool, std::uint32_t wanted) {
  std::atomic<int> core{-1};
  for (int round = 0; round < 50 && core != static_cast<int>(wanted); ++round) {
    parts_of_a_late_worker(pool);
    run(pool, [&](std::uint32_t worker) {
      if (worker == 1) core = sched_getcpu();
    });
  }
  return core;
}

TEST(Pool, MovesAWorkerAwayFromTheCallerBesideOtherPrograms) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  std::vector<std::uint32_t> cores;
  for (std::uint32_t core = 0; core < CPU_SETSIZE && cores.size() < 2; ++core) {
    if (CPU_ISSET(core, &before)) cores.push_back(core);
  }
  if (cores.size() < 2) GTEST_SKIP() << "one core is open to this process";
  whet_pool_options options{};
  options.cores = cores.data();
  options.core_count = 2;
  const PoolHandle pool = make_pool(2, options);
  stay_on(cores[1]);
  EXPECT_EQ(core_of_a_late_worker(pool.get(), cores[0]), static_cast<int>(cores[0]));
  stay_on(cores[0]);
  EXPECT_EQ(core_of_a_late_worker(pool.get(), cores[1]), static_cast<int>(cores[1])) << "back where it began";
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(Pool, LeavesTheCallersAffinityAlone) {
  cpu_set_t before, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const PoolHandle pool = make_pool(2);
  expect_all_workers_run(pool.get(), 1);
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

/// What a worker computes in one mode and not in another.
struct Computed {
  float third, half_of_the_least;
  bool is_nan;
  bool operator==(const Computed&) const = default;
};
Computed compute() {
  volatile float one = 1, three = 3, zero = 0, least = std::numeric_limits<float>::min();
  const volatile float third = one / three, half = least / 2, none = zero / zero;  // the last stops where it may
  return {third, half, std::isnan(none)};
}

/// Numbers are rounded in this direction, and what has no answer stops the thread.
class OtherMode {
 public:
  explicit OtherMode(int rounding) {
    fegetenv(&before_);
    fesetround(rounding);
    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
  }
  ~OtherMode() { fesetenv(&before_); }

 private:
  fenv_t before_;
};

std::vector<Computed> computed_by_workers(whet_pool* pool) {
  std::vector<Computed> computed(pool->workers);
  run(pool, [&](std::uint32_t worker) { computed[worker] = compute(); });
  return computed;
}

TEST(Pool, ComputesInOneModeWhateverItsMakerAndItsCallerHaveSet) {
  const Computed right = compute();
  EXPECT_GT(right.half_of_the_least, 0.0f) << "subnormal numbers are numbers";
  for (const int rounding : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::vector<Computed> computed;
    PoolHandle pool;
    {
      const OtherMode maker(rounding);
      pool = make_pool(2);
    }
    EXPECT_EQ(computed_by_workers(pool.get()), (std::vector{right, right})) << rounding;
    {
      const OtherMode caller(rounding);
      computed = computed_by_workers(pool.get());
    }
    EXPECT_EQ(computed, (std::vector{right, right})) << rounding;
  }
}

TEST(Pool, GivesTheCallerItsFloatingPointModeBack) {
  const PoolHandle pool = make_pool(2);
  CountedWork work(3);
  int rounding = 0, stopping = 0, noted = 0;
  {
    const OtherMode caller(FE_UPWARD);
    feclearexcept(FE_ALL_EXCEPT);
    feraiseexcept(FE_INEXACT);
    computed_by_workers(pool.get());
    work.run(pool.get());
    rounding = fegetround(), stopping = fegetexcept(), noted = fetestexcept(FE_ALL_EXCEPT);
  }
  EXPECT_EQ(rounding, FE_UPWARD);
  EXPECT_EQ(stopping, FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
  EXPECT_EQ(noted, FE_INEXACT) << "what kernels note is not the caller's";
}

#if defined(__x86_64__)
TEST(Pool, KeepsSubnormalNumbersWhereItsCallerDoesNot) {
  const PoolHandle pool = make_pool(2);
  const std::uint32_t before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before | 0x8040);
  const std::vector<Computed> computed = computed_by_workers(pool.get());
  const std::uint32_t after = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before);
  EXPECT_EQ(computed, (std::vector{compute(), compute()}));
  EXPECT_EQ(after & 0x8040, 0x8040u);
}
#endif

TEST(Pool, PinsItsWorkersToTheCoresGiven) {
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  std::uint32_t core = 0;
  while (!CPU_ISSET(core, &mask)) ++core;
  const std::uint32_t cores[] = {core, core};
  whet_pool_options options{};
  options.cores = cores;
  options.core_count = 2;
  const PoolHandle pool = make_pool(2, options);
  EXPECT_EQ(pool_info(pool.get())->pinned, 1u);
  std::atomic<int> allowed{0}, stands{-1};
  run(pool.get(), [&](std::uint32_t worker) {
    if (worker == 0) return;
    cpu_set_t own;
    sched_getaffinity(0, sizeof own, &own);
    allowed = CPU_COUNT(&own);
    stands = sched_getcpu();
  });
  EXPECT_EQ(allowed, 1);
  EXPECT_EQ(stands, static_cast<int>(core));
}

TEST(Pool, SaysWhyItHasAsManyThreads) {
  EXPECT_STREQ(pool_info(make_pool(3).get())->note, "3 threads, as asked for");
  setenv("WHET_NUM_THREADS", "2", 1);
  const PoolHandle pool = make_pool(0);
  EXPECT_STREQ(pool_info(pool.get())->note, "2 threads: WHET_NUM_THREADS says so");
  EXPECT_EQ(pool->workers, 2u);
  setenv("WHET_NUM_THREADS", "two", 1);
  EXPECT_STRNE(pool_info(make_pool(0).get())->note, "2 threads: WHET_NUM_THREADS says so");
  unsetenv("WHET_NUM_THREADS");
}

TEST(Pool, RefusesImpossibleOptionsWithASentence) {
  whet_pool* pool = nullptr;
  whet_error error;
  const std::uint32_t cores[] = {0, 5000};
  whet_pool_options options{};
  options.threads = 5000;
  EXPECT_EQ(pool_create(&options, 0, &pool, &error), -1);
  EXPECT_STREQ(error.message, "a pool of 5000 threads was asked for; expected at most 1024");
  options = {3, cores, 1, 0, 0};
  EXPECT_EQ(pool_create(&options, 0, &pool, &error), -1);
  EXPECT_STREQ(error.message, "1 cores are given for 3 threads; expected one a thread");
  options = {2, cores, 2, 0, 0};
  EXPECT_EQ(pool_create(&options, 0, &pool, &error), -1);
  EXPECT_STREQ(error.message, "core 1 of the pool's list is missing or not below 1024");
  EXPECT_EQ(pool, nullptr);
}

TEST(Pool, RunsUnpinnedWhereACoreIsNotOpen) {
  const std::uint32_t cores[] = {0, 1000};
  whet_pool_options options{};
  options.cores = cores;
  options.core_count = 2;
  const PoolHandle pool = make_pool(2, options);
  EXPECT_EQ(pool_info(pool.get())->pinned, 0u);
  EXPECT_STREQ(pool_info(pool.get())->note, "2 threads, not pinned: core 1000 is not open to this process");
  expect_all_workers_run(pool.get(), 1);
}

TEST(Pool, StartsAgainInAChildAfterFork) {
  const PoolHandle pool = make_pool(3);
  expect_all_workers_run(pool.get(), 1);
  CountedWork before(5);
  EXPECT_EQ(before.run(pool.get()), 5u * 840);
  const auto runs_again = [&] {
    std::atomic<int> count{0};
    for (int round = 0; round < 50; ++round) run(pool.get(), [&](std::uint32_t) { ++count; });
    CountedWork work(5);
    for (int round = 0; round < 50; ++round) {
      if (work.run(pool.get()) != 5u * 840) return false;
    }
    return count == 150;
  };
  EXPECT_EQ(in_a_child(runs_again), 1);
  expect_all_workers_run(pool.get(), 2);
}

/// While it lives no thread can start: the user may have none. (To root that limit does not apply.)
class NoThreadStarts {
 public:
  NoThreadStarts() {
    getrlimit(RLIMIT_NPROC, &before_);
    const rlimit none = {0, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NPROC, &none), 0);
    if (root_) become(kNobody);
  }
  ~NoThreadStarts() {
    if (root_) become(0);
    setrlimit(RLIMIT_NPROC, &before_);
  }

 private:
  static constexpr uid_t kNobody = 65534;
  static void become(uid_t user) { EXPECT_EQ(setresuid(user, user, 0), 0); }
  const bool root_ = getuid() == 0;
  rlimit before_{};
};

TEST(Pool, SaysThatItsThreadsCannotStart) {
  whet_pool_options options{};
  options.threads = 3;
  whet_pool* pool = nullptr;
  whet_error error;
  {
    const NoThreadStarts none;
    EXPECT_EQ(pool_create(&options, 0, &pool, &error), -1);
  }
  EXPECT_STREQ(error.message, "cannot start 3 threads: Resource temporarily unavailable");
  EXPECT_EQ(pool, nullptr);
}

TEST(Pool, StartsInAChildAfterForkAsSoonAsThreadsCanStart) {
  const PoolHandle pool = make_pool(3);
  const auto says_so_and_runs_later = [&] {
    std::atomic<int> count{0};
    const auto job = [](void* context, std::uint32_t) { ++*static_cast<std::atomic<int>*>(context); };
    {
      const NoThreadStarts none;
      if (pool_run(pool.get(), job, &count) != EAGAIN || count != 0) return false;
    }
    return pool_run(pool.get(), job, &count) == 0 && count == 3;
  };
  EXPECT_EQ(in_a_child(says_so_and_runs_later), 1);
}

bool all_workers_run(whet_pool* pool) {
  std::atomic<std::uint32_t> count{0};
  const auto job = [](void* context, std::uint32_t) { ++*static_cast<std::atomic<std::uint32_t>*>(context); };
  return pool_run(pool, job, &count) == 0 && count == pool->workers;
}

TEST(Pool, StartsInAChildWhileAnotherThreadRanIt) {
  const PoolHandle pool = make_pool(2);
  std::atomic<bool> stop = false;
  std::thread other([&] {
    CountedWork work(3);
    while (!stop) work.run(pool.get());
  });
  const int forks = testing::random_cases(100);
  for (int time = 0; time < forks && !::testing::Test::HasFailure(); ++time)
    EXPECT_EQ(in_a_child([&] { return all_workers_run(pool.get()) && all_workers_run(pool.get()); }), 1);
  stop = true;
  other.join();
}

TEST(Pool, StartsInAGrandchildOfAChildThatWasStartingIt) {
  const PoolHandle pool = make_pool(3);
  const auto child = [&] {
    std::atomic<bool> begun = false;
    std::thread other([&] {
      begun = true;
      all_workers_run(pool.get());
    });
    while (!begun) sched_yield();
    const bool right = in_a_child([&] { return all_workers_run(pool.get()); }) == 1;
    other.join();
    return right;
  };
  const int forks = testing::random_cases(100);
  for (int time = 0; time < forks && !::testing::Test::HasFailure(); ++time) EXPECT_EQ(in_a_child(child), 1);
}

/// The first process of a namespace makes a pool; one of a namespace inside has the same id.
TEST(Pool, StartsInAChildThatHasItsParentsId) {
  const auto run_in_a_namespace = [](auto work) { return unshare(CLONE_NEWPID) == 0 && in_a_child(work) == 1; };
  if (in_a_child([&] { return run_in_a_namespace([] { return getpid() == 1; }); }) != 1)
    GTEST_SKIP() << "the system makes no namespaces";
  EXPECT_EQ(in_a_child([&] {
              return run_in_a_namespace([&] {
                const PoolHandle pool = make_pool(2);
                return all_workers_run(pool.get()) &&
                       run_in_a_namespace([&] { return getpid() == 1 && all_workers_run(pool.get()); });
              });
            }),
            1);
}

TEST(Pool, LendsScratchInAChildWhateverOtherThreadsDidAtTheFork) {
  PoolHandle pool = make_pool(2);
  std::atomic<bool> stop = false;
  std::thread other([&] {
    while (!stop) pool->scratch(pool.get(), 64);
  });
  const int forks = testing::random_cases(300);
  for (int time = 0; time < forks; ++time) {
    EXPECT_EQ(in_a_child([&] { return pool->scratch(pool.get(), 64) != nullptr; }), 1);
    if (::testing::Test::HasFailure()) break;
  }
  stop = true;
  other.join();
}

TEST(Pool, CanBeDestroyedInAChildThatNeverRanIt) {
  PoolHandle pool = make_pool(3);
  EXPECT_EQ(in_a_child([&] { return pool.reset(), true; }), 1);
}

}  // namespace cpu_pool_test
}  // namespace whet
