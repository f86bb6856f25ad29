#include "workflow/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <iterator>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "alternatives/alternatives.h"
#include "artifact/code_format.h"
#include "base/counted.h"
#include "machine/detect.h"
#include "plan/price.h"
#include "records/record_file.h"
#include "transfer/pack.h"
#include "workflow/base.h"

namespace whet {
namespace {

/// As records were made here: with the sizes of this machine's caches, where it is this machine's target.
Result<Target> target_of_records(const std::string& text) {
  WHET_TRY(Target target, parse_target(text));
  Target here = detect_target();
  here.threads = target.threads;
  return to_string(here) == text ? here : target;
}

std::string machine_of(const Target& target) {
  if (!target.is_cpu()) return std::string(target.kind());
  const std::string brand = can_run(target).ok() ? read_processor().brand : "";
  return brand.empty() ? target.cpu().mcpu : brand;
}

/// The code is for another processor than this one, which can run it.
bool is_others_code(const Target& target) {
  return target.is_cpu() && can_run(target).ok() && target.cpu().mcpu != detect_target().cpu().mcpu;
}

std::string network_of(const PackOptions& options) {
  if (!options.network.empty()) return options.network;
  const int batch = options.model.batch;
  return options.model.name() + (batch > 1 ? " batch " + std::to_string(batch) : "");
}

std::set<std::string> targets_of(const std::vector<const Records*>& runs) {
  std::set<std::string> targets;
  for (const Records* run : runs)
    for (const Record& record : run->all())
      if (!record.outcome.emulated()) targets.insert(record.target);
  return targets;
}

/// Where the newest record of a target comes from, and when.
BaseOrigin origin_of(const PackOptions& options, const std::vector<const Records*>& runs, const Target& target,
                     const std::string& text) {
  BaseOrigin origin{network_of(options),   text, machine_of(target), codegen_version(code_format(target)), "", "",
                    is_others_code(target)};
  for (const Records* run : runs)
    for (const Record& record : run->all()) {
      const std::string day = record.at.text().substr(0, std::string_view("2026-12-01").size());
      if (record.target == text && day >= origin.at) origin.at = day, origin.whet = record.whet;
    }
  return origin;
}

/// "2026.12" of "2026-12-01"
std::string month_of(std::string day) {
  std::ranges::replace(day, '-', '.');
  return day.substr(0, std::string_view("2026.12").size());
}

/// What a kernel takes in the network, by the records that teach; nothing where there are none.
struct NetworkTime {
  double seconds = 0;
  std::string cache;  ///< the mode that it was timed in
};
std::optional<NetworkTime> network_time(const Task& task, const Records& run, const Target& target,
                                        const NetworkExcess& excess) {
  const std::vector<const Record*> list = comparable(run, task, target);
  if (list.empty()) return std::nullopt;
  const Outcome& best = list.front()->outcome;
  const auto bytes = static_cast<double>(activation_bytes(task));
  return NetworkTime{best.clock_seconds() + excess.seconds_a_byte * bytes + excess.seconds_a_kernel, best.cache};
}

/// The best times of the groups of each chain over its own, in the network: with what that takes longer than its kernels, where a run
/// has found it. The mean (of logarithms) of the runs that have times of all of them; by task.
std::map<int, double> over_parts(const Alternatives& alternatives, const std::vector<const Records*>& runs,
                                 const Target& target) {
  struct Ratios {
    double logs = 0;
    int count = 0;
  };
  std::map<int, Ratios> found;
  std::map<int, const Alternative*> kernels;  // of groups; none where no kernel runs
  for (std::size_t i = 0; i < alternatives.usual; ++i)
    if (alternatives.all[i].task >= 0) kernels[alternatives.all[i].group] = &alternatives.all[i];
  for (const Records* run : runs) {
    const auto plan = std::ranges::find(run->plans() | std::views::reverse, to_string(target), &Plan::target);
    const NetworkExcess excess = plan != run->plans().rend() ? plan->excess : NetworkExcess();
    const auto time_of = [&](const Alternative& each) {
      return network_time(alternatives.tasks[static_cast<std::size_t>(each.task)], *run, target, excess);
    };
    for (std::size_t i = alternatives.usual; i < alternatives.all.size(); ++i) {
      const Alternative& chain = alternatives.all[i];
      const std::optional<NetworkTime> own = names_chain(chain.name) ? time_of(chain) : std::nullopt;
      if (!own) continue;
      double parts = 0;
      const bool is_known = std::ranges::all_of(chain.instead, [&](int group) {
        const auto part = kernels.find(group);
        if (part == kernels.end()) return true;
        const std::optional<NetworkTime> time = time_of(*part->second);
        if (time) parts += time->seconds;
        return time && time->cache == own->cache;
      });
      if (is_known && parts > 0) found[chain.task].logs += std::log(parts / own->seconds), ++found[chain.task].count;
    }
  }
  std::map<int, double> means;
  for (const auto& [task, ratios] : found) means[task] = std::exp(ratios.logs / ratios.count);
  return means;
}

void tell_what_is_left_out(const PackedTasks& packed, const std::string& target, const Tell& user) {
  if (packed.without_default > 0)
    tell(user, counted(packed.without_default, "task") + " on " + target + " " +
                   std::string(for_count(packed.without_default, "was", "were")) +
                   " never timed by the default schedule: what was gained is unknown, and nothing is taken");
  if (packed.changed > 0)
    tell(user, counted(packed.changed, "good schedule") + " on " + target + " " +
                   std::string(for_count(packed.changed, "is", "are")) + " in no space of this whet: not taken");
}

/// The network; of a model with sizes at each of those at which it is tuned.
Result<std::vector<FusedGraph>> networks_of(const PackOptions& options) {
  std::vector<FusedGraph> networks;
  if (options.model.sizes.empty()) {
    WHET_TRY(networks.emplace_back(), load_fused(options.model));
    return networks;
  }
  WHET_TRY(const SizedModel model, sized_model(options.model, {}));
  WHET_TRY(const std::vector<TuningSize> sizes, tuning_sizes(model.sizes, options.tuning_sizes));
  for (const TuningSize& size : sizes) {
    WHET_TRY(const ModelOptions at, model.at(size.at));
    WHET_TRY(networks.emplace_back(), load_fused(at));
  }
  return networks;
}

/// What the records of a network teach: a base for each target.
Result<std::vector<RecordBase>> taught(const PackOptions& options, const FusedGraph& fused,
                                       const std::vector<const Records*>& runs, const Tell& user) {
  std::vector<RecordBase> bases;
  for (const std::string& text : targets_of(runs)) {
    WHET_TRY(const Target target, target_of_records(text));
    WHET_TRY(const Alternatives alternatives, find_alternatives(fused, target, {forms_for(target)}));
    PackedTasks packed = pack(alternatives, over_parts(alternatives, runs, target), runs, target);
    tell_what_is_left_out(packed, text, user);
    if (packed.tasks.empty()) continue;
    BaseOrigin origin = origin_of(options, runs, target, text);
    std::string made = month_of(origin.at);
    bases.emplace_back(options.name, std::move(made), std::vector{std::move(origin)}, std::move(packed.tasks));
  }
  return bases;
}

}  // namespace

Result<RecordBase> pack_base(const PackOptions& options, const Tell& user) {
  std::vector<RecordBase> bases;
  std::deque<RecordsRead> read;
  std::vector<const Records*> runs;
  for (const std::string& file : options.files) {
    WHET_TRY(RecordsRead records, read_records(file));
    for (const std::string& note : records.notes) tell(user, note);
    if (const std::int64_t ranged = std::ssize(records.records.ranged()); ranged > 0)
      tell(user, fmt::format("{}: {} of kernels for ranges of sizes {} a base nothing", file, counted(ranged, "time"),
                             for_count(ranged, "teaches", "teach")));
    if (!records.base_lines.empty()) {
      WHET_TRY(RecordBase base, read_base(file));
      for (const std::string& note : base.notes()) tell(user, note);
      bases.push_back(std::move(base));
    }
    if (records.records.size() > 0 && !options.model.model.empty())
      runs.push_back(&read.emplace_back(std::move(records)).records);
    else if (records.base_lines.empty())
      return Error{file + ": holds no record base" +
                   (records.records.size() > 0 ? "; give the model of its records: --model MODEL" : "")};
  }
  if (!options.model.model.empty()) {
    const std::size_t before = bases.size();
    WHET_TRY(const std::vector<FusedGraph> networks, networks_of(options));
    for (const FusedGraph& network : networks) {
      WHET_TRY(std::vector<RecordBase> own, taught(options, network, runs, user));
      std::ranges::move(own, std::back_inserter(bases));
    }
    if (bases.size() == before) return Error{"no record of these files is of a task of " + options.model.name()};
  }
  std::vector<const RecordBase*> all;
  for (const RecordBase& base : bases) all.push_back(&base);
  RecordBase base = RecordBase::joined(all);
  for (const std::string& network : options.without) {
    const std::size_t before = base.origins().size();
    base = base.without(network);
    if (base.origins().size() == before) tell(user, "no origin is called " + network + ": nothing is left out");
  }
  return RecordBase(options.name, base.made(), base.origins(), base.tasks());
}

}  // namespace whet
