#include "workflow/opened.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "artifact/sized_plan.h"
#include "base/counted.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "device/remote/cpu/remote_model.h"
#include "machine/detect.h"
#include "machine/placement.h"
#include "plan/plan.h"
#include "records/record_file.h"
#include "whet/model.h"
#include "workflow/exact_sizes.h"
#include "workflow/kept_sizes.h"
#include "workflow/kernels_text.h"
#include "workflow/own_inputs.h"
#include "workflow/range_choice.h"
#include "workflow/remote.h"
#include "workflow/sizes.h"
#include "workflow/transferring.h"

namespace whet {
namespace {

/// How the kernels of a model for a GPU are started, to see what each way brings.
struct LaunchWay {
  std::string_view word;
  std::uint32_t flags;
};
constexpr LaunchWay kLaunchWays[] = {
    {"graph", 0}, {"no-early", WHET_DEVICE_NO_EARLY}, {"chain", WHET_DEVICE_CHAIN}, {"single", WHET_DEVICE_NO_GRAPH}};

Result<std::uint32_t> launch_flags(std::string_view word) {
  if (word.empty()) return std::uint32_t{0};
  for (const LaunchWay& way : kLaunchWays)
    if (way.word == word) return way.flags;
  return Error{"--launches is \"" + std::string(word) + "\"; expected graph, no-early, chain or single",
               ErrorKind::wrong_use};
}

/// What does not depend on the cores.
Result<OpenModelOptions> common_options(const RunnableOptions& options) {
  OpenModelOptions open;
  open.pin = !options.no_pin;
  open.map_weights = options.map_weights;
  open.weights_file = options.weights_file;
  open.times_alone = options.times_alone;
  WHET_TRY(open.device_flags, launch_flags(options.launches));
  return open;
}

void use_cores(OpenModelOptions& open, const Cores& cores) {
  open.threads = static_cast<std::uint32_t>(cores.cpus.size());
  open.cores.assign(cores.cpus.begin(), cores.cpus.end());
}

/// The device elsewhere that is named, which no emulator runs unless that is allowed.
Result<RunPlace> connect_place(const RunnableOptions& options, const DeviceName& name) {
  if (!options.launches.empty())
    return Error{"--launches is for models that run on a GPU; a device elsewhere runs models for its processor alone",
                 ErrorKind::wrong_use};
  RunPlace place;
  WHET_TRY(place.elsewhere, connect_models(name, options.fleet, {.tell = options.tell}));
  const std::string why = why_emulated(place.elsewhere->description());
  if (!why.empty() && !options.allow_emulated) return Error{why};
  place.emulator = !why.empty();
  return place;
}

Error compiled_already(const ModelOptions& model, const std::string& option) {
  return {model.model + ": is compiled already; " + option + " is for a model that is compiled first",
          ErrorKind::wrong_use};
}

/// Options of models that are compiled first.
Status check_compiled(const RunnableOptions& options) {
  const ModelOptions& model = options.model;
  const RoundingOptions& rounding = options.records.rounding;
  const std::pair<const char*, bool> given[] = {{"--records", !options.records.file.empty()},
                                                {"--base", !options.records.base.files.empty()},
                                                {"--no-base", options.records.base.none},
                                                {"--target", !options.place.target.empty()},
                                                {"--until", !model.until.empty()},
                                                {"--define", !model.define.empty()},
                                                {"--entry", !model.entry.empty()},
                                                {"--native-types", model.native_types},
                                                {"--batch", model.batch != 0},
                                                {"--image", model.image != 0},
                                                {"--layout", !model.layout.empty()},
                                                {"--exact", rounding.exact},
                                                {"--precision", rounding.precision != RoundingOptions().precision}};
  for (const auto& [option, is_given] : given)
    if (is_given) return compiled_already(model, option);
  return ok_status();
}

/// --launches is about the kernels of a GPU.
Status check_launches(const RunnableOptions& options, bool on_gpu, const std::string& target) {
  if (options.launches.empty() || on_gpu) return ok_status();
  return Error{"--launches is for models that run on a GPU; the target is \"" + target + "\"", ErrorKind::wrong_use};
}

Result<Runnable> open_library(const RunnableOptions& options, const InputFiles& files) {
  WHET_RETURN_IF_ERROR(check_compiled(options));
  WHET_TRY(OpenModelOptions open, common_options(options));
  RunPlace place;
  WHET_TRY(place.device, parse_device_name(options.device));
  WHET_RETURN_IF_ERROR(check_fleet(options.fleet, place.device.kind == DeviceName::Kind::fleet));
  // Where nothing is said of threads and cores it is what the library was tuned for.
  if (place.device.is_remote()) {
    if (!options.weights_file.empty())
      return Error{"--weights-file is for this machine; a device elsewhere runs libraries with their weights inside",
                   ErrorKind::wrong_use};
    WHET_TRY(place, connect_place(options, place.device));
    WHET_TRY(const Cores cores, choose_cores_there(options.place, place.elsewhere->description()));
    use_cores(open, cores);
  } else if (options.place.threads != 0 || !options.place.cores.empty()) {
    WHET_TRY(const Cores cores, choose_cores(options.place.cores, options.place.threads));
    use_cores(open, cores);
  }
  WHET_TRY(OpenedModel model, open_in(place, options.model.model, open));
  WHET_RETURN_IF_ERROR(check_launches(options, model.device() != nullptr, model.info().target));
  WHET_RETURN_IF_ERROR(choose_shapes(model, options.model, files));
  if (const std::string note = model.pool().note; note.find("WHET_NUM_THREADS") != std::string::npos)
    tell(options.tell, note);
  return Runnable{std::move(model), std::nullopt, std::nullopt, place.emulator};
}

}  // namespace

Result<DeviceName> device_for(const std::string& text, const Target& target) {
  WHET_TRY(const DeviceName name, parse_device_name(text));
  if (name.kind != DeviceName::Kind::none && !target.is_gpu())
    return Error{"--device is \"" + text + "\", and the target \"" + to_string(target) +
                     "\" is no GPU; name one, as in --target \"cuda -model=h100\"",
                 ErrorKind::wrong_use};
  return name;
}

namespace {

/// Lets the records of the tasks' inputs count, and those of the emulated device where that is allowed. It is an error where they are all that there is of
/// some task, and it is not.
Status count_for(const std::vector<Task>& tasks, const RecordOptions& options, Records& records) {
  if (const std::string others = count_inputs(records, tasks, options.any_inputs); !others.empty())
    tell(options.tell, options.file + ": " + others);
  std::vector<bool> has(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) has[i] = !records.of(tasks[i].key).empty();
  records.count(EmulatedRecords::too);
  if (options.emulated) return ok_status();
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (!has[i] && !records.of(tasks[i].key).empty())
      return Error{options.file + ": the records of task " + tasks[i].name +
                   " are of the emulated device, whose times are estimates; --allow-emulated takes them"};
  records.count(EmulatedRecords::left_out);
  return ok_status();
}

std::string plan_source(const PlannedNetwork& network) {
  if (network.line != nullptr && network.line->precision)
    return "the plan of the records in fewer bits, " + lowered_worth(*network.line);
  if (network.line != nullptr) return "the plan of the records";
  return fmt::format("a plan solved from the records' times, {:.4f} ms of {:.4f}", network.seconds * 1e3,
                     network.usual_seconds * 1e3);
}

/// The records of a file, as they count for these tasks.
Result<RecordsRead> records_of(const std::vector<Task>& tasks, const RecordOptions& options) {
  if (options.file.empty()) return RecordsRead();
  WHET_TRY(RecordsRead read, read_records(options.file));
  WHET_RETURN_IF_ERROR(count_for(tasks, options, read.records));
  read.records.prefer_device(options.gpu);
  for (const std::string& note : read.notes) tell(options.tell, note);
  return read;
}

Result<RecordsRead> records_of(const FusedGraph& fused, const RecordOptions& options, const Target& target) {
  if (options.file.empty()) return RecordsRead();
  WHET_TRY(const std::vector<Task> tasks, extract_tasks(fused, target));
  return records_of(tasks, options);
}

/// The network's kernels, and what decided which: "" where these are the usual ones.
struct Decided {
  PlannedNetwork network;
  std::string source;
};
/// The plan of the records, or one that they or the base promise to be faster.
Result<Decided> decide_kernels(const FusedGraph& fused, const RecordOptions& options, const Records& records,
                               const RecordBase& base, const Target& target) {
  const SpaceOptions schedules = options.rounding.schedules();
  Decided decided{{fused}, ""};
  if (options.rounding.is_of_plans()) {
    WHET_TRY(decided.network, planned_lowered(fused, records, target, options.rounding.uniform()));
    if (decided.network.line != nullptr) decided.source = plan_source(decided.network);
    if (decided.network.line != nullptr) return decided;
    tell(options.tell, (options.file.empty() ? "--precision " + options.rounding.precision : options.file) + ": " +
                           decided.network.note);
  } else if (options.rounding.precision == "f32" && !options.rounding.exact) {
    if (const std::string offer = lowered_offer(fused, records, target); !offer.empty())
      tell(options.tell, "the records have a plan " + offer);
  }
  if (!options.file.empty()) {
    WHET_TRY(decided.network, planned(fused, records, target, schedules));
    if (!decided.network.note.empty()) tell(options.tell, options.file + ": " + decided.network.note);
    if (!decided.network.kernels.empty()) decided.source = plan_source(decided.network);
  }
  if (decided.network.line != nullptr || !decided.network.kernels.empty()) return decided;
  auto chained = with_known_chains(fused, records, base, target, schedules);
  if (!chained.ok()) tell(options.tell, "the base's chains are left out: " + chained.error().message);
  if (!chained.ok() || !*chained) return decided;
  PlannedNetwork& network = **chained;
  decided.source = fmt::format("what gained in other networks, expected to take {:.2f} of the usual kernels' time",
                               network.seconds / network.usual_seconds);
  decided.network = std::move(network);
  return decided;
}

}  // namespace

Result<CompileReport> compile_with_records(const FusedGraph& fused, const RecordOptions& options, const Target& target,
                                           const std::string& output, const CompileOptions& compiling) {
  WHET_RETURN_IF_ERROR(options.rounding.check(target));
  WHET_RETURN_IF_ERROR(options.base.check());
  const std::shared_ptr<const RecordBase> base = choose_base(options.base, target, options.tell);
  WHET_TRY(const RecordsRead read, records_of(fused, options, target));
  const double begin = seconds_now();
  WHET_TRY(const Decided decided, decide_kernels(fused, options, read.records, *base, target));
  const ScheduleSource source = best_known(&read.records, *base, target, options.rounding.schedules());
  const double deciding = seconds_now() - begin;
  WHET_TRY(CompileReport report, compile_model(decided.network.fused, source, target, output, compiling));
  report.schedule_seconds += deciding, report.total_seconds += deciding;
  if (!decided.source.empty()) {
    report.plan = kernels_text(decided.network.kernels);
    report.plan_source = decided.source;
  }
  for (const std::string& note : strangers_of(options.file, read.records, fused, target, TargetUse::near))
    tell(options.tell, note);
  return report;
}

namespace {

/// Plans that a library may have: each is compiled for itself.
constexpr std::size_t kMostChoices = 64;

Result<std::vector<ModelSize>> model_sizes(const std::vector<WantedSize>& wanted) {
  std::vector<ModelSize> sizes;
  for (const WantedSize& size : wanted)
    sizes.push_back({size.name, 0, 0, size.listed, size.range.min, size.range.max, size.range.step});
  const std::size_t choices = variant_count(sizes);
  if (choices <= kMostChoices && sizes.size() <= kMaxSizes) return sizes;
  return Error{
      fmt::format("--sizes: {} with {} of values; expected at most {} sizes and {} choices, each of which is compiled "
                  "for itself",
                  counted(std::ssize(sizes), "size"), counted(static_cast<std::int64_t>(choices), "choice"), kMaxSizes,
                  kMostChoices),
      ErrorKind::wrong_use};
}

/// The model at all its sizes.
Result<Family> read_family(const std::vector<WantedSize>& sizes, const ReadAtSizes& read, const RangesReading& how) {
  if (how.known != nullptr) return *how.known;
  WHET_TRY(Family family, family_of_ranges(sizes, read, [&](std::int64_t done, std::int64_t all) {
             if (how.told && done % kSizesUntilTold == 0) how.told(done, all);
             return ok_status();
           }));
  if (how.told) how.told(family.checked, family.checked);
  return family;
}

/// By kernels that take their sizes when they run.
Result<CompileReport> compile_ranges(const SizedModel& model, const std::vector<ModelSize>& sizes,
                                     const InputFiles& files, const RecordOptions& records, const Target& asked,
                                     const std::string& output, const CompileOptions& compiling,
                                     const RangesReading& how) {
  const Target target = for_ranges(asked);
  WHET_RETURN_IF_ERROR(check_ranges(model.sizes, target));
  const std::shared_ptr<const RecordBase> base = choose_base(records.base, target, records.tell);
  const double begin = seconds_now();
  const ReadAtSizes read = [&](const SizeValues& values) -> Result<FusedGraph> {
    WHET_TRY(const ModelOptions at, model.at(values));
    return load_fused(at, files, for_ranges(records.rounding.passes(target)));
  };
  WHET_TRY(Family family, read_family(model.sizes, read, how));
  const double reading = seconds_now() - begin;
  if (how.known == nullptr)
    tell(records.tell,
         fmt::format("{}: {}; {} of {} sizes were read in {:.1f} s", to_text(family.sizes),
                     counted(std::ssize(family.variants), "variant"), family.checked, family.points, reading));
  RecordsRead known;
  if (!records.file.empty()) {
    std::vector<Task> tasks;  // a user's tensors are of one size: another variant than the last may have them
    for (const Variant& variant : family.variants) {
      WHET_TRY(std::vector<Task> own, extract_tasks(variant.fused, target));
      std::ranges::move(own, std::back_inserter(tasks));
    }
    WHET_TRY(known, records_of(tasks, records));
  }
  const SpaceOptions schedules = records.rounding.schedules();
  WHET_TRY(RangeChoice choice,
           choose_for_ranges(family, model.sizes, records.tuning_sizes, known.records, target, schedules));
  if (const std::string note =
          keep_untuned(known.records, family, model.sizes, records.tuning_sizes, target, schedules, choice.pieces);
      !note.empty())
    tell(records.tell, note);
  if (records.tuning_sizes.hot != "off")
    WHET_RETURN_IF_ERROR(add_exact_sizes(hot_sizes(known.records, family, target), read, family, choice.pieces));
  if (!choice.at.empty()) tell(records.tell, "Schedules are chosen for " + requests_text(model.sizes, choice.at));
  Result<CompileReport> report =
      compile_family(family, choice.pieces, sizes, best_known(&known.records, *base, target, schedules), target, output,
                     compiling, model.dimensions);
  if (!report.ok() && report.error().kind == ErrorKind::unsupported)
    return with_lists({report.error().message + "; name the sizes:", ErrorKind::unsupported}, model.sizes);
  if (report.ok()) report->total_seconds += reading;
  return report;
}

}  // namespace

Result<CompileReport> compile_sizes_with_records(const ModelOptions& options, const InputFiles& files,
                                                 const RecordOptions& records, const Target& target,
                                                 const std::string& output, const CompileOptions& compiling,
                                                 const RangesReading& reading) {
  WHET_RETURN_IF_ERROR(records.rounding.check(target));
  WHET_RETURN_IF_ERROR(records.base.check());
  WHET_TRY(const SizedModel model, sized_model(options, files));
  WHET_TRY(const std::vector<ModelSize> sizes, model_sizes(model.sizes));
  if (has_ranges(model.sizes)) return compile_ranges(model, sizes, files, records, target, output, compiling, reading);
  const auto load = [&](std::size_t choice) -> Result<FusedGraph> {
    WHET_TRY(const ModelOptions at, model.at(values_at(sizes, choice)));
    return load_fused(at, files, records.rounding.passes(target));
  };
  const std::shared_ptr<const RecordBase> base = choose_base(records.base, target, records.tell);
  RecordsRead read;
  if (!records.file.empty()) {
    std::vector<Task> tasks;  // without tensors of the user's those at one size say which records count
    for (std::size_t choice = 0; choice < (files.named.empty() ? 1 : variant_count(sizes)); ++choice) {
      WHET_TRY(const FusedGraph fused, load(choice));
      WHET_TRY(std::vector<Task> own, extract_tasks(fused, target));
      std::ranges::move(own, std::back_inserter(tasks));
    }
    WHET_TRY(read, records_of(tasks, records));
  }
  const SizedNetwork network{sizes, 0,
                             [&](std::size_t choice) -> Result<FusedGraph> {
                               WHET_TRY(const FusedGraph fused, load(choice));
                               WHET_TRY(Decided decided, decide_kernels(fused, records, read.records, *base, target));
                               return std::move(decided.network.fused);
                             },
                             model.dimensions};
  return compile_sizes(network, best_known(&read.records, *base, target, records.rounding.schedules()), target, output,
                       compiling);
}

Status choose_shapes(OpenedModel& model, const ModelOptions& options, const InputFiles& files) {
  if (model.sizes().empty()) return options.shapes.empty() ? ok_status() : Status(compiled_already(options, "--shape"));
  WHET_TRY(const auto given, parse_shapes(options.shapes));
  for (const auto& [name, shape] : given)
    if (std::ranges::find(model.inputs(), name, &OpenedModel::Named::name) == model.inputs().end())
      return Error{fmt::format("--shape {}={}: the model has no such input", name, to_string(shape)),
                   ErrorKind::wrong_use};
  std::vector<std::optional<Shape>> shapes;
  std::size_t next_unnamed = 0;
  for (const OpenedModel::Named& input : model.inputs()) {
    std::optional<Shape>& shape = shapes.emplace_back();
    if (const auto file = files.named.find(input.name); file != files.named.end())
      shape = file->second.shape();
    else if (next_unnamed < files.unnamed.size())
      shape = files.unnamed[next_unnamed++].shape();
    if (const auto said = given.find(input.name); said != given.end()) shape = said->second;
  }
  return model.set_shapes(shapes);
}

std::vector<WantedSize> wanted_sizes(const OpenedModel& model) {
  std::vector<WantedSize> sizes;
  for (const ModelSize& size : model.sizes()) {
    const SizeRange range = size.is_range() ? SizeRange{size.name, size.min, size.max, size.step}
                                            : SizeRange{size.name, size.values.front(), size.values.back(), 1};
    sizes.push_back({size.name, range, size.values});
  }
  return sizes;
}

std::string sizes_text(const OpenedModel& model) {
  std::string text;
  for (const ModelSize& size : model.sizes())
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", size.name,
                        model.inputs()[size.input].type.shape[size.dimension]);
  return text;
}

