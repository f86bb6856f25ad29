#include "measure/device_measurer.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "measure/jobs.h"
#include "measure/kernel_job.h"
#include "schedule/steps.h"

namespace whet {
namespace {

/// Tasks that are tuned concurrently for each device. Two hide the work of the tuner between jobs. A GPU of this machine waits
/// for its builders. Four tasks and 16 builders left an H200 idle half of the time, and the builders more than half.
constexpr int kConcurrentTasks = 2, kMostConcurrentTasks = 8;
constexpr int kBuildersOfATask = 2;
/// Of a glance.
constexpr int kGlanceBursts = 2;
constexpr double kGlanceSeconds = 4e-3;

const Device& first_of(const std::vector<Device*>& devices) {
  WHET_CHECK(!devices.empty());
  return *devices.front();
}

}  // namespace

DeviceMeasurer::DeviceMeasurer(BuilderPool& builders, const std::vector<Device*>& devices, MeasureOptions options)
    : options_(std::move(options)),
      units_(devices, options_.patience, options_.interrupted),
      builds_(builders, first_of(devices).info(), options_.interrupted),
      checks_(builds_, units_, options_),
      watch_(options_.round_trip, seconds_now) {}

int DeviceMeasurer::concurrent_tasks() const {
  for (std::size_t i = 0; i < units_.size(); ++i)
    if (units_.device(i).info().beside_builders) return 1;
  const int of_builders = std::clamp(builds_.builders() / kBuildersOfATask, kConcurrentTasks, kMostConcurrentTasks);
  return (units_.are_far_away() ? kConcurrentTasks : of_builders) * static_cast<int>(units_.size());
}

Status DeviceMeasurer::calibrate(const MeasureTask& task, const std::string& steps, const std::string& deciding) {
  std::string names;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    names += (i == 0 ? "" : ", ") + units_.name(i);
    if (units_.name(i) == deciding) deciding_ = i;
  }
  if (!deciding.empty() && units_.name(deciding_) != deciding)
    return Error{"no device is named " + deciding + "; expected one of " + names, ErrorKind::wrong_use};
  if (units_.size() == 1) return ok_status();
  const BuildResults built = builds_.of(task, {steps});
  std::vector<double> seconds(units_.size(), kInfinity);
  units_.on_all([&](Device& device, std::size_t unit) {
    seconds[unit] = compare_on(device, units_.name(unit), task, built, options_, {1})[0].best_seconds();
  });
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < units_.size(); ++i)
    if (std::isfinite(seconds[i])) order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return seconds[i]; });
  if (deciding.empty() && !order.empty()) deciding_ = order[(order.size() - 1) / 2];
  for (const std::size_t i : order)
    if (std::isfinite(seconds[deciding_])) units_.note_pace(i, seconds[i] / seconds[deciding_]);
  return ok_status();
}

std::vector<Measured> DeviceMeasurer::measure(const MeasureTask& task, const std::vector<std::string>& steps,
                                              const Incumbent& incumbent) {
  const BuildResults built = builds_.of(task, steps);
  std::vector<Measured> out;
  for (const auto& each : built) out.push_back({{each->code, each->message}, each->tree_hash});
  if (in_jobs())
    run_in_jobs(task, built, incumbent, out);
  else
    for (std::size_t i = 0; i < built.size(); ++i)
      if (built[i]->code == OutcomeCode::ok) out[i].outcome = run(task, *built[i], incumbent);
  for (std::size_t i = 0; i < built.size(); ++i) {
    add_build(*built[i], out[i].outcome);
    stamp(out[i].outcome);
  }
  return out;
}

Outcome DeviceMeasurer::check(const MeasureTask& task, const std::string& steps, Precision precision) {
  const BuildResults built = builds_.of(task, {steps});
  Outcome outcome = checks_.check(task, *built[0], precision);
  stamp(outcome);
  return outcome;
}

std::vector<Outcome> DeviceMeasurer::compare(const MeasureTask& task, const std::vector<std::string>& steps,
                                             int bursts) {
  return compare(task, builds_.of(task, steps), {bursts});
}

