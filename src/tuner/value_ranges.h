#pragma once

#include <optional>

#include "tuner/layer_errors.h"

namespace whet {

/// How ranges follow from samples now. What a file has by another rule is measured again: a narrower range cuts numbers off.
constexpr const char* kRangesRule = "reach-2";

struct MeasuredRanges {
  ValueRanges values;
  bool is_whole = true;  ///< there was time for all samples that are held out
};

/// What the network's inputs of floats, and the results of its groups, are taken to lie between, by what the f32 network has on the samples:
/// models whose outputs are these results, 64 MiB of them in one. A number beyond what a type holds is cut off, and a cut number may ruin an
/// answer, where rounding never does. So a range holds, with kRoomBeyondRange, what a sample in ten thousand may have (unseen.h). It follows
/// from the samples that calibrate. Where a sample that is held out goes beyond it all the same, these were too few to tell, and the held-out
/// samples count as they do. No range goes beyond what an operator gives (a clip, sigmoid, tanh, softmax), nor beyond what is the largest number
/// of two samples to the last bit. A value that is not finite on a sample has no range. All samples that calibrate run first: nothing where the
/// deadline came before their end, and ranges of what ran where it came among those that are held out.
///   options  the deadline, the clock and the interrupt
/// Errors: the network's; the interrupt.
Result<std::optional<MeasuredRanges>> measure_ranges(const FusedGraph&, const SampleInputs& calibration,
                                                     const SampleInputs& held_out, const OpenNetwork&,
                                                     const LayerErrorOptions& options);

/// The same from the record file, where it has them by this rule; else measured, and appended to it
/// where they are whole.
///   options  graph, weights, samples and target name them
Result<std::optional<ValueRanges>> ranges_on_samples(const FusedGraph&, const SampleInputs& calibration,
                                                     const SampleInputs& held_out, const OpenNetwork&, RecordFile&,
                                                     const LayerErrorOptions& options);

}  // namespace whet
