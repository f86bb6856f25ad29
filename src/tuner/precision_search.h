#pragma once

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "measure/measurer.h"
#include "plan/accuracy.h"
#include "plan/layer_precisions.h"
#include "plan/plan.h"
#include "records/record_file.h"
#include "tuner/layer_errors.h"
#include "tuner/network.h"
#include "tuner/tuner.h"

namespace whet {

/// Of what is allowed, a plan is to use this part on the samples that it is chosen by: a budget that is filled on these is broken on half of
/// those that nobody looked at.
constexpr double kAimedShare = 0.7;
/// A plan that was chosen again, with a lower aim, may use this part of what is allowed on samples that are held out.
constexpr double kTightenedShare = 0.85;

struct PrecisionProgress {
  enum class Phase { errors, measuring, verifying };
  Phase phase = Phase::errors;
  std::size_t done = 0, all = 0;  ///< layers, of errors
  std::size_t measuring = 0;      ///< tasks that are measured now
  int choice = 0;                 ///< which is verified, from 1
};

struct PrecisionOptions {
  std::string name;                                  ///< the network's, for people
  std::vector<StoredAs> lowered = {StoredAs::bf16};  ///< as lowered_for has them of the target
  /// Every layer that can multiplies this type, whatever that costs, and nothing is chosen by errors. It is one of `lowered`, the only one.
  std::optional<StoredAs> uniform = {};
  Accuracy accuracy;    ///< what the user allows; without a limit the plan of a uniform type is not judged
  std::string samples;  ///< their digest
  SampleInputs calibration, held_out;
  OpenNetwork open;  ///< how answers are had
  PriceOptions prices;
  TuneOptions tuning;     ///< of the tasks of lowered kernels; its trials and deadline are those of the whole search
  int trials_a_task = 8;  ///< before the plans are looked at again
  double errors_deadline = std::numeric_limits<double>::infinity();
  double aim = kAimedShare;
  int choices = 8;  ///< networks that are verified on the samples, at most
  double seconds_a_choice = 5;
  NetworkOptions network;  ///< how both networks are timed; its deadline is that of all
  std::function<void(const PrecisionProgress&)> on_progress;  ///< may be empty
};

struct PrecisionSearch {
  std::size_t alternatives = 0, layers = 0;                       ///< that are lowered, and what a probe can round
  std::size_t errors = 0, known_errors = 0;                       ///< that were measured just now, and before
  double errors_seconds = 0, verifying_seconds = 0, seconds = 0;  ///< of layers' errors, of networks on samples, of all
  std::int64_t trials = 0;
  int choices = 0;         ///< that were verified
  double first_error = 0;  ///< worst sample of the first
  int tightened = 0;       ///< how often the choice was made again with a lower aim
  /// Over the calibration samples, of the plan that was taken last: by its layers' errors and by what the plan that was verified before did
  /// with its own, and measured.
  double predicted_error = 0, measured_error = 0;
  double aim = kAimedShare;  ///< of what is allowed, that the last plan was to use
  std::size_t kernels = 0, lowered = 0,
              conversions = 0;  ///< of that plan: all kernels, those that multiply or read fewer bits, copies
  std::map<StoredAs, std::size_t>
      lowered_to;  ///< of the lowered ones, by what their products multiply, or else what they read
  double gap = 0;  ///< as NetworkPlans has it
  std::vector<LayerPrecision> by_layer;  ///< of that plan; of none, why each layer is f32
  PlanPrecision precision;               ///< of that plan, as far as it is known
  /// Of what is allowed: the worst of as many samples to come is not expected to use more, by the errors of all samples (unseen.h).
  double share_to_come = 0;
  double network_seconds = 0, usual_network_seconds = 0;
  std::optional<Plan> adopted;  ///< a line of the record file now
  std::string why_not;          ///< why none was adopted, a sentence; "" where one was
  bool interrupted = false;
};

/// The part of its aim that a plan is to use beside what it was to use, by what it used on samples that are held out: 1 where no limit uses
/// more than it may, `aim` of what is allowed, or all of it of top1; 0 where one has no end.
double lower_aim(const std::vector<JudgedLimit>& limits, double aim);

/// Looks for a plan of a tuned network that stores activations and multiplies in fewer bits where that is worth its error.
///   1. On the calibration samples the ranges of values are measured, from which scales of whole numbers follow; held-out samples that go beyond
///      one widen it (value_ranges.h). Then each layer's error alone is measured, for each type, by the kernels' own arithmetic (probe.h).
///   2. Lowered kernels are alternatives: those of the plans that are hoped to be fastest within the budget are tuned. The budget is one of
///      squared errors, which add up; at first that of the smallest relative limit, 1% where there is none.
///   3. The fastest plan of measured kernels within the budget runs on the calibration samples. The budget is corrected by what came out, and
///      the choice is repeated, until the worst sample uses about `aim` of what is allowed.
///   4. The network runs on the held-out samples, which took no part but in ranges. What uses more than `aim` of what is allowed there is not adopted, nor
///      where the errors of all samples let expect that the worst of others breaks a limit: twice at most the choice is made again with a lower
///      aim, where one may help and there is time, and may use kTightenedShare then. Nor is a plan that is not faster than the f32 network, timed alternately in new processes.
/// What is adopted becomes a line of the record file, which serves who asks for --precision auto alone, or for that type.
/// Of a uniform type there is one plan, the fastest in which every layer that can multiplies it (plan/uniform_plan.h). It is adopted where
/// its errors on all samples keep the limits, if there are any, also where it is not faster. Errors of layers are measured to be told.
/// After an interrupt nothing is adopted; ranges, errors and trials stay in the file.
Result<PrecisionSearch> search_precision(const FusedGraph&, const Target&, Measurer&, RecordFile&, Device&,
                                         const PrecisionOptions&);

/// The lowered kernels of its last plan: "31 i16, 4 u8".
std::string lowered_text(const PrecisionSearch&);
/// The search as people read it, some lines: kernels, errors, time, or why f32 stays.
std::string precision_report(const PrecisionSearch&, const Accuracy&);

}  // namespace whet
