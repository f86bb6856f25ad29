#include "runner/cpu/bench.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include "artifact/cpu/object_loader.h"
#include "base/arithmetic.h"
#include "runner/cpu/available_memory.h"
#include "runner/cpu/cache.h"
#include "runner/cpu/constant_pool.h"
#include "runner/cpu/kernel_call.h"
#include "runner/cpu/memory_guard.h"
#include "runner/cpu/team.h"
#include "runner/fill.h"
#include "runner/timing.h"
#include "runtime/memory.h"

namespace whet {
namespace {

constexpr std::size_t kLine = 64;

using Clock = std::chrono::steady_clock;
/// Whole nanoseconds divided once, so that figures print without digits of no meaning.
double since(Clock::time_point start) {
  return static_cast<double>(std::chrono::nanoseconds(Clock::now() - start).count()) / 1e9;
}
/// Something that went wrong, as the replies carry it.
struct Failure {
  OutcomeCode code = OutcomeCode::ok;
  std::string message;
};
Failure no_memory(const std::string& what, std::int64_t bytes) {
  return {OutcomeCode::out_of_memory, "no memory for " + what + " (" + std::to_string(bytes) + " bytes)"};
}

/// The types of numbers of pools. Bytes without a sign are in that of i8.
constexpr std::array kPooledTypes = {DType::f32, DType::i8, DType::bf16, DType::f16};

/// Constants that kernels read all of; which indices a constant has decides what is read.
std::optional<DType> type_of_pool(const ArgumentSpec& a) {
  if (a.role != ArgumentRole::constant || a.index_bound != 0) return std::nullopt;
  const DType type = a.dtype == DType::u8 ? DType::i8 : a.dtype;
  return std::ranges::find(kPooledTypes, type) != kPooledTypes.end() ? std::optional(type) : std::nullopt;
}
bool pooled(const ArgumentSpec& a) { return type_of_pool(a).has_value(); }

/// A pool, and the constants of the request at hand that are taken from it.
struct PooledConstants {
  ConstantPool pool = {};
  std::vector<std::size_t> sizes = {}, arguments = {};  ///< `arguments`: their numbers
  std::vector<const std::byte*> places = {};            ///< of the next run

  void place(KernelCall& call) const {
    for (std::size_t k = 0; k < places.size(); ++k) call.buffers[arguments[k]] = const_cast<std::byte*>(places[k]);
  }
};
using Pools = std::array<PooledConstants, kPooledTypes.size()>;

/// The signals that a misbehaving kernel raises in the thread that runs it; pool workers start with all blocked.
void unblock_faults() {
  sigset_t faults;
  sigemptyset(&faults);
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigaddset(&faults, signal);
  pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
}

Failure failure_of(const KernelCall& call) {
  if (call.failure() == 0) return {};
  return {OutcomeCode::runtime, "the kernel reported error " + std::to_string(call.failure())};
}

double run_once(KernelCall& call) {
  struct Context {
    KernelCall& call;
    Clock::time_point start{};
    double seconds = 0;
  } context{call};
  call.team().run(
      [](void* opaque, std::uint32_t worker) {
        auto& c = *static_cast<Context*>(opaque);
        whet_pool* pool = c.call.team().pool();
        unblock_faults();
        pool->barrier(pool, worker);
        if (worker == 0) c.start = Clock::now();
        c.call.run(worker);
        pool->barrier(pool, worker);
        if (worker == 0) c.seconds = since(c.start);
      },
      &context);
  return context.seconds;
}

/// The timed runs, all inside one job of the pool, so that no worker goes to sleep between them.
struct TimedLoop {
  KernelCall& call;
  RunPlan& plan;
  CacheMode cache;
  std::vector<MemoryRange> activations, outputs;  // rewritten before each run (network)
  std::vector<MemoryRange> everything;            // flushed before each run (cold)
  Pools& pools;
  Clock::time_point start{};
  bool skipped = false, stop = false;

