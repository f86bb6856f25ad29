// The estimate of a GPU's launches against times that were measured on one.
//   whet_estimates [--memory GB/S] MODEL RECORDS [MODEL RECORDS]... [--all | --fit]
// A line a task: how many candidates were timed; Spearman's correlation of estimate and time; the estimate by the time, in the
// median and of the fastest; and the time of the candidate that the estimate takes for the fastest, by the fastest time.
// --memory: what the GPU's memory gives, where it is not the first one with this target (an H200 has the target of an H100).
// --all: a JSON object a candidate instead, with what each launch is held by.
// --fit: the constants (GpuCalibration) that fit these times best, by coordinate descent on the logarithms of estimate by time;
// a candidate counts the less the slower it is, and the less the more its task has.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "cost/gpu/estimate.h"
#include "formats/import_model.h"
#include "passes/optimize.h"
#include "records/record_file.h"
#include "schedule/steps.h"
#include "task/task.h"

namespace whet {
namespace {

struct Timed {
  double seconds, estimate;
};

int fail(const std::string& message) {
  fmt::print(stderr, "whet_estimates: {}\n", message);
  return 1;
}

std::vector<double> ranks(const std::vector<Timed>& timed, double Timed::* what) {
  std::vector<std::size_t> order(timed.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return timed[i].*what; });
  std::vector<double> ranks(timed.size());
  for (std::size_t k = 0; k < order.size(); ++k) ranks[order[k]] = static_cast<double>(k);
  return ranks;
}

double rank_correlation(const std::vector<Timed>& timed) {
  const std::vector<double> a = ranks(timed, &Timed::seconds), b = ranks(timed, &Timed::estimate);
  double squares = 0;
  for (std::size_t k = 0; k < a.size(); ++k) squares += (a[k] - b[k]) * (a[k] - b[k]);
  const auto n = static_cast<double>(a.size());
  return n < 2 ? 1 : 1 - 6 * squares / (n * (n * n - 1));
}

void print_candidate(const Task& task, const Record& record, const std::vector<LaunchCost>& costs) {
  std::string launches;
  for (const LaunchCost& cost : costs)
    launches += fmt::format(
        R"({}{{"us":{:.3f},"issue":{:.3f},"near":{:.3f},"latency":{:.3f},"l2":{:.3f},"memory":{:.3f},"blocks":{},"threads":{},"registers":{},"block_memory":{},"slabs":{},"stages":{},"warps":{}}})",
        launches.empty() ? "" : ",", cost.seconds * 1e6, cost.issue * 1e6, cost.near * 1e6, cost.latency * 1e6,
        cost.l2 * 1e6, cost.memory * 1e6, cost.launch->blocks, cost.launch->threads, cost.launch->registers,
        cost.launch->block_memory, cost.launch->slabs, cost.launch->stages, cost.resident_warps);
  fmt::print(R"({{"task":"{}","sketch":"{}","us":{:.3f},"launches":[{}]}})"
             "\n",
             task.name, record.candidate.sketch, record.outcome.best_seconds() * 1e6, launches);
}

/// A candidate with what its launches ask of the machine.
struct Candidate {
  const Task* task;
  const Record* record;
  LoopTree tree;
  std::vector<LaunchWork> launches;
  double seconds;
  double weight = 1;  ///< in a fit
};

/// A GPU and what is known of it beside its data sheet.
struct Device {
  Target target;
  MachineRates rates;
};

double estimate_of(const Candidate& one, const Device& device, const GpuCalibration& constants = kCalibration) {
  double sum = 0;
  for (const LaunchCost& cost : launch_costs(one.tree, one.launches, device.target, device.rates, constants))
    sum += cost.seconds;
  return sum;
}

/// Mean of the squares of ln(estimate / time).
double error_of(const std::vector<Candidate>& candidates, const Device& device, const GpuCalibration& constants) {
  double sum = 0, weights = 0;
  for (const Candidate& one : candidates) {
    const double error = std::log(estimate_of(one, device, constants) / one.seconds);
    sum += one.weight * error * error;
    weights += one.weight;
  }
  return sum / weights;
}

void fit(std::vector<Candidate>& candidates, const Device& device) {
  std::map<std::string, double> best;
  for (const Candidate& one : candidates) {
    const auto [entry, fresh] = best.emplace(std::string(one.task->key), one.seconds);
    entry->second = std::min(entry->second, one.seconds);
  }
  std::map<std::string, int> timed;
  for (const Candidate& one : candidates) ++timed[std::string(one.task->key)];
  for (Candidate& one : candidates) {
    const std::string key(one.task->key);
    one.weight = std::pow(best.at(key) / one.seconds, 2) / std::sqrt(timed.at(key));
  }
  struct Constant {
    const char* name;
    double GpuCalibration::* value;
    double least, most;
  };
  constexpr Constant kConstants[] = {
      {"node", &GpuCalibration::node, 5e-7, 3e-6},
      {"ramp", &GpuCalibration::ramp, 2e-7, 3e-6},
      {"wave", &GpuCalibration::wave, 10, 5000},
      {"slab", &GpuCalibration::slab, 10, 2000},
      {"slab_slots", &GpuCalibration::slab_slots, 1, 200},
      {"code", &GpuCalibration::code, 0.01, 20},
      {"copy_slots", &GpuCalibration::copy_slots, 1, 60},
      {"address_slots", &GpuCalibration::address_slots, 1, 30},
      {"trip_slots", &GpuCalibration::trip_slots, 0.5, 30},
      {"function_slots", &GpuCalibration::function_slots, 2, 60},
      {"conversion_slots", &GpuCalibration::conversion_slots, 1, 8},
      {"exchange_cycles", &GpuCalibration::exchange_cycles, 5, 200},
      {"near_cycles", &GpuCalibration::near_cycles, 15, 60},
      {"far_cycles", &GpuCalibration::far_cycles, 200, 1500},
      {"memory_cycles", &GpuCalibration::memory_cycles, 300, 3000},
      {"busy", &GpuCalibration::busy, 0.3, 1},
      {"warps_to_fill", &GpuCalibration::warps_to_fill, 1, 12},
  };
  GpuCalibration constants = kCalibration;
  double error = error_of(candidates, device, constants);
  fmt::print("root mean square of ln(estimate / time): {:.3f}\n", std::sqrt(error));
  for (const double step : {1.5, 1.2, 1.1, 1.05, 1.02}) {
    for (bool better = true; better;) {
      better = false;
      for (const Constant& each : kConstants)
        for (const double by : {step, 1 / step}) {
          GpuCalibration tried = constants;
          tried.*each.value = std::clamp(tried.*each.value * by, each.least, each.most);
          const double now = error_of(candidates, device, tried);
          if (now < error * (1 - 1e-5)) constants = tried, error = now, better = true;
        }
    }
  }
  for (const Constant& each : kConstants)
    fmt::print("{:16} {:10.4g} -> {:10.4g}\n", each.name, kCalibration.*each.value, constants.*each.value);
  fmt::print("root mean square of ln(estimate / time): {:.3f}\n", std::sqrt(error));
}

void print_tasks(const std::vector<Task>& tasks, const std::vector<Candidate>& candidates, const Device& device) {
  fmt::print("{:4} {:>7} {:>7} {:>7} {:>7}  {}\n", "n", "rank", "est/t", "fastest", "chosen", "task");
  for (const Task& task : tasks) {
    std::vector<Timed> timed;
    for (const Candidate& one : candidates)
      if (one.task == &task) timed.push_back({one.seconds, estimate_of(one, device)});
    if (timed.empty()) continue;
    const auto by_time = std::ranges::min_element(timed, {}, &Timed::seconds);
    const auto by_estimate = std::ranges::min_element(timed, {}, &Timed::estimate);
    std::vector<double> ratios;
    for (const Timed& one : timed) ratios.push_back(one.estimate / one.seconds);
    std::ranges::sort(ratios);
    fmt::print("{:4} {:7.2f} {:7.2f} {:7.2f} {:7.2f}  {}\n", timed.size(), rank_correlation(timed),
               ratios[ratios.size() / 2], by_time->estimate / by_time->seconds, by_estimate->seconds / by_time->seconds,
               task.name);
  }
}

/// A model with what was measured of it. `name`: a model as import_model takes it, or with *N behind it one of the zoo in batches of N.
struct Measured {
  std::vector<Task> tasks;
  Records records;
};
Result<Measured> read_measured(std::string name, const char* records, std::optional<Target>& target) {
  ImportOptions options;
  if (const std::size_t star = name.find('*'); star != name.npos) {
    options.zoo.batch = std::atoi(name.c_str() + star + 1);
    name.resize(star);
  }
  WHET_TRY(RecordsRead read, read_records(records));
  if (read.records.size() == 0) return Error{std::string(records) + " has no records"};
  if (!target) {
    WHET_TRY(target, parse_target(std::string(read.records.all().front().target)));
    if (!target->is_gpu()) return Error{std::string(records) + " is of no GPU"};
  }
  WHET_TRY(Graph graph, import_model(name, options));
  WHET_TRY(const FusedGraph fused, optimize(std::move(graph), {}));
  WHET_TRY(std::vector<Task> tasks, extract_tasks(fused, *target));
  return Measured{std::move(tasks), std::move(read.records)};
}

void add_candidates(const Measured& measured, std::vector<Candidate>& candidates) {
  for (const Task& task : measured.tasks) {
    std::map<std::string, std::size_t> places;  // by steps
    for (const Record* record : measured.records.of(task.key)) {
      if (!record->outcome.ok()) continue;
      const double seconds = record->outcome.best_seconds();
      if (const auto known = places.find(record->steps); known != places.end()) {
        double& least = candidates[known->second].seconds;
        least = std::min(least, seconds);
        continue;
      }
      const Result<Steps> steps = parse_steps(record->steps);
      if (!steps.ok()) continue;
      Result<LoopTree> tree = replay(task.dag, *steps);
      if (!tree.ok()) continue;  // of another version
      places.emplace(record->steps, candidates.size());
      Candidate one{&task, record, std::move(*tree), {}, seconds};
      one.launches = gpu_launches(one.tree);
      candidates.push_back(std::move(one));
    }
  }
}

int run(int argc, char** argv) {
  MachineRates rates;
  if (argc > 2 && std::string(argv[1]) == "--memory") {
    rates.memory_gbs = std::atof(argv[2]);
    if (rates.memory_gbs <= 0) return fail(fmt::format("--memory {}: expected gigabytes a second", argv[2]));
    argc -= 2, argv += 2;
  }
  if (argc < 3) return fail("usage: whet_estimates [--memory GB/S] MODEL RECORDS [MODEL RECORDS]... [--all | --fit]");
  const std::string what = argc % 2 == 0 ? argv[argc - 1] : "";
  if (!what.empty() && what != "--all" && what != "--fit") return fail(what + ": expected --all or --fit");
  std::optional<Target> target;
  std::vector<std::unique_ptr<Measured>> models;
  std::vector<Candidate> candidates;
  for (int i = 1; i + 1 < argc; i += 2) {
    Result<Measured> measured = read_measured(argv[i], argv[i + 1], target);
    if (!measured.ok()) return fail(measured.error().message);
    models.push_back(std::make_unique<Measured>(std::move(*measured)));
    add_candidates(*models.back(), candidates);
  }
  const Device device{*target, rates};
  if (what == "--fit") {
    fit(candidates, device);
  } else if (what == "--all") {
    for (const Candidate& one : candidates)
      print_candidate(*one.task, *one.record, launch_costs(one.tree, one.launches, device.target, device.rates));
  } else {
    for (const auto& model : models) print_tasks(model->tasks, candidates, device);
  }
  return 0;
}

}  // namespace
}  // namespace whet

int main(int argc, char** argv) { return whet::run(argc, argv); }
