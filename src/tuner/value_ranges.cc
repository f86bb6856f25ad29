#include "tuner/value_ranges.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/version.h"
#include "records/record_line.h"
#include "tuner/unseen.h"

namespace whet {
namespace {

/// What one model gives of the network's values [bytes]; a network with more of them is shown in portions.
constexpr std::int64_t kMostShown = std::int64_t{64} << 20;

/// What the numbers lie between; nothing where one is not finite, or there is none.
std::optional<ValueRange> range_of(const Tensor& tensor) {
  if (tensor.size() == 0) return std::nullopt;
  ValueRange range{tensor.get(0), tensor.get(0)};
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const double number = tensor.get(i);
    if (!std::isfinite(number)) return std::nullopt;
    range.least = std::min(range.least, number), range.most = std::max(range.most, number);
  }
  return range;
}

/// What one value has on the samples, a range each.
struct SeenRanges {
  std::vector<ValueRange> calibration, held_out;
  bool is_finite = true;
};

/// How far numbers are taken to go on one side of zero, by the largest of each sample, without the room that all ranges have. What no sample
/// has on that side is taken to have nothing there: most such values are computed so.
double extent_of(const std::vector<double>& largest) {
  const double most = *std::ranges::max_element(largest);
  return most > 0 ? std::max(most, reach_of(largest) / kRoomBeyondRange) : most;
}

ValueRange reached_by(const std::vector<ValueRange>& samples) {
  std::vector<double> below, above;
  for (const ValueRange& each : samples) below.push_back(-each.least), above.push_back(each.most);
  return {-extent_of(below), extent_of(above)};
}

bool holds(const ValueRange& range, const ValueRange& numbers) {
  return numbers.least >= kRoomBeyondRange * std::min(range.least, 0.0) &&
         numbers.most <= kRoomBeyondRange * std::max(range.most, 0.0);
}

ValueRange range_by(const SeenRanges& seen) {
  const ValueRange range = reached_by(seen.calibration);
  if (std::ranges::all_of(seen.held_out, [&](const ValueRange& each) { return holds(range, each); })) return range;
  std::vector<ValueRange> all = seen.calibration;
  all.insert(all.end(), seen.held_out.begin(), seen.held_out.end());
  return reached_by(all);
}

/// Collects the ranges of samples; what is not finite has none in the end.
class RangeReader {
 public:
  void add(const std::string& name, const Tensor& tensor, bool is_held_out) {
    SeenRanges& seen = seen_[name];
    const std::optional<ValueRange> own = range_of(tensor);
    seen.is_finite = seen.is_finite && own.has_value();
    if (own) (is_held_out ? seen.held_out : seen.calibration).push_back(*own);
  }
  ValueRanges finish() const {
    ValueRanges ranges;
    for (const auto& [name, seen] : seen_)
      if (seen.is_finite && !seen.calibration.empty()) ranges[name] = range_by(seen);
    return ranges;
  }

 private:
  std::map<std::string, SeenRanges> seen_;
};

bool is_activation(const Value& value) { return !value.constant && value.type.dtype == DType::f32; }

/// The results of the groups, each once, in portions of `kMostShown`.
std::vector<std::vector<ValueId>> portions_of(const FusedGraph& fused) {
  std::vector<std::vector<ValueId>> portions;
  std::int64_t bytes = kMostShown;
  for (const Group& group : fused.groups) {
    const Value& value = fused.graph.value(group.outputs.front());
    if (!is_activation(value)) continue;
    const std::int64_t own = num_elements(value.type.shape) * size_of(value.type.dtype);
    if (bytes + own > kMostShown) portions.emplace_back(), bytes = 0;
    portions.back().push_back(group.outputs.front()), bytes += own;
  }
  return portions;
}

}  // namespace

Result<std::optional<ValueRanges>> measure_ranges(const FusedGraph& fused, const SampleInputs& calibration,
                                                  const SampleInputs& held_out, const OpenNetwork& open,
                                                  const LayerErrorOptions& options) {
  const auto is_late = [&] { return (options.clock ? options.clock() : seconds_now()) >= options.deadline; };
  RangeReader ranges;
  std::vector<std::pair<const std::vector<Tensor>*, bool>> samples;  // and whether one is held out
  for (const std::vector<Tensor>& sample : calibration) samples.emplace_back(&sample, false);
  for (const std::vector<Tensor>& sample : held_out) samples.emplace_back(&sample, true);
  for (const auto& [sample, is_held_out] : samples)
    for (std::size_t i = 0; i < sample->size(); ++i)
      if (const Value& input = fused.graph.value(fused.graph.inputs[i]); is_activation(input))
        ranges.add(input.name, (*sample)[i], is_held_out);
  for (const std::vector<ValueId>& portion : portions_of(fused)) {
    if (is_late()) return std::optional<ValueRanges>();
    FusedGraph shown = fused;
    shown.graph.outputs = portion;
    WHET_TRY(const RunNetwork run, open(shown));
    for (const auto& [sample, is_held_out] : samples) {
      if (options.interrupted && options.interrupted()) return Error{"interrupted", ErrorKind::interrupted};
      if (is_late()) return std::optional<ValueRanges>();
      WHET_TRY(const std::vector<Tensor> got, run(*sample));
      for (std::size_t i = 0; i < got.size(); ++i)
        ranges.add(fused.graph.value(portion[i]).name, got[i], is_held_out);
    }
  }
  return std::optional(ranges.finish());
}

Result<std::optional<ValueRanges>> ranges_on_samples(const FusedGraph& fused, const SampleInputs& calibration,
                                                     const SampleInputs& held_out, const OpenNetwork& open,
                                                     RecordFile& file, const LayerErrorOptions& options) {
  if (const RangesOnSamples* known =
          file.records().ranges_on_samples(options.graph, options.weights, options.samples, options.target);
      known != nullptr && known->rule == kRangesRule)
    return std::optional(known->values);
  WHET_TRY(std::optional<ValueRanges> values, measure_ranges(fused, calibration, held_out, open, options));
  if (values)
    WHET_RETURN_IF_ERROR(file.append(RangesOnSamples{options.graph, options.weights, options.samples, *values,
                                                     options.target, version(), utc_now(), kRangesRule}));
  return values;
}

}  // namespace whet
