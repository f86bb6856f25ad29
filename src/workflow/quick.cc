#include "workflow/quick.h"

#include <vector>

#include "base/parallel.h"

namespace whet {

Result<TuneProgress> time_quickly(const TuneSettings& settings, const Workplace& work, Zygote& zygote, double seconds,
                                  const std::function<void(const TuneProgress&)>& on_round) {
  const double deadline = seconds_now() + seconds;
  const Prepared& prepared = work.prepared;
  WHET_TRY(RecordFile file, open_records(settings, prepared, work.devices));
  std::vector<Device*> devices;
  for (const auto& device : work.devices) devices.push_back(device.get());
  BuilderPool builders(zygote, settings.builders, {.timeout = settings.build_timeout});
  DeviceMeasurer measurer(builders, devices, measure_options(settings, prepared));
  TuneOptions options;
  options.deadline = deadline;
  options.ids = prepared.ids;
  options.exact = settings.rounding.exact;
  options.precision = settings.rounding.schedules().precision;
  options.seed = settings.model.seed;
  options.base = prepared.base.get();
  options.quick_only = true;
  options.interrupted = settings.where.interrupted;
  return tune(prepared.chosen, prepared.place.target, measurer, file, options, on_round);
}

}  // namespace whet
