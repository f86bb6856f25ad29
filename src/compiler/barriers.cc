#include "compiler/barriers.h"

#include "base/check.h"

namespace whet {
namespace {

/// One range that a step reads or writes.
struct Access {
  PlanArgument range;
  bool write;
  bool alone;  ///< by worker 0 alone
};

bool overlap(const PlanArgument& a, const PlanArgument& b) {
  return a.place == b.place && a.index == b.index && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

bool conflict(const Access& a, const Access& b) {
  if (a.range.place == PlanPlace::weights || a.range.place == PlanPlace::input) return false;  // never written
  return (a.write || b.write) && !(a.alone && b.alone) && overlap(a.range, b.range);
}

std::vector<Access> accesses(const ModelPlan::Step& step, const std::vector<bool>& written) {
  WHET_CHECK(written.size() == step.arguments.size());
  std::vector<Access> result;
  for (std::size_t i = 0; i < step.arguments.size(); ++i) {
    result.push_back({step.arguments[i], written[i], !step.parallel});
  }
  if (step.workspace_bytes > 0) {
    result.push_back({{PlanPlace::arena, 0, step.workspace_offset, step.workspace_bytes}, true, !step.parallel});
  }
  return result;
}

}  // namespace

void place_barriers(std::vector<ModelPlan::Step>& steps, const std::vector<std::vector<bool>>& written) {
  WHET_CHECK(written.size() == steps.size());
  std::vector<Access> since;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::vector<Access> own = accesses(steps[i], written[i]);
    steps[i].barrier = false;
    for (const Access& a : own) {
      for (const Access& b : since) steps[i].barrier = steps[i].barrier || conflict(a, b);
    }
    if (steps[i].barrier) since.clear();
    since.insert(since.end(), own.begin(), own.end());
  }
}

}  // namespace whet
