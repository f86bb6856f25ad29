#include "runner/bench.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <limits>

#include "artifact/object_loader.h"
#include "runner/constant_pool.h"
#include "runner/fill.h"
#include "runner/memory_guard.h"
#include "runner/timing.h"
#include "runtime/memory.h"
#include "runtime/pool.h"

namespace whet {
namespace {

constexpr std::uint8_t kOk = 0, kRuntime = 4, kWrongAnswer = 5, kOutOfMemory = 12;
constexpr std::size_t kLine = 64, kPage = 4096;

using Clock = std::chrono::steady_clock;
/// Whole nanoseconds divided once, so that figures print without digits of no meaning.
double since(Clock::time_point start) {
  return static_cast<double>(std::chrono::nanoseconds(Clock::now() - start).count()) / 1e9;
}
std::size_t round_up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

/// Something that went wrong, as the replies carry it.
struct Failure {
  std::uint8_t code = kOk;
  std::string message;
};
Failure no_memory(const std::string& what, std::int64_t bytes) {
  return {kOutOfMemory, "no memory for " + what + " (" + std::to_string(bytes) + " bytes)"};
}

/// What the system could hand out without swapping, in bytes.
std::int64_t available_memory() {
  std::ifstream info("/proc/meminfo");
  std::string name;
  std::int64_t kib = 0;
  while (info >> name >> kib) {
    if (name == "MemAvailable:") return kib << 10;
    info.ignore(64, '\n');
  }
  return std::numeric_limits<std::int64_t>::max();
}

bool pooled(const ArgumentSpec& a) { return a.role == ArgumentRole::constant && a.dtype == DType::f32; }

struct Slice {
  std::byte* data;
  std::size_t bytes;
};
Slice slice_of(Slice whole, std::uint32_t worker, std::uint32_t workers) {
  const std::size_t lines = (whole.bytes + kLine - 1) / kLine;
  const std::size_t first = std::min(whole.bytes, lines * worker / workers * kLine);
  const std::size_t last = std::min(whole.bytes, lines * (worker + 1) / workers * kLine);
  return {whole.data + first, last - first};
}

/// Stores what is there already: the lines end up modified in this core's cache, as after the layer that computes them.
void rewrite(Slice s) {
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= s.bytes; at += sizeof(std::uint64_t)) {
    auto* word = reinterpret_cast<volatile std::uint64_t*>(s.data + at);
    *word = *word;
  }
}
void flush(Slice s) {
#if defined(__x86_64__)
  for (std::size_t at = 0; at < s.bytes; at += kLine) __builtin_ia32_clflush(s.data + at);
  __builtin_ia32_mfence();
#else
  (void)s;
#endif
}

/// The signals that a misbehaving kernel raises in the thread that runs it; pool workers start with all blocked.
void unblock_faults() {
  sigset_t faults;
  sigemptyset(&faults);
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigaddset(&faults, signal);
  pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
}

/// The workers, remade when another number or other cores are asked for.
class Team {
 public:
  ~Team() { pool_destroy(pool_); }

  std::string ensure(const KernelJob& job) {
    if (pool_ && job.threads == pool_->workers && job.cores == cores_ && job.no_pin == no_pin_) return "";
    pool_destroy(std::exchange(pool_, nullptr));
    if (!have_mask_) have_mask_ = sched_getaffinity(0, sizeof mask_, &mask_) == 0;
    if (have_mask_) sched_setaffinity(0, sizeof mask_, &mask_);
    whet_pool_options options{};
    options.threads = job.threads;
    options.cores = job.cores.empty() ? nullptr : job.cores.data();
    options.core_count = static_cast<std::uint32_t>(job.cores.size());
    options.no_pin = job.no_pin;
    whet_error error{};
    if (pool_create(&options, job.threads, &pool_, &error) != 0) return error.message;
    cores_ = job.cores;
    no_pin_ = job.no_pin;
    pin_caller();
    return "";
  }
  whet_pool* pool() const { return pool_; }

