#include "runner/cuda/bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <list>
#include <thread>

#include "base/arithmetic.h"
#include "runner/cpu/constant_pool.h"
#include "runner/cuda/bench_device.h"
#include "runner/cuda/emulated_driver.h"
#include "runner/fill.h"
#include "runner/timing.h"

namespace whet {
namespace {

/// A replay is as long as this [s]: the clock of events has half a microsecond.
constexpr double kReplaySeconds = 1e-3;
constexpr double kMostCopies = 1000;
/// A GPU lowers its clocks when it has had nothing to do for about so long, and raises them in less than so long [s].
constexpr double kPauseSeconds = 0.05, kRiseSeconds = 0.03;
constexpr std::size_t kConstantAlignment = 256;
/// Places of device code, which the copies of a replay take one after the other. In a network the code of other launches evicts a kernel's own
/// before its next run. An SM's last cache of code has 128 KiB since Volta (Jia et al., Dissecting the
/// NVIDIA Volta GPU Architecture via Microbenchmarking, 2018).
constexpr int kPlacesOfCode = 16;
/// Arguments that are kept for the next request with the same ones: tasks are measured alternately.
constexpr std::size_t kKeptArguments = 8, kKeptBytes = std::size_t{2} << 30;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
bool pooled_on_gpu(const ArgumentSpec& a) { return a.role == ArgumentRole::constant && a.dtype == DType::f32; }

const CudaDriver* find_system(whet_error* error) {
  const CudaDriver* driver = nullptr;
  return system_cuda_driver(&driver, error) == 0 ? driver : nullptr;
}
const CudaDriver* find_emulated(whet_error*) { return &emulated_cuda_driver(); }

/// The addresses of all arguments and the workspace, and the pointers to them that a launch takes.
struct Addresses {
  std::vector<CUdeviceptr> values;
  std::vector<void*> pointers;
  void** parameters() {
    pointers.clear();
    for (CUdeviceptr& value : values) pointers.push_back(&value);
    return pointers.data();
  }
};

class CudaBench final : public KernelBench {
 public:
  explicit CudaBench(FindCudaDriver find) : find_(find) {}

  MeasureReply measure(const MeasureRequest& request) override {
    const auto start = std::chrono::steady_clock::now();
    MeasureReply reply;
    const GpuFailure failure = noted(measure(request, reply));
    reply.code = failure.code;
    reply.message = failure.message;
    if (failure.failed()) reply.seconds.clear();
    reply.run_seconds = seconds_since(start);
    return reply;
  }
  CheckReply check(const CheckRequest& request) override {
    CheckReply reply;
    const GpuFailure failure = noted(check(request, reply));
    reply.code = failure.code;
    reply.message = failure.message;
    if (failure.failed()) reply.outputs.clear();
    return reply;
  }
  std::size_t describe(std::uintptr_t, char*, std::size_t) const override { return 0; }
  bool is_lost() const override { return lost_; }

 private:
  using Blocks = EmulatedRun::Blocks;

  bool emulated() const { return device_.context().driver->emulated; }
  /// How much of a launch the emulated device runs from now on.
  void run_blocks(Blocks blocks) const {
    if (!emulated()) return;
    EmulatedRun run{blocks, EmulatedOrder::shuffled, 1, 1};
    if (blocks == Blocks::all) run.workers = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    set_emulated_run(run);
  }

  GpuFailure noted(GpuFailure failure) {
    lost_ = lost_ || failure.lost;
    if (failure.lost && find_ == find_emulated && !emulated_failure().empty()) failure.message = emulated_failure();
    return failure;
  }

  GpuFailure open(const KernelJob& job) {
    if (device_.is_open()) return {};
    whet_error error{};
    const CudaDriver* driver = find_(&error);
    if (driver == nullptr) return {OutcomeCode::device_lost, error.message, true};
    return device_.open(*driver, static_cast<int>(job.device));
  }

