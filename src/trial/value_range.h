#pragma once

#include <map>
#include <string>

namespace whet {

/// What the numbers of one value lie between.
struct ValueRange {
  double least = 0, most = 0;
  friend bool operator==(const ValueRange&, const ValueRange&) = default;
};
/// By the names of values in a network's fused graph.
using ValueRanges = std::map<std::string, ValueRange>;

/// The ranges of a network's values on a user's samples. A line of a record file: scales follow from them, and errors of layers were
/// measured with these scales.
struct RangesOnSamples {
  std::string graph;    ///< as Plan has it
  std::string weights;  ///< hash of the network's constants
  std::string samples;  ///< the samples' digest
  ValueRanges values;
  std::string target, whet, at;
  friend bool operator==(const RangesOnSamples&, const RangesOnSamples&) = default;
};

}  // namespace whet