 private:
  /// The pool never moves its caller; here the caller is this process's own main thread.
  void pin_caller() {
    const whet_pool_info* info = pool_info(pool_);
    if (!info->pinned || !info->cores || info->cores[0] >= CPU_SETSIZE) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(info->cores[0], &one);
    sched_setaffinity(0, sizeof one, &one);
  }

  whet_pool* pool_ = nullptr;
  std::vector<std::uint32_t> cores_;
  bool no_pin_ = false, have_mask_ = false;
  cpu_set_t mask_;
};

void no_barrier(void*, std::uint32_t) {}
constexpr whet_kernel_runtime kAlone = {no_barrier};

/// One kernel with its buffers in place: calls it on every worker.
class Call {
 public:
  Call(whet_kernel entry, const Kernel& kernel, whet_pool* pool, std::size_t arguments)
      : buffers(arguments),
        status(pool->workers),
        entry_(entry),
        pool_(pool),
        alone_(!kernel.parallel),
        args_(pool->workers) {
    for (std::uint32_t w = 0; w < pool->workers; ++w) {
      whet_kernel_args& a = args_[w];
      a = {};
      a.buffers = buffers.data();
      a.runtime = alone_ ? &kAlone : &kPoolKernelRuntime;
      a.team = pool;
      a.worker = w;
      a.workers = alone_ ? 1 : pool->workers;
    }
  }
  Call(const Call&) = delete;

  void set_workspaces(void* shared, const std::vector<void*>& own) {
    for (std::size_t w = 0; w < args_.size(); ++w)
      args_[w].shared_workspace = shared, args_[w].worker_workspace = own[w];
  }
  /// Called by every worker of the pool.
  void run(std::uint32_t worker) {
    if (alone_ && worker != 0) return;
    if (const std::int32_t s = entry_(&args_[worker]); s != 0) status[worker] = s;
  }
  Failure failure() const {
    for (auto s : status)
      if (s != 0) return {kRuntime, "the kernel reported error " + std::to_string(s)};
    return {};
  }
  whet_pool* pool() const { return pool_; }

  std::vector<void*> buffers;
  std::vector<std::int32_t> status;

 private:
  whet_kernel entry_;
  whet_pool* pool_;
  bool alone_;
  std::vector<whet_kernel_args> args_;
};

void run_on(whet_pool* pool, void (*job)(void*, std::uint32_t), void* context) {
  // It can fail only in a child of the process that made the pool.
  WHET_CHECK(pool_run(pool, job, context) == 0);
}

double run_once(Call& call) {
  struct Context {
    Call& call;
    Clock::time_point start{};
    double seconds = 0;
  } context{call};
  run_on(
      call.pool(),
      [](void* opaque, std::uint32_t worker) {
        auto& c = *static_cast<Context*>(opaque);
        unblock_faults();
        c.call.pool()->barrier(c.call.pool(), worker);
        if (worker == 0) c.start = Clock::now();
        c.call.run(worker);
        c.call.pool()->barrier(c.call.pool(), worker);
        if (worker == 0) c.seconds = since(c.start);
      },
      &context);
  return context.seconds;
}

/// The timed runs, all inside one job of the pool, so that no worker goes to sleep between them.
struct TimedLoop {
  Call& call;
  RunPlan& plan;
  CacheMode cache;
  std::vector<Slice> activations;  // rewritten before each run (network)
  std::vector<Slice> everything;   // flushed before each run (cold)
  ConstantPool& pool;
  std::vector<std::size_t> constants;    // sizes of the pooled ones
  std::vector<std::size_t> constant_at;  // and their argument numbers
  std::vector<const std::byte*> places;
  Clock::time_point start{};
  bool skipped = false, stop = false;

  void run() {
    places.resize(constants.size());
    run_on(call.pool(), [](void* self, std::uint32_t worker) { static_cast<TimedLoop*>(self)->work(worker); }, this);
  }

