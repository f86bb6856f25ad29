#pragma once

#include <optional>
#include <string>
#include <vector>

#include "json/json.h"
#include "measure/device_measurer.h"
#include "tuner/precision_search.h"
#include "workflow/run_end.h"
#include "workflow/tuning.h"

/// `whet tune --precision auto` and `int8`: a plan in fewer bits, on a user's samples.
namespace whet {

/// The options of `whet tune` that it needs, and those that it cannot be together with: several models, several sizes, some tasks alone,
/// fleets. Nothing to say where the precision is another.
Status check_lowering(const TuneSettings&);
/// Reads the samples and the limits into `prepared`, where there are samples. Errors: as read_samples has it; samples of one value; fewer
/// than two; limits about outputs that the model does not have; an emulated device; a network that no ONNX file holds, where one is to be
/// written. Few samples are told.
Status prepare_lowering(const TuneSettings&, Prepared&);
/// "samples: 32 of images/ (16 calibrate, 16 are held out); input x f32[1x3x320x320]: -2.12 .. 2.64, mean -0.31", a line an input
std::vector<std::string> samples_text(const Prepared&);

/// The settings of the tuning in f32 that comes first: about half of the time, or of the trials.
TuneSettings float_settings(const TuneSettings&);
/// What comes then, in what is left of the time: samples run where the network is timed, on a device elsewhere in a session of their own.
Result<PrecisionSearch> search_lowering(const TuneSettings& whole, const Prepared&, const RunEnd&, const Tuned&,
                                        DeviceMeasurer&, const Devices&, RecordFile&, TuneListener&);

/// --write-quantized: tells what became of the file. There is none where no plan was adopted. The error of writing one, where it fails.
std::optional<Error> write_if_asked(const TuneSettings&, const Prepared&, const Records&, const Tuned&);

/// "precision: 12 of 31 layers measured", "precision: 4 tasks are measured now", "precision: choice 2 runs on the samples"; "" of layers that
/// are not worth a line.
std::string progress_text(const PrecisionProgress&);
Json to_json(const PrecisionProgress&);
/// As `whet tune --json` has it, and the event `precision`.
Json to_json(const PrecisionSearch&);

}  // namespace whet
