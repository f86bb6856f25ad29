#include "tuner/value_ranges.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/arithmetic.h"
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

/// The deviation of fewer samples tells little.
constexpr std::size_t kFewSamples = 8;
/// By these, numbers are taken to go this many times beyond the largest at the most.
constexpr double kMostOfFew = 2;

/// How far numbers are taken to go on one side of zero, by the largest of each sample, without the room that all ranges have. What no sample
/// has on that side is taken to have nothing there: most such values are computed so. And what two samples share to the last bit is taken for
/// the value's limit, as 6 is of ReLU6, whatever less others have.
double extent_of(const std::vector<double>& largest) {
  const double most = *std::ranges::max_element(largest);
  if (most <= 0 || std::ranges::count(largest, most) > 1) return most;
  double reach = reach_of(largest);
  if (largest.size() < kFewSamples) reach = std::min(reach, kMostOfFew * most);
  return std::max(most, reach / kRoomBeyondRange);
}

/// What an operator's results never go beyond.
ValueRange bounds_of(const Operator& op) {
  if (const auto* clip = std::get_if<ClipOperator>(&op)) return {clip->low, clip->high};
  if (const auto* unary = std::get_if<UnaryOperator>(&op)) {
    if (unary->kind == UnaryKind::sigmoid) return {0, 1};
    if (unary->kind == UnaryKind::tanh) return {-1, 1};
  }
  if (const auto* softmax = std::get_if<SoftmaxOperator>(&op); softmax != nullptr && !softmax->log) return {0, 1};
  return {-kInfinity, kInfinity};
}

/// Of the values that have any, by their names.
ValueRanges bounds_of(const Graph& graph) {
  ValueRanges bounds;
  for (const Node& node : graph.nodes) bounds[graph.value(node.output).name] = bounds_of(node.op);
  return bounds;
}

/// Numbers that rounding has brought beyond a bound stay.
ValueRange within(const ValueRange& bounds, const ValueRange& seen, ValueRange range) {
  range.least = std::max(range.least, std::min(bounds.least, seen.least));
  range.most = std::min(range.most, std::max(bounds.most, seen.most));
  return range;
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

ValueRange all_of(const std::vector<ValueRange>& samples) {
  ValueRange all = samples.front();
  for (const ValueRange& each : samples)
    all.least = std::min(all.least, each.least), all.most = std::max(all.most, each.most);
  return all;
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
  ValueRanges finish(const Graph& graph) const {
    const ValueRanges bounds = bounds_of(graph);
    ValueRanges ranges;
    for (const auto& [name, seen] : seen_) {
      if (!seen.is_finite || seen.calibration.empty()) continue;
      ranges[name] = range_by(seen);
      if (const auto own = bounds.find(name); own != bounds.end()) {
        std::vector<ValueRange> all = seen.calibration;
        all.insert(all.end(), seen.held_out.begin(), seen.held_out.end());
        ranges[name] = within(own->second, all_of(all), ranges[name]);
      }
    }
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

/// Runs the portions on one list of samples after the other.
class RangeRuns {
 public:
  RangeRuns(const FusedGraph& fused, const OpenNetwork& open, const LayerErrorOptions& options)
      : fused_(fused), open_(open), options_(options), portions_(portions_of(fused)) {}

  /// Whether there was time for all of them.
  Result<bool> run(const SampleInputs& samples, bool are_held_out) {
    if (samples.empty()) return true;
    for (const std::vector<Tensor>& sample : samples)
      for (std::size_t i = 0; i < sample.size(); ++i)
        if (const Value& input = fused_.graph.value(fused_.graph.inputs[i]); is_activation(input))
          ranges_.add(input.name, sample[i], are_held_out);
    for (const std::vector<ValueId>& portion : portions_) {
      if (is_late()) return false;
      WHET_TRY(const RunNetwork run, opened(portion));
      for (const std::vector<Tensor>& sample : samples) {
        if (options_.interrupted && options_.interrupted()) return Error{"interrupted", ErrorKind::interrupted};
        if (is_late()) return false;
        WHET_TRY(const std::vector<Tensor> got, run(sample));
        for (std::size_t i = 0; i < got.size(); ++i)
          ranges_.add(fused_.graph.value(portion[i]).name, got[i], are_held_out);
      }
    }
    return true;
  }
  ValueRanges finish() const { return ranges_.finish(fused_.graph); }

 private:
  bool is_late() const { return (options_.clock ? options_.clock() : seconds_now()) >= options_.deadline; }

  /// A network of one portion stays open for the next samples; of several, one at a time is.
  Result<RunNetwork> opened(const std::vector<ValueId>& portion) {
    if (only_) return only_;
    FusedGraph shown = fused_;
    shown.graph.outputs = portion;
    WHET_TRY(RunNetwork run, open_(shown));
    if (portions_.size() == 1) only_ = run;
    return run;
  }

  const FusedGraph& fused_;
  const OpenNetwork& open_;
  const LayerErrorOptions& options_;
  const std::vector<std::vector<ValueId>> portions_;
  RunNetwork only_;
  RangeReader ranges_;
};

}  // namespace

Result<std::optional<MeasuredRanges>> measure_ranges(const FusedGraph& fused, const SampleInputs& calibration,
                                                     const SampleInputs& held_out, const OpenNetwork& open,
                                                     const LayerErrorOptions& options) {
  RangeRuns runs(fused, open, options);
  WHET_TRY(const bool is_calibrated, runs.run(calibration, false));
  if (!is_calibrated) return std::optional<MeasuredRanges>();
  WHET_TRY(const bool has_all, runs.run(held_out, true));
  return std::optional(MeasuredRanges{runs.finish(), has_all});
}

Result<std::optional<ValueRanges>> ranges_on_samples(const FusedGraph& fused, const SampleInputs& calibration,
                                                     const SampleInputs& held_out, const OpenNetwork& open,
                                                     RecordFile& file, const LayerErrorOptions& options) {
  if (const RangesOnSamples* known =
          file.records().ranges_on_samples(options.graph, options.weights, options.samples, options.target);
      known != nullptr && known->rule == kRangesRule)
    return std::optional(known->values);
  WHET_TRY(std::optional<MeasuredRanges> found, measure_ranges(fused, calibration, held_out, open, options));
  if (!found) return std::optional<ValueRanges>();
  if (found->is_whole)
    WHET_RETURN_IF_ERROR(file.append(RangesOnSamples{options.graph, options.weights, options.samples, found->values,
                                                     options.target, version(), utc_now(), kRangesRule}));
  return std::optional(std::move(found->values));
}

}  // namespace whet