 private:
  void work(std::uint32_t worker) {
    whet_pool* team = call.pool();
    unblock_faults();
    for (;;) {
      prepare(worker, team->workers);
      team->barrier(team, worker);
      if (stop) return;
      if (worker == 0) start = Clock::now();
      call.run(worker);
      team->barrier(team, worker);
      if (worker == 0) judge(since(start));
    }
  }
  void prepare(std::uint32_t worker, std::uint32_t workers) {
    if (cache == CacheMode::network) {
      for (const Slice& s : activations) rewrite(slice_of(s, worker, workers));
      if (worker != 0 || stop) return;
      pool.next(constants, places.data());
      for (std::size_t i = 0; i < places.size(); ++i) call.buffers[constant_at[i]] = const_cast<std::byte*>(places[i]);
    } else if (cache == CacheMode::cold) {
      for (const Slice& s : everything) flush(slice_of(s, worker, workers));
    }
  }
  void judge(double seconds) {
    const bool go_on = skipped ? plan.add(seconds) : plan.first(seconds);
    skipped = true;
    stop = !go_on || call.failure().code != kOk;
  }
};

}  // namespace

class KernelBench::Impl {
 public:
  MeasureReply measure(const MeasureRequest& request) {
    const auto begin = Clock::now();
    MeasureReply reply;
    const Failure failure = measure(request, reply);
    reply.code = failure.code;
    reply.message = failure.message;
    if (failure.code != kOk) reply.seconds.clear();
    reply.run_seconds = since(begin);
    return reply;
  }

  CheckReply check(const CheckRequest& request) {
    CheckReply reply;
    const Failure failure = check(request, reply);
    reply.code = failure.code;
    reply.message = failure.message;
    if (failure.code != kOk) reply.outputs.clear();
    return reply;
  }

  std::size_t describe(std::uintptr_t address, char* text, std::size_t capacity) const {
    for (const auto* list : {&guarded_, &contents_, &workspaces_})
      for (const GuardedBuffer& buffer : *list)
        if (const std::size_t n = buffer.describe(address, text, capacity)) return n;
    static constexpr char kPool[] = "in or near the constants";
    if (!pool_.contains(address) || capacity < sizeof kPool) return 0;
    std::memcpy(text, kPool, sizeof kPool - 1);
    return sizeof kPool - 1;
  }

 private:
  Failure measure(const MeasureRequest& request, MeasureReply& reply) {
    const KernelJob& job = request.job;
    if (auto failure = prepare(job); failure.code != kOk) return failure;
    auto kernel = LoadedKernel::load(job.kernel);
    if (!kernel.ok()) return {kRuntime, "the object cannot be loaded: " + kernel.error().message};
    if (auto failure = reserve_pool(job, request.policy); failure.code != kOk) return failure;

    Call call(kernel->entry(), job.kernel, team_.pool(), job.arguments.size());
    RunPlan plan(request.policy);
    bool go_on = true;
    if (request.policy.guard) {
      if (auto failure = place_guarded(job, call); failure.code != kOk) return failure;
      const double seconds = run_once(call);
      if (auto failure = judge_guarded(job, call); failure.code != kOk) return failure;
      go_on = plan.first(seconds);
    }
    if (go_on) {
      if (auto failure = place_timed(job, call); failure.code != kOk) return failure;
      run_timed(job, request.policy, call, plan);
      if (auto failure = call.failure(); failure.code != kOk) return failure;
    }
    reply.seconds = plan.seconds();
    reply.truncated = plan.truncated();
    return {};
  }

  Failure check(const CheckRequest& request, CheckReply& reply) {
    const Failure failure = run_checked(request);
    contents_.clear();
    if (failure.code != kOk) return failure;
    const auto& arguments = request.job.arguments;
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (arguments[i].role == ArgumentRole::output)
        reply.outputs.emplace_back(reinterpret_cast<const char*>(guarded_[i].data()), guarded_[i].bytes());
    return {};
  }