std::vector<Measured> DeviceMeasurer::glance(const MeasureTask& task, const std::vector<std::string>& steps) {
  const BuildResults built = builds_.of(task, steps);
  std::vector<Outcome> outcomes = compare(task, built, {kGlanceBursts, kGlanceSeconds, true});
  std::vector<Measured> out;
  for (std::size_t i = 0; i < steps.size(); ++i) out.push_back({std::move(outcomes[i]), built[i]->tree_hash});
  return out;
}

namespace {

/// The task at one of its sizes.
MeasureTask task_at(const MeasureTask& ranged, const SizeValues& values) {
  ComputeDag dag = dag_at(ranged.dag, values);
  std::string key = workload_key(dag);
  return {std::move(key), ranged.name, std::move(dag), ranged.target};
}

/// "n=5, b=2"
std::string text_of(const std::vector<SizeRange>& sizes, const SizeValues& values) {
  std::string text;
  for (std::size_t k = 0; k < sizes.size(); ++k)
    text += (k > 0 ? ", " : "") + sizes[k].name + "=" + std::to_string(values[k]);
  return text;
}

/// Constants that change with the sizes are parts of the largest, which only a whole model has.
bool has_sized_constant(const ComputeDag& dag) {
  return std::ranges::any_of(dag.ops, [](const Op& op) {
    return op.is_placeholder() && std::get<Placeholder>(op.def).constant &&
           std::ranges::any_of(op.sizes, [](const Expr& size) { return size.defined(); });
  });
}

}  // namespace

/// The first that is not right, or ok.
Outcome DeviceMeasurer::check_at(const RangedTask& ranged, const BuildResult& built, const std::string& steps) {
  const Precision precision = numerics_of(steps).precision;
  for (const SizeValues& values : ranged.checked) {
    if (options_.is_interrupted() || (ranged.ended && ranged.ended()))
      return {OutcomeCode::device_lost, "the run ended before it was checked"};
    const MeasureTask task = task_at(ranged.task, values);
    Outcome outcome = checks_.check(task, at_sizes(built, task.dag, values), precision);
    if (outcome.ok()) continue;
    if (outcome.code == OutcomeCode::wrong_answer)
      outcome.message = "at " + text_of(ranged.task.dag.sizes, values) + ": " + outcome.message;
    return outcome;
  }
  return {OutcomeCode::ok, ""};
}

std::vector<std::vector<Outcome>> DeviceMeasurer::ladder(const RangedTask& ranged,
                                                         const std::vector<std::string>& steps) {
  std::vector<std::vector<Outcome>> out(steps.size());
  if (has_sized_constant(ranged.task.dag)) {  // says nothing of the schedules: none is remembered as one that failed
    const Outcome untimed{OutcomeCode::device_lost, "a constant of the task changes with the sizes"};
    std::ranges::fill(out, std::vector<Outcome>(ranged.timed.size(), untimed));
    return out;
  }
  const BuildResults built = builds_.of(ranged.task, steps);
  std::vector<BuildResult> kernels;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    kernels.push_back(*built[k]);
    if (built[k]->code != OutcomeCode::ok) continue;
    const Outcome checked = check_at(ranged, *built[k], steps[k]);
    kernels.back().code = checked.code;
    kernels.back().message = checked.message;
  }
  for (const SizeValues& values : ranged.timed) {
    if (ranged.ended && ranged.ended()) {
      for (std::vector<Outcome>& own : out)
        own.push_back({OutcomeCode::device_lost, "the run ended before it was timed"});
      continue;
    }
    const MeasureTask task = task_at(ranged.task, values);
    BuildResults here;
    for (const BuildResult& kernel : kernels)
      here.push_back(std::make_shared<const BuildResult>(
          kernel.code == OutcomeCode::ok ? at_sizes(kernel, task.dag, values) : kernel));
    const std::vector<Outcome> outcomes = compare(task, here, {kGlanceBursts, kGlanceSeconds, true});
    for (std::size_t k = 0; k < steps.size(); ++k) out[k].push_back(outcomes[k]);
  }
  return out;
}

