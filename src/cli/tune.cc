// whet tune: searches on this machine and appends what it measures to a record file.

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>

#include "base/version.h"
#include "cli/command.h"
#include "cli/layouts.h"
#include "cli/measuring.h"
#include "cli/model.h"
#include "cli/opened.h"
#include "cli/options.h"
#include "cli/rates.h"
#include "cli/remote.h"
#include "cli/rounding.h"
#include "cli/screen.h"
#include "cli/thread_counts.h"
#include "cli/units.h"
#include "device/local/zygote.h"
#include "device/make_device.h"
#include "json/json.h"
#include "machine/detect.h"
#include "machine/stolen.h"
#include "measure/device_measurer.h"
#include "records/digest.h"
#include "records/record_file.h"
#include "search/strategy.h"
#include "tuner/footprint.h"
#include "tuner/network.h"
#include "tuner/tuner.h"

namespace whet {
namespace {

struct TuneCommand {
  ModelOptions model;
  MeasuringOptions where;
  std::string output;
  int trials = 0, round = 32, early_stop = 0, builders = 0;
  double minutes = 0, build_timeout = 15, least_gain = 0.5;
  int repeat = 0, number = 0;  ///< repeat > 0: the classic way to measure
  double min_repeat_ms = 0;
  std::string strategy = "evolutionary", scheduler = "gradient", cache = "network", only, threads;
  bool per_task = false, no_seeds = false, no_network = false;
  RoundingOptions rounding;
  LayoutOptions layouts;
  bool json = false, quiet = false, no_pin = false;
};

struct Prepared {
  TargetOnCores place;
  std::vector<DeviceName> devices;  ///< at least one
  bool emulated = false;            ///< its times mean nothing
  InputFiles files;
  FusedGraph fused;
  std::vector<Task> tasks;   ///< of the whole network
  std::vector<Task> chosen;  ///< those that are tuned
  std::vector<int> ids;      ///< their numbers
  std::string where;         ///< the remote devices; "" for this machine
};

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

/// What came of it all.
struct Tuned {
  TuneProgress progress;
  NetworkTruth truth;
  std::optional<PlanSearch> plans;  ///< nothing where layouts were not searched
  MachineRates rates;
  std::vector<std::vector<Limit>> limits;  ///< one list a task
  std::vector<UnitReport> units;           ///< the devices
  double stolen = 0;                       ///< part of the processors' time that other machines of the host had
};

/// Per task, where neither --trials nor --minutes is given.
constexpr int kDefaultTrialsPerTask = 64;
/// Bursts of the last comparison [s]: many tasks are compared at the end of a run of a minute.
constexpr double kBurstSeconds = 0.01;

std::atomic<bool> interrupted{false};

/// ^C, and what `kill`, `timeout` and service managers send.
void on_requests_to_end(void (*handler)(int)) {
  for (int number : {SIGINT, SIGTERM}) signal(number, handler);
}

extern "C" void on_interrupt(int) {
  interrupted = true;
  on_requests_to_end(SIG_DFL);  // a second one ends the program at once: the records are safe
}

/// Before the record file is open there is nothing to wait for.
extern "C" void on_early_interrupt(int) {
  constexpr char kText[] = "Interrupted before anything was measured\n";
  (void)!::write(STDERR_FILENO, kText, sizeof kText - 1);
  _exit(kInterrupted);
}

/// "zoo:resnet-18" -> "resnet-18.jsonl", "a/b.onnx" -> "b.jsonl".
std::string default_records(const std::string& model) {
  std::string name = model.substr(model.find_last_of("/:") + 1);
  if (const std::size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0) name.erase(dot);
  return name + ".jsonl";
}

MeasureOptions measure_options(const TuneCommand& command, const Prepared& prepared) {
  MeasureOptions options;
  options.cpu.cores.assign(prepared.place.cores.cpus.begin(), prepared.place.cores.cpus.end());
  options.cpu.no_pin = command.no_pin;
  options.seed = command.model.seed;
  options.burst_seconds = kBurstSeconds;
  options.policy.classic = command.repeat > 0;
  options.policy.repeat = static_cast<std::uint32_t>(std::max(1, command.repeat));
  options.policy.number = static_cast<std::uint32_t>(std::max(1, command.number));
  options.policy.min_repeat_seconds = command.min_repeat_ms / 1e3;
  options.policy.cache = *parse_cache_mode(command.cache);
  options.policy.network_bytes =
      laid_out(network_footprint(prepared.fused, prepared.tasks, command.rounding.exact), prepared.place.target);
  options.interrupted = [] { return interrupted.load(); };
  return options;
}

/// Of the trials and the minutes, this part may go to other layouts.
constexpr double kLayoutShare = 0.25;

/// The trials that are left for the usual kernels where layouts are looked at.
std::int64_t main_trials(const TuneCommand& command) {
  return static_cast<std::int64_t>(std::ceil((1 - kLayoutShare) * command.trials));
}

///   share  of the trials and the minutes
TuneOptions tune_options(const TuneCommand& command, const std::vector<int>& ids, double share) {
  TuneOptions options;
  options.ids = ids;
  options.trials = static_cast<std::int64_t>(std::ceil(share * command.trials));
  options.minutes = share * command.minutes;
  if (command.trials == 0 && command.minutes == 0)
    options.trials = kDefaultTrialsPerTask * static_cast<std::int64_t>(ids.size());
  options.round = command.round;
  options.strategy = command.strategy;
  options.budget = command.per_task ? BudgetPolicy::per_task : *parse_budget(command.scheduler);
  options.least_gain = command.least_gain / 100;
  options.early_stop = command.early_stop;
  options.seeds = !command.no_seeds;
  options.exact = command.rounding.exact;
  options.precision = command.rounding.schedules().precision;
  options.seed = command.model.seed;
  options.interrupted = [] { return interrupted.load(); };
  return options;
}

Json to_json(const NetworkTruth& truth) {
  Json swaps = Json::array();
  for (const NetworkTruth::Swap& swap : truth.swaps)
    swaps.add(Json::object().set("task", swap.task).set("ms", swap.seconds * 1e3).set("adopted", swap.adopted));
  Json out = Json::object();
  out.set("untuned_ms", truth.untuned_seconds * 1e3).set("tuned_ms", truth.tuned.seconds * 1e3);
  out.set("fastest_ms", truth.tuned.fastest_seconds * 1e3).set("predicted_ms", truth.tuned.predicted_seconds * 1e3);
  if (truth.tasks_seconds > 0)
    out.set("tasks_ms", truth.tasks_seconds * 1e3).set("beside_tasks_ms", truth.beside_tasks_seconds * 1e3);
  return out.set("disturbed", truth.disturbed)
      .set("swaps", swaps)
      .set("back_to_default", Json::array_of(truth.back_to_default));
}

Json to_json(const Tuned& tuned, const std::string& records) {
  const TuneProgress& progress = tuned.progress;
  const auto ms = [](double seconds) { return seconds * 1e3; };  // infinity becomes null
  Json tasks = Json::array();
  for (std::size_t i = 0; i < progress.tasks.size(); ++i) {
    const TaskProgress& task = progress.tasks[i];
    tasks.add(Json::object()
                  .set("id", task.id)
                  .set("name", task.name)
                  .set("weight", task.weight)
                  .set("flops", task.flops)
                  .set("default_ms", ms(task.default_seconds))
                  .set("best_ms", ms(task.best_seconds))
                  .set("trials", task.trials)
                  .set("failed", task.failed)
                  .set("reused", task.reused)
                  .set("rests", task.rests)
                  .set("used_up", task.used_up)
                  .set("given_up", task.given_up)
                  .set("held_by", i < tuned.limits.size() ? held_by(tuned.limits[i], task.best_seconds) : ""));
  }
  Json failures = Json::array();
  for (const FailureGroup& group : progress.failures)
    failures.add(
        Json::object().set("error", name_of(group.code)).set("count", group.count).set("message", group.message));
  const TunePhases& phases = progress.phases;
  Json time = Json::object();
  time.set("propose", phases.propose).set("measure", phases.measure).set("check", phases.check);
  time.set("confirm", phases.confirm).set("record", phases.record).set("learn", phases.learn);
  time.set("finals", phases.finals);
  time.set("building", phases.building).set("running", phases.running);
  Json out = Json::object();
  out.set("records", records).set("trials", progress.trials).set("seconds", progress.seconds);
  out.set("interrupted", progress.interrupted).set("default_ms", ms(progress.default_network_seconds()));
  return out.set("tuned_ms", ms(progress.network_seconds()))
      .set("phases", time)
      .set("stolen", tuned.stolen)
      .set("slowdown", progress.slowdown)
      .set("remaining_gain_ms", ms(progress.remaining_gain))
      .set("failures", failures)
      .set("devices", to_json(tuned.units))
      .set("tasks", tasks)
      .set("network", to_json(tuned.truth))
      .set("layouts", tuned.plans ? to_json(*tuned.plans) : Json());
}

/// All but which tasks are chosen.
Result<Prepared> prepare(const TuneCommand& command, const TargetOnCores& place,
                         const std::vector<DeviceName>& devices) {
  Prepared prepared;
  prepared.place = place;
  prepared.devices = devices;
  if (!devices.front().is_remote()) {
    for (const DeviceName& device : devices) WHET_RETURN_IF_ERROR(device_for(to_string(device), place.target));
    WHET_RETURN_IF_ERROR(has_device(place.target));
    WHET_RETURN_IF_ERROR(can_run(place.target));
  }
  WHET_TRY(prepared.files, read_inputs(command.model.inputs));
  WHET_TRY(prepared.fused, load_fused(command.model, prepared.files));
  WHET_TRY(prepared.tasks, extract_tasks(prepared.fused, place.target));
  prepared.emulated = devices.front().kind == DeviceName::Kind::emulated;
  return prepared;
}

Status choose(const std::string& list, Prepared& prepared) {
  WHET_TRY(prepared.ids, choose_tasks(prepared.tasks, list));
  for (int id : prepared.ids) prepared.chosen.push_back(prepared.tasks[static_cast<std::size_t>(id)]);
  return ok_status();
}

bool is_remote(const Prepared& prepared) { return prepared.devices.front().is_remote(); }

/// What is wrong or strange about the record file, to standard error.
void print_notes(const std::string& path, const Prepared& prepared, const RecordFile& file) {
  for (const std::string& note : file.notes()) fmt::print(stderr, "{}\n", note);
  if (file.records().size() == 0) return;
  const Result<std::vector<std::string>> known = task_keys(prepared.fused, prepared.place.target, file.records());
  const std::vector<std::string> keys = known.ok() ? *known : std::vector<std::string>();
  for (const std::string& note : strangers(file.records(), keys, to_string(prepared.place.target)))
    fmt::print(stderr, "{}: {}\n", path, note);
}

/// "cpu znver4, 2 threads (cores 0,1; big)", "cuda -arch=sm_80 -sms=108 on emulated: times are estimates"
std::string place_text(const Prepared& prepared) {
  const Target& target = prepared.place.target;
  if (target.is_cpu() && is_remote(prepared))
    return fmt::format("cpu {}, {} thread{} ({}) on {}", target.cpu().mcpu, target.threads,
                       target.threads == 1 ? "" : "s", cores_text(prepared.place.cores), prepared.where);
  if (target.is_cpu())
    return fmt::format("cpu {}, {} thread{} ({})", target.cpu().mcpu, target.threads, target.threads == 1 ? "" : "s",
                       cores_text(prepared.place.cores));
  std::string names;
  for (const DeviceName& device : prepared.devices)
    names += (names.empty() ? "" : ", ") + (device == DeviceName{} ? "cuda:0" : to_string(device));
  return to_string(target) + " on " + names + (prepared.emulated ? ": times are estimates" : "");
}

void print_header(const TuneCommand& command, const Prepared& prepared, const RecordFile& file) {
  fmt::print("whet {} · {} · {} task{} · {} · records {} ({} there)\n", version(), command.model.model,
             prepared.chosen.size(), prepared.chosen.size() == 1 ? "" : "s", place_text(prepared), command.output,
             file.records().size());
  if (!prepared.place.note.empty()) fmt::print("{}\n", prepared.place.note);
}

Result<TuneProgress> tune_here(const TuneCommand& command, const Prepared& prepared, double share, Measurer& measurer,
                               RecordFile& file, double peak_gflops) {
  TuneScreen screen(isatty(STDOUT_FILENO), peak_gflops, command.per_task);
  std::function<void(const TuneProgress&)> on_round;
  if (!command.quiet && !command.json) on_round = [&](const TuneProgress& progress) { screen.show(progress); };
  return tune(prepared.chosen, prepared.place.target, measurer, file, tune_options(command, prepared.ids, share),
              on_round);
}

/// How the whole network is timed.
Result<NetworkOptions> network_options(const TuneCommand& command, const Prepared& prepared, Measurer& measurer) {
  NetworkOptions options;
  options.measurer = &measurer;
  const std::vector<InputSlot> slots = input_slots(prepared.fused.graph);
  const InputFiles files = without_folded(command.model, slots, prepared.files);
  WHET_TRY(options.inputs, match_inputs(slots, files, "random", command.model.seed));
  options.open.pin = !command.no_pin;
  options.open.threads = static_cast<std::uint32_t>(prepared.place.target.threads);
  options.open.cores.assign(prepared.place.cores.cpus.begin(), prepared.place.cores.cpus.end());
  options.exact = command.rounding.exact;
  options.precision = command.rounding.schedules().precision;
  options.interrupted = [] { return interrupted.load(); };
  return options;
}

/// Times the network as it runs now, alternately with the untuned one.
Result<NetworkTruth> settle(const TuneCommand& command, const Prepared& prepared, Measurer& measurer, Device& device,
                            RecordFile& file) {
  WHET_TRY(const NetworkOptions options, network_options(command, prepared, measurer));
  return settle_in_network(prepared.fused, prepared.place.target, file, device, options);
}

/// Layouts are a choice for a whole network of pictures whose times mean something, on a processor.
bool searches_layouts(const TuneCommand& command, const Prepared& prepared, const AlternativeOptions& options) {
  const bool whole = prepared.chosen.size() == prepared.tasks.size();
  if ((options.forms.empty() && !options.covers) || !prepared.place.target.is_cpu() || prepared.emulated ||
      command.no_network || has_fleet(prepared.devices) || !whole)
    return false;
  if (command.trials > 0 && main_trials(command) == command.trials) return false;
  const Result<Alternatives> found = find_alternatives(prepared.fused, prepared.place.target, options);
  return found.ok() && found->all.size() > found->usual;
}

Result<PlanSearch> search_layouts(const TuneCommand& command, const Prepared& prepared, const Tuned& tuned,
                                  const AlternativeOptions& alternatives, Measurer& measurer, Device& device,
                                  RecordFile& file) {
  PlanSearchOptions options;
  options.alternatives = alternatives;
  options.prices.schedules = {command.rounding.exact, command.rounding.schedules().precision};
  options.prices.rates = tuned.rates;
  options.prices.network_bytes = network_footprint(prepared.fused, prepared.tasks, command.rounding.exact);
  options.tuning = tune_options(command, {}, kLayoutShare);
  if (command.trials > 0) options.tuning.trials = command.trials - main_trials(command);
  if (command.minutes == 0 && command.trials == 0)
    options.tuning.trials = static_cast<std::int64_t>(kLayoutShare * kDefaultTrialsPerTask) * std::ssize(prepared.ids);
  if (!command.quiet && !command.json) options.tell = [](const std::string& line) { fmt::print("{}\n", line); };
  WHET_TRY(options.network, network_options(command, prepared, measurer));
  return search_plans(prepared.fused, prepared.place.target, measurer, file, device, options);
}

/// Of several devices, one decides: the one in the middle by the default schedule of a task, or the one that the user names.
Status calibrate(const TuneCommand& command, const Prepared& prepared, DeviceMeasurer& measurer) {
  const Task& task = prepared.chosen.front();
  const Target& target = prepared.place.target;
  const Result<Steps> steps =
      default_steps(task.dag, target, {command.rounding.exact, command.rounding.schedules().precision});
  return measurer.calibrate({task.key, task.name, task.dag, target, task.within}, steps.ok() ? to_text(*steps) : "",
                            command.where.deciding);
}

/// Tunes and, unless interrupted or told not to, looks at the whole network.
Result<Tuned> tune_and_settle(const TuneCommand& command, const Prepared& prepared, Zygote& zygote,
                              const Devices& devices, RecordFile& file) {
  Tuned tuned;
  WHET_TRY(const AlternativeOptions alternatives, command.layouts.alternatives(prepared.place.target));
  tuned.rates = devices.front()->info().rates;
  std::vector<Device*> all;
  for (const auto& device : devices) all.push_back(device.get());
  BuilderPool builders(zygote, command.builders, {.timeout = command.build_timeout});
  DeviceMeasurer measurer(builders, all, measure_options(command, prepared));
  WHET_RETURN_IF_ERROR(calibrate(command, prepared, measurer));
  const bool layouts = searches_layouts(command, prepared, alternatives);
  WHET_TRY(tuned.progress,
           tune_here(command, prepared, layouts ? 1 - kLayoutShare : 1, measurer, file, tuned.rates.gflops));
  tuned.units = measurer.units();
  // What was measured beside something else would give shares of more than the whole.
  if (!is_remote(prepared)) tuned.rates = better_of(tuned.rates, measure_rates(prepared.place));
  const std::int64_t footprint = network_footprint(prepared.fused, prepared.tasks, command.rounding.exact);
  for (const Task& task : prepared.chosen) tuned.limits.push_back(limits_of(task.dag, tuned.rates, footprint));
  if (command.no_network || tuned.progress.interrupted) return tuned;
  if (has_fleet(prepared.devices)) {
    fmt::print(stderr, "The network as a whole is not timed: a fleet runs no compiled models\n");
    return tuned;
  }
  Result<NetworkTruth> truth = settle(command, prepared, measurer, *devices[measurer.deciding()], file);
  if (truth.ok())
    tuned.truth = std::move(*truth);
  else
    fmt::print(stderr, "The network cannot be timed: {}\n", truth.error().message);
  if (truth.ok() && !interrupted && layouts) {
    Result<PlanSearch> plans =
        search_layouts(command, prepared, tuned, alternatives, measurer, *devices[measurer.deciding()], file);
    if (plans.ok())
      tuned.plans = std::move(*plans);
    else
      fmt::print(stderr, "The layouts cannot be compared: {}\n", plans.error().message);
  }
  tuned.progress.interrupted = interrupted;
  return tuned;
}

/// What `whet compile` must be told again, where it would not know it.
std::string next_options(const TuneCommand& command, const Prepared& prepared) {
  std::string options;
  if (is_remote(prepared))
    options += " --target \"" + to_string(prepared.place.target) + "\"";
  else if (!command.where.place.target.empty())
    options += " --target \"" + command.where.place.target + "\"";
  if (prepared.emulated) options += " --allow-emulated";
  return options;
}

void print_text(const TuneCommand& command, const Prepared& prepared, const Tuned& tuned) {
  fmt::print("\n{}{}", closing_report(tuned.progress, tuned.rates.gflops, tuned.limits), network_report(tuned.truth));
  if (tuned.plans) fmt::print("{}", plan_report(*tuned.plans));
  // Of a fleet the devices are no machines: shares_text has the units.
  if (!has_fleet(prepared.devices)) fmt::print("{}", units_report(tuned.units, tuned.progress.seconds));
  if (prepared.emulated) fmt::print("{}\n", is_remote(prepared) ? kEmulatorTimes : kEstimates);
  if (const std::string stolen = stolen_text(tuned.stolen); !stolen.empty())
    fmt::print("While tuning {}: figures are as good as their fastest runs\n", stolen);
  fmt::print("{}records kept in {}; next: whet compile {} --records {}{}\n",
             tuned.progress.interrupted ? "Interrupted; " : "", command.output, command.model.text(), command.output,
             next_options(command, prepared));
}

Result<RecordFile> open_records(const TuneCommand& command, const Prepared& prepared, const Devices& devices) {
  return RecordFile::open(command.output, prepared.emulated ? EmulatedRecords::alone : EmulatedRecords::left_out,
                          devices.front()->info().name);
}

/// What runs of several numbers of threads leave behind.
struct Runs {
  std::vector<Prepared> prepared;  ///< one a run
  std::vector<Json> json;          ///< what each has to tell
};

/// A run for the number of threads that the command has now.
int run_once(const TuneCommand& command, Zygote& zygote, Runs& runs) {
  const Result<std::vector<DeviceName>> names = parse_devices(command.where.devices);
  if (!names.ok()) return wrong_use(names.error());
  if (has_fleet(*names) && !command.where.deciding.empty())
    return wrong_use({"--finals names one device, and any unit of a fleet takes any job"});
  Result<MeasuringPlace> place = choose_place(command.where, *names, zygote);
  if (!place.ok()) return names->front().is_remote() ? fail(place.error()) : wrong_use(place.error());
  if (const Status rounding = command.rounding.check(place->target.target); !rounding.ok())
    return wrong_use(rounding.error());
  if (const auto forms = command.layouts.forms(place->target.target); !forms.ok()) return wrong_use(forms.error());
  Result<Prepared> prepared = prepare(command, place->target, *names);
  if (!prepared.ok()) return fail(prepared.error());
  prepared->where = place->where;
  prepared->emulated |= place->emulated;
  if (const Status chosen = choose(command.only, *prepared); !chosen.ok()) return wrong_use(chosen.error());
  Result<Devices> devices = is_remote(*prepared)
                                ? Result<Devices>(std::move(place->devices))
                                : make_devices(command.where, prepared->place, prepared->devices, zygote);
  if (!devices.ok()) return fail(devices.error());
  on_requests_to_end(on_interrupt);
  Result<RecordFile> file = open_records(command, *prepared, *devices);
  if (!file.ok()) return fail(file.error());
  const bool text = !command.quiet && !command.json;
  print_notes(command.output, *prepared, *file);
  if (text) print_header(command, *prepared, *file);
  const StolenTime stolen(is_remote(*prepared) ? std::vector<int>{} : prepared->place.cores.cpus);
  Result<Tuned> tuned = tune_and_settle(command, *prepared, zygote, *devices, *file);
  if (!tuned.ok()) return fail(tuned.error());
  if (!is_remote(*prepared)) tuned->stolen = stolen.share();
  runs.json.push_back(to_json(*tuned, command.output));
  if (text) print_text(command, *prepared, *tuned);
  if (text) fmt::print("{}", shares_text(place->shared));
  runs.prepared.push_back(std::move(*prepared));
  return tuned->progress.interrupted ? kInterrupted : kDone;
}

/// Times the best schedules for each number of threads on all of them.
Result<ThreadTable> compare_threads(TuneCommand& command, const std::vector<int>& counts, const Runs& runs,
                                    Zygote& zygote) {
  ThreadTable table{counts, std::vector(counts.size(), std::vector<double>(counts.size(), 0))};
  for (std::size_t on = 0; on < counts.size(); ++on) {
    const Prepared& here = runs.prepared[on];
    command.where.place.threads = counts[on];
    WHET_TRY(MeasuringPlace place, choose_place(command.where, here.devices, zygote));
    if (!is_remote(here)) {
      WHET_TRY(place.devices, make_devices(command.where, here.place, here.devices, zygote));
    }
    WHET_TRY(const RecordFile file, open_records(command, here, place.devices));
    std::vector<Device*> all;
    for (const auto& device : place.devices) all.push_back(device.get());
    BuilderPool builders(zygote, command.builders, {.timeout = command.build_timeout});
    DeviceMeasurer measurer(builders, all, measure_options(command, here));
    const SpaceOptions schedules{command.rounding.exact, command.rounding.schedules().precision};
    for (const Task& task : here.chosen) {
      std::vector<std::string> steps;
      for (const Prepared& tuned : runs.prepared) {
        const Target& target = tuned.place.target;
        const auto best = file.records().best(task.key, task.within, target);
        const Result<Steps> usual = default_steps(task.dag, target, schedules);
        steps.push_back(best && best->exact ? best->record->steps : usual.ok() ? to_text(*usual) : "");
      }
      const std::vector<Outcome> times =
          measurer.compare({task.key, task.name, task.dag, here.place.target, task.within}, steps);
      for (std::size_t k = 0; k < counts.size(); ++k)
        table.seconds[k][on] += static_cast<double>(task.weight) * times[k].best_seconds();
    }
  }
  return table;
}

int run(TuneCommand& command) {
  if (command.repeat == 0 && (command.number > 0 || command.min_repeat_ms > 0))
    return wrong_use({"tune: --number and --min-repeat-ms count only with --repeat; give --repeat too"});
  if (command.output.empty()) command.output = default_records(command.model.model);
  command.where.interrupted = [] { return interrupted.load(); };
  std::vector<int> counts = {0};
  if (!command.threads.empty()) {
    const Result<std::vector<int>> wished = parse_thread_counts(command.threads);
    if (!wished.ok()) return wrong_use(wished.error());
    counts = *wished;
  }
  // Before anything starts a thread or touches LLVM: builders and runners are forked from here.
  Result<Zygote> zygote = Zygote::start();
  if (!zygote.ok()) return fail(zygote.error());
  on_requests_to_end(on_early_interrupt);
  Runs runs;
  int status = kDone;
  for (std::size_t i = 0; i < counts.size() && status == kDone; ++i) {
    command.where.place.threads = counts[i];
    status = run_once(command, *zygote, runs);
  }
  if (counts.size() == 1) {
    if (command.json && !runs.json.empty()) fmt::print("{}\n", dump(runs.json[0], 2));
    return status;
  }
  Json json = Json::object().set("runs", Json::array_of(runs.json));
  if (status == kDone) {
    const Result<ThreadTable> table = compare_threads(command, counts, runs, *zygote);
    if (!table.ok()) return fail(table.error());
    json.set("threads", to_json(*table));
    if (!command.json && !command.quiet) fmt::print("\n{}", thread_table_text(*table));
    if (interrupted) status = kInterrupted;
  }
  if (command.json) fmt::print("{}\n", dump(json, 2));
  return status;
}

}  // namespace

std::function<int()> make_tune(Arguments& arguments) {
  auto command = std::make_shared<TuneCommand>();
  command->model.add_to(arguments);
  arguments.add("--input", command->model.inputs, "name=x.npy: the value of an input that decides shapes");
  command->where.add_to(arguments, command->threads);
  arguments.add("-o,--output", command->output,
                "Record file to append to and to resume from (default: the model's name with .jsonl, here)");
  arguments.add("--trials", command->trials, 1, 1000000000,
                "Candidates to measure, over all tasks (default: 64 a task, unless --minutes is given)", 0);
  arguments.add("--minutes", command->minutes, 0, 1e6, "Time to tune [minutes] (default: no limit)", 0);
  arguments.add("--round", command->round, 1, 100000, "Trials of one task before the next task is chosen");
  std::string strategies;
  for (const std::string& name : known_strategies())
    strategies += (strategies.empty() ? ": " : "; ") + name + ", " + what_is_strategy(name);
  arguments.choice("--strategy", command->strategy, known_strategies(), "How candidates are proposed" + strategies);
  arguments.choice(
      "--scheduler", command->scheduler, {"gradient", "round-robin"},
      "Which task is next: the one that promises to save most latency for a second of tuning, or one after the other");
  arguments.flag("--per-task", command->per_task,
                 "Tune one task after the other, each with an equal part of the trials");
  arguments.add("--tasks", command->only,
                "Tune only these tasks, by their numbers in `whet tasks`: 0,2-5 (default: all)");
  arguments.add("--early-stop", command->early_stop, 0, 1000000000,
                "End a task after this number of trials without a better candidate (0: never)");
  arguments.add("--least-gain", command->least_gain, 0, 100,
                "A task rests when as many trials again promise less than this share of the network's latency [%]");
  arguments.flag("--no-seeds", command->no_seeds,
                 "Begin neither with the default schedule nor with seeds, to see the worth of the search alone");
  arguments.flag("--no-network", command->no_network, "Do not compile and time the whole network at the end");
  command->rounding.add_to(arguments, "schedules");
  command->layouts.add_to(arguments);
  arguments.choice(
      "--cache", command->cache, {"network", "warm", "cold"},
      "Place of the weights before a timed run: where the network leaves them, in the cache, or in memory");
  arguments.add(
      "--repeat", command->repeat, 1, 1000,
      "Measure the classic way: this number of means over --number runs each (default: the minimum of at least 3 runs "
      "and 5 ms)",
      0);
  arguments.add("--number", command->number, 1, 1000000, "With --repeat: runs in a mean");
  arguments.add("--min-repeat-ms", command->min_repeat_ms, 0, 1e6, "With --repeat: least time that a mean covers [ms]");
  arguments.add(
      "--builders", command->builders, 1, 1024,
      "Processes of this machine that lower and compile candidates (default: one a core that this process may use)", 0);
  arguments.add("--build-timeout", command->build_timeout, 0.01, 86400,
                "Limit of lowering and compiling a candidate [s]");
  arguments.add("--run-timeout", command->where.run_timeout, 0.01, 86400, "Limit of running a candidate [s]");
  arguments.flag("--no-pin", command->no_pin, "Do not pin threads to cores");
  arguments.flag("--json", command->json, "Print JSON at the end, and nothing else");
  arguments.flag("-q,--quiet", command->quiet, "Print nothing");
  return [command] { return run(*command); };
}

}  // namespace whet
