#include "tuner/value_ranges.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "base/parallel.h"
#include "base/version.h"
#include "records/record_line.h"

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

/// Grows ranges; what is not finite has none in the end.
class RangeReader {
 public:
  void add(const std::string& name, const Tensor& tensor) {
    const std::optional<ValueRange> own = range_of(tensor);
    if (!own) {
      unknown_.insert(name);
      return;
    }
    ValueRange& range = ranges_.try_emplace(name, *own).first->second;
    range.least = std::min(range.least, own->least), range.most = std::max(range.most, own->most);
  }
  ValueRanges finish() && {
    for (const std::string& name : unknown_) ranges_.erase(name);
    return std::move(ranges_);
  }

 private:
  ValueRanges ranges_;
  std::set<std::string> unknown_;
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

Result<std::optional<ValueRanges>> measure_ranges(const FusedGraph& fused, const SampleInputs& samples,
                                                  const OpenNetwork& open, const LayerErrorOptions& options) {
  const auto is_late = [&] { return (options.clock ? options.clock() : seconds_now()) >= options.deadline; };
  RangeReader ranges;
  for (const std::vector<Tensor>& sample : samples)
    for (std::size_t i = 0; i < sample.size(); ++i)
      if (const Value& input = fused.graph.value(fused.graph.inputs[i]); is_activation(input))
        ranges.add(input.name, sample[i]);
  for (const std::vector<ValueId>& portion : portions_of(fused)) {
    if (is_late()) return std::optional<ValueRanges>();
    FusedGraph shown = fused;
    shown.graph.outputs = portion;
    WHET_TRY(const RunNetwork run, open(shown));
    for (const std::vector<Tensor>& sample : samples) {
      if (options.interrupted && options.interrupted()) return Error{"interrupted", ErrorKind::interrupted};
      if (is_late()) return std::optional<ValueRanges>();
      WHET_TRY(const std::vector<Tensor> got, run(sample));
      for (std::size_t i = 0; i < got.size(); ++i) ranges.add(fused.graph.value(portion[i]).name, got[i]);
    }
  }
  return std::optional(std::move(ranges).finish());
}

Result<std::optional<ValueRanges>> ranges_on_samples(const FusedGraph& fused, const SampleInputs& samples,
                                                     const OpenNetwork& open, RecordFile& file,
                                                     const LayerErrorOptions& options) {
  if (const RangesOnSamples* known =
          file.records().ranges_on_samples(options.graph, options.weights, options.samples, options.target))
    return std::optional(known->values);
  WHET_TRY(std::optional<ValueRanges> values, measure_ranges(fused, samples, open, options));
  if (values)
    WHET_RETURN_IF_ERROR(file.append(RangesOnSamples{options.graph, options.weights, options.samples, *values,
                                                     options.target, version(), utc_now()}));
  return values;
}

}  // namespace whet
