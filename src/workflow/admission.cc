#include "workflow/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "alternatives/alternatives.h"
#include "base/counted.h"
#include "compute/anchor.h"
#include "space/space.h"
#include "workflow/repeats.h"

namespace whet {
namespace {

/// The entries of one task of the base that are tested, and what they become.
struct Tested {
  std::size_t task = 0;                ///< place in the base
  std::vector<std::size_t> places;     ///< of the entries in it
  std::vector<ReplayedEntry> entries;  ///< one a place
};

/// Kernels of the network: its own tasks, those on other layouts, and chains.
struct NetworkKernels {
  Alternatives found;                          ///< where there are none, the tasks alone
  std::multimap<Anchor, int> tasks_by_anchor;  ///< numbers in `found.tasks`

  const Task& task(int number) const { return found.tasks[static_cast<std::size_t>(number)]; }
  /// The tasks of the groups that a chain computes; none of what is no chain.
  std::vector<const Task*> parts_of(int number) const {
    std::vector<const Task*> parts;
    const auto chain = std::ranges::find_if(
        found.all, [&](const Alternative& each) { return each.task == number && names_chain(each.name); });
    if (chain == found.all.end()) return parts;
    for (std::size_t i = 0; i < found.usual; ++i)
      if (found.all[i].task >= 0 && std::ranges::count(chain->instead, found.all[i].group) > 0)
        parts.push_back(&task(found.all[i].task));
    return parts;
  }
};
NetworkKernels network_kernels(const Prepared& prepared) {
  NetworkKernels kernels;
  const Target& target = prepared.place.target;
  if (target.is_cpu())
    if (Result<Alternatives> found = find_alternatives(prepared.fused, target, {forms_for(target)}); found.ok())
      kernels.found = std::move(*found);
  if (kernels.found.tasks.empty()) kernels.found.tasks = prepared.tasks;
  for (int number = 0; number < std::ssize(kernels.found.tasks); ++number)
    if (std::optional<Anchor> anchor = anchor_of(kernels.task(number).dag))
      kernels.tasks_by_anchor.emplace(std::move(*anchor), number);
  return kernels;
}

/// The origins of a network on a target.
std::set<std::size_t> origins_of(const RecordBase& base, const std::string& network, const std::string& target) {
  std::set<std::size_t> places;
  for (std::size_t i = 0; i < base.origins().size(); ++i)
    if (base.origins()[i].network == network && base.origins()[i].target == target) places.insert(i);
  return places;
}

std::vector<Tested> tested_of(const RecordBase& base, const std::set<std::size_t>& origins) {
  std::vector<Tested> all;
  for (std::size_t i = 0; i < base.tasks().size(); ++i) {
    const BaseTask& task = base.tasks()[i];
    Tested tested{i, {}, {}};
    for (std::size_t k = 0; k < task.entries.size(); ++k) {
      if (!origins.contains(task.entries[k].origin)) continue;
      tested.places.push_back(k);
      tested.entries.push_back({.task = describe(task.anchor),
                                .sketch = task.entries[k].candidate.sketch,
                                .claimed = task.entries[k].gain,
                                .over_parts = task.over_parts});
    }
    if (!tested.places.empty()) all.push_back(std::move(tested));
  }
  return all;
}

/// Tests the entries of one task after the other.
class Tests {
 public:
  ///   origins  of the network on the target
  Tests(const RecordBase& base, const std::set<std::size_t>& origins, const ReproSettings& settings, double within,
        const Target& target, Repeats& repeats)
      : base_(base), origins_(origins), settings_(settings), within_(within), target_(target), repeats_(repeats) {}