namespace {

/// Each combination of the values of listed sizes, and of some of ranges.
std::vector<std::vector<std::int64_t>> combinations(
    std::vector<ModelSize> sizes, const std::function<std::vector<std::int64_t>(const ModelSize&)>& values_of) {
  for (ModelSize& size : sizes)
    if (size.is_range()) size.values = values_of(size);
  std::vector<std::vector<std::int64_t>> choices;
  for (std::size_t choice = 0; choice < variant_count(sizes); ++choice) choices.push_back(values_at(sizes, choice));
  return choices;
}

/// The largest value of a range that is not larger.
std::int64_t value_below(const ModelSize& size, std::int64_t most) {
  return size.min + (std::min(most, size.max) - size.min) / size.step * size.step;
}

template <typename T>
std::vector<T> each_once(std::vector<T> values) {
  std::ranges::sort(values);
  values.erase(std::ranges::unique(values).begin(), values.end());
  return values;
}

std::vector<std::int64_t> ends_of(const ModelSize& size) { return each_once(std::vector{size.min, size.max}); }

std::vector<std::int64_t> ends_and_middle_of(const ModelSize& size) {
  return each_once(std::vector{size.min, value_below(size, (size.min + size.max) / 2), size.max});
}

std::vector<std::int64_t> ends_and_powers_of(const ModelSize& size) {
  std::vector<std::int64_t> values = ends_of(size);
  for (std::int64_t power = 1; power < size.max; power *= 2)
    if (power > size.min) values.push_back(value_below(size, power));
  return each_once(std::move(values));
}

bool is_ranged(const std::vector<ModelSize>& sizes) { return std::ranges::any_of(sizes, &ModelSize::is_range); }

}  // namespace

