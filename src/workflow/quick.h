#pragma once

#include <functional>
#include <optional>

#include "base/result.h"
#include "compiler/scratch.h"
#include "tuner/tuner.h"
#include "workflow/opened.h"
#include "workflow/tuning.h"

namespace whet {

/// Times the default schedules of a prepared model's tasks alternately with what its record base knows, the heaviest first, and appends
/// to `settings.records`: `whet tune` with its quick round alone. Other tasks keep what is known of them without measuring.
///   seconds   from now on; no task is begun after them
///   on_round  as `tune` has it
Result<TuneProgress> time_quickly(const TuneSettings&, const Workplace&, Zygote&, double seconds,
                                  const std::function<void(const TuneProgress&)>& on_round);

/// A model that is compiled behind its quick round.
struct QuickCompile {
  TargetOnCores place;
  FusedGraph fused;
  TuneProgress progress;
  std::optional<ScratchDirectory> scratch;  ///< where the records lie that no option asks for
};

/// `whet compile --quick`: times what the record base knows where the options say, and has `records` name the file with the outcomes.
/// Only a machine that will run the code can say what is fast there. An error of the kind wrong_use: no device is named, and the code is
/// for another machine than this one.
///   on_round  as `tune` has it
Result<QuickCompile> time_for_compile(const ModelOptions&, const MeasuringOptions&, RecordOptions& records,
                                      double seconds, Zygote&,
                                      const std::function<void(const TuneProgress&)>& on_round);

}  // namespace whet
