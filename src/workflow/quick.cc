#include "workflow/quick.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "machine/detect.h"
#include "workflow/ranges_end.h"

namespace whet {
namespace {

Status check_quick_place(const MeasuringOptions& options) {
  const Result<Target> target = parse_target(options.place.target);
  if (options.place.target.empty() || !target.ok()) return ok_status();  // choose_place says what is wrong
  if (target->is_gpu())
    return Error{fmt::format("--quick times kernels of processors; the target is \"{}\" (whet tune measures on GPUs)",
                             to_string(*target)),
                 ErrorKind::wrong_use};
  const Status here = can_run(*target);
  if (here.ok() || !options.devices.empty()) return ok_status();
  return Error{fmt::format("--quick times kernels on this machine: {}; --device times them on another one",
                           here.error().message),
               ErrorKind::wrong_use};
}

/// The part of the time that the tasks at the tuning sizes have, where kernels for ranges have the rest.
constexpr double kTasksPart = 0.5;

/// Hears of ranges alone.
class LadderListener : public TuneListener {
 public:
  explicit LadderListener(const QuickWatch& watch) : watch_(watch) {}
  void reading(std::int64_t read, std::int64_t all) override {
    if (watch_.reading) watch_.reading(read, all);
  }
  void ladder(const LadderProgress& progress) override {
    if (watch_.ladder) watch_.ladder(progress);
  }

 private:
  const QuickWatch& watch_;
};

}  // namespace

Result<QuickTimes> time_quickly(const TuneSettings& settings, const Workplace& work, Zygote& zygote, double seconds,
                                const QuickWatch& watch) {
  const double begin = seconds_now();
  const Prepared& prepared = work.prepared;
  LadderListener listener(watch);
  RangesEnd ranges(settings, prepared, listener);
  WHET_TRY(RecordFile file, open_records(settings, prepared, work.devices));
  std::vector<Device*> devices;
  for (const auto& device : work.devices) devices.push_back(device.get());
  BuilderPool builders(zygote, settings.builders, {.timeout = settings.build_timeout});
  DeviceMeasurer measurer(builders, devices, measure_options(settings, prepared));
  TuneOptions options;
  options.deadline = begin + (ranges.is_wanted() ? kTasksPart : 1) * seconds;
  options.ids = prepared.ids;
  options.several_sizes = !prepared.at.empty();
  options.exact = settings.rounding.exact;
  options.precision = settings.rounding.schedules().precision;
  options.seed = settings.model.seed;
  options.base = prepared.base.get();
  options.quick_only = true;
  options.interrupted = settings.where.interrupted;
  QuickTimes round;
  WHET_TRY(round.progress, tune(prepared.chosen, prepared.place.target, measurer, file, options, watch.round));
  if (!ranges.is_wanted()) return round;
  const double left = std::max(seconds - (seconds_now() - begin), (1 - kTasksPart) * seconds);
  WHET_TRY(round.ladder, ranges.time_kernels(measurer, file, left));
  round.family = ranges.family();
  return round;
}

Result<QuickCompile> time_for_compile(const ModelOptions& model, const MeasuringOptions& where, RecordOptions& records,
                                      double seconds, Zygote& zygote, const QuickWatch& watch) {
  WHET_RETURN_IF_ERROR(check_quick_place(where));
  TuneSettings settings;
  settings.model = model;
  settings.where = where;
  settings.where.tell = records.tell;
  settings.rounding = records.rounding;
  settings.base = records.base;
  settings.tuning_sizes = records.tuning_sizes;
  QuickCompile quick;
  WHET_TRY(Workplace work, make_workplace(settings, zygote));
  if (!work.prepared.place.note.empty()) tell(records.tell, work.prepared.place.note);
  if (records.file.empty()) {
    WHET_TRY(ScratchDirectory scratch, ScratchDirectory::make());
    quick.scratch.emplace(std::move(scratch));
    records.file = quick.scratch->path() + "/quick.jsonl";
  }
  settings.records = records.file;
  WHET_TRY(quick.timed, time_quickly(settings, work, zygote, seconds, watch));
  quick.place = std::move(work.prepared.place);
  quick.fused = std::move(work.prepared.fused);
  return quick;
}

}  // namespace whet