std::vector<std::vector<std::int64_t>> choices_of(const OpenedModel& model) {
  constexpr std::size_t kMany = 32;
  const std::vector<ModelSize> sizes = model.sizes();
  const std::vector<std::vector<std::int64_t>> choices = combinations(sizes, ends_and_powers_of);
  return choices.size() > kMany && is_ranged(sizes) ? combinations(sizes, ends_and_middle_of) : choices;
}

namespace {

std::vector<std::int64_t> all_of(std::int64_t min, std::int64_t max, std::int64_t step) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = min; value <= max; value += step) values.push_back(value);
  return values;
}

bool has_value(const ModelSize& size, std::int64_t value) {
  if (!size.is_range()) return std::ranges::find(size.values, value) != size.values.end();
  return value >= size.min && value <= size.max && (value - size.min) % size.step == 0;
}

/// The values of a size that are asked for.
Result<std::vector<std::int64_t>> values_of(const WantedSize& wanted, const ModelSize& size) {
  const SizeRange& range = wanted.range;
  std::optional<Error> wrong;
  const auto check = [&](std::int64_t value) {
    if (!wrong && !has_value(size, value))
      wrong = Error{fmt::format("--sizes {}={}: the library has no {}; its {} is {}", wanted.name, to_text(wanted),
                                value, size.name, to_text(size)),
                    ErrorKind::wrong_use};
  };
  if (wanted.listed.empty()) check(range.min), check(range.max);  // before all between are listed
  if (wrong) return *wrong;
  std::vector<std::int64_t> values = wanted.listed.empty() ? all_of(range.min, range.max, range.step) : wanted.listed;
  std::ranges::for_each(values, check);
  if (wrong) return *wrong;
  return values;
}

