#pragma once

#include <functional>
#include <optional>

#include "base/result.h"
#include "compiler/scratch.h"
#include "ranges/ranges.h"
#include "tuner/ladder.h"
#include "tuner/tuner.h"
#include "workflow/opened.h"
#include "workflow/tuning.h"

namespace whet {

/// Hears how far a quick round is; all may be empty.
struct QuickWatch {
  std::function<void(const TuneProgress&)> round;                    ///< as `tune` has it
  std::function<void(std::int64_t read, std::int64_t all)> reading;  ///< sizes of ranges, as TuneListener has it
  std::function<void(const LadderProgress&)> ladder;                 ///< kernels for ranges: after each task
};

/// What a quick round timed.
struct QuickTimes {
  TuneProgress progress;
  std::optional<LadderProgress> ladder;  ///< kernels for ranges; none: the model has no ranges
  std::optional<Family> family;          ///< the same: the model at all its sizes
};

/// Times the default schedules of a prepared model's tasks alternately with what its record base knows, the heaviest first, and appends
/// to `settings.records`: `whet tune` with its quick round alone. Other tasks keep what is known of them without measuring. Of a model
/// with ranges the tasks at its tuning sizes have half of the time; in the other half the kernels that a library for the ranges may have
/// are timed at many sizes.
///   seconds  from now on, without the time in which a model with ranges is read and its untuned kernels are chosen; no task is begun after them
Result<QuickTimes> time_quickly(const TuneSettings&, const Workplace&, Zygote&, double seconds, const QuickWatch&);

/// A model that is compiled behind its quick round.
struct QuickCompile {
  TargetOnCores place;
  FusedGraph fused;  ///< of a model with sizes at the largest of its tuning sizes
  QuickTimes timed;
  std::optional<ScratchDirectory> scratch;  ///< where the records lie that no option asks for
};

/// `whet compile --quick`: times what the record base knows where the options say, and has `records` name the file with the outcomes.
/// Only a machine that will run the code can say what is fast there. An error of the kind wrong_use: no device is named, and the code is
/// for another machine than this one.
Result<QuickCompile> time_for_compile(const ModelOptions&, const MeasuringOptions&, RecordOptions& records,
                                      double seconds, Zygote&, const QuickWatch&);

}  // namespace whet
