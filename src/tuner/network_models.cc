#include "tuner/network_models.h"

#include <algorithm>
#include <cmath>

#include "artifact/code_format.h"
#include "base/arithmetic.h"
#include "base/parallel.h"

namespace whet {

double NetworkModels::now() const { return options_.clock ? options_.clock() : seconds_now(); }

Result<NetworkModels::Model> NetworkModels::compile(const FusedGraph& fused, const ScheduleSource& source,
                                                    const std::string& path) {
  CompileOptions options;
  options.on_kernel = options_.on_kernel;
  if (&fused == &fused_) options.packed = &packed_;
  options.emulated = device_.info().code == CodeFormat::emulated;
  options.made_weights = device_.info().job_candidates > 1;  // a device elsewhere
  const double begin = now();
  WHET_TRY(const CompileReport report, compile_model(fused, source, target_, path, options));
  size_.compile = now() - begin;
  return Model{{path}, {kInfinity, kInfinity, report.predicted_seconds, report.weights_bytes}};
}

Result<std::vector<double>> NetworkModels::time(const std::vector<Model*>& models, const Bursts& bursts) {
  std::vector<ModelLibrary> files;
  for (const Model* model : models) files.push_back(model->file);
  WHET_TRY(const std::vector<ModelTimes> times, device_.time_models(files, run_of(bursts)));
  if (!make_sense(times, models.size(), bursts.count)) return Error{"the device's times of the models make no sense"};
  std::vector<double> seconds(models.size(), kInfinity);
  for (std::size_t i = 0; i < models.size(); ++i) {
    TimedModel& timed = models[i]->timed;
    for (const ModelBurst& burst : times[i].bursts) {
      seconds[i] = std::min(seconds[i], burst.median);
      timed.fastest_seconds = std::min(timed.fastest_seconds, burst.fastest);
    }
    timed.seconds = std::min(timed.seconds, seconds[i]);
  }
  return seconds;
}

Bursts NetworkModels::bursts_in_time(int least, int times) const {
  if (!std::isfinite(options_.deadline)) return usual_bursts();
  const double left = options_.deadline - now() - compile_seconds(size_);
  return bursts_within(left, size_, usual_bursts(), least, kShortestBurst, times);
}

}  // namespace whet