/// On the deciding unit, or where it is lost on another.
std::vector<Outcome> DeviceMeasurer::compare(const MeasureTask& task, const BuildResults& built,
                                             const BurstPlan& plan) {
  std::vector<Outcome> outcomes;
  const ProcessorPlacement here = watch_.now();
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const std::size_t unit = (deciding_ + i) % units_.size();
    units_.on(unit,
              [&](Device& device) { outcomes = compare_on(device, units_.name(unit), task, built, options_, plan); });
    const bool lost = std::ranges::count(outcomes, OutcomeCode::device_lost, &Outcome::code) > 0;
    if (!lost || options_.is_interrupted()) break;
  }
  for (Outcome& outcome : outcomes) {
    stamp(outcome);
    if (outcome.ok()) outcome.placement = here;
  }
  return outcomes;
}

MeasureCounters DeviceMeasurer::counters() const {
  return {builds_.builders_started(), measured_.found(), builds_.seconds(), measured_.run_seconds()};
}

/// On the only device.
Outcome DeviceMeasurer::run(const MeasureTask& task, const BuildResult& built, const Incumbent& incumbent) {
  if (options_.is_interrupted()) return {OutcomeCode::device_lost, "interrupted before it was measured"};
  MeasureRequest request = request_of(task, built, options_, options_.policy);
  const std::uint64_t identity = identity_of(task, request);
  const ProcessorPlacement here = watch_.now();
  if (const auto known = measured_.find(task, identity, here)) return *known;
  request.policy.incumbent_seconds = incumbent.seconds;
  Outcome outcome;
  units_.on(0, [&](Device& device) { outcome = measure_on(device, units_.name(0), task, request); });
  if (outcome.ok()) outcome.placement = here;
  measured_.add(task, identity, outcome);
  return outcome;
}

/// Equal code once.
void DeviceMeasurer::run_in_jobs(const MeasureTask& task, const BuildResults& built, const Incumbent& incumbent,
                                 std::vector<Measured>& out) {
  JobsOfTask jobs;
  jobs.champion_seconds = incumbent.seconds;
  jobs.flops = flops(task.dag);
  jobs.bytes = bytes(task.dag);
  jobs.deciding = deciding_;
  std::vector<std::uint64_t> identities;                     // of the candidates
  std::map<std::uint64_t, std::vector<std::size_t>> places;  // where their outcomes go
  for (std::size_t i = 0; i < built.size(); ++i) {
    if (built[i]->code != OutcomeCode::ok) continue;
    MeasureRequest request = request_of(task, *built[i], options_, options_.policy);
    const std::uint64_t identity = identity_of(task, request);
    if (const auto known = measured_.find(task, identity)) {
      out[i].outcome = *known;
      continue;
    }
    std::vector<std::size_t>& same = places[identity];
    same.push_back(i);
    if (same.size() > 1) continue;
    identities.push_back(identity);
    jobs.candidates.push_back(std::move(request));
  }
  if (jobs.candidates.empty()) return;
  if (incumbent.steps) {
    const BuildResults champion = builds_.of(task, {*incumbent.steps});
    if (champion[0]->code == OutcomeCode::ok) jobs.champion = request_of(task, *champion[0], options_, options_.policy);
  }
  const std::vector<Outcome> outcomes = measure_in_jobs(units_, jobs);
  for (std::size_t k = 0; k < outcomes.size(); ++k) {
    measured_.add(task, identities[k], outcomes[k]);
    for (const std::size_t i : places[identities[k]]) out[i].outcome = outcomes[k];
  }
}

void DeviceMeasurer::stamp(Outcome& outcome) const {
  const MeasureSetting how = setting();
  if (outcome.device.empty()) outcome.device = how.device;
  outcome.cache = how.cache;
}

}  // namespace whet