  void run() {
    call.team().run([](void* self, std::uint32_t worker) { static_cast<TimedLoop*>(self)->work(worker); }, this);
  }

 private:
  void work(std::uint32_t worker) {
    whet_pool* team = call.team().pool();
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
      for (const MemoryRange& s : outputs) rewrite_pages(s, worker, workers);
      for (const MemoryRange& s : activations) rewrite(share_of(s, worker, workers));
      if (worker != 0 || stop) return;
      for (PooledConstants& constants : pools) {
        constants.pool.next(constants.sizes, constants.places.data());
        constants.place(call);
      }
    } else if (cache == CacheMode::cold) {
      for (const MemoryRange& s : everything) flush(share_of(s, worker, workers));
    }
  }
  void judge(double seconds) {
    const bool go_on = skipped ? plan.add(seconds) : plan.first(seconds);
    skipped = true;
    stop = !go_on || call.failure() != 0;
  }
};

class CpuBench final : public KernelBench {
 public:
  CpuBench() = default;
  ~CpuBench() override { free_pages(&arena_); }

  MeasureReply measure(const MeasureRequest& request) override {
    const auto begin = Clock::now();
    MeasureReply reply;
    const Failure failure = measure(request, reply);
    reply.code = failure.code;
    reply.message = failure.message;
    if (failure.code != OutcomeCode::ok) reply.seconds.clear();
    reply.run_seconds = since(begin);
    return reply;
  }

  CheckReply check(const CheckRequest& request) override {
    CheckReply reply;
    const Failure failure = check(request, reply);
    reply.code = failure.code;
    reply.message = failure.message;
    if (failure.code != OutcomeCode::ok) reply.outputs.clear();
    return reply;
  }

  std::size_t describe(std::uintptr_t address, char* text, std::size_t capacity) const override {
    for (const auto* list : {&guarded_, &contents_, &workspaces_})
      for (const GuardedBuffer& buffer : *list)
        if (const std::size_t n = buffer.describe(address, text, capacity)) return n;
    static constexpr char kPool[] = "in or near the constants";
    const auto holds = [&](const PooledConstants& constants) { return constants.pool.contains(address); };
    if (std::ranges::none_of(pools_, holds) || capacity < sizeof kPool) return 0;
    std::memcpy(text, kPool, sizeof kPool - 1);
    return sizeof kPool - 1;
  }

 private:
  Failure measure(const MeasureRequest& request, MeasureReply& reply) {
    const KernelJob& job = request.job;
    if (auto failure = prepare(job); failure.code != OutcomeCode::ok) return failure;
    const auto kernel = LoadedKernel::load(job.kernel);
    if (!kernel.ok()) return {OutcomeCode::runtime, "the object cannot be loaded: " + kernel.error().message};
    if (auto failure = reserve_pool(job, request.policy); failure.code != OutcomeCode::ok) return failure;

    KernelCall call(*kernel, job.arguments.size(), team_);
    RunPlan plan(request.policy);
    bool go_on = true;
    if (request.policy.guard) {
      if (auto failure = place_guarded(job, call); failure.code != OutcomeCode::ok) return failure;
      const double seconds = run_once(call);
      if (auto failure = judge_guarded(job, call); failure.code != OutcomeCode::ok) return failure;
      go_on = plan.first(seconds);
    }
    if (go_on) {
      if (auto failure = place_timed(job, call); failure.code != OutcomeCode::ok) return failure;
      run_timed(job, request.policy, call, plan);
      if (auto failure = failure_of(call); failure.code != OutcomeCode::ok) return failure;
    }
    reply.seconds = plan.seconds();
    reply.truncated = plan.truncated();
    return {};
  }