/// The sizes with the values that are asked for as lists.
Result<std::vector<ModelSize>> with_values(std::vector<ModelSize> sizes, const std::vector<std::string>& entries) {
  constexpr std::string_view kAll = "=all";
  std::vector<std::string> others, names;
  for (const ModelSize& size : sizes) names.push_back(size.name);
  const auto find = [&](const std::string& name) { return std::ranges::find(sizes, name, &ModelSize::name); };
  for (const std::string& entry : entries) {
    const auto size = entry.ends_with(kAll) ? find(entry.substr(0, entry.size() - kAll.size())) : sizes.end();
    if (size == sizes.end())
      others.push_back(entry);
    else if (size->is_range())
      size->values = all_of(size->min, size->max, size->step);
  }
  WHET_TRY(const std::vector<WantedSize> wanted, parse_sizes(others));
  for (const WantedSize& each : wanted) {
    const auto size = find(each.name);
    if (size == sizes.end())
      return Error{fmt::format("--sizes {}={}: the library has no size \"{}\"; its sizes are {}", each.name,
                               to_text(each), each.name, fmt::join(names, ", ")),
                   ErrorKind::wrong_use};
    WHET_TRY(size->values, values_of(each, *size));
  }
  constexpr std::size_t kMost = 1000000;
  const std::size_t count = variant_count(sizes);
  if (count <= kMost) return sizes;
  return Error{fmt::format("--sizes: these are {} choices; {} are checked at most", count, kMost),
               ErrorKind::wrong_use};
}

}  // namespace

