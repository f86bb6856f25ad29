#include "timed_kernel.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "bursts.h"
#include "codegen/compile.h"
#include "machine/cores.h"
#include "measure/reference.h"
#include "runner/fill.h"

namespace whet {
namespace {

constexpr std::size_t kLine = 64;

std::size_t round_up(std::size_t n) { return (n + kLine - 1) / kLine * kLine; }

std::size_t bytes_of(const TensorType& type) {
  return static_cast<std::size_t>(num_elements(type.shape) * size_of(type.dtype));
}

void no_barrier(void*, std::uint32_t) {}
constexpr whet_kernel_runtime kAlone = {no_barrier};

/// What the prologue makes of the constants among `inputs`.
Result<std::vector<Tensor>> packed_constants(const CompiledKernel& compiled, const std::vector<ArgumentSpec>& inputs) {
  if (compiled.lowered.prologue.outputs.empty()) return std::vector<Tensor>();
  std::vector<Tensor> constants;
  std::size_t k = 0;
  for (const Op& op : compiled.dag.ops) {
    if (!op.is_placeholder()) continue;
    if (std::get<Placeholder>(op.def).constant) constants.push_back(make_tensor(inputs[k], op.shape));
    ++k;
  }
  return evaluate(compiled.lowered.prologue, constants);
}

/// The rounds of a burst, all inside one job of the pool, so that no worker goes to sleep between them.
struct Rounds {
  const Team& team;
  const std::vector<PlacedKernel*>& kernels;
  double seconds, hopeless;
  double began = bench::now(), start = 0;
  std::vector<double> times;
  bool stop = false;

  static void work(void* self, std::uint32_t worker) { static_cast<Rounds*>(self)->work(worker); }

 private:
  void work(std::uint32_t worker) {
    whet_pool* pool = team.pool();
    while (true) {
      if (worker == 0)
        for (PlacedKernel* kernel : kernels) kernel->next();
      pool->barrier(pool, worker);
      if (stop) return;
      if (worker == 0) start = bench::now();
      for (PlacedKernel* kernel : kernels) {
        kernel->run(worker);
        pool->barrier(pool, worker);
      }
      if (worker == 0) judge(bench::now());
    }
  }
  void judge(double end) {
    if (end - start > hopeless) {
      times = {std::numeric_limits<double>::infinity()};
      stop = true;
    }
    if (stop || end - began < bench::kWarmup * seconds) return;
    times.push_back(end - start);
    const std::size_t least = seconds > 0 ? bench::kLeastRuns : 1;
    stop = end - began >= (1 + bench::kWarmup) * seconds && times.size() >= least;
  }
};

}  // namespace

Result<std::unique_ptr<Team>> Team::make(const std::vector<int>& cpus) {
  const std::vector<std::uint32_t> cores(cpus.begin(), cpus.end());
  whet_pool_options options{};
  options.threads = options.core_count = static_cast<std::uint32_t>(cores.size());
  options.cores = cores.data();
  whet_pool* pool = nullptr;
  whet_error error{};
  if (pool_create(&options, options.threads, &pool, &error) != 0) return Error{error.message};
  // The pool never moves its caller, and starts its workers before: they would inherit the mask.
  pin_this_thread(cpus[0]);
  return std::unique_ptr<Team>(new Team(pool));
}

Result<CompiledKernel> compile_schedule(const ComputeDag& dag, const Steps& steps, const Target& target) {
  WHET_TRY(const LoopTree tree, replay(dag, steps));
  CompiledKernel compiled{dag, {}, {}, {}};
  const double start = bench::now();
  WHET_TRY(compiled.lowered, lower(tree, target));
  const double lowered = bench::now();
  WHET_TRY(compiled.kernel, compile_kernel(compiled.lowered.program, target));
  compiled.codegen_seconds = bench::now() - lowered;
  compiled.lower_seconds = lowered - start;
  WHET_TRY(LoadedKernel loaded, LoadedKernel::load(compiled.kernel));
  compiled.loaded = std::make_shared<LoadedKernel>(std::move(loaded));
  return compiled;
}

PlacedKernel::PlacedKernel(const CompiledKernel& compiled, const Team& team)
    : compiled_(compiled), team_(team), args_(team.workers()), status_(team.workers()) {}

PlacedKernel::~PlacedKernel() {
  free_pages(&arena_);
  free_pages(&scratch_);
}

Result<std::unique_ptr<PlacedKernel>> PlacedKernel::make(const CompiledKernel& compiled,
                                                         const std::vector<ArgumentSpec>& inputs, const Team& team,
                                                         bool right, std::size_t copies) {
  std::unique_ptr<PlacedKernel> placed(new PlacedKernel(compiled, team));
  WHET_RETURN_IF_ERROR(placed->place_arguments(inputs, right, copies));
  WHET_RETURN_IF_ERROR(placed->place_workspaces());
  placed->next();
  return placed;
}

/// One stretch of huge pages, as a model's arena is; every argument begins at another offset within its page.
Status PlacedKernel::place_arguments(const std::vector<ArgumentSpec>& inputs, bool right, std::size_t copies) {
  std::vector<Tensor> packed;
  if (right) {
    WHET_TRY(packed, packed_constants(compiled_, inputs));
  }
  const auto& arguments = compiled_.lowered.arguments;
  const auto is_constant = [&](const KernelArgument& a) {
    return a.kind == KernelArgument::Kind::packed ||
           (a.kind == KernelArgument::Kind::input &&
            inputs[static_cast<std::size_t>(a.index)].role == ArgumentRole::constant);
  };
  std::size_t need = 0;
  for (const KernelArgument& a : arguments) {
    const std::size_t bytes = round_up(bytes_of(a.type)) + 3 * kLine;
    if (is_constant(a)) constant_bytes_ += bytes_of(a.type);
    need += is_constant(a) ? copies * bytes : bytes;
  }
  arena_ = allocate_pages(std::max(need, kHugePage));
  if (!arena_.ok()) return Error{"no memory for " + std::to_string(need) + " bytes of arguments"};
  auto* at = static_cast<std::byte*>(arena_.data);
  buffers_.assign(copies, std::vector<void*>(arguments.size()));
  for (std::size_t c = 0; c < copies; ++c) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const KernelArgument& a = arguments[i];
      if (c > 0 && !is_constant(a)) {
        buffers_[c][i] = buffers_[0][i];
        continue;
      }
      const auto index = static_cast<std::size_t>(a.index);
      ArgumentSpec spec;
      if (a.kind == KernelArgument::Kind::input) spec = inputs[index];
      spec.dtype = a.type.dtype;
      spec.bytes = static_cast<std::int64_t>(bytes_of(a.type));
      if (a.kind == KernelArgument::Kind::packed && right)
        std::memcpy(at, packed[index].data(), bytes_of(a.type));
      else
        fill_argument(spec, at);
      buffers_[c][i] = at;
      at += round_up(bytes_of(a.type)) + 3 * kLine;
    }
  }
  return ok_status();
}