  GpuFailure measure(const MeasureRequest& request, MeasureReply& reply) {
    const KernelJob& job = request.job;
    if (GpuFailure f = open(job); f.failed()) return f;
    GpuKernel kernel(device_);
    if (GpuFailure f = kernel.load(job.kernel); f.failed()) return f;
    if (GpuFailure f = place(job); f.failed()) return f;
    RunPlan first_plan(request.policy);
    double seconds = 0;
    run_blocks(Blocks::some);
    if (GpuFailure f = run_guarded(kernel, job, request.policy.guard, &seconds); f.failed()) return f;
    if (!first_plan.first(seconds)) {
      reply.seconds = first_plan.seconds();
      reply.truncated = first_plan.truncated();
      return {};
    }
    run_blocks(Blocks::none);
    const int copies = copies_for(request.policy, seconds);
    spread_code(kernel, request, copies);
    return time(kernel, request, copies, reply);
  }

  /// PTX would be compiled anew for each place. A place that cannot be had is done without.
  static void spread_code(GpuKernel& kernel, const MeasureRequest& request, int copies) {
    const Kernel& code = request.job.kernel;
    if (request.policy.cache == CacheMode::warm || code.format != CodeFormat::cubin) return;
    for (int place = 1; place < std::min(kPlacesOfCode, copies); ++place)
      if (kernel.load(code).failed()) return;
  }

  GpuFailure time(const GpuKernel& kernel, const MeasureRequest& request, int copies, MeasureReply& reply) {
    std::vector<Addresses> places;
    if (GpuFailure f = place_constants(request, copies, places); f.failed()) return f;
    std::vector<void**> parameters;
    for (Addresses& each : places) parameters.push_back(each.parameters());
    GpuReplay replay(device_);
    double seconds = 0;
    if (GpuFailure f = replay.build(kernel, parameters); f.failed()) return f;
    if (GpuFailure f = wake(replay); f.failed()) return f;
    RunPlan plan(per_copy(request.policy, copies));
    do {
      if (GpuFailure f = replay.run(&seconds); f.failed()) return f;
    } while (plan.add(seconds));
    last_replay_ = std::chrono::steady_clock::now();
    reply.seconds = plan.seconds();
    reply.truncated = plan.truncated();
    return {};
  }

  /// Replays that do not count: one, and after a pause as many as the clocks need to rise.
  GpuFailure wake(const GpuReplay& replay) const {
    const bool paused = !emulated() && seconds_since(last_replay_) > kPauseSeconds;
    const auto start = std::chrono::steady_clock::now();
    double ignored = 0;
    do {
      if (GpuFailure f = replay.run(&ignored); f.failed()) return f;
    } while (paused && seconds_since(start) < kRiseSeconds);
    return {};
  }

  static int copies_for(const TimingPolicy& policy, double first) {
    const double one = std::max(first, 1e-7);
    const double wanted = policy.classic ? std::max<double>(policy.number, policy.min_repeat_seconds / one)
                                         : std::ceil(kReplaySeconds / one);
    return static_cast<int>(std::clamp(wanted, 1.0, kMostCopies));
  }
  /// A plan sees one figure a replay, which stands for all its copies.
  static TimingPolicy per_copy(TimingPolicy policy, int copies) {
    policy.min_seconds /= copies;
    policy.max_seconds /= copies;
    if (policy.classic) policy.number = 1, policy.min_repeat_seconds = 0;
    return policy;
  }

  GpuFailure check(const CheckRequest& request, CheckReply& reply) {
    const KernelJob& job = request.job;
    if (request.packing) return {OutcomeCode::runtime, "a GPU's runner packs no constants"};
    if (GpuFailure f = open(job); f.failed()) return f;
    GpuKernel kernel(device_);
    if (GpuFailure f = kernel.load(job.kernel); f.failed()) return f;
    if (GpuFailure f = place(job); f.failed()) return f;
    if (!request.contents.empty()) placed_.front().specs.clear();  // they stay for this request alone
    for (const auto& [index, bytes] : request.contents)
      if (GpuFailure f = arguments().at(index).upload(bytes.data()); f.failed()) return f;
    run_blocks(Blocks::all);
    double seconds = 0;
    if (GpuFailure f = run_guarded(kernel, job, true, &seconds); f.failed()) return f;
    for (std::size_t i = 0; i < job.arguments.size(); ++i) {
      if (job.arguments[i].role != ArgumentRole::output) continue;
      std::string& bytes = reply.outputs.emplace_back(arguments()[i].bytes(), '\0');
      if (GpuFailure f = arguments()[i].download(bytes.data()); f.failed()) return f;
    }
    return {};
  }