Result<std::vector<std::vector<std::int64_t>>> choices_to_check(const OpenedModel& model, std::uint64_t seed,
                                                                const std::vector<std::string>& entries) {
  constexpr int kSeeded = 16;
  WHET_TRY(const std::vector<ModelSize> sizes, with_values(model.sizes(), entries));
  std::vector<std::vector<std::int64_t>> choices = combinations(sizes, ends_of);
  if (!is_ranged(sizes)) return choices;
  Rng rng(seed);
  for (int i = 0; i < kSeeded; ++i) {
    std::vector<std::int64_t>& choice = choices.emplace_back();
    for (const ModelSize& size : sizes)
      choice.push_back(size.is_range() ? value_below(size, rng.between(size.min, size.max))
                                       : size.values[static_cast<std::size_t>(rng.below(std::ssize(size.values)))]);
  }
  return each_once(std::move(choices));
}

std::vector<std::string> strangers_of(const std::string& file, const Records& records, const FusedGraph& fused,
                                      const Target& target, TargetUse use) {
  std::vector<std::string> notes;
  if (records.size() == 0) return notes;
  // What cannot be asked is no reason to fail: then all are of tasks that are not known.
  const Result<std::vector<std::string>> keys = task_keys(fused, target, records);
  for (const std::string& why : strangers(records, keys.ok() ? *keys : std::vector<std::string>(), target, use))
    notes.push_back(fmt::format("{}: {}", file, why));
  return notes;
}

