#include "device/testing/fake_devices.h"

#include <limits>
#include <utility>

#include "trial/outcome.h"

namespace whet::testing {
namespace {

constexpr std::size_t kLongText = std::size_t{1} << 20;

MeasureReply lied(Lie lie, MeasureReply truth) {
  switch (lie) {
    case Lie::not_a_number:
      truth.seconds = {1e-3, std::numeric_limits<double>::quiet_NaN()};
      break;
    case Lie::infinite:
      truth.seconds = {std::numeric_limits<double>::infinity()};
      break;
    case Lie::negative:
      truth.seconds = {1e-3, -1e-3};
      break;
    case Lie::zero:
      truth.seconds = {0};
      break;
    case Lie::nanosecond:
      truth.seconds = {1e-9};
      break;
    case Lie::no_time:
      truth.seconds.clear();
      break;
    case Lie::failed_with_times:
      truth.code = OutcomeCode::crash;
      break;
    case Lie::unknown_code:
      truth.code = static_cast<OutcomeCode>(200);
      break;
    case Lie::truncated_for_nothing:
      truth.truncated = true;
      truth.seconds = {1e-9};
      break;
    case Lie::wall_time:
      truth.run_seconds = -1;
      break;
    case Lie::long_text:
      truth = {OutcomeCode::runtime, std::string(kLongText, 'x'), {}, false, 0};
      break;
  }
  return truth;
}

}  // namespace

FormulaDevice::FormulaDevice(Seconds seconds, Outputs outputs, std::string name)
    : seconds_(std::move(seconds)), outputs_(std::move(outputs)) {
  info_.name = std::move(name);
}

MeasureReply FormulaDevice::measure(const MeasureRequest& request) {
  ++requests;
  const double seconds = seconds_(request.job);
  const double limit = request.policy.incumbent_seconds * request.policy.truncate_ratio;
  return {OutcomeCode::ok, "", {seconds, seconds}, limit > 0 && seconds > limit, seconds};
}

CheckReply FormulaDevice::check(const CheckRequest& request) {
  ++requests;
  if (outputs_) return outputs_(request);
  CheckReply reply;
  for (const ArgumentSpec& a : request.job.arguments)
    if (a.role == ArgumentRole::output) reply.outputs.emplace_back(static_cast<std::size_t>(a.bytes), '\0');
  return reply;
}

Result<std::vector<ModelTimes>> FormulaDevice::time_models(const std::vector<ModelLibrary>& files,
                                                           const ModelRun& run) {
  ++requests;
  std::vector<ModelTimes> times;
  for (const ModelLibrary& file : files) {
    const double seconds = model_seconds(file.path);
    times.push_back({std::vector<ModelBurst>(static_cast<std::size_t>(run.bursts), {seconds, seconds})});
  }
  return times;
}

MeasureReply DyingDevice::measure(const MeasureRequest& request) {
  return next() ? MeasureReply{OutcomeCode::device_lost, "the device does not answer"} : inner_.measure(request);
}
CheckReply DyingDevice::check(const CheckRequest& request) {
  return next() ? CheckReply{OutcomeCode::device_lost, "the device does not answer", {}} : inner_.check(request);
}
Result<std::vector<ModelTimes>> DyingDevice::time_models(const std::vector<ModelLibrary>& files, const ModelRun& run) {
  if (next()) return Error{"the device does not answer"};
  return inner_.time_models(files, run);
}

MeasureReply LyingDevice::measure(const MeasureRequest& request) {
  MeasureReply truth = inner_.measure(request);
  if (tells_the_truth()) return truth;
  return lied(static_cast<Lie>(lie_ >= 0 ? lie_ : static_cast<int>(rng_.below(kLies))), std::move(truth));
}

CheckReply LyingDevice::check(const CheckRequest& request) {
  CheckReply truth = inner_.check(request);
  if (tells_the_truth() || truth.outputs.empty()) return truth;
  std::string& output = truth.outputs[0];
  switch (rng_.below(5)) {
    case 0:
      truth.outputs.clear();
      break;
    case 1:
      truth.outputs.emplace_back("more");
      break;
    case 2:
      output.resize(output.size() / 2);
      break;
    case 3:
      truth.code = static_cast<OutcomeCode>(77);
      break;
    default:
      for (char& byte : output) byte = static_cast<char>(byte ^ 0x40);
  }
  return truth;
}

Result<std::vector<ModelTimes>> LyingDevice::time_models(const std::vector<ModelLibrary>& files, const ModelRun& run) {
  Result<std::vector<ModelTimes>> truth = inner_.time_models(files, run);
  if (!truth.ok() || tells_the_truth()) return truth;
  std::vector<ModelTimes> times = std::move(*truth);
  switch (rng_.below(3)) {
    case 0:
      times.clear();
      break;
    case 1:
      for (ModelTimes& model : times) model.bursts.clear();
      break;
    default:
      for (ModelTimes& model : times)
        for (ModelBurst& burst : model.bursts) burst = {-1, std::numeric_limits<double>::quiet_NaN()};
  }
  return times;
}

}  // namespace whet::testing
