#include "runtime/cpu/pool.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <new>
#include <utility>

#include "runtime/cpu/cores.h"
#include "runtime/cpu/disturbance.h"
#include "runtime/cpu/float_mode.h"
#include "runtime/cpu/futex.h"
#include "runtime/cpu/shares.h"
#include "runtime/memory.h"
#include "runtime/process.h"

namespace whet {
namespace {

constexpr std::uint32_t kMaxThreads = 1024;
constexpr std::uint32_t kDefaultSpinMicroseconds = 2000;
/// In the middle of a run the others are a step behind at most; but where cores are scarce, they may need this one.
constexpr std::uint64_t kBarrierSpinNs = 5000000;
constexpr std::uint64_t kScarceBarrierSpinNs = 20000;
constexpr std::size_t kLine = 64;
constexpr std::size_t kWorkerStack = std::size_t{1} << 20;

struct Pool;

struct Worker {
  Pool* pool;
  std::uint32_t index;
  pthread_t thread;
  std::uint32_t core;  // where it is pinned
  bool places_itself;  // there, before its first job: the thread that made it may not
};

struct alignas(kLine) Line {
  WaitWord word;
};

/// Scratch memory, and the smaller one that was lent before it to sessions that still have it.
struct Scratch {
  Pages pages;
  Scratch* before;
};

struct Pool : whet_pool {
  // Fixed once the pool is made.
  whet_pool_info settings;  // info points here
  std::uint32_t* cores;     // settings.cores points here
  Worker* threads;          // [workers]; entry 0 is not used
  Seat* seats;              // [workers]
  std::uint64_t idle_spin_ns, barrier_spin_ns;
  char note[256];

  ForkLock lending;                 // of `scratch`
  std::atomic<Scratch*> scratches;  // the largest comes first

  pthread_mutex_t turn;              // held by the caller that runs a job
  std::atomic<std::uint64_t> owner;  // living_in or being_made_in the process of the workers; 0: there are none
  std::uint32_t started;             // workers running, the caller included
  std::uint32_t callers_core;        // of the pool's cores the one without a worker

  void (*job)(void*, std::uint32_t);
  void* context;
  std::atomic<bool> stop;

