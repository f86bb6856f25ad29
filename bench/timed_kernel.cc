#include "timed_kernel.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "bursts.h"
#include "measure/reference.h"
#include "runner/fill.h"

namespace whet {
namespace {

std::size_t bytes_of(const TensorType& type) {
  return static_cast<std::size_t>(num_elements(type.shape) * size_of(type.dtype));
}

/// What the packing makes of the constants among `inputs`.
Result<std::vector<Tensor>> packed_constants(const CompiledKernel& compiled, const std::vector<ArgumentSpec>& inputs) {
  if (compiled.built.lowered.packing.outputs.empty()) return std::vector<Tensor>();
  std::vector<Tensor> constants;
  std::size_t k = 0;
  for (const Op& op : compiled.dag.ops) {
    if (!op.is_placeholder()) continue;
    if (std::get<Placeholder>(op.def).constant) constants.push_back(make_tensor(inputs[k], op.shape));
    ++k;
  }
  return evaluate(compiled.built.lowered.packing, constants);
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

Status make_team(Team& team, const std::vector<int>& cpus) {
  return team.ensure(static_cast<std::uint32_t>(cpus.size()), {{cpus.begin(), cpus.end()}, false});
}

Result<CompiledKernel> compile_schedule(const ComputeDag& dag, const Steps& steps, const Target& target) {
  WHET_TRY(Built built, build(dag, steps, target));
  WHET_TRY(LoadedKernel loaded, LoadedKernel::load(built.kernel));
  return CompiledKernel{dag, std::move(built), std::make_shared<LoadedKernel>(std::move(loaded))};
}

PlacedKernel::PlacedKernel(const CompiledKernel& compiled, const Team& team)
    : compiled_(compiled), call_(*compiled.loaded, compiled.built.lowered.arguments.size(), team) {}

PlacedKernel::~PlacedKernel() { free_pages(&arena_); }

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
  const auto& arguments = compiled_.built.lowered.arguments;
  const auto is_constant = [&](const KernelArgument& a) {
    return a.kind == KernelArgument::Kind::packed ||
           (a.kind == KernelArgument::Kind::input &&
            inputs[static_cast<std::size_t>(a.index)].role == ArgumentRole::constant);
  };
  std::vector<std::size_t> sizes;  // all arguments, then the other copies of the constants
  for (std::size_t c = 0; c < copies; ++c) {
    for (const KernelArgument& a : arguments) {
      if (c == 0 || is_constant(a)) sizes.push_back(bytes_of(a.type));
      if (c == 0 && is_constant(a)) constant_bytes_ += bytes_of(a.type);
    }
  }
  const Stretch stretch = line_up(sizes);
  arena_ = allocate_pages(std::max(stretch.bytes, kHugePage));
  if (!arena_.ok()) return Error{"no memory for " + std::to_string(stretch.bytes) + " bytes of arguments"};
  buffers_.assign(copies, std::vector<void*>(arguments.size()));
  std::size_t next = 0;
  for (std::size_t c = 0; c < copies; ++c) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const KernelArgument& a = arguments[i];
      if (c > 0 && !is_constant(a)) {
        buffers_[c][i] = buffers_[0][i];
        continue;
      }
      auto* at = static_cast<std::byte*>(arena_.data) + stretch.offsets[next++];
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
    }
  }
  return ok_status();
}

Status PlacedKernel::place_workspaces() {
  const std::uint32_t workers = call_.team().workers();
  if (!workspaces_.reserve(compiled_.built.kernel, workers)) return Error{"no memory for the workspaces"};
  call_.set_workspaces(workspaces_.common(), workspaces_.own(compiled_.built.kernel, workers));
  return ok_status();
}

void PlacedKernel::next() {
  at_ = (at_ + 1) % buffers_.size();
  call_.buffers = buffers_[at_];  // of the same size: they stay where the kernel finds them
}

std::vector<std::string> PlacedKernel::outputs() const {
  std::vector<std::string> all(compiled_.dag.outputs.size());
  const auto& arguments = compiled_.built.lowered.arguments;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].kind == KernelArgument::Kind::output)
      all[static_cast<std::size_t>(arguments[i].index)].assign(static_cast<const char*>(buffers_[0][i]),
                                                               bytes_of(arguments[i].type));
  return all;
}

double burst(const Team& team, const std::vector<PlacedKernel*>& kernels, double seconds, double hopeless) {
  Rounds rounds{team, kernels, seconds, hopeless};
  team.run(Rounds::work, &rounds);
  return bench::median(rounds.times);
}

}  // namespace whet
