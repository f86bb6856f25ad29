#include "workflow/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "base/counted.h"
#include "base/parallel.h"
#include "compiler/scratch.h"
#include "device/make_device.h"
#include "machine/detect.h"
#include "machine/placement.h"
#include "machine/stolen.h"
#include "measure/device_rates.h"
#include "tuner/footprint.h"
#include "workflow/lowering.h"
#include "workflow/opened.h"
#include "workflow/own_inputs.h"
#include "workflow/own_templates.h"
#include "workflow/ranges_end.h"
#include "workflow/rates.h"
#include "workflow/run_end.h"
#include "workflow/together.h"
#include "workflow/tune_json.h"

namespace whet {
namespace {

/// "0,2-5" as numbers; nothing when it is something else.
std::optional<std::vector<int>> parse_numbers(const std::string& list) {
  std::vector<int> numbers;
  const char *at = list.data(), *const end = at + list.size();
  while (at < end) {
    int first = 0;
    auto read = std::from_chars(at, end, first);
    if (read.ec != std::errc() || first < 0) return std::nullopt;
    int last = first;
    if (read.ptr < end && *read.ptr == '-') read = std::from_chars(read.ptr + 1, end, last);
    constexpr int kMost = 100000;
    if (read.ec != std::errc() || last < first || last > kMost) return std::nullopt;
    for (int number = first; number <= last; ++number) numbers.push_back(number);
    if (read.ptr < end && (*read.ptr != ',' || read.ptr + 1 == end)) return std::nullopt;
    at = read.ptr < end ? read.ptr + 1 : end;
  }
  return numbers;
}

/// "0,2-5": the numbers of tasks, each once; all for "".
Result<std::vector<int>> choose_tasks(const std::vector<Task>& tasks, const std::string& list) {
  std::vector<int> all(tasks.size());
  std::iota(all.begin(), all.end(), 0);
  if (list.empty()) return all;
  const std::optional<std::vector<int>> numbers = parse_numbers(list);
  if (!numbers) return Error{fmt::format("--tasks is \"{}\"; expected numbers and ranges like 0,2-5", list)};
  for (int number : *numbers)
    if (static_cast<std::size_t>(number) >= tasks.size())
      return Error{fmt::format("--tasks names task {}, but the tasks are 0 to {}", number, tasks.size() - 1)};
  std::vector<int> chosen = *numbers;
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

/// Bursts of the last comparison [s]: many tasks are compared at the end of a run of a minute.
constexpr double kBurstSeconds = 0.01;

bool interrupted(const TuneSettings& settings) { return settings.where.interrupted && settings.where.interrupted(); }

/// The rates of a device elsewhere, measured there; none of an emulator.
MachineRates rates_there(const TuneSettings& settings, const Prepared& prepared, const Devices& devices) {
  if (prepared.emulated) return {};
  return measure_device_rates(*devices.front(), prepared.place.target, measure_options(settings, prepared).cpu);
}

/// Whether kernels run on several processors of this machine, each on its own: then their distance can be told.
bool has_placement(const TuneSettings& settings, const Prepared& prepared) {
  const TargetOnCores& place = prepared.place;
  return place.target.is_cpu() && place.target.threads > 1 && place.cores.cpus.size() > 1 && !settings.no_pin &&
         !is_remote(prepared) && !prepared.emulated && prepared.devices.size() == 1;
}

/// The limits of what was tuned, by the better of the rates before and after: what was measured beside something else
/// would give shares of more than the whole.
void find_limits(const TuneSettings& settings, const Prepared& prepared, const Devices& devices, Tuned& tuned) {
  const MachineRates now =
      is_remote(prepared) ? rates_there(settings, prepared, devices) : measure_rates(prepared.place);
  tuned.rates = better_of(tuned.rates, now);
  for (const Task& task : prepared.chosen)
    tuned.limits.push_back(limits_of(task.dag, tuned.rates, prepared.footprint.least()));
}

/// The number of a task among those that are known, to which it is added where it is not.
std::size_t number_of(const Task& task, std::multimap<std::string, std::size_t>& by_key, std::vector<Task>& known) {
  for (auto [entry, end] = by_key.equal_range(task.key); entry != end; ++entry)
    if (known[entry->second].within == task.within && same_dag(known[entry->second].dag, task.dag)) {
      if (known[entry->second].inputs.hash.empty()) known[entry->second].inputs = task.inputs;
      return entry->second;
    }
  by_key.emplace(task.key, known.size());
  known.push_back(task);
  known.back().weight = 0;
  return known.size() - 1;
}

/// Of a model with sizes: the tasks of all at which it is tuned. An inference stands for all requests together, so that the longest sums
/// are of the sizes that take most of their time.
Status prepare_sizes(const TuneSettings& settings, const Target& target, Prepared& prepared) {
  WHET_TRY(const SizedModel model, sized_model(settings.model, prepared.files));
  WHET_RETURN_IF_ERROR(check_ranges(model.sizes, target));
  WHET_TRY(const std::vector<TuningSize> sizes, tuning_sizes(model.sizes, settings.tuning_sizes));
  prepared.sizes = model.sizes;
  if (has_ranges(model.sizes)) prepared.place.target = for_ranges(target);
  const PassOptions given = settings.rounding.passes(target),
                    passes = has_ranges(model.sizes) ? for_ranges(given) : given;
  std::multimap<std::string, std::size_t> by_key;
  const double begin = seconds_now();
  for (const TuningSize& size : sizes) {
    WHET_TRY(const ModelOptions at, model.at(size.at));
    WHET_TRY(prepared.fused, load_fused(at, prepared.files, passes));
    if (is_remote(prepared)) unmark_contents(prepared.fused.graph);
    WHET_TRY(std::vector<Task> tasks, extract_tasks(prepared.fused, target));
    keep_contents(prepared.files, tasks);
    prepared.footprint =
        std::max(prepared.footprint, network_footprint(prepared.fused, tasks, settings.rounding.exact), touches_less);
    PreparedSize& own = prepared.at.emplace_back(PreparedSize{size, {}});
    for (Task& task : tasks) {
      if (has_ranges(model.sizes)) task.within.clear();  // kernels of ranges write no part of a tensor
      const std::size_t number = number_of(task, by_key, prepared.tasks);
      prepared.tasks[number].weight += task.weight * static_cast<int>(size.requests);
      own.tasks.emplace_back(number, task.weight);
    }
  }
  prepared.read_seconds = (seconds_now() - begin) / static_cast<double>(sizes.size());
  return ok_status();
}

/// The tasks of the model for a place, none chosen yet.
Result<Prepared> prepare(const TuneSettings& settings, const MeasuringPlace& where,
                         const std::vector<DeviceName>& devices) {
  const TargetOnCores& place = where.target;
  Prepared prepared;
  prepared.place = place;
  prepared.devices = devices;
  prepared.where = where.where;
  if (!devices.front().is_remote()) {
    for (const DeviceName& device : devices) WHET_RETURN_IF_ERROR(device_for(to_string(device), place.target));
    WHET_RETURN_IF_ERROR(has_device(place.target));
    WHET_RETURN_IF_ERROR(can_run(place.target));
  }
  prepared.emulated = where.emulated || devices.front().kind == DeviceName::Kind::emulated;
  if (settings.model.model.empty()) return prepared;
  if (!settings.together.empty()) return prepare_together(settings, std::move(prepared));
  prepared.name = settings.model.name();
  WHET_TRY(prepared.files, read_inputs(settings.model));
  if (!settings.model.sizes.empty()) {
    WHET_RETURN_IF_ERROR(prepare_sizes(settings, place.target, prepared));
    return prepared;
  }
  WHET_TRY(prepared.fused, load_fused(settings.model, prepared.files, settings.rounding.passes(place.target)));
  if (devices.front().is_remote()) unmark_contents(prepared.fused.graph);
  WHET_TRY(prepared.tasks, extract_tasks(prepared.fused, place.target));
  keep_contents(prepared.files, prepared.tasks);
  prepared.footprint = network_footprint(prepared.fused, prepared.tasks, settings.rounding.exact);
  return prepared;
}

/// Chooses those that `only` names.
Status choose(const std::string& only, Prepared& prepared) {
  WHET_TRY(prepared.ids, choose_tasks(prepared.tasks, only));
  for (int id : prepared.ids) prepared.chosen.push_back(prepared.tasks[static_cast<std::size_t>(id)]);
  return ok_status();
}

/// The same error, about an option.
Error of_option(Error error) {
  error.kind = ErrorKind::wrong_use;
  return error;
}

/// The sums of each size, over those of its tasks that were tuned.
std::vector<TunedSize> tuned_sizes(const Prepared& prepared, const TuneProgress& progress) {
  std::vector<const TaskProgress*> by_number(prepared.tasks.size(), nullptr);
  for (std::size_t i = 0; i < progress.tasks.size(); ++i)
    by_number[static_cast<std::size_t>(prepared.ids[i])] = &progress.tasks[i];
  std::vector<TunedSize> sizes;
  for (const PreparedSize& own : prepared.at) {
    TuneProgress alone;
    for (const auto& [number, weight] : own.tasks) {
      if (by_number[number] == nullptr) continue;
      alone.tasks.push_back(*by_number[number]);
      alone.tasks.back().weight = weight;
    }
    sizes.push_back({own.size, alone.compared()});
  }
  return sizes;
}

/// Options that only certain devices take.
Status check_devices(const MeasuringOptions& options, const std::vector<DeviceName>& names) {
  WHET_RETURN_IF_ERROR(check_fleet(options.fleet, has_fleet(names)));
  if (options.priority == "low" && !has_fleet(names))
    return of_option({"--priority is of jobs in a fleet; give --device fleet:KEY too"});
  if (options.deciding.empty()) return ok_status();
  if (has_fleet(names)) return of_option({"--finals names one device, and any unit of a fleet takes any job"});
  if (names.size() > 1) return ok_status();
  return of_option({"--finals chooses one of several devices; --device names one"});
}

}  // namespace

Status check_repeat(const TuneSettings& settings, const std::string& command) {
  if (settings.repeat > 0 || (settings.number == 0 && settings.min_repeat_ms == 0)) return ok_status();
  return Error{command + ": --number and --min-repeat-ms count only with --repeat; give --repeat too",
               ErrorKind::wrong_use};
}

bool is_remote(const Prepared& prepared) { return prepared.devices.front().is_remote(); }

MeasureOptions measure_options(const TuneSettings& settings, const Prepared& prepared) {
  MeasureOptions options;
  options.cpu.cores.assign(prepared.place.cores.cpus.begin(), prepared.place.cores.cpus.end());
  options.cpu.no_pin = settings.no_pin;
  options.seed = settings.model.seed;
  options.burst_seconds = kBurstSeconds;
  options.policy.classic = settings.repeat > 0;
  options.policy.repeat = static_cast<std::uint32_t>(std::max(1, settings.repeat));
  options.policy.number = static_cast<std::uint32_t>(std::max(1, settings.number));
  options.policy.min_repeat_seconds = settings.min_repeat_ms / 1e3;
  options.policy.cache = *parse_cache_mode(settings.cache);
  options.network_bytes = laid_out(prepared.footprint, prepared.place.target);
  options.interrupted = settings.where.interrupted;
  const std::vector<int>& cpus = prepared.place.cores.cpus;
  if (has_placement(settings, prepared))
    options.round_trip = [first = cpus[0], second = cpus[1]] { return probe_round_trip(first, second); };
  return options;
}

std::string place_text(const Prepared& prepared) {
  const Target& target = prepared.place.target;
  if (target.is_cpu() && is_remote(prepared))
    return fmt::format("cpu {}, {} ({}) on {}", target.cpu().mcpu, counted(target.threads, "thread"),
                       cores_text(prepared.place.cores), prepared.where);
  if (target.is_cpu())
    return fmt::format("cpu {}, {} ({})", target.cpu().mcpu, counted(target.threads, "thread"),
                       cores_text(prepared.place.cores));
  std::string names;
  for (const DeviceName& device : prepared.devices)
    names += (names.empty() ? "" : ", ") + (device == DeviceName{} ? "cuda:0" : to_string(device));
  return to_string(target) + " on " + names + (prepared.emulated ? ": times are estimates" : "");
}

Result<Workplace> make_workplace(const TuneSettings& settings, Zygote& zygote) {
  WHET_RETURN_IF_ERROR(settings.base.check());
  if (const auto until = until_of(settings); !until.ok()) return until.error();
  const Result<std::vector<DeviceName>> names = parse_devices(settings.where.devices);
  if (!names.ok()) return of_option(names.error());
  WHET_RETURN_IF_ERROR(check_devices(settings.where, *names));
  Result<MeasuringPlace> place = choose_place(settings.where, *names, zygote);
  if (!place.ok()) return names->front().is_remote() ? place.error() : of_option(place.error());
  const Target& target = place->target.target;
  if (const Status rounding = settings.rounding.check(target); !rounding.ok()) return of_option(rounding.error());
  if (settings.alternatives)
    if (const auto wanted = settings.alternatives(target); !wanted.ok()) return of_option(wanted.error());
  Workplace work;
  WHET_TRY(work.prepared, prepare(settings, *place, *names));
  if (const Status chosen = choose(settings.only, work.prepared); !chosen.ok()) return of_option(chosen.error());
  WHET_RETURN_IF_ERROR(prepare_lowering(settings, work.prepared));
  work.prepared.base = choose_base(settings.base, target, settings.where.tell);
  work.devices = std::move(place->devices);
  work.tally = std::move(place->tally);
  if (!is_remote(work.prepared)) {
    WHET_TRY(work.devices, make_devices(settings.where, work.prepared.place, work.prepared.devices, zygote));
  }
  return work;
}

/// Who has no other layouts or no covers to choose from asks for kernels without: no earlier plan of the file that has them
/// counts any more.
Status end_earlier_plan(const TuneSettings& settings, const Prepared& prepared, const AlternativeOptions& asked,
                        RecordFile& file) {
  const SpaceOptions schedules = settings.rounding.schedules();
  WHET_TRY(const bool ended,
           end_plan(prepared.fused, prepared.place.target, asked, schedules, file, settings.model.name()));
  if (ended)
    tell(settings.where.tell,
         "The file's plan ends here: it has layouts or covers that --layouts or --covers leaves out");
  return ok_status();
}

Status calibrate(const TuneSettings& settings, const Prepared& prepared, DeviceMeasurer& measurer) {
  if (prepared.chosen.empty()) return ok_status();
  const Task& task = prepared.chosen.front();
  const Target& target = prepared.place.target;
  const Result<Steps> steps =
      default_steps(task.dag, target, {settings.rounding.exact, settings.rounding.schedules().precision});
  return measurer.calibrate({task.key, task.name, task.dag, target, task.within, task.inputs},
                            steps.ok() ? to_text(*steps) : "", settings.where.deciding);
}

Result<RecordFile> open_records(const TuneSettings& settings, const Prepared& prepared, const Devices& devices) {
  WHET_TRY(RecordFile file,
           RecordFile::open(settings.records, prepared.emulated ? EmulatedRecords::alone : EmulatedRecords::left_out,
                            devices.front()->info().name));
  file.count_inputs(input_hashes(prepared.tasks));
  return file;
}

std::vector<std::string> record_notes(const Prepared& prepared, const RecordFile& file) {
  std::vector<std::string> notes = file.notes();
  if (file.records().size() == 0 || !prepared.networks.empty() || !prepared.at.empty())
    return notes;  // records of others are none of a stranger
  std::ranges::copy(strangers_of(file.path(), file.records(), prepared.fused, prepared.place.target, TargetUse::exact),
                    std::back_inserter(notes));
  return notes;
}

Result<Tuned> tune_model(const TuneSettings& whole, const Prepared& prepared, Zygote& zygote, const Devices& devices,
                         RecordFile& file, TuneListener& listener) {
  const TuneSettings settings = float_settings(whole);
  // The whole network will need one, after what may be hours.
  if (!settings.no_network) WHET_RETURN_IF_ERROR(ScratchDirectory::make());
  Tuned tuned;
  AlternativeOptions alternatives{.covers = false};
  if (settings.alternatives) {
    WHET_TRY(alternatives, settings.alternatives(prepared.place.target));
  }
  OwnTemplates templates;
  if (!settings.templates.empty()) {
    const Result<OwnTemplates> read = read_templates(settings.templates, prepared.tasks, prepared.place.target,
                                                     settings.rounding.schedules(), settings.where.tell);
    if (!read.ok()) return read.error().at("--templates");
    templates = *read;
  }
  tuned.rates = is_remote(prepared) ? rates_there(settings, prepared, devices) : devices.front()->info().rates;
  for (const std::string& note : record_notes(prepared, file)) tell(settings.where.tell, note);
  listener.started(prepared, file, tuned.rates);
  const StolenTime stolen(is_remote(prepared) ? std::vector<int>{} : prepared.place.cores.cpus);
  std::vector<Device*> all;
  for (const auto& device : devices) all.push_back(device.get());
  BuilderPool builders(zygote, settings.builders, {.timeout = settings.build_timeout});
  tuned.builders = builders.size();
  DeviceMeasurer measurer(builders, all, measure_options(settings, prepared));
  WHET_RETURN_IF_ERROR(calibrate(settings, prepared, measurer));
  RunEnd end(settings, prepared, alternatives, listener);
  const bool leaves_out = alternatives.forms.empty() || !alternatives.covers;
  if (settings.alternatives && leaves_out && prepared.place.target.is_cpu() && prepared.at.empty())
    WHET_RETURN_IF_ERROR(end_earlier_plan(settings, prepared, alternatives, file));
  TuneOptions options = end.tasks();
  options.own_sketches = templates.by_task();
  options.uses = prepared.uses;
  if (!prepared.networks.empty()) options.networks = {runs_of(settings), settings.objective};
  WHET_TRY(options.networks.until, until_of(settings));
  bool has_moved = false;
  WHET_TRY(tuned.progress,
           tune(prepared.chosen, prepared.place.target, measurer, file, options, [&](const TuneProgress& progress) {
             options.deadline = end.learn(progress);
             if (progress.placements.several() && !std::exchange(has_moved, true))
               tell(settings.where.tell, moved_text(progress.placements));
             listener.round(end.shown(progress));
           }));
  if (settings.time.limited() && tuned.progress.trials == 0 && !tuned.progress.interrupted &&
      options.deadline <= seconds_now())
    tuned.left_out.push_back(settings.time.option() + " was used up before the first trial");
  for (const std::string& sentence : tuned.left_out) tell(settings.where.tell, sentence);
  if (tuned.progress.reached && !tuned.progress.interrupted)
    tell(settings.where.tell,
         fmt::format("The tasks take {:.3f} ms together, which --until-ms asks for: their search, and "
                     "that of layouts and covers, ends here",
                     tuned.progress.network_seconds() * 1e3));
  tuned.units = measurer.units();
  find_limits(settings, prepared, devices, tuned);
  if (!prepared.at.empty() && !tuned.progress.interrupted) {
    RangesEnd(settings, prepared, listener).run(measurer, devices, file, tuned);
    tuned.progress.interrupted = interrupted(settings);
  } else if (!settings.no_network && !tuned.progress.interrupted && !prepared.tasks.empty()) {
    prepared.networks.empty() ? end.run(measurer, devices, file, tuned)
                              : end_together(settings, prepared, measurer, devices, file, listener, tuned);
    if (prepared.samples && !interrupted(settings)) {
      Result<PrecisionSearch> search = search_lowering(whole, prepared, end, tuned, measurer, devices, file, listener);
      if (search.ok())
        listener.precision(tuned.precision.emplace(std::move(*search)));
      else
        tell(settings.where.tell, "There is no plan in fewer bits: " + search.error().message);
      tuned.unwritten = write_if_asked(settings, prepared, file.records(), tuned);
    }
    tuned.progress.interrupted = interrupted(settings);
  }
  for (const WantedSize& size : prepared.sizes) tuned.size_names.push_back(size.name);
  tuned.sizes = tuned_sizes(prepared, tuned.progress);
  tuned.size = end.size();
  if (!is_remote(prepared)) tuned.stolen = stolen.share();
  listener.finished(tuned);
  return tuned;
}

double thread_table_seconds(std::size_t counts, const Tuned& tuned) {
  constexpr double kCompared = 0.04;  // of one schedule, without building it
  const double kernel = tuned.size.kernel_seconds / std::max(1, tuned.builders) + kCompared;
  return static_cast<double>(counts * counts * tuned.progress.tasks.size()) * kernel;
}

Result<ThreadTable> compare_threads(TuneSettings settings, const std::vector<int>& counts,
                                    const std::vector<Prepared>& runs, Zygote& zygote) {
  ThreadTable table{counts, std::vector(counts.size(), std::vector<double>(counts.size(), 0))};
  for (std::size_t on = 0; on < counts.size(); ++on) {
    const Prepared& here = runs[on];
    settings.where.place.threads = counts[on];
    WHET_TRY(MeasuringPlace place, choose_place(settings.where, here.devices, zygote));
    if (!is_remote(here)) {
      WHET_TRY(place.devices, make_devices(settings.where, here.place, here.devices, zygote));
    }
    WHET_TRY(const RecordFile file, open_records(settings, here, place.devices));
    std::vector<Device*> all;
    for (const auto& device : place.devices) all.push_back(device.get());
    BuilderPool builders(zygote, settings.builders, {.timeout = settings.build_timeout});
    DeviceMeasurer measurer(builders, all, measure_options(settings, here));
    const SpaceOptions schedules = settings.rounding.schedules();
    for (const Task& task : here.chosen) {
      std::vector<std::string> steps;
      for (const Prepared& tuned : runs) {
        const Target& target = tuned.place.target;
        const auto best = file.records().best(task.key, task.within, target);
        const Result<Steps> usual = default_steps(task.dag, target, schedules);
        steps.push_back(best && best->exact ? best->record->steps : usual.ok() ? to_text(*usual) : "");
      }
      const std::vector<Outcome> times =
          measurer.compare({task.key, task.name, task.dag, here.place.target, task.within, task.inputs}, steps);
      for (std::size_t k = 0; k < counts.size(); ++k)
        table.seconds[k][on] += static_cast<double>(task.weight) * times[k].best_seconds();
    }
  }
  return table;
}

}  // namespace whet
