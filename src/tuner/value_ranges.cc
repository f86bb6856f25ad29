#include "tuner/value_ranges.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "base/version.h"
#include "records/record_line.h"

namespace whet {
namespace {

/// Grows ranges; what is not finite has none in the end.
class RangeReader {
 public:
  void add(const std::string& name, const Tensor& tensor) {
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      const double number = tensor.get(i);
      if (!std::isfinite(number)) {
        unknown_.insert(name);
        return;
      }
      const auto [known, is_new] = ranges_.try_emplace(name, ValueRange{number, number});
      if (is_new) continue;
      known->second.least = std::min(known->second.least, number);
      known->second.most = std::max(known->second.most, number);
    }
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

}  // namespace

Result<ValueRanges> measure_ranges(const FusedGraph& fused, const SampleInputs& samples, const OpenNetwork& open,
                                   const std::function<bool()>& interrupted) {
  FusedGraph shown = fused;
  shown.graph.outputs.clear();
  for (const Group& group : fused.groups)
    if (is_activation(fused.graph.value(group.outputs.front())))
      shown.graph.outputs.push_back(group.outputs.front());
  if (shown.graph.outputs.empty()) return ValueRanges();
  WHET_TRY(const RunNetwork run, open(shown));
  RangeReader ranges;
  for (const std::vector<Tensor>& sample : samples) {
    if (interrupted && interrupted()) return Error{"interrupted", ErrorKind::interrupted};
    for (std::size_t i = 0; i < sample.size(); ++i) {
      const Value& input = fused.graph.value(fused.graph.inputs[i]);
      if (is_activation(input)) ranges.add(input.name, sample[i]);
    }
    WHET_TRY(const std::vector<Tensor> got, run(sample));
    for (std::size_t i = 0; i < got.size(); ++i)
      ranges.add(fused.graph.value(shown.graph.outputs[i]).name, got[i]);
  }
  return std::move(ranges).finish();
}

Result<ValueRanges> ranges_on_samples(const FusedGraph& fused, const SampleInputs& samples, const OpenNetwork& open,
                                      RecordFile& file, const LayerErrorOptions& options) {
  if (const RangesOnSamples* known =
          file.records().ranges_on_samples(options.graph, options.weights, options.samples, options.target))
    return known->values;
  WHET_TRY(ValueRanges values, measure_ranges(fused, samples, open, options.interrupted));
  WHET_RETURN_IF_ERROR(file.append(RangesOnSamples{options.graph, options.weights, options.samples, values,
                                                   options.target, version(), utc_now()}));
  return values;
}

}  // namespace whet