Status PlacedKernel::place_workspaces() {
  const Kernel& kernel = compiled_.kernel;
  const std::size_t shared = round_up(static_cast<std::size_t>(kernel.shared_workspace)) + kLine;
  const std::size_t own = round_up(static_cast<std::size_t>(kernel.worker_workspace)) + 3 * kLine;
  scratch_ = allocate_pages(shared + own * args_.size());
  if (!scratch_.ok()) return Error{"no memory for the workspaces"};
  auto* base = static_cast<std::byte*>(scratch_.data);
  for (std::size_t w = 0; w < args_.size(); ++w) {
    whet_kernel_args& a = args_[w];
    a = {};
    a.shared_workspace = base;
    a.worker_workspace = base + shared + w * own;
    a.runtime = kernel.parallel ? &kPoolKernelRuntime : &kAlone;
    a.team = team_.pool();
    a.worker = static_cast<std::uint32_t>(w);
    a.workers = kernel.parallel ? team_.workers() : 1;
  }
  return ok_status();
}

void PlacedKernel::next() {
  at_ = (at_ + 1) % buffers_.size();
  for (whet_kernel_args& a : args_) a.buffers = buffers_[at_].data();
}

void PlacedKernel::run(std::uint32_t worker) {
  if (!compiled_.kernel.parallel && worker != 0) return;
  if (const std::int32_t s = compiled_.loaded->entry()(&args_[worker]); s != 0) status_[worker] = s;
}

std::int32_t PlacedKernel::failure() const {
  for (const std::int32_t s : status_)
    if (s != 0) return s;
  return 0;
}

std::vector<std::string> PlacedKernel::outputs() const {
  std::vector<std::string> all(compiled_.dag.outputs.size());
  const auto& arguments = compiled_.lowered.arguments;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].kind == KernelArgument::Kind::output)
      all[static_cast<std::size_t>(arguments[i].index)].assign(static_cast<const char*>(buffers_[0][i]),
                                                               bytes_of(arguments[i].type));
  return all;
}

double burst(const Team& team, const std::vector<PlacedKernel*>& kernels, double seconds, double hopeless) {
  Rounds rounds{team, kernels, seconds, hopeless};
  WHET_CHECK(pool_run(team.pool(), Rounds::work, &rounds) == 0);
  return bench::median(rounds.times);
}

}  // namespace whet
