#pragma once

#include <optional>

#include "tuner/layer_errors.h"

namespace whet {

/// What the network's inputs of floats, and the results of its groups, lie between on the samples, by the f32 network: models whose
/// outputs are these results, 64 MiB of them in one. A value that is not finite on a sample has none. Nothing where the deadline came first.
///   options  the deadline, the clock and the interrupt
/// Errors: the network's; the interrupt.
Result<std::optional<ValueRanges>> measure_ranges(const FusedGraph&, const SampleInputs& samples, const OpenNetwork&,
                                                  const LayerErrorOptions& options);

/// The same from the record file, where it has them; else measured, and appended to it.
///   options  graph, weights, samples and target name them
Result<std::optional<ValueRanges>> ranges_on_samples(const FusedGraph&, const SampleInputs& samples, const OpenNetwork&,
                                                     RecordFile&, const LayerErrorOptions& options);

}  // namespace whet