  /// On one of the network's tasks of this anchor. False where the user interrupted.
  bool run(const Task& task, Tested& tested) {
    const std::vector<BaseEntry>& entries = base_.tasks()[tested.task].entries;
    const DesignSpace space = space_of(task);
    Schedules schedules;
    const std::string usual = repeats_.usual(task);
    for (std::size_t i = 0; i < tested.places.size(); ++i) {
      ReplayedEntry& entry = tested.entries[i];
      const std::optional<Steps> steps = fitted(space, entries[tested.places[i]]);
      if (!steps)
        entry.out = "it is none of the task's space any more";
      else if (to_text(*steps) == usual)
        judge(entry, 1);
      else
        schedules.places.push_back(i), schedules.steps.push_back(to_text(*steps)),
            schedules.precisions.push_back(numerics_of(*steps).precision);
    }
    return schedules.steps.empty() || time(task, schedules, tested);
  }

  /// A chain beside the kernels of its groups. Its entries that would stay go out where it is slower than these.
  bool run_beside(const Task& chain, const std::vector<const Task*>& parts, Tested& tested) {
    const auto stays = [](const ReplayedEntry& entry) { return entry.out.empty(); };
    if (parts.empty() || std::ranges::none_of(tested.entries, stays)) return true;
    std::vector<TaskSchedule> schedules{{&chain, best_steps(chain)}};
    for (const Task* part : parts) schedules.push_back({part, best_steps(*part)});
    const std::optional<std::vector<double>> seconds = repeats_.side_by_side(schedules);
    if (!seconds) return false;
    const double of_parts = std::accumulate(seconds->begin() + 1, seconds->end(), 0.0);
    const double ratio = of_parts / seconds->front();
    for (ReplayedEntry& entry : tested.entries) {
      if (!stays(entry)) continue;
      entry.over_parts_now = std::isfinite(ratio) ? ratio : 0;
      entry.out = why_chain_not_admitted(entry.over_parts, entry.over_parts_now, within_);
    }
    return true;
  }

 private:
  struct Schedules {
    std::vector<std::size_t> places;  ///< of the entries
    std::vector<std::string> steps;
    std::vector<Precision> precisions;
  };

  static std::optional<Steps> fitted(const DesignSpace& space, const BaseEntry& entry) {
    const std::optional<Candidate> candidate = space.refit(entry.candidate, entry.extents);
    Result<Steps> steps = candidate ? space.steps(*candidate) : Result<Steps>(Error{""});
    return steps.ok() ? std::optional(std::move(*steps)) : std::nullopt;
  }

  DesignSpace space_of(const Task& task) const {
    return make_space(task.dag, target_, settings_.measuring.rounding.schedules());
  }
  /// The best schedule that the network taught for a task; the default one where it taught none.
  std::string best_steps(const Task& task) const {
    const std::optional<Anchor> anchor = anchor_of(task.dag);
    const BaseEntry* best = nullptr;
    for (const BaseTask& known : base_.tasks()) {
      if (known.anchor != anchor) continue;
      for (const BaseEntry& entry : known.entries)
        if (origins_.contains(entry.origin) && (best == nullptr || entry.gain > best->gain)) best = &entry;
    }
    const std::optional<Steps> steps = best != nullptr ? fitted(space_of(task), *best) : std::nullopt;
    return steps ? to_text(*steps) : repeats_.usual(task);
  }

  void judge(ReplayedEntry& entry, double now) const {
    entry.now = now;
    entry.out = why_not_admitted(entry.claimed, now, within_);
  }

  bool time(const Task& task, const Schedules& schedules, Tested& tested) {
    const auto gain = [](const Repeated& repeated, std::size_t i) {
      const bool both = repeated.usual.ok() && repeated.outcomes[i].ok();
      return both ? repeated.usual.best_seconds() / repeated.outcomes[i].best_seconds() : 0;
    };
    const auto doubted = [&](const Repeated& repeated) {
      for (std::size_t i = 0; i < schedules.places.size(); ++i)
        if (!why_not_admitted(tested.entries[schedules.places[i]].claimed, gain(repeated, i), within_).empty())
          return true;
      return false;
    };
    std::optional<Repeated> repeated = repeats_.time(task, schedules.steps, doubted);
    if (!repeated) return false;
    for (std::size_t i = 0; i < schedules.places.size(); ++i) {
      ReplayedEntry& entry = tested.entries[schedules.places[i]];
      judge(entry, gain(*repeated, i));
      Outcome& outcome = repeated->outcomes[i];
      if (entry.out.empty())
        outcome = repeats_.checked(task, schedules.steps[i], schedules.precisions[i], std::move(outcome));
      if (!outcome.ok()) entry.now = 0, entry.out = failure_text(outcome);
    }
    return !repeats_.is_interrupted();
  }

