#include "workflow/reporting.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "base/parallel.h"
#include "base/version.h"
#include "compiler/choose.h"
#include "cost/limit.h"
#include "machine/processor.h"
#include "machine/stolen.h"
#include "plan/plan.h"
#include "records/record_line.h"
#include "report/gather.h"
#include "report/page.h"
#include "tensor_files/file.h"
#include "tuner/footprint.h"
#include "tuner/network.h"
#include "tuner/network_schedules.h"
#include "workflow/model.h"
#include "workflow/opened.h"
#include "workflow/rates.h"
#include "workflow/run_end.h"
#include "workflow/tune_json.h"

namespace whet {
namespace {

/// Inferences of one network before the other has its turn [s], and how often each has it.
constexpr double kTurnSeconds = 0.1;
/// A control schedule this much slower than at first is worth a sentence.
constexpr double kSlowdown = 1.1;
constexpr std::chrono::seconds kLivePause{10};
constexpr int kTurns = 7, kProfiledRuns = 50;

double median_of(std::vector<double> times) {
  const auto middle = times.begin() + std::ssize(times) / 2;
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

void add_limits(const ReportSubject& subject, const MachineRates& rates, std::int64_t footprint, ReportData& data) {
  for (std::size_t t = 0; t < data.tasks.size(); ++t) {
    ReportTask& task = data.tasks[t];
    const std::vector<Limit> limits = limits_of((*subject.tasks)[t].dag, subject.place.target, rates, footprint);
    const Limit* limit = holding_limit(limits, task.best_seconds);
    if (limit == nullptr) continue;
    task.limit = limit->what, task.limit_seconds = limit->seconds, task.limit_why = limit->why;
  }
}

/// Medians of the bursts, the two models alternately.
Status time_both(OpenedModel& untuned, OpenedModel& tuned, ReportNetwork& network) {
  std::vector<double> before, after;
  network.fastest_seconds = std::numeric_limits<double>::infinity();
  for (int turn = 0; turn < kTurns; ++turn) {
    WHET_TRY(std::vector<double> times, untuned.time_runs(0, kTurnSeconds));
    before.push_back(median_of(std::move(times)));
    WHET_TRY(times, tuned.time_runs(0, kTurnSeconds));
    network.fastest_seconds = std::min(network.fastest_seconds, *std::min_element(times.begin(), times.end()));
    after.push_back(median_of(std::move(times)));
  }
  network.untuned_seconds = median_of(std::move(before));
  network.tuned_seconds = median_of(std::move(after));
  network.disturbed = is_disturbed({network.tuned_seconds, network.fastest_seconds, tuned.info().predicted_seconds});
  return ok_status();
}

/// What its kernel's task is called.
TaskLabel label_of_step(const CompileReport& compiled, std::size_t step) {
  const int task = compiled.steps.at(step);
  return task < 0 ? TaskLabel{OperatorKind::copy, "copy"} : compiled.tasks[static_cast<std::size_t>(task)].label;
}

Status profile_for_report(OpenedModel& model, const CompileReport& compiled, ReportProfile& profile) {
  WHET_RETURN_IF_ERROR(model.profile_runs(5, kProfiledRuns));
  const whet_profile measured = model.profile();
  profile.seconds = static_cast<double>(measured.min_ns) / 1e9;
  for (std::uint32_t i = 0; i < measured.steps; ++i) {
    const whet_step_profile& step = measured.step[i];
    profile.steps.push_back({step.node, step.op, label_of_step(compiled, i), static_cast<double>(step.min_ns) / 1e9,
                             step.predicted_seconds, step.parallel != 0});
  }
  profile.workers = worker_names(model);
  WHET_TRY(const InferenceTrace trace, model.trace_runs(5, kProfiledRuns));
  for (const InferenceTrace::Stretch& stretch : trace.stretches)
    profile.stretches.push_back({stretch.step, stretch.worker, stretch.begin, stretch.end});
  profile.ends = trace.ends;
  return ok_status();
}

/// The row that the records of a unit made, or a new one.
ReportDevice& row_of(const UnitReport& unit, ReportData& data) {
  const std::string name(without_number(unit.name)), full = unit.unit.empty() ? name : name + " " + unit.unit;
  const auto known = std::ranges::find(data.devices, full, &ReportDevice::name);
  if (known != data.devices.end()) return *known;
  ReportDevice& device = data.devices.emplace_back();
  device.name = full, device.candidates = unit.candidates, device.failed = unit.failed;
  return device;
}

/// Adds what a run of `whet tune` knows beside its records.
void add_run(const TuneProgress& progress, const NetworkTruth& truth, const std::vector<UnitReport>& units,
             ReportData& data) {
  const TunePhases& phases = progress.phases;
  data.phases = {{"propose", phases.propose}, {"measure", phases.measure}, {"check", phases.check},
                 {"confirm", phases.confirm}, {"record", phases.record},   {"learn", phases.learn},
                 {"finals", phases.finals}};
  if (truth.default_seconds > 0)  // else the page times both
    data.network = {truth.default_seconds, truth.tuned.seconds, truth.tuned.fastest_seconds, truth.disturbed,
                    truth.same_schedules && truth.base.empty()};
  for (const TaskProgress& task : progress.tasks) {
    if (task.id < 0 || static_cast<std::size_t>(task.id) >= data.tasks.size()) continue;
    data.tasks[static_cast<std::size_t>(task.id)].note = !task.given_up.empty() ? "given up: " + task.given_up
                                                         : task.used_up         ? "space used up"
                                                         : task.rests           ? "rests: no more gain expected"
                                                                                : "";
  }
  if (progress.slowdown > kSlowdown)
    data.notes.push_back(fmt::format("The machine became {:.0f}% slower while tuning.", 100 * (progress.slowdown - 1)));
  if (progress.uncompared > 0) data.notes.push_back(uncompared_text(progress.uncompared) + ".");
  if (progress.interrupted) data.notes.push_back("Tuning was interrupted.");
  if (units.size() < 2) return;  // of one device the records have all
  for (const UnitReport& unit : units) {
    ReportDevice& device = row_of(unit, data);  // of two devices that are one machine: both add to it
    device.jobs += unit.jobs, device.losses += unit.losses, device.busy_seconds += unit.busy_seconds;
    device.factor = unit.factor, device.drained |= unit.drained;
  }
}

}  // namespace

Result<ReportData> describe_for_report(const ReportSubject& subject, const Records& records, const MachineRates& rates,
                                       bool layouts) {
  ReportSources sources;
  sources.fused = subject.fused, sources.tasks = subject.tasks;
  sources.target = &subject.place.target, sources.records = &records;
  sources.rates = rates, sources.layouts = layouts;
  sources.schedules = subject.rounding.schedules();
  const std::shared_future<std::int64_t> footprint =
      std::async(std::launch::deferred, [&] {
        if (subject.footprint > 0) return subject.footprint;
        return network_footprint(*subject.fused, *subject.tasks, subject.rounding.exact).least();
      }).share();
  sources.network_bytes = [&] { return footprint.get(); };
  // While tuning goes on the other processors are not ours.
  if (layouts) sources.for_each = [](int count, const std::function<void(int)>& body) { parallel_for(count, 0, body); };
  WHET_TRY(ReportData data, gather_report(sources));
  add_limits(subject, rates, footprint.get(), data);
  data.model = subject.model, data.records = subject.records;
  data.machine = !subject.where.empty() ? subject.where : subject.place.target.is_cpu() ? read_processor().brand : "";
  data.whet = "whet " + version(), data.written_at = utc_now();
  const std::string target = "\"" + to_string(subject.place.target) + "\"" + subject.rounding.text();
  data.commands = {fmt::format("whet tune {} -o {} --target {}", subject.model, subject.records, target),
                   fmt::format("whet report {} --records {} --target {}", subject.model, subject.records, target)};
  return data;
}

Status run_for_report(const ReportSubject& subject, const Records& records, std::vector<Tensor> inputs,
                      ReportData& data) {
  const Target& target = subject.place.target;
  WHET_TRY(const ScratchDirectory scratch, ScratchDirectory::make());
  const std::string before = scratch.path() + "/untuned.so", after = scratch.path() + "/tuned.so";
  const SpaceOptions schedules = subject.rounding.schedules();
  WHET_TRY(const PlannedNetwork network, planned(*subject.fused, records, target, schedules));
  WHET_TRY(const CompileReport compiled,
           compile_model(network.fused, best_of(&records, target, schedules), target, after));
  OpenModelOptions open;
  open.threads = static_cast<std::uint32_t>(target.threads);
  open.cores.assign(subject.place.cores.cpus.begin(), subject.place.cores.cpus.end());
  WHET_TRY(OpenedModel tuned, OpenedModel::open(after, open));
  WHET_RETURN_IF_ERROR(tuned.set_inputs(inputs));
  if (!(data.network.tuned_seconds > 0) && !subject.tasks->empty()) {
    data.network.same_schedules =
        network.kernels.empty() &&
        choose_the_same(*subject.tasks, best_of(&records, target, schedules), best_of(nullptr, target, schedules));
    WHET_TRY(const CompileReport usual,
             compile_model(*subject.fused, best_of(nullptr, target, schedules), target, before));
    WHET_TRY(OpenedModel untuned, OpenedModel::open(before, open));
    WHET_RETURN_IF_ERROR(untuned.set_inputs(std::move(inputs)));
    WHET_RETURN_IF_ERROR(untuned.warm_up(kTurnSeconds));
    WHET_RETURN_IF_ERROR(tuned.warm_up(kTurnSeconds));
    WHET_RETURN_IF_ERROR(time_both(untuned, tuned, data.network));
  }
  WHET_RETURN_IF_ERROR(profile_for_report(tuned, compiled, data.profile));
  if (is_off_record(data.profile.seconds, compiled.predicted_seconds))
    if (const std::string line = placement_line(placement_of(tuned), tuned.info().records); !line.empty())
      data.notes.push_back("The network is more than 10% off its records. " + line + ".");
  return ok_status();
}

Status write_report(ReportData data, const std::string& path) { return write_file(path, report_html(std::move(data))); }

void RunReport::started(const Prepared& prepared, const RecordFile& file, const MachineRates& rates) {
  prepared_ = &prepared, file_ = &file, rates_ = rates;
  subject_ = {settings_.model.text(), &prepared.fused,   &prepared.tasks, prepared.place,
              settings_.rounding,     settings_.records, prepared.where,  prepared.footprint.least()};
}

void RunReport::round(const TuneProgress& progress) {
  if (path_.empty() || std::chrono::steady_clock::now() - last_ < kLivePause) return;
  Result<ReportData> data = describe_for_report(subject_, file_->records(), rates_, false);
  if (data.ok()) {
    add_run(progress, {}, {}, *data);
    data->live = true;
    data->notes.clear();
  }
  write(std::move(data));
}

void RunReport::finished(const Tuned& tuned) {
  if (!path_.empty()) write(last_page(tuned));
}

Result<ReportData> RunReport::last_page(const Tuned& tuned) const {
  const bool several_sizes = !prepared_->at.empty();  // whose tasks are those of all, and no network's
  WHET_TRY(ReportData data, describe_for_report(subject_, file_->records(), tuned.rates, !several_sizes));
  if (several_sizes) {
    std::vector<TuningSize> at;
    for (const PreparedSize& each : prepared_->at) at.push_back(each.size);
    data.notes.push_back("Weights and sums are of " + requests_text(prepared_->sizes, at) + ".");
  }
  for (const std::string& sentence : tuned.left_out) data.notes.push_back(sentence + ".");
  // Any unit of a fleet takes what any device asks: the records alone have the units.
  add_run(tuned.progress, tuned.truth, has_fleet(prepared_->devices) ? std::vector<UnitReport>() : tuned.units, data);
  if (const std::string stolen = stolen_text(tuned.stolen); !stolen.empty())
    data.notes.push_back("While tuning " + stolen + ".");
  if (!subject_.place.target.is_cpu() || is_remote(*prepared_) || settings_.no_network || tuned.progress.interrupted ||
      several_sizes)
    return data;
  if (data.layouts.differs) data.network = {};  // which was measured before the plan was there
  const double needed = profile_seconds(tuned.size, data.network.tuned_seconds > 0);
  if (const double left = settings_.time.left(seconds_now()); left < needed) {
    data.notes.push_back(
        settings_.time.too_short(left, "the profile of the network, which", needed, "it is not measured") + ".");
    return data;
  }
  const std::vector<InputSlot> slots = input_slots(prepared_->fused.graph);
  const InputFiles files = without_folded(settings_.model, slots, prepared_->files);
  WHET_TRY(std::vector<Tensor> inputs, match_inputs(slots, files, "random", settings_.model.seed));
  if (const Status ran = run_for_report(subject_, file_->records(), std::move(inputs), data); !ran.ok())
    data.notes.push_back("The network could not be profiled: " + ran.error().message);
  return data;
}

void RunReport::write(Result<ReportData> data) {
  const Status written = data.ok() ? write_report(std::move(*data), path_) : data.error();
  if (!written.ok()) {
    if (settings_.where.tell)
      settings_.where.tell(path_ + ": " + written.error().message + "; the report is not written");
    path_.clear();
  }
  last_ = std::chrono::steady_clock::now();
}

}  // namespace whet