  /// Arguments with their contents.
  struct Placed {
    std::vector<ArgumentSpec> specs;  ///< empty: the contents are others
    std::vector<GuardedGpuBuffer> buffers;
    std::size_t bytes = 0;
  };
  std::vector<GuardedGpuBuffer>& arguments() { return placed_.front().buffers; }
  const std::vector<GuardedGpuBuffer>& arguments() const { return placed_.front().buffers; }

  /// Other requests' arguments are given back where memory runs out.
  GpuFailure place(const KernelJob& job) {
    const bool others = !placed_.empty() || pool_.bytes() > 0;
    GpuFailure failure = try_to_place(job);
    if (failure.code != OutcomeCode::out_of_memory || failure.lost || !others) return failure;
    placed_.clear();
    workspace_ = {}, pool_ = {};
    return try_to_place(job);
  }
  /// Arguments, those of an earlier request where they are the same; the workspace.
  GpuFailure try_to_place(const KernelJob& job) {
    const auto known = std::ranges::find(placed_, job.arguments, &Placed::specs);
    if (known != placed_.end()) {
      placed_.splice(placed_.begin(), placed_, known);
    } else if (GpuFailure f = place_arguments(job); f.failed()) {
      placed_.clear();
      return f;
    }
    const auto workspace = static_cast<std::size_t>(std::max<std::int64_t>(job.kernel.workspace, 1));
    if (workspace_.bytes() >= workspace) return {};
    return workspace_.allocate(device_, workspace, "the workspace");
  }
  GpuFailure place_arguments(const KernelJob& job) {
    std::erase_if(placed_, [](const Placed& each) { return each.specs.empty(); });
    std::size_t bytes = 0, kept = 0;
    for (const ArgumentSpec& spec : job.arguments) bytes += static_cast<std::size_t>(spec.bytes);
    for (const Placed& each : placed_) kept += each.bytes;
    while (!placed_.empty() && (placed_.size() >= kKeptArguments || kept + bytes > kKeptBytes)) {
      kept -= placed_.back().bytes;
      placed_.pop_back();
    }
    placed_.emplace_front().bytes = bytes;
    for (std::size_t i = 0; i < job.arguments.size(); ++i)
      if (GpuFailure f = place_argument(job, i); f.failed()) return f;
    placed_.front().specs = job.arguments;
    return {};
  }
  GpuFailure place_argument(const KernelJob& job, std::size_t i) {
    const ArgumentSpec& spec = job.arguments[i];
    const auto bytes = static_cast<std::size_t>(spec.bytes);
    const std::string kind = spec.role == ArgumentRole::output ? "output" : "input";
    GuardedGpuBuffer& buffer = arguments().emplace_back();
    if (GpuFailure f = buffer.allocate(device_, bytes, kind + " " + std::to_string(i)); f.failed()) return f;
    if (spec.role == ArgumentRole::output) return {};
    std::vector<std::byte> contents(bytes);
    fill_argument(spec, contents.data());
    if (GpuFailure f = buffer.upload(contents.data()); f.failed()) return f;
    return device_.synchronize("copy the arguments to the device");  // before `contents` goes
  }

  Addresses addresses() const {
    Addresses out;
    for (const GuardedGpuBuffer& argument : arguments()) out.values.push_back(argument.data());
    out.values.push_back(workspace_.data());
    return out;
  }