  Line epoch;    // counts jobs: a change starts one, for all workers where it is odd, else shares for those that come
  Line pending;  // workers that have not finished the job
  Line barrier_epoch;
  alignas(kLine) std::atomic<std::uint32_t> arrived;
  Shares shares;
  std::atomic<std::uint64_t> shares_began;  // when the last job of shares did [ns]
  Disturbance disturbance;
};

std::uint64_t living_in(std::uint32_t process) { return std::uint64_t{process} << 1; }
std::uint64_t being_made_in(std::uint32_t process) { return living_in(process) | 1; }

/// Begins the next epoch that is odd (1) or even (0).
void next_epoch(Pool& pool, std::uint32_t odd) {
  const std::uint32_t epoch = pool.epoch.word.load();
  pool.epoch.word.store(epoch + (epoch % 2 == odd ? 2 : 1));
}

/// A wait inside of a job.
void note_wait(Pool& pool, std::uint64_t ns) { pool.disturbance.lost(static_cast<std::int64_t>(ns)); }

void barrier(whet_pool* base, std::uint32_t) {
  Pool& pool = *static_cast<Pool*>(base);
  if (pool.workers == 1) return;
  const std::uint32_t epoch = pool.barrier_epoch.word.load();
  if (pool.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == pool.workers) {
    pool.arrived.store(0, std::memory_order_relaxed);
    pool.barrier_epoch.word.store(epoch + 1);
  } else {
    note_wait(pool, pool.barrier_epoch.word.wait_while(epoch, pool.barrier_spin_ns));
  }
}

/// Takes part in a job of shares. A worker that comes late, or has no processor for a while, is a sign of other programs.
template <typename TakePart>
void watch(Pool& pool, TakePart take_part) {
  const std::uint64_t began = pool.shares_began.load(std::memory_order_relaxed), before = thread_ns();
  take_part();
  pool.disturbance.lost(static_cast<std::int64_t>((now_ns() - began) - (thread_ns() - before)));
}

cpu_set_t mask_of(std::uint32_t core) {
  static_assert(kMaxCores <= CPU_SETSIZE);
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(core, &mask);
  return mask;
}

/// Gives a thread one core: 0, or an errno.
int pin(pthread_t thread, std::uint32_t core) {
  const cpu_set_t mask = mask_of(core);
  return pthread_setaffinity_np(thread, sizeof mask, &mask);
}

void pin_this_thread(std::uint32_t core) {
  const cpu_set_t mask = mask_of(core);
  sched_setaffinity(0, sizeof mask, &mask);
}

/// The system may wake the caller on a worker's processor and leave it there, while the one that it came from is empty or
/// has another program alone. Then that worker, which may not be running to see it, is sent there.
void make_way(Pool& pool) {
  if (!pool.settings.pinned) return;
  const int here = sched_getcpu();
  if (here < 0 || static_cast<std::uint32_t>(here) == pool.callers_core) return;
  for (std::uint32_t w = 1; w < pool.started; ++w) {
    Worker& worker = pool.threads[w];
    if (worker.core != static_cast<std::uint32_t>(here)) continue;
    if (pin(worker.thread, pool.callers_core) == 0) std::swap(worker.core, pool.callers_core);
    return;
  }
}

void* work(void* argument) {
  Worker& self = *static_cast<Worker*>(argument);
  Pool& pool = *self.pool;
  FloatMode mode;
  // The epoch at which this worker was made is 0 (also after a fork). Jobs of shares may end without this worker.
  for (std::uint32_t epoch = 0;;) {
    pool.epoch.word.wait_while(epoch, pool.idle_spin_ns);
    const bool is_first = epoch == 0;
    epoch = pool.epoch.word.load();
    if (pool.stop.load(std::memory_order_relaxed)) return nullptr;
    if (is_first && self.places_itself) pin_this_thread(self.core);
    if (epoch % 2 == 0) {
      watch(pool, [&] { pool.shares.join(self.index); });
    } else {
      pool.job(pool.context, self.index);
      pool.pending.word.decrement();
    }
  }
}

/// Kernels keep little on the stack; the default may be 8 MB of a program's address space a worker.
void limit_stack(pthread_attr_t& attributes) {
  std::size_t bytes = 0;
  if (pthread_attr_getstacksize(&attributes, &bytes) == 0 && bytes > kWorkerStack)
    pthread_attr_setstacksize(&attributes, kWorkerStack);
}

/// Where the core is not open to the process, all workers count as free.
void pin_worker(Pool& pool, Worker& worker) {
  const int failure = pin(worker.thread, worker.core);
  worker.places_itself = failure == EPERM;  // a sandbox lets a thread place itself and no other
  if (failure != EINVAL) return;
  pool.settings.pinned = 0;
  snprintf(pool.note, sizeof pool.note, "%u threads, not pinned: core %u is not open to this process", pool.workers,
           worker.core);
}

/// Starts one thread, and pins it where it has a core. (As an attribute of the thread glibc alone has that, and archives are linked with
/// other C libraries too.)
int start_thread(Pool& pool, Worker& worker) {
  worker.core = pool.cores[worker.index];
  worker.places_itself = false;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  limit_stack(attributes);
  const int failure = pthread_create(&worker.thread, &attributes, work, &worker);
  pthread_attr_destroy(&attributes);
  if (failure == 0 && pool.settings.pinned) pin_worker(pool, worker);
  return failure;
}

/// Signals are the program's own threads' business. SIGBUS is that of the thread that reads a lost page (runtime/lost_pages.h).
int start_threads(Pool& pool) {
  sigset_t all, before;
  sigfillset(&all);
  sigdelset(&all, SIGBUS);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failure = 0;
  pool.callers_core = pool.cores[0];
  for (pool.started = 1; pool.started < pool.workers && failure == 0;) {
    failure = start_thread(pool, pool.threads[pool.started]);
    if (failure == 0) ++pool.started;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!pool.settings.pinned) pool.settings.cores = nullptr;
  return failure;
}

void stop_threads(Pool& pool) {
  pool.stop.store(true, std::memory_order_relaxed);
  next_epoch(pool, 0);
  for (std::uint32_t w = 1; w < pool.started; ++w) pthread_join(pool.threads[w].thread, nullptr);
}

/// Everything as in a pool that has run nothing.
void reset(Pool& pool) {
  pool.stop.store(false, std::memory_order_relaxed);
  pool.shares.reset();
  pool.disturbance.reset();
  pool.epoch.word.reset(0);
  pool.pending.word.reset(0);
  pool.barrier_epoch.word.reset(0);
  pool.arrived.store(0, std::memory_order_relaxed);
  pthread_mutex_init(&pool.turn, nullptr);
}

/// In a child after fork the workers are gone: the first caller starts them again, also where another child was about to.
/// Gives 0 or an errno.
int remake_after_fork(Pool& pool) {
  const std::uint32_t self = process_number();
  std::uint64_t owner = pool.owner.load(std::memory_order_acquire);
  while (owner != living_in(self)) {
    if (owner == being_made_in(self)) {
      sched_yield();
      owner = pool.owner.load(std::memory_order_acquire);
    } else if (pool.owner.compare_exchange_weak(owner, being_made_in(self), std::memory_order_acq_rel)) {
      reset(pool);
      const int failure = start_threads(pool);
      if (failure != 0) stop_threads(pool);
      pool.owner.store(failure == 0 ? living_in(self) : 0, std::memory_order_release);
      return failure;
    }
  }
  return 0;
}

void join(Pool& pool) {
  for (std::uint32_t left = pool.pending.word.load(); left != 0; left = pool.pending.word.load()) {
    note_wait(pool, pool.pending.word.wait_while(left, pool.barrier_spin_ns));
  }
}

/// Runs something as worker 0 when the pool is free.
template <typename Run>
int take_turn(Pool& pool, Run run) {
  if (const int failure = remake_after_fork(pool); failure != 0) return failure;
  pthread_mutex_lock(&pool.turn);
  {
    FloatMode mode;
    make_way(pool);
    run();
  }
  pthread_mutex_unlock(&pool.turn);
  return 0;
}

void run_job(Pool& pool, void (*job)(void*, std::uint32_t), void* context) {
  if (pool.workers > 1) {
    pool.job = job;
    pool.context = context;
    pool.pending.word.reset(pool.workers - 1);
    next_epoch(pool, 1);
  }
  job(context, 0);
  if (pool.workers > 1) join(pool);
}

int run(whet_pool* base, void (*job)(void*, std::uint32_t), void* context) {
  Pool& pool = *static_cast<Pool*>(base);
  return take_turn(pool, [&] { run_job(pool, job, context); });
}

Scratch* larger_scratch(Pool& pool, std::uint64_t bytes) {
  Scratch* scratch = static_cast<Scratch*>(malloc(sizeof(Scratch)));
  if (scratch == nullptr) return nullptr;
  *scratch = {allocate_pages(static_cast<std::size_t>(bytes)), pool.scratches};
  if (scratch->pages.ok()) {
    pool.scratches.store(scratch, std::memory_order_release);  // whole: another thread may fork now
    return scratch;
  }
  free(scratch);
  return nullptr;
}

/// What was lent stays where it is: sessions point into it. Each size that is larger than all before costs what a session's own
/// memory would.
void* scratch(whet_pool* base, std::uint64_t bytes) {
  Pool& pool = *static_cast<Pool*>(base);
  const Locked locked(pool.lending);
  Scratch* largest = pool.scratches;
  if (largest == nullptr || largest->pages.bytes < bytes) largest = larger_scratch(pool, bytes);
  return largest == nullptr ? nullptr : largest->pages.data;
}

void free_scratches(Pool& pool) {
  while (Scratch* scratch = pool.scratches) {
    pool.scratches = scratch->before;
    free_pages(&scratch->pages);
    free(scratch);
  }
}

struct FixedShares {
  Pool* pool;
  const whet_work* work;