  const RecordBase& base_;
  const std::set<std::size_t>& origins_;
  const ReproSettings& settings_;
  const double within_;
  const Target& target_;
  Repeats& repeats_;
};

/// Where several tasks of the network have the anchor, an entry stays if it does on one of them.
bool test(const NetworkKernels& kernels, const Anchor& anchor, Tests& tests, Tested& tested) {
  for (ReplayedEntry& entry : tested.entries) entry.out = "the network has no such task";
  const auto [first, last] = kernels.tasks_by_anchor.equal_range(anchor);
  for (auto at = first; at != last; ++at) {
    Tested here = tested;
    for (ReplayedEntry& entry : here.entries) entry.out.clear();
    const Task& task = kernels.task(at->second);
    if (!tests.run(task, here) || !tests.run_beside(task, kernels.parts_of(at->second), here)) return false;
    for (std::size_t i = 0; i < here.entries.size(); ++i)
      if (at == first || !tested.entries[i].out.empty()) tested.entries[i] = here.entries[i];
  }
  return true;
}

RecordBase without(const RecordBase& base, const std::vector<Tested>& all) {
  std::vector<BaseTask> tasks = base.tasks();
  for (const Tested& tested : all)
    for (std::size_t i = tested.places.size(); i-- > 0;)
      if (!tested.entries[i].out.empty()) {
        std::vector<BaseEntry>& entries = tasks[tested.task].entries;
        entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(tested.places[i]));
      }
  std::erase_if(tasks, [](const BaseTask& task) { return task.entries.empty(); });
  return {base.short_name(), base.made(), base.origins(), std::move(tasks)};
}

Error no_entries(const RecordBase& base, const std::string& network, const std::string& target) {
  std::string have;
  for (const BaseOrigin& origin : base.origins())
    if (origin.network == network) have += (have.empty() ? "" : ", ") + origin.target;
  if (!have.empty()) return {fmt::format("{} taught this base on {}, and the target is {}", network, have, target)};
  return {fmt::format("{} taught nothing that is in {}; --origin names a network that did", network, base.name())};
}

}  // namespace

Result<Admission> repro_base(const ReproSettings& settings, const RecordBase& base, const std::string& network,
                             double within, Workplace& place, Zygote& zygote, AdmissionListener& listener) {
  const Target& target = place.prepared.place.target;
  const std::set<std::size_t> origins = origins_of(base, network, to_string(target));
  if (origins.empty()) return no_entries(base, network, to_string(target));
  std::vector<Tested> all = tested_of(base, origins);
  Admission out;
  std::size_t entries = 0, done = 0;
  for (const Tested& tested : all) entries += tested.places.size();
  for (const BaseTask& task : base.tasks()) out.others += std::ssize(task.entries);
  out.others -= static_cast<std::int64_t>(entries);
  listener.started(place.prepared, entries);
  const NetworkKernels kernels = network_kernels(place.prepared);
  WHET_TRY(const std::unique_ptr<Repeats> repeats, Repeats::make(settings.measuring, place, zygote));
  Tests tests(base, origins, settings, within, target, *repeats);
  for (Tested& tested : all) {
    if (settings.seconds > 0 && seconds_since(settings.start) >= settings.seconds)
      for (ReplayedEntry& entry : tested.entries) entry.out = "there was no time to measure it";
    else
      out.interrupted = !test(kernels, base.tasks()[tested.task].anchor, tests, tested);
    if (out.interrupted) break;
    done += tested.entries.size();
    listener.entries(tested.entries, done, entries);
    out.entries.insert(out.entries.end(), tested.entries.begin(), tested.entries.end());
  }
  if (!out.interrupted) out.admitted = without(base, all);
  out.seconds = seconds_since(settings.start);
  return out;
}

}  // namespace whet
