#pragma once

#include <functional>

#include "tuner/layer_errors.h"

namespace whet {

/// What the network's inputs of floats, and the results of its groups, lie between on the samples, by the f32 network: one model whose
/// outputs are these results. A value that is not finite on a sample has none.
/// Errors: the network's; the interrupt.
Result<ValueRanges> measure_ranges(const FusedGraph&, const SampleInputs& samples, const OpenNetwork&,
                                   const std::function<bool()>& interrupted);

/// The same from the record file, where it has them; else measured, and appended to it.
///   options  graph, weights, samples and target name them
Result<ValueRanges> ranges_on_samples(const FusedGraph&, const SampleInputs& samples, const OpenNetwork&, RecordFile&,
                                      const LayerErrorOptions& options);

}  // namespace whet