  /// Leaves the outputs in `guarded_`.
  Failure run_checked(const CheckRequest& request) {
    if (request.packing) {
      Failure failure = run_checked({*request.packing, {}, {}, {}});
      if (failure.code != kOk) return {failure.code, "the constants cannot be packed: " + failure.message};
      take_packed(request);
    }
    const KernelJob& job = request.job;
    if (auto failure = prepare(job); failure.code != kOk) return failure;
    auto kernel = LoadedKernel::load(job.kernel);
    if (!kernel.ok()) return {kRuntime, "the object cannot be loaded: " + kernel.error().message};
    Call call(kernel->entry(), job.kernel, team_.pool(), job.arguments.size());
    if (auto failure = reserve_pool(job, {}); failure.code != kOk) return failure;
    if (auto failure = place_guarded(job, call); failure.code != kOk) return failure;
    if (auto failure = place_contents(request, call); failure.code != kOk) return failure;
    run_once(call);
    return judge_guarded(job, call);
  }

  /// What the packing kernel computed becomes contents of the checked one.
  void take_packed(const CheckRequest& request) {
    contents_.clear();
    contents_.resize(request.job.arguments.size());
    for (const auto& [index, output] : request.packed) {
      contents_[index] = std::move(guarded_[output]);
      contents_[index].set_writable(false);
    }
    specs_.clear();  // of the packing kernel, whose buffers are gone
  }

