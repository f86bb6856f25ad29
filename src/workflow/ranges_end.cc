#include "workflow/ranges_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "base/version.h"
#include "compiler/compile.h"
#include "compiler/scratch.h"
#include "plan/plan.h"
#include "records/record_line.h"
#include "tuner/end_needs.h"
#include "workflow/kept_sizes.h"
#include "workflow/opened.h"
#include "workflow/range_choice.h"
#include "workflow/transferring.h"

namespace whet {
namespace {

/// Two fifths of a run at most.
constexpr double kMostOfARun = 0.4;
/// About the seconds of a kernel for ranges at one size, and of how many kernels and sizes a task has.
constexpr double kRungSeconds = 0.012;
constexpr double kKernelsOfATask = 8, kSizesOfATask = 10;
/// A part of the time that is left goes to the ladder, the rest to the network.
constexpr double kLadderPart = 0.6;

}  // namespace

RangesEnd::RangesEnd(const TuneSettings& settings, const Prepared& prepared, TuneListener& listener)
    : settings_(settings), prepared_(prepared), listener_(listener) {}

bool RangesEnd::is_wanted() const {
  return has_ranges(prepared_.sizes) && prepared_.place.target.is_cpu() && !prepared_.emulated;
}

double RangesEnd::left() const { return settings_.time.left(seconds_now()); }

double RangesEnd::ladder_seconds() const {
  const double tasks = static_cast<double>(prepared_.tasks.size()) / std::max<double>(1, std::ssize(prepared_.at));
  return tasks * kKernelsOfATask * (kSizesOfATask * kRungSeconds + NetworkSize().kernel_seconds);
}

double RangesEnd::needs() const {
  if (!is_wanted()) return 0;
  double points = 1;
  for (const WantedSize& size : prepared_.sizes)
    points *= static_cast<double>(size.listed.empty() ? count_of(size.range) : std::ssize(size.listed));
  const double reading = std::min(points, double(FamilyOptions().most_points)) * prepared_.read_seconds / 2;
  double seconds = reading + ladder_seconds();
  if (!settings_.no_network && !is_remote(prepared_)) {
    NetworkSize size;
    size.kernels = static_cast<int>(prepared_.tasks.size());
    constexpr double kPoints = 4;
    seconds += settling_seconds(kPoints, compile_seconds(size));
  }
  return std::min(seconds, kMostOfARun * settings_.time.run_seconds());
}

void RangesEnd::leave_out(Tuned& tuned, const std::string& phase, double needed, const std::string& consequence) const {
  tuned.left_out.push_back(settings_.time.too_short(std::max(0.0, left()), phase, needed, consequence));
  tell(settings_.where.tell, tuned.left_out.back());
}

Result<FusedGraph> RangesEnd::read(const SizeValues& values) const {
  WHET_TRY(const ModelOptions at, model_->at(values));
  return load_fused(at, prepared_.files, for_ranges(settings_.rounding.passes(prepared_.place.target)));
}

/// The network at all sizes, as a library for the ranges has it.
Status RangesEnd::read_network() {
  WHET_TRY(model_, sized_model(settings_.model, prepared_.files));
  WHET_TRY(requests_, requests_of(model_->sizes, settings_.tuning_sizes));
  WHET_TRY(family_, family_of_ranges(
                        model_->sizes, [&](const SizeValues& values) { return read(values); },
                        [&](std::int64_t done, std::int64_t all) -> Status {
                          if (interrupted()) return Error{"interrupted", ErrorKind::interrupted};
                          if (done % kSizesUntilTold == 0) listener_.reading(done, all);
                          return ok_status();
                        }));
  listener_.reading(family_.checked, family_.checked);
  const Target& target = prepared_.place.target;
  const SpaceOptions schedules = settings_.rounding.schedules();
  untuned_.pieces = untuned_choice(family_, model_->sizes, settings_.tuning_sizes, target, schedules);
  WHET_TRY(untuned_.tuned, tuning_sizes(model_->sizes, settings_.tuning_sizes));
  untuned_.source = best_known(nullptr, *prepared_.base, target, schedules);
  return ok_status();
}

Result<std::vector<LadderTask>> RangesEnd::tasks_to_time() const {
  WHET_TRY(const std::vector<TuningSize> at, ladder_sizes(model_->sizes, settings_.tuning_sizes));
  return ladder_tasks(family_, at, untuned_, prepared_.place.target);
}

///   seconds  from now on; infinity: no limit
Result<LadderProgress> RangesEnd::time_tasks(const std::vector<LadderTask>& tasks, DeviceMeasurer& measurer,
                                             RecordFile& file, double seconds) {
  LadderOptions options;
  options.schedules = settings_.rounding.schedules();
  options.seed = settings_.model.seed;
  options.interrupted = settings_.where.interrupted;
  options.on_task = [&](const LadderProgress& progress) { listener_.ladder(progress); };
  options.deadline = seconds_now() + seconds;
  return climb_ladder(tasks, prepared_.place.target, measurer, file, options);
}

Status RangesEnd::climb(DeviceMeasurer& measurer, RecordFile& file, Tuned& tuned) {
  WHET_TRY(const std::vector<LadderTask> tasks, tasks_to_time());
  const double part = settings_.time.limited() ? kLadderPart * std::max(0.0, left()) : kInfinity;
  WHET_TRY(tuned.ladder, time_tasks(tasks, measurer, file, part));
  if (tuned.ladder->out_of_time)
    leave_out(tuned, "kernels for ranges, which take", ladder_seconds(),
              fmt::format("{} of {} tasks were timed as such, and the others count by estimates", tuned.ladder->done,
                          tuned.ladder->tasks));
  return ok_status();
}

Result<LadderProgress> RangesEnd::time_kernels(DeviceMeasurer& measurer, RecordFile& file, double seconds) {
  WHET_RETURN_IF_ERROR(read_network());
  WHET_TRY(const std::vector<LadderTask> tasks, tasks_to_time());
  return time_tasks(tasks, measurer, file, seconds);
}

CompileOptions RangesEnd::compiling() const {
  CompileOptions options;
  options.name = settings_.model.name();
  options.on_kernel = [this](int done, int all) { listener_.compiling(done, all); };
  return options;
}

Result<ModelRun> RangesEnd::run_at(const SizeValues& values) const {
  WHET_TRY(const ModelOptions at, model_->at(values));
  WHET_TRY(const FusedGraph fused, read(values));
  const std::vector<InputSlot> slots = input_slots(fused.graph);
  ModelRun run;
  WHET_TRY(run.inputs, match_inputs(slots, without_folded(at, slots, prepared_.files), "random", settings_.model.seed));
  run.open.pin = !settings_.no_pin;
  run.open.threads = static_cast<std::uint32_t>(prepared_.place.target.threads);
  run.open.cores.assign(prepared_.place.cores.cpus.begin(), prepared_.place.cores.cpus.end());
  return run;
}

/// A library for the ranges.
///   points  null: without records
Status RangesEnd::compile_ranges(const Records& records, const std::vector<TimedAtSizes>* points,
                                 const std::string& path) const {
  const Target& target = prepared_.place.target;
  const SpaceOptions schedules = settings_.rounding.schedules();
  WHET_TRY(RangeChoice choice,
           choose_for_ranges(family_, model_->sizes, settings_.tuning_sizes, records, target, schedules));
  if (points != nullptr) keep_untuned(*points, family_, untuned_.pieces, choice.pieces);
  std::vector<ModelSize> sizes;
  for (const WantedSize& size : model_->sizes)
    sizes.push_back({size.name, 0, 0, size.listed, size.range.min, size.range.max, size.range.step});
  const ScheduleSource source = best_known(points == nullptr ? nullptr : &records, *prepared_.base, target, schedules);
  const Result<CompileReport> compiled =
      compile_family(family_, choice.pieces, sizes, source, target, path, compiling(), model_->dimensions);
  return compiled.ok() ? ok_status() : Status(compiled.error());
}

/// The network as it is compiled by the records that there are now.
SizedLibraries RangesEnd::libraries(const RecordFile& file) const {
  SizedLibraries libraries;
  libraries.tuned = [&](const std::vector<TimedAtSizes>& points, const std::string& path) {
    return compile_ranges(file.records(), &points, path);
  };
  libraries.untuned = [&](const std::string& path) { return compile_ranges(Records(), nullptr, path); };
  libraries.alone = [&](const SizeValues& at, const std::string& path) -> Status {
    const Target& target = prepared_.place.target;
    WHET_TRY(const FusedGraph fused, read(at));
    const ScheduleSource source = best_known(&file.records(), *prepared_.base, target, settings_.rounding.schedules());
    const Result<CompileReport> compiled = compile_model(fused, source, target, path, compiling());
    return compiled.ok() ? ok_status() : Status(compiled.error());
  };
  libraries.run_at = [&](const SizeValues& at) { return run_at(at); };
  return libraries;
}

/// The libraries for ranges alternately at telling sizes, then those for one size.
Status RangesEnd::time_network(Device& device, RecordFile& file, Tuned& tuned) {
  WHET_TRY(const ScratchDirectory scratch, ScratchDirectory::make());
  SizesTruthOptions options;
  for (const WantedSize& size : model_->sizes) options.names.push_back(size.name);
  options.at = telling_sizes(requests_, model_->sizes);
  options.requests = requests_;
  options.hot = settings_.tuning_sizes.hot != "off";
  options.folder = scratch.path();
  options.left = [this] { return left(); };
  options.interrupted = settings_.where.interrupted;
  options.tell = settings_.where.tell;
  const SizesTruth truth = settle_at_sizes(libraries(file), device, options);
  if (truth.needed > 0) leave_out(tuned, "the network, whose comparison takes", truth.needed, "it is not compared");
  if (truth.points.empty()) return truth.failed;
  NetworkAtSizes line;
  line.points = truth.points;
  line.graph = hash_of(family_.variants.back().fused);
  line.name = settings_.model.name();
  line.ranges = to_text(family_.sizes);
  line.target = to_string(prepared_.place.target);
  line.whet = version();
  line.at = utc_now();
  tuned.at_sizes = line;
  tuned.requests = request_seconds(requests_, line.points, options.at);
  WHET_RETURN_IF_ERROR(file.append(line));  // also what was timed before something failed
  return truth.failed;
}

void RangesEnd::run(DeviceMeasurer& measurer, const Devices& devices, RecordFile& file, Tuned& tuned) {
  if (has_ranges(prepared_.sizes) && prepared_.emulated)
    tell(settings_.where.tell,
         "Kernels for ranges are not timed on an emulated device, whose times say nothing of them");
  if (!is_wanted() || interrupted()) return;
  if (const double needed = needs(); settings_.time.limited() && left() < needed / 2)
    return leave_out(tuned, "kernels for ranges, which take", needed, "none is timed");
  Status done = read_network();
  if (done.ok()) done = climb(measurer, file, tuned);
  if (done.ok() && tuned.ladder) listener_.ladder(*tuned.ladder);
  if (done.ok() && compares_network() && !interrupted()) {
    done = time_network(*devices[measurer.deciding()], file, tuned);
    if (done.ok() && tuned.at_sizes) listener_.at_sizes(*tuned.at_sizes);
  }
  if (!done.ok() && !interrupted())
    tell(settings_.where.tell, "Kernels for ranges cannot be timed: " + done.error().message);
}

/// Of the whole network, on this machine: elsewhere a library runs at its usual sizes.
bool RangesEnd::compares_network() const {
  if (settings_.no_network || prepared_.chosen.size() != prepared_.tasks.size()) return false;
  if (is_remote(prepared_))
    tell(settings_.where.tell,
         "The network at its sizes is timed on this machine alone: for other devices kernels are chosen by their own "
         "times");
  return !is_remote(prepared_);
}

}  // namespace whet
