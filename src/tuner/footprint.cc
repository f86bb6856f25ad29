#include "tuner/footprint.h"

#include <algorithm>

#include "compute/count.h"
#include "compute/winograd.h"

namespace whet {
namespace {

/// Bytes of a task's constants as the largest of its algorithms has them: Winograd's transformed weights are 36 numbers
/// for 9.
std::int64_t constant_bytes(const ComputeDag& dag, bool exact) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < dag.ops.size(); ++i) {
    const Op& op = dag.ops[i];
    if (op.is_placeholder()) {
      if (std::get<Placeholder>(op.def).constant)
        bytes += elements_read(dag, OpId(static_cast<std::int64_t>(i))) * size_of(op.dtype);
    } else if (const auto fast = winograd(dag, OpId(static_cast<std::int64_t>(i)), 4); fast.ok() && !exact) {
      bytes += num_elements(fast->dag.op(fast->ops.weights).shape) * size_of(op.dtype);
    }
  }
  return bytes;
}

}  // namespace

std::int64_t network_footprint(const FusedGraph& fused, const std::vector<Task>& tasks, bool exact) {
  std::int64_t constants = 0, largest = 0;
  for (const Task& task : tasks) constants += task.weight * constant_bytes(task.dag, exact);
  for (const Value& value : fused.graph.values)
    if (!value.constant) largest = std::max(largest, num_elements(value.type.shape) * size_of(value.type.dtype));
  return constants + 2 * largest;
}

std::int64_t laid_out(std::int64_t footprint, const Target& target) {
  return std::min(footprint, 4 * last_cache_bytes(target));
}

}  // namespace whet
