#include "workflow/lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/counted.h"
#include "base/parallel.h"
#include "import_onnx/export.h"
#include "workflow/layer_json.h"
#include "workflow/open_network.h"
#include "workflow/quantized_file.h"
#include "workflow/remote.h"
#include "workflow/samples.h"

namespace whet {
namespace {

/// The part of a run that tunes in f32, which everything is compared with and most kernels may stay in.
constexpr double kFloatPart = 0.5;
/// Of the whole run, errors of layers may take this part; of what is left after f32, measuring lowered kernels has ended at this part.
constexpr double kErrorsPart = 0.25, kMeasuredPart = 0.75;
/// One choice may take this part of the run.
constexpr double kLoweringChoicePart = 0.04;
/// Runs that are shorter [s] look at more kernels with fewer trials each.
constexpr double kFewTrialsRun = 120;
constexpr int kTrialsOfShortRun = 4;
/// Fewer samples say little about those that nobody looked at.
constexpr std::size_t kFewSamples = 8;
/// Trials of lowered kernels, for each task of the network, where no limit is given.
constexpr int kLoweredTrialsPerTask = 32;

Error wrong_use_of_tune(const std::string& message) { return {"tune: " + message, ErrorKind::wrong_use}; }

bool is_wanted(const TuneSettings& settings) { return settings.rounding.is_of_plans() && !settings.samples.empty(); }

/// "--precision auto"
std::string option_of(const TuneSettings& settings) { return "--precision " + settings.rounding.precision; }

/// Without the user's data, or without a limit on errors where these decide, nothing can be lowered.
Status check_data(const TuneSettings& settings) {
  const bool has_samples = !settings.samples.empty(), has_limit = !settings.max_error.empty();
  if (settings.rounding.is_uniform() && !has_samples)
    return wrong_use_of_tune(
        "--precision int8 needs --samples: what a byte stands for follows from the ranges of your data");
  if (!settings.rounding.is_uniform() && (!has_samples || !has_limit))
    return wrong_use_of_tune(
        "--precision auto needs --samples and --max-error: without them nobody can say what is precise enough");
  return ok_status();
}

/// Every second sample takes part in the choice: neighbours in a folder are alike.
bool is_held_out(std::size_t sample) { return sample % 2 == 1; }

}  // namespace

Status check_lowering(const TuneSettings& settings) {
  if (!settings.rounding.is_of_plans()) {
    const std::pair<const char*, bool> given[] = {{"--samples", !settings.samples.empty()},
                                                  {"--max-error", !settings.max_error.empty()},
                                                  {"--write-quantized", !settings.write_quantized.empty()}};
    for (const auto& [option, is_given] : given)
      if (is_given) return wrong_use_of_tune(std::string(option) + " counts only with --precision auto or int8");
    return ok_status();
  }
  WHET_RETURN_IF_ERROR(check_data(settings));
  const std::string option = option_of(settings);
  if (settings.rounding.exact) return wrong_use_of_tune("--exact allows no lowered products: leave out " + option);
  if (settings.no_network)
    return wrong_use_of_tune(option + " runs and times the whole network: leave out --no-network");
  if (!settings.only.empty()) return wrong_use_of_tune(option + " is for the whole network: leave out --tasks");
  if (!settings.together.empty()) return wrong_use_of_tune(option + " is for one model, and several are given");
  if (!settings.model.sizes.empty())
    return wrong_use_of_tune(option + " is for models of one size: leave out --sizes, and give the size by --shape");
  const Result<std::vector<DeviceName>> devices = parse_devices(settings.where.devices);
  if (!devices.ok()) return ok_status();  // who connects says what is wrong with them
  if (has_fleet(*devices))
    return wrong_use_of_tune(
        option + " runs your samples on one machine, and any unit of a fleet takes any job: leave out --device");
  return ok_status();
}

Status prepare_lowering(const TuneSettings& settings, Prepared& prepared) {
  if (!is_wanted(settings)) return ok_status();
  if (prepared.emulated)
    return wrong_use_of_tune(option_of(settings) + " chooses by times, and those of an emulator mean nothing");
  WHET_TRY(prepared.accuracy, parse_accuracy(settings.max_error));
  const std::vector<InputSlot> slots = input_slots(prepared.fused.graph);
  WHET_TRY(Samples samples, read_samples(settings.samples, slots));
  WHET_RETURN_IF_ERROR(check_contents(samples, slots));
  if (samples.all.size() < 2)
    return Error{settings.samples + " has one sample; " + option_of(settings) +
                 " needs two at least, as half of them are held out"};
  if (samples.all.size() < kFewSamples)
    tell(settings.where.tell,
         fmt::format("{} has {} samples: with fewer than {} {} on data that is not among them", settings.samples,
                     samples.all.size(), kFewSamples,
                     settings.max_error.empty() ? "errors are likely to be larger" : "the limits are likely to break"));
  std::vector<std::string> outputs;
  for (ValueId id : prepared.fused.graph.outputs) outputs.push_back(prepared.fused.graph.value(id).name);
  for (const Allowed& allowed : prepared.accuracy.allowed)
    if (!allowed.output.empty() && std::ranges::find(outputs, allowed.output) == outputs.end())
      return wrong_use_of_tune(
          fmt::format("--max-error {} is about an output that the model does not have; its outputs are {}",
                      to_text(allowed), fmt::join(outputs, ", ")));
  if (!settings.write_quantized.empty())
    if (const auto bytes = onnx_bytes(prepared.fused.graph); !bytes.ok()) return bytes.error().at("--write-quantized");
  prepared.samples = std::make_shared<const Samples>(std::move(samples));
  return ok_status();
}

std::vector<std::string> samples_text(const Prepared& prepared) {
  std::vector<std::string> lines;
  if (!prepared.samples) return lines;
  const std::size_t all = prepared.samples->all.size();
  for (const std::string& line : sample_lines(*prepared.samples, input_slots(prepared.fused.graph)))
    lines.push_back(fmt::format("samples: {} of {} ({} calibrate, {} are held out); {}", all, prepared.samples->from,
                                all - all / 2, all / 2, line));
  return lines;
}

TuneSettings float_settings(const TuneSettings& whole) {
  TuneSettings settings = whole;
  if (!is_wanted(whole)) return settings;
  settings.time = whole.time.first_part(kFloatPart);
  if (whole.trials > 0) settings.trials = std::max(1, static_cast<int>(kFloatPart * whole.trials));
  return settings;
}

Result<PrecisionSearch> search_lowering(const TuneSettings& whole, const Prepared& prepared, const RunEnd& end,
                                        const Tuned& tuned, DeviceMeasurer& measurer, const Devices& devices,
                                        RecordFile& file, TuneListener& listener) {
  const double begun = seconds_now(), left = whole.time.left(begun);
  PrecisionOptions options;
  options.name = whole.model.name();
  options.lowered = lowered_for(prepared.place.target);
  if (whole.rounding.is_uniform()) options.uniform = StoredAs::u8, options.lowered = {StoredAs::u8};
  options.accuracy = prepared.accuracy;
  options.samples = prepared.samples->digest;
  for (std::size_t i = 0; i < prepared.samples->all.size(); ++i)
    (is_held_out(i) ? options.held_out : options.calibration).push_back(prepared.samples->all[i].inputs);
  options.prices.schedules = whole.rounding.schedules();
  options.prices.rates = tuned.rates;
  options.prices.network_bytes = prepared.footprint.least();
  options.tuning = end.trial_options();
  options.tuning.base = prepared.base.get();
  options.tuning.placements = tuned.progress.placements;
  if (whole.trials > 0) options.tuning.trials = std::max<std::int64_t>(1, whole.trials - float_settings(whole).trials);
  if (whole.trials == 0 && !whole.time.limited())
    options.tuning.trials = kLoweredTrialsPerTask * std::ssize(prepared.ids);
  if (whole.time.limited()) {
    options.errors_deadline = begun + std::min(kErrorsPart * whole.time.run_seconds(), kMeasuredPart * left);
    options.tuning.deadline = begun + kMeasuredPart * left;
  }
  if (whole.time.limited() && whole.time.run_seconds() < kFewTrialsRun) options.trials_a_task = kTrialsOfShortRun;
  if (whole.time.limited())
    options.seconds_a_choice =
        std::clamp(kLoweringChoicePart * whole.time.run_seconds(), 1.0, options.seconds_a_choice);
  options.on_progress = [&listener](const PrecisionProgress& progress) { listener.lowering(progress); };
  WHET_TRY(options.network, end.network_options(measurer, begun + left));
  std::shared_ptr<ModelHost> host;
  if (is_remote(prepared)) {
    const MeasuringOptions& where = whole.where;
    WHET_TRY(host,
             connect_models(prepared.devices[measurer.deciding()], where.fleet,
                            {.run_timeout = where.run_timeout, .interrupted = where.interrupted, .tell = where.tell}));
  }
  WHET_TRY(NetworkOpener opener, NetworkOpener::make(options.network, prepared.place.target, file, std::move(host)));
  options.open = [&opener](const FusedGraph& fused) { return opener.open(fused); };
  return search_precision(prepared.fused, prepared.place.target, measurer, file, *devices[measurer.deciding()],
                          options);
}

std::optional<Error> write_if_asked(const TuneSettings& settings, const Prepared& prepared, const Records& records,
                                    const Tuned& tuned) {
  const std::string& path = settings.write_quantized;
  if (path.empty()) return std::nullopt;
  const auto written = [&]() -> Result<std::string> {
    if (!tuned.precision || !tuned.precision->adopted) return not_written(path, "no plan in fewer bits was adopted");
    WHET_TRY(const LoweredKernels kernels, lowered_kernels(prepared.fused, records, prepared.place.target));
    return write_quantized(prepared.fused, kernels, path);
  }();
  if (!written.ok()) return written.error().at("--write-quantized");
  tell(settings.where.tell, *written);
  return std::nullopt;
}

std::string progress_text(const PrecisionProgress& progress) {
  constexpr std::size_t kLayersALine = 10;
  switch (progress.phase) {
    case PrecisionProgress::Phase::errors:
      if (progress.done % kLayersALine != 0 && progress.done != progress.all) return "";
      return fmt::format("precision: errors of {} of {} layers are measured", progress.done, progress.all);
    case PrecisionProgress::Phase::measuring:
      return fmt::format("precision: {} {} measured now", counted(std::int64_t(progress.measuring), "lowered kernel"),
                         for_count(std::int64_t(progress.measuring), "is", "are"));
    case PrecisionProgress::Phase::verifying:
      break;
  }
  return fmt::format("precision: choice {} runs on the samples", progress.choice);
}

Json to_json(const PrecisionProgress& progress) {
  const char* const phases[] = {"errors", "measuring", "verifying"};
  return Json::object()
      .set("phase", phases[static_cast<int>(progress.phase)])
      .set("done", static_cast<std::int64_t>(progress.done))
      .set("all", static_cast<std::int64_t>(progress.all))
      .set("measuring", static_cast<std::int64_t>(progress.measuring))
      .set("choice", progress.choice);
}

Json to_json(const PrecisionSearch& search) {
  const PlanPrecision& precision = search.precision;
  Json allowed = Json::array();
  for (const std::string& limit : precision.allowed) allowed.add(limit);
  Json lowered_to = Json::object();
  for (const auto& [stored, kernels] : search.lowered_to)
    lowered_to.set(to_text(ActivationLayout{0, 0, stored}), static_cast<std::int64_t>(kernels));
  return Json::object()
      .set("adopted", search.adopted.has_value())
      .set("uniform", precision.uniform)
      .set("why_not", search.why_not)
      .set("layers", static_cast<std::int64_t>(search.layers))
      .set("errors", static_cast<std::int64_t>(search.errors))
      .set("known_errors", static_cast<std::int64_t>(search.known_errors))
      .set("errors_seconds", search.errors_seconds)
      .set("verifying_seconds", search.verifying_seconds)
      .set("seconds", search.seconds)
      .set("trials", search.trials)
      .set("choices", search.choices)
      .set("tightened", search.tightened > 0)
      .set("kernels", static_cast<std::int64_t>(search.kernels))
      .set("lowered", static_cast<std::int64_t>(search.lowered))
      .set("lowered_to", lowered_to)
      .set("conversions", static_cast<std::int64_t>(search.conversions))
      .set("gap", search.gap)
      .set("allowed", allowed)
      .set("calibration", precision.calibration)
      .set("held_out", precision.held_out)
      .set("worst_error", precision.error)
      .set("worst_held_out_error", precision.held_out_error)
      .set("share", precision.share)
      .set("held_out_share", precision.held_out_share)
      .set("share_to_come", search.share_to_come)
      .set("first_error", search.first_error)
      .set("predicted_error", search.predicted_error)
      .set("measured_error", search.measured_error)
      .set("network_ms", search.network_seconds * 1e3)
      .set("f32_network_ms", search.usual_network_seconds * 1e3)
      .set("by_layer", to_json(search.by_layer));
}

}  // namespace whet
