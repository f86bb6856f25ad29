#pragma once

#include <map>
#include <string>

namespace whet {

/// What the numbers of one value lie between.
struct ValueRange {
  double least = 0, most = 0;
  friend bool operator==(const ValueRange&, const ValueRange&) = default;
};
/// What whole numbers stand for goes as many times beyond a range, from 0: unseen numbers may be larger.
constexpr double kRoomBeyondRange = 1.25;
/// By the names of values in a network's fused graph.
using ValueRanges = std::map<std::string, ValueRange>;

/// What a network's values are taken to lie between, by a user's samples (tuner/value_ranges.h). A line of a record file: scales follow from
/// them, and errors of layers were measured with these scales.
struct RangesOnSamples {
  std::string graph;    ///< as Plan has it
  std::string weights;  ///< hash of the network's constants
  std::string samples;  ///< the samples' digest
  ValueRanges values;
  std::string target, whet, at;
  std::string rule = {};  ///< how they follow from the samples (tuner/value_ranges.h); "": as older programs had it
  friend bool operator==(const RangesOnSamples&, const RangesOnSamples&) = default;
};

}  // namespace whet
