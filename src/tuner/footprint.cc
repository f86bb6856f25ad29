#include "tuner/footprint.h"

#include <algorithm>

#include "compute/count.h"
#include "compute/winograd.h"

namespace whet {
namespace {

/// Of a task's constants.
Footprint::Growing constant_bytes(const ComputeDag& dag, bool exact) {
  Footprint::Growing bytes;
  std::int64_t transformed = 0;
  for (std::size_t i = 0; i < dag.ops.size(); ++i) {
    const Op& op = dag.ops[i];
    if (op.is_placeholder()) {
      if (std::get<Placeholder>(op.def).constant)
        bytes.written += elements_read(dag, OpId(static_cast<std::int64_t>(i))) * size_of(op.dtype);
    } else if (const auto fast = winograd(dag, OpId(static_cast<std::int64_t>(i)), 4); fast.ok() && !exact) {
      transformed += num_elements(fast->dag.op(fast->ops.weights).shape) * size_of(op.dtype);
    }
  }
  bytes.most = std::max(bytes.written, transformed);
  return bytes;
}

}  // namespace

std::int64_t Footprint::at(double growth) const {
  std::int64_t bytes = always;
  for (const Growing& each : growing)
    bytes += std::clamp(static_cast<std::int64_t>(growth * static_cast<double>(each.written)), each.written, each.most);
  return bytes;
}

Footprint network_footprint(const FusedGraph& fused, const std::vector<Task>& tasks, bool exact) {
  Footprint footprint;
  for (const Task& task : tasks) {
    Footprint::Growing bytes = constant_bytes(task.dag, exact);
    bytes.written *= task.weight, bytes.most *= task.weight;
    if (bytes.most > bytes.written)
      footprint.growing.push_back(bytes);
    else
      footprint.always += bytes.written;
  }
  std::int64_t largest = 0;
  for (const Value& value : fused.graph.values)
    if (!value.constant) largest = std::max(largest, num_elements(value.type.shape) * size_of(value.type.dtype));
  footprint.always += 2 * largest;
  return footprint;
}

std::int64_t laid_out(std::int64_t footprint, const Target& target) {
  return std::min(footprint, 4 * last_cache_bytes(target));
}

std::function<std::int64_t(const ComputeDag&, std::int64_t)> laid_out(const Footprint& footprint,
                                                                      const Target& target) {
  return [footprint, target](const ComputeDag& dag, std::int64_t packed) {
    const Footprint::Growing own = constant_bytes(dag, false);
    const bool grows = own.most > own.written && own.written > 0;
    const double growth = grows ? static_cast<double>(packed) / static_cast<double>(own.written) : 1;
    return laid_out(footprint.at(growth), target);
  };
}

}  // namespace whet