  Failure check(const CheckRequest& request, CheckReply& reply) {
    const Failure failure = run_checked(request);
    contents_.clear();
    if (failure.code != OutcomeCode::ok) return failure;
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
      if (failure.code != OutcomeCode::ok) return {failure.code, "the constants cannot be packed: " + failure.message};
      take_packed(request);
    }
    const KernelJob& job = request.job;
    if (auto failure = prepare(job); failure.code != OutcomeCode::ok) return failure;
    const auto kernel = LoadedKernel::load(job.kernel);
    if (!kernel.ok()) return {OutcomeCode::runtime, "the object cannot be loaded: " + kernel.error().message};
    KernelCall call(*kernel, job.arguments.size(), team_);
    if (auto failure = reserve_pool(job, {}); failure.code != OutcomeCode::ok) return failure;
    if (auto failure = place_guarded(job, call); failure.code != OutcomeCode::ok) return failure;
    if (auto failure = place_contents(request, call); failure.code != OutcomeCode::ok) return failure;
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
      return {OutcomeCode::runtime, "the kernel takes " + std::to_string(wanted.size()) + " arguments, " +
                                        std::to_string(job.arguments.size()) + " are given"};
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i] > job.arguments[i].bytes)
        return {OutcomeCode::runtime, "argument " + std::to_string(i) + " has " +
                                          std::to_string(job.arguments[i].bytes) + " bytes, the kernel needs " +
                                          std::to_string(wanted[i])};
    if (auto failure = check_memory(job); failure.code != OutcomeCode::ok) return failure;
    if (const Status made = team_.ensure(job.threads, job.cpu); !made.ok())
      return {OutcomeCode::runtime, made.error().message};
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
    std::int64_t need = 2 * (job.kernel.workspace + job.kernel.worker_workspace * job.threads);
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
    for (std::size_t p = 0; p < pools_.size(); ++p) {
      PooledConstants& constants = pools_[p];
      constants.sizes.clear();
      constants.arguments.clear();
      std::size_t need = 0;
      for (std::size_t i = 0; i < job.arguments.size(); ++i) {
        if (type_of_pool(job.arguments[i]) != kPooledTypes[p]) continue;
        constants.arguments.push_back(i);
        constants.sizes.push_back(static_cast<std::size_t>(job.arguments[i].bytes));
        need += round_up(constants.sizes.back(), kLine);
      }
      constants.places.resize(constants.sizes.size());
      if (constants.sizes.empty()) continue;
      if (policy.cache == CacheMode::network)
        need = bytes_of_pool(need, static_cast<std::size_t>(policy.network_bytes));
      if (!constants.pool.reserve(need, kPooledTypes[p]))
        return no_memory("the pool of constants", static_cast<std::int64_t>(need));
    }
    return {};
  }

  /// Puts constants of pools at their ends, or at their starts.
  void place_pooled(KernelCall& call, bool at_end) {
    for (PooledConstants& constants : pools_) {
      if (constants.sizes.empty()) continue;
      constants.places = at_end ? constants.pool.at_end(constants.sizes) : constants.pool.at_start(constants.sizes);
      constants.place(call);
    }
  }

  Failure place_guarded(const KernelJob& job, KernelCall& call) {
    place_pooled(call, true);
    for (std::size_t i = 0; i < job.arguments.size(); ++i) {
      if (pooled(job.arguments[i])) continue;
      if (job.arguments[i].role == ArgumentRole::output) guarded_[i].poison();
      call.buffers[i] = guarded_[i].data();
    }
    std::vector<std::size_t> sizes{static_cast<std::size_t>(job.kernel.workspace)};
    sizes.resize(1 + team_.workers(), static_cast<std::size_t>(job.kernel.worker_workspace));
    workspaces_.resize(sizes.size());
    std::vector<void*> own;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::string name = i == 0 ? "the workspace" : "worker " + std::to_string(i - 1) + "'s workspace";
      if (!workspaces_[i].ok() || workspaces_[i].bytes() != sizes[i]) workspaces_[i] = GuardedBuffer(sizes[i], name);
      if (!workspaces_[i].ok()) return no_memory(name, static_cast<std::int64_t>(sizes[i]));
      workspaces_[i].poison();
      if (i > 0) own.push_back(workspaces_[i].data());
    }
    call.set_workspaces(workspaces_[0].data(), own);
    return {};
  }

  /// For a check: constants that were packed, with the contents given, or made from their seeds.
  Failure place_contents(const CheckRequest& request, KernelCall& call) {
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

  Failure judge_guarded(const KernelJob& job, const KernelCall& call) {
    if (auto failure = failure_of(call); failure.code != OutcomeCode::ok) return failure;
    for (std::size_t i = 0; i < job.arguments.size(); ++i) {
      if (job.arguments[i].role != ArgumentRole::output) continue;
      if (std::string damage = guarded_[i].damage(); !damage.empty()) return {OutcomeCode::wrong_answer, damage};
    }
    for (const GuardedBuffer& workspace : workspaces_)
      if (std::string damage = workspace.damage(); !damage.empty()) return {OutcomeCode::wrong_answer, damage};
    return {};
  }

  /// Arguments as a model's arena has them, in one stretch of huge pages.
  Failure place_timed(const KernelJob& job, KernelCall& call) {
    if (arena_specs_ != job.arguments) {
      std::vector<std::size_t> sizes, indices;
      for (std::size_t i = 0; i < job.arguments.size(); ++i) {
        if (pooled(job.arguments[i])) continue;
        sizes.push_back(static_cast<std::size_t>(job.arguments[i].bytes));
        indices.push_back(i);
      }
      const Stretch stretch = line_up(sizes);
      free_pages(&arena_);
      arena_ = allocate_pages(stretch.bytes);
      if (!arena_.ok()) return no_memory("the arguments", static_cast<std::int64_t>(stretch.bytes));
      timed_.assign(job.arguments.size(), nullptr);
      for (std::size_t k = 0; k < indices.size(); ++k) {
        const std::size_t i = indices[k];
        timed_[i] = static_cast<std::byte*>(arena_.data) + stretch.offsets[k];
        std::memcpy(timed_[i], guarded_[i].data(), guarded_[i].bytes());
      }
      arena_specs_ = job.arguments;
    }
    place_pooled(call, false);
    for (std::size_t i = 0; i < timed_.size(); ++i)
      if (timed_[i]) call.buffers[i] = timed_[i];
    if (!timed_workspaces_.reserve(job.kernel, team_.workers()))
      return no_memory("the workspaces", static_cast<std::int64_t>(Workspaces::need(job.kernel, team_.workers())));
    call.set_workspaces(timed_workspaces_.common(), timed_workspaces_.own(job.kernel, team_.workers()));
    return {};
  }

  void run_timed(const KernelJob& job, const TimingPolicy& policy, KernelCall& call, RunPlan& plan) {
    TimedLoop loop{call, plan, policy.cache, {}, {}, {}, pools_};
    for (std::size_t i = 0; i < job.arguments.size(); ++i) {
      const MemoryRange slice{static_cast<std::byte*>(call.buffers[i]),
                              static_cast<std::size_t>(job.arguments[i].bytes)};
      loop.everything.push_back(slice);
      if (job.arguments[i].role == ArgumentRole::activation) loop.activations.push_back(slice);
      if (job.arguments[i].role == ArgumentRole::output) loop.outputs.push_back(slice);
    }
    loop.run();
  }

 private:
  Team team_;
  Pools pools_;                      ///< by kPooledTypes
  std::vector<ArgumentSpec> specs_;  ///< what `guarded_` holds
  std::vector<GuardedBuffer> guarded_, workspaces_, contents_;
  std::vector<ArgumentSpec> arena_specs_;  ///< what `arena_` holds
  std::vector<std::byte*> timed_;
  Pages arena_;
  Workspaces timed_workspaces_;
};

}  // namespace

std::unique_ptr<KernelBench> make_cpu_bench() { return std::make_unique<CpuBench>(); }

}  // namespace whet
