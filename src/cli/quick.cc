// whet compile --quick: a quick round of measurements before the model is compiled.

#include "cli/quick.h"

#include <fmt/format.h>

#include <utility>

#include "cli/interrupt.h"
#include "machine/detect.h"

namespace whet {

namespace {

Status check_place(const MeasuringOptions& options) {
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

}  // namespace

Result<QuickCompile> time_for_compile(const ModelOptions& model, const MeasuringOptions& where, RecordOptions& records,
                                      double seconds, Zygote& zygote,
                                      const std::function<void(const TuneProgress&)>& on_round) {
  WHET_RETURN_IF_ERROR(check_place(where));
  end_at_interrupts("Interrupted; nothing was compiled");
  TuneSettings settings;
  settings.model = model;
  settings.where = where;
  settings.where.tell = records.tell;
  settings.rounding = records.rounding;
  settings.base = records.base;
  QuickCompile quick;
  WHET_TRY(Workplace work, make_workplace(settings, zygote));
  if (!work.prepared.place.note.empty()) fmt::print(stderr, "{}\n", work.prepared.place.note);
  if (records.file.empty()) {
    WHET_TRY(ScratchDirectory scratch, ScratchDirectory::make());
    quick.scratch.emplace(std::move(scratch));
    records.file = quick.scratch->path() + "/quick.jsonl";
  } else {
    end_at_interrupts("Interrupted; nothing was compiled; records kept in " + records.file);
  }
  settings.records = records.file;
  WHET_TRY(quick.progress, time_quickly(settings, work, zygote, seconds, on_round));
  quick.place = std::move(work.prepared.place);
  quick.fused = std::move(work.prepared.fused);
  return quick;
}

}  // namespace whet