Result<RunPlace> choose_place(const RunnableOptions& options) {
  WHET_TRY(const DeviceName name, parse_device_name(options.device));
  WHET_RETURN_IF_ERROR(check_fleet(options.fleet, name.kind == DeviceName::Kind::fleet));
  if (name.is_remote()) {
    WHET_TRY(RunPlace place, connect_place(options, name));
    WHET_TRY(place.on, choose_target_there(options.place, place.elsewhere->description()));
    return place;
  }
  RunPlace place;
  WHET_TRY(place.on, choose_target(options.place, name));
  WHET_TRY(place.device, device_for(options.device, place.on.target));
  WHET_RETURN_IF_ERROR(check_launches(options, place.on.target.is_gpu(), to_string(place.on.target)));
  return place;
}

Result<OpenedModel> open_in(const RunPlace& place, const std::string& library, OpenModelOptions open) {
  if (place.elsewhere) return open_elsewhere(place.elsewhere, library, open);
  open.device = place.device;
  return OpenedModel::open(library, open);
}

Result<Runnable> open_runnable(const RunnableOptions& options, const InputFiles& files) {
  if (options.model.is_compiled()) return open_library(options, files);
  if (!options.weights_file.empty())
    return Error{options.model.model +
                     ": is compiled now, with its weights; --weights-file is for a library, model.so, "
                     "that was compiled with it",
                 ErrorKind::wrong_use};
  WHET_TRY(const RunPlace place, choose_place(options));
  if (!place.on.note.empty()) tell(options.tell, place.on.note);
  if (!place.elsewhere) WHET_RETURN_IF_ERROR(can_run(place.on.target));
  WHET_TRY(OpenModelOptions open, common_options(options));
  open.threads = static_cast<std::uint32_t>(place.on.target.threads);
  open.cores.assign(place.on.cores.cpus.begin(), place.on.cores.cpus.end());
  WHET_TRY(const FusedGraph fused, load_fused(options.model, files, options.records.rounding.passes(place.on.target)));
  WHET_TRY(ScratchDirectory scratch, ScratchDirectory::make());
  const std::string library = scratch.path() + "/model.so";
  CompileOptions compiling;
  compiling.name = options.model.name();
  RecordOptions records = options.records;
  records.gpu = place.on.gpu;
  compiling.emulated = place.device.kind == DeviceName::Kind::emulated;
  records.emulated = compiling.emulated || options.allow_emulated;
  WHET_TRY(CompileReport report, compile_with_records(fused, records, place.on.target, library, compiling));
  WHET_TRY(OpenedModel model, open_in(place, library, open));
  return Runnable{std::move(model), std::move(report), std::move(scratch), place.emulator};
}