  /// One run, its outputs and workspace poisoned before, and the patterns around everything looked at behind.
  GpuFailure run_guarded(const GpuKernel& kernel, const KernelJob& job, bool guarded, double* seconds) {
    const auto is_written = [&](std::size_t i) {
      return i == job.arguments.size() || job.arguments[i].role == ArgumentRole::output;
    };
    const auto buffer = [&](std::size_t i) -> const GuardedGpuBuffer& {
      return i == job.arguments.size() ? workspace_ : arguments()[i];
    };
    for (std::size_t i = 0; guarded && i <= job.arguments.size(); ++i)
      if (is_written(i))
        if (GpuFailure f = buffer(i).poison(); f.failed()) return f;
    Addresses all = addresses();
    GpuReplay once(device_);
    if (GpuFailure f = once.build(kernel, {all.parameters()}); f.failed()) return f;
    if (GpuFailure f = once.run(seconds); f.failed()) return f;
    for (std::size_t i = 0; guarded && i <= job.arguments.size(); ++i)
      if (GpuFailure f = buffer(i).check_guards(); f.failed()) return f;
    return {};
  }

  /// The addresses of each copy: its constants lie behind those of the copy before.
  GpuFailure place_constants(const MeasureRequest& request, int copies, std::vector<Addresses>& places) {
    const Addresses first = addresses();
    std::size_t needed = 0;
    for (const ArgumentSpec& a : request.job.arguments)
      if (pooled_on_gpu(a)) needed += round_up(static_cast<std::size_t>(a.bytes), kConstantAlignment);
    const std::size_t network = pool_bytes(request.policy);
    places.assign(static_cast<std::size_t>(copies), first);
    if (needed == 0 || network <= needed || emulated()) return {};
    const std::size_t walked = bytes_of_pool(needed, network);
    if (GpuFailure f = fill_pool(walked); f.failed()) return f;
    std::size_t cursor = 0;
    for (Addresses& place : places) {
      if (cursor + needed > walked) cursor = 0;
      for (std::size_t i = 0; i < request.job.arguments.size(); ++i) {
        if (!pooled_on_gpu(request.job.arguments[i])) continue;
        place.values[i] = pool_.data() + cursor;
        cursor += round_up(static_cast<std::size_t>(request.job.arguments[i].bytes), kConstantAlignment);
      }
    }
    return {};
  }
  std::size_t pool_bytes(const TimingPolicy& policy) const {
    int cache = 0;
    switch (policy.cache) {
      case CacheMode::warm:
        return 0;
      case CacheMode::network:
        return static_cast<std::size_t>(policy.network_bytes);
      case CacheMode::cold:
        device_.call().cuDeviceGetAttribute(&cache, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device_.context().device);
        return 2 * static_cast<std::size_t>(cache);
    }
    return 0;
  }
  GpuFailure fill_pool(std::size_t bytes) {
    if (pool_.bytes() >= bytes) return {};
    ConstantPool floats;
    if (!floats.reserve(bytes)) return {OutcomeCode::out_of_memory, "no memory for the constants of a network"};
    GpuFailure got = pool_.allocate(device_, bytes, "the constants");
    if (got.code == OutcomeCode::out_of_memory && placed_.size() > 1) {
      placed_.resize(1);
      got = pool_.allocate(device_, bytes, "the constants");
    }
    if (got.failed()) return got;
    if (GpuFailure f = pool_.upload(floats.at_start({bytes}).front()); f.failed()) return f;
    return device_.synchronize("copy the constants to the device");
  }

  const FindCudaDriver find_;
  bool lost_ = false;
  std::chrono::steady_clock::time_point last_replay_;  ///< long ago at first
  BenchDevice device_;                                 // before what lies on it
  std::list<Placed> placed_;                           ///< those of the last request first
  GuardedGpuBuffer workspace_, pool_;
};

}  // namespace

std::unique_ptr<KernelBench> make_cuda_bench(FindCudaDriver find) { return std::make_unique<CudaBench>(find); }
std::unique_ptr<KernelBench> make_cuda_bench() { return make_cuda_bench(find_system); }
std::unique_ptr<KernelBench> make_emulated_bench() { return make_cuda_bench(find_emulated); }

}  // namespace whet