  /// Threads, and guarded buffers with their contents: those that are there already stay.
  Failure prepare(const KernelJob& job) {
    const auto& wanted = job.kernel.argument_bytes;
    if (wanted.size() != job.arguments.size())
      return {kRuntime, "the kernel takes " + std::to_string(wanted.size()) + " arguments, " +
                            std::to_string(job.arguments.size()) + " are given"};
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i] > job.arguments[i].bytes)
        return {kRuntime, "argument " + std::to_string(i) + " has " + std::to_string(job.arguments[i].bytes) +
                              " bytes, the kernel needs " + std::to_string(wanted[i])};
    if (auto failure = check_memory(job); failure.code != kOk) return failure;
    if (std::string error = team_.ensure(job); !error.empty()) return {kRuntime, error};
    if (specs_ == job.arguments) return {};
    specs_.resize(job.arguments.size());
    guarded_.resize(job.arguments.size());
    for (std::size_t i = 0; i < job.arguments.size(); ++i) {
      if (specs_[i] == job.arguments[i] && guarded_[i].ok()) continue;
      arena_specs_.clear();
      guarded_[i] = GuardedBuffer();
      specs_[i] = job.arguments[i];
      if (pooled(specs_[i])) continue;
      guarded_[i] = GuardedBuffer(static_cast<std::size_t>(specs_[i].bytes), name_of(job, i));
      if (!guarded_[i].ok()) return specs_.clear(), no_memory(name_of(job, i), job.arguments[i].bytes);
      guarded_[i].poison();
      if (specs_[i].role == ArgumentRole::output) continue;
      fill_argument(specs_[i], guarded_[i].data());
      guarded_[i].set_writable(false);
    }
    return {};
  }

  /// Refused before it is touched: a system that runs out of memory kills whom it likes.
  static Failure check_memory(const KernelJob& job) {
    std::int64_t need = 2 * (job.kernel.shared_workspace + job.kernel.worker_workspace * job.threads);
    for (const ArgumentSpec& a : job.arguments) need += 2 * a.bytes;
    constexpr std::int64_t kNeverScarce = std::int64_t{128} << 20;
    if (need <= kNeverScarce || need <= available_memory() / 10 * 9) return {};
    return no_memory("the kernel's arguments and workspaces", need);
  }

  static std::string name_of(const KernelJob& job, std::size_t i) {
    const ArgumentRole role = job.arguments[i].role;
    const auto number = std::count_if(job.arguments.begin(), job.arguments.begin() + static_cast<std::ptrdiff_t>(i),
                                      [&](const ArgumentSpec& a) { return a.role == role; });
    const char* what = role == ArgumentRole::output     ? "output "
                       : role == ArgumentRole::constant ? "constant "
                                                        : "input ";
    return what + std::to_string(number);
  }

  Failure reserve_pool(const KernelJob& job, const TimingPolicy& policy) {
    pool_sizes_.clear();
    pool_arguments_.clear();
    std::size_t need = 0;
    for (std::size_t i = 0; i < job.arguments.size(); ++i) {
      if (!pooled(job.arguments[i])) continue;
      pool_arguments_.push_back(i);
      pool_sizes_.push_back(static_cast<std::size_t>(job.arguments[i].bytes));
      need += round_up(pool_sizes_.back(), kLine);
    }
    if (pool_sizes_.empty()) return {};
    if (policy.cache == CacheMode::network) need = std::max(need, static_cast<std::size_t>(policy.network_bytes));
    if (!pool_.reserve(need)) return no_memory("the pool of constants", static_cast<std::int64_t>(need));
    return {};
  }

  Failure place_guarded(const KernelJob& job, Call& call) {
    const auto places = pool_.at_end(pool_sizes_);
    for (std::size_t k = 0; k < places.size(); ++k)
      call.buffers[pool_arguments_[k]] = const_cast<std::byte*>(places[k]);
    for (std::size_t i = 0; i < job.arguments.size(); ++i) {
      if (pooled(job.arguments[i])) continue;
      if (job.arguments[i].role == ArgumentRole::output) guarded_[i].poison();
      call.buffers[i] = guarded_[i].data();
    }
    std::vector<std::size_t> sizes{static_cast<std::size_t>(job.kernel.shared_workspace)};
    sizes.resize(1 + team_.pool()->workers, static_cast<std::size_t>(job.kernel.worker_workspace));
    workspaces_.resize(sizes.size());
    std::vector<void*> own;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::string name = i == 0 ? "the shared workspace" : "worker " + std::to_string(i - 1) + "'s workspace";
      if (!workspaces_[i].ok() || workspaces_[i].bytes() != sizes[i]) workspaces_[i] = GuardedBuffer(sizes[i], name);
      if (!workspaces_[i].ok()) return no_memory(name, static_cast<std::int64_t>(sizes[i]));
      workspaces_[i].poison();
      if (i > 0) own.push_back(workspaces_[i].data());
    }
    call.set_workspaces(workspaces_[0].data(), own);
    return {};
  }

  /// For a check: constants that were packed, with the contents given, or made from their seeds.
  Failure place_contents(const CheckRequest& request, Call& call) {
    const auto& arguments = request.job.arguments;
    std::vector<const std::string*> given(arguments.size());
    for (const auto& [index, bytes] : request.contents) given[index] = &bytes;
    contents_.resize(arguments.size());
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (contents_[i].ok()) call.buffers[i] = contents_[i].data();
      if (contents_[i].ok() || arguments[i].role == ArgumentRole::output || (!given[i] && !pooled(arguments[i])))
        continue;
      GuardedBuffer buffer(static_cast<std::size_t>(arguments[i].bytes), name_of(request.job, i));
      if (!buffer.ok()) return no_memory(name_of(request.job, i), arguments[i].bytes);
      if (given[i])
        std::memcpy(buffer.data(), given[i]->data(), given[i]->size());
      else
        fill_argument(arguments[i], buffer.data());
      buffer.set_writable(false);
      call.buffers[i] = buffer.data();
      contents_[i] = std::move(buffer);
    }
    return {};
  }

  Failure judge_guarded(const KernelJob& job, const Call& call) {
    if (auto failure = call.failure(); failure.code != kOk) return failure;
    for (std::size_t i = 0; i < job.arguments.size(); ++i) {
      if (job.arguments[i].role != ArgumentRole::output) continue;
      if (std::string damage = guarded_[i].damage(); !damage.empty()) return {kWrongAnswer, damage};
    }
    for (const GuardedBuffer& workspace : workspaces_)
      if (std::string damage = workspace.damage(); !damage.empty()) return {kWrongAnswer, damage};
    return {};
  }

  /// Arguments as a model's arena has them: one stretch of huge pages, each at another offset within its page.
  Failure place_timed(const KernelJob& job, Call& call) {
    if (arena_specs_ != job.arguments) {
      std::vector<std::size_t> offsets;
      std::size_t at = 0;
      for (const ArgumentSpec& a : job.arguments) {
        offsets.push_back(at);
        if (!pooled(a)) at += round_up(static_cast<std::size_t>(a.bytes), kLine) + 3 * kLine;
      }
      free_pages(&arena_);
      arena_ = allocate_pages(at);
      if (!arena_.ok()) return no_memory("the arguments", static_cast<std::int64_t>(at));
      timed_.assign(job.arguments.size(), nullptr);
      for (std::size_t i = 0; i < job.arguments.size(); ++i) {
        if (pooled(job.arguments[i])) continue;
        timed_[i] = static_cast<std::byte*>(arena_.data) + offsets[i];
        std::memcpy(timed_[i], guarded_[i].data(), guarded_[i].bytes());
      }
      arena_specs_ = job.arguments;
    }
    const auto places = pool_.at_start(pool_sizes_);
    for (std::size_t k = 0; k < places.size(); ++k)
      call.buffers[pool_arguments_[k]] = const_cast<std::byte*>(places[k]);
    for (std::size_t i = 0; i < timed_.size(); ++i)
      if (timed_[i]) call.buffers[i] = timed_[i];
    return place_timed_workspaces(job, call);
  }

  Failure place_timed_workspaces(const KernelJob& job, Call& call) {
    const std::size_t workers = team_.pool()->workers;
    const std::size_t shared = round_up(static_cast<std::size_t>(job.kernel.shared_workspace), kPage);
    const std::size_t own = round_up(static_cast<std::size_t>(job.kernel.worker_workspace), kPage) + kLine;
    const std::size_t need = shared + own * workers;
    if (need > scratch_.bytes) {
      free_pages(&scratch_);
      scratch_ = allocate_pages(need);
      if (!scratch_.ok()) return no_memory("the workspaces", static_cast<std::int64_t>(need));
    }
    auto* base = static_cast<std::byte*>(scratch_.data);
    std::vector<void*> each;
    for (std::size_t w = 0; w < workers; ++w) each.push_back(base + shared + w * own);
    call.set_workspaces(base, each);
    return {};
  }

  void run_timed(const KernelJob& job, const TimingPolicy& policy, Call& call, RunPlan& plan) {
    TimedLoop loop{call, plan, policy.cache, {}, {}, pool_, pool_sizes_, pool_arguments_};
    for (std::size_t i = 0; i < job.arguments.size(); ++i) {
      const Slice slice{static_cast<std::byte*>(call.buffers[i]), static_cast<std::size_t>(job.arguments[i].bytes)};
      loop.everything.push_back(slice);
      if (job.arguments[i].role == ArgumentRole::activation) loop.activations.push_back(slice);
    }
    loop.run();
  }

 public:
  ~Impl() {
    free_pages(&arena_);
    free_pages(&scratch_);
  }

 private:
  Team team_;
  ConstantPool pool_;
  std::vector<std::size_t> pool_sizes_, pool_arguments_;  ///< of the request at hand
  std::vector<ArgumentSpec> specs_;                       ///< what `guarded_` holds
  std::vector<GuardedBuffer> guarded_, workspaces_, contents_;
  std::vector<ArgumentSpec> arena_specs_;  ///< what `arena_` holds
  std::vector<std::byte*> timed_;
  Pages arena_, scratch_;
};

KernelBench::KernelBench() : impl_(std::make_unique<Impl>()) {}
KernelBench::~KernelBench() = default;
MeasureReply KernelBench::measure(const MeasureRequest& request) { return impl_->measure(request); }
CheckReply KernelBench::check(const CheckRequest& request) { return impl_->check(request); }
std::size_t KernelBench::describe(std::uintptr_t address, char* text, std::size_t capacity) const {
  return impl_->describe(address, text, capacity);
}

}  // namespace whet