Result<std::vector<Tensor>> inputs_of(const OpenedModel& model, const ModelOptions& options, const InputFiles& files) {
  std::vector<InputSlot> slots;
  const bool is_imported = !options.is_compiled() && !options.is_built_in();
  for (const OpenedModel::Named& input : model.inputs()) slots.push_back({input.name, input.type, is_imported});
  return match_inputs(slots, without_folded(options, slots, files), options.fill, options.seed);
}

std::vector<int> cores_of(const OpenedModel& model) {
  const whet_pool_info& pool = model.pool();
  if (pool.cores == nullptr) return {};
  return {pool.cores, pool.cores + pool.threads};
}

ProcessorPlacement placement_of(const OpenedModel& model) {
  const std::vector<int> cores = cores_of(model);
  if (cores.size() < 2 || model.is_elsewhere()) return {};
  return {probe_round_trip(cores[0], cores[1])};
}

bool is_off_record(double seconds, double recorded) {
  constexpr double kTenth = 1.1;
  return recorded > 0 && (seconds > kTenth * recorded || recorded > kTenth * seconds);
}

std::string placement_line(const ProcessorPlacement& now, std::string_view records) {
  if (!now.is_known()) return "";
  return fmt::format("The processors are at {} now; {}", to_text(now), records);
}

std::vector<std::string> worker_names(const OpenedModel& model) {
  std::vector<std::string> names;
  for (int core : cores_of(model)) names.push_back(fmt::format("core {}", core));
  for (std::size_t w = names.size(); w < model.pool().threads; ++w) names.push_back(fmt::format("thread {}", w));
  return names;
}

std::string threads_text(const OpenedModel& model) {
  if (const whet_device_info* device = model.device()) return fmt::format("{} · {}", device->name, device->image);
  const whet_pool_info& pool = model.pool();
  const std::vector<int> cores = cores_of(model);
  std::string text = counted(pool.threads, "thread");
  if (!cores.empty())
    text += fmt::format(" on {} {}", for_count(std::ssize(cores), "core", "cores"), cpu_list_text(cores));
  if (const std::string note = model.note(); !note.empty()) text += "; " + note;
  return text;
}

}  // namespace whet