  static void run(void* context, std::uint32_t worker) {
    const FixedShares& self = *static_cast<const FixedShares*>(context);
    run_shares(self.pool, *self.work, worker);
  }
};

void share_out(Pool& pool, const whet_work& work) {
  pool.shares_began.store(now_ns(), std::memory_order_relaxed);
  pool.shares.begin(work);
  next_epoch(pool, 0);
  watch(pool, [&] { pool.shares.run(); });
}

/// Sharing costs a few hundred nanoseconds a group, which networks of small kernels feel: it is for pools that have seen
/// other programs. On a quiet machine workers that keep to their shares and meet are faster.
int run_work(whet_pool* base, const whet_work* work) {
  Pool& pool = *static_cast<Pool*>(base);
  return take_turn(pool, [&] {
    if (pool.disturbance.lasts()) return share_out(pool, *work);
    FixedShares fixed{&pool, work};
    run_job(pool, FixedShares::run, &fixed);
  });
}

/// WHET_NUM_THREADS, or 0 where it is not set or no number.
std::uint32_t environment_threads() {
  const char* text = getenv("WHET_NUM_THREADS");
  if (text == nullptr || *text == '\0') return 0;
  char* end;
  const unsigned long threads = strtoul(text, &end, 10);
  return *end == '\0' && threads <= kMaxThreads ? static_cast<std::uint32_t>(threads) : 0;
}

/// Decides the number of threads and says why.
std::uint32_t choose_threads(const whet_pool_options& options, std::uint32_t most, const UsableCores& cores, char* note,
                             std::size_t bytes) {
  if (options.threads != 0) {
    snprintf(note, bytes, "%u threads, as asked for", options.threads);
    return options.threads;
  }
  if (const std::uint32_t threads = environment_threads(); threads != 0) {
    snprintf(note, bytes, "%u threads: WHET_NUM_THREADS says so", threads);
    return threads;
  }
  std::uint32_t threads = cores.count > 0 ? cores.count : 1;
  if (most != 0 && most <= threads && (cores.quota == 0 || most <= cores.quota)) {
    snprintf(note, bytes, "%u threads: what the model was tuned for", most);
    return most;
  }
  if (cores.quota > 0 && cores.quota < threads) {
    threads = cores.quota < 1 ? 1 : static_cast<std::uint32_t>(cores.quota);
    snprintf(note, bytes, "%u threads: the cgroup grants %.2f CPUs", threads, cores.quota);
    return threads;
  }
  snprintf(note, bytes, "%u threads: one a physical core that this process may use", threads);
  return threads;
}

/// The cores of the workers: those given, or the usable ones, turned so that the one under the caller comes first.
void choose_cores(Pool& pool, const whet_pool_options& options, const UsableCores& usable) {
  if (options.core_count != 0) {
    memcpy(pool.cores, options.cores, pool.workers * sizeof *pool.cores);
    return;
  }
  std::uint32_t first = 0;
  const int here = sched_getcpu();
  for (std::uint32_t i = 0; i < usable.count; ++i) {
    if (here >= 0 && usable.core[i] == static_cast<std::uint32_t>(here)) first = i;
  }
  // A caller that stays is most likely to stay where it is; but a small pool keeps to the first cores, so that two runs
  // of a program stand alike.
  if (first >= pool.workers) first = 0;
  for (std::uint32_t w = 0; w < pool.workers; ++w) {
    const std::uint32_t at = w == 0 ? first : w <= first ? w - 1 : w;
    pool.cores[w] = usable.core[at];
  }
}

void choose_spins(Pool& pool, const whet_pool_options& options, const UsableCores& usable) {
  const bool quota = usable.quota > 0;
  const bool scarce = quota || pool.workers > usable.allowed;
  pool.settings.spin_microseconds = quota                            ? 0
                                    : options.spin_microseconds != 0 ? options.spin_microseconds
                                                                     : kDefaultSpinMicroseconds;
  pool.idle_spin_ns = std::uint64_t{pool.settings.spin_microseconds} * 1000;
  pool.barrier_spin_ns = scarce ? kScarceBarrierSpinNs : kBarrierSpinNs;
}

int check_options(const whet_pool_options& options, whet_error* error) {
  if (options.threads > kMaxThreads) {
    return whet_fail(error, "a pool of %u threads was asked for; expected at most %u", options.threads, kMaxThreads);
  }
  for (std::uint32_t i = 0; i < options.core_count; ++i) {
    if (options.cores == nullptr || options.cores[i] >= kMaxCores) {
      return whet_fail(error, "core %u of the pool's list is missing or not below %u", i, kMaxCores);
    }
  }
  return 0;
}

void free_pool(Pool* pool) {
  free_scratches(*pool);
  free(pool->threads);
  free(pool->seats);
  free(pool->cores);
  pool->~Pool();
  free(pool);
}

void destroy(whet_pool* base) {
  Pool* pool = static_cast<Pool*>(base);
  if (pool->owner.load(std::memory_order_acquire) == living_in(process_number())) {
    stop_threads(*pool);
    pthread_mutex_destroy(&pool->turn);
  }
  free_pool(pool);
}

/// A pool without threads; null where memory ends.
Pool* allocate_pool(std::uint32_t workers) {
  void* memory = aligned_alloc(kLine, (sizeof(Pool) + kLine - 1) / kLine * kLine);
  if (memory == nullptr) return nullptr;
  Pool* pool = new (memory) Pool();
  pool->head_version = 3;
  pool->workers = workers;
  pool->run = run;
  pool->run_work = run_work;
  pool->scratch = scratch;
  pool->barrier = barrier;
  pool->destroy = destroy;
  pool->info = &pool->settings;
  pool->cores = static_cast<std::uint32_t*>(calloc(workers, sizeof *pool->cores));
  pool->threads = static_cast<Worker*>(calloc(workers, sizeof *pool->threads));
  pool->seats = static_cast<Seat*>(aligned_alloc(alignof(Seat), workers * sizeof(Seat)));
  if (pool->cores == nullptr || pool->threads == nullptr || pool->seats == nullptr) {
    free_pool(pool);
    return nullptr;
  }
  for (std::uint32_t w = 0; w < workers; ++w) {
    pool->threads[w] = Worker{pool, w, {}, 0};
    new (&pool->seats[w]) Seat();
  }
  return pool;
}

int make_pool(const whet_pool_options& options, std::uint32_t most_threads, const UsableCores& usable, whet_pool** out,
              whet_error* error) {
  char note[sizeof Pool::note];
  const std::uint32_t threads = choose_threads(options, most_threads, usable, note, sizeof note);
  if (options.core_count != 0 && options.core_count < threads) {
    return whet_fail(error, "%u cores are given for %u threads; expected one a thread", options.core_count, threads);
  }
  Pool* pool = allocate_pool(threads);
  if (pool == nullptr) return whet_fail(error, "no memory for a pool of %u threads", threads);
  memcpy(pool->note, note, sizeof note);
  pool->settings.threads = threads;
  pool->settings.note = pool->note;
  pool->settings.pinned = !options.no_pin && (options.core_count != 0 || threads <= usable.count);
  pool->settings.cores = pool->cores;
  if (pool->settings.pinned) choose_cores(*pool, options, usable);
  choose_spins(*pool, options, usable);
  pool->shares.init(pool->seats, threads, pool->barrier_spin_ns);
  reset(*pool);
  pool->owner.store(living_in(process_number()), std::memory_order_release);
  if (const int failure = start_threads(*pool); failure != 0) {
    stop_threads(*pool);
    free_pool(pool);
    return whet_fail(error, "cannot start %u threads: %s", threads, strerror(failure));
  }
  *out = pool;
  return 0;
}

void kernel_barrier(void* team, std::uint32_t worker) {
  whet_pool* pool = static_cast<whet_pool*>(team);
  pool->barrier(pool, worker);
}

}  // namespace

const whet_kernel_runtime kPoolKernelRuntime = {kernel_barrier};

int pool_create(const whet_pool_options* given, std::uint32_t most_threads, whet_pool** pool, whet_error* error) {
  const FloatMode mode;  // quotas are fractions
  const whet_pool_options options = given != nullptr ? *given : whet_pool_options{};
  *pool = nullptr;
  if (check_options(options, error) != 0) return -1;
  auto* const usable = static_cast<UsableCores*>(malloc(sizeof(UsableCores)));  // the caller's stack may be small
  if (usable == nullptr) return whet_fail(error, "no memory for a pool");
  find_usable_cores(usable);
  const int result = make_pool(options, most_threads, *usable, pool, error);
  free(usable);
  return result;
}

}  // namespace whet
