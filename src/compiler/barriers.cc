#include "compiler/barriers.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/check.h"

namespace whet {
namespace {

/// One range that a step reads or writes.
struct Access {
  PlanArgument range;
  bool write;
  bool alone;  ///< by worker 0 alone
};

/// Bytes of one memory, as ranges that do not touch one another: steps that never conflict are many.
class Ranges {
 public:
  bool overlap(std::uint64_t begin, std::uint64_t end) const {
    const auto next = begins_.upper_bound(begin);  // the first that ends behind `begin`
    return next != begins_.end() && next->second < end;
  }
  void add(std::uint64_t begin, std::uint64_t end) {
    for (auto next = begins_.lower_bound(begin); next != begins_.end() && next->second <= end;) {
      begin = std::min(begin, next->second), end = std::max(end, next->first);
      next = begins_.erase(next);
    }
    if (begin < end) begins_[end] = begin;
  }

 private:
  std::map<std::uint64_t, std::uint64_t> begins_;  ///< by end
};

/// What steps since the last barrier did to the memory of all steps.
class Touched {
 public:
  bool conflicts(const Access& a) const {
    const auto found = memories_.find(key_of(a));
    if (found == memories_.end()) return false;
    const std::uint64_t begin = a.range.offset, end = begin + a.range.bytes;
    for (const bool alone : {false, true}) {
      if (a.alone && alone) continue;
      const Memory& other = found->second[alone ? 1 : 0];
      if (other.written.overlap(begin, end) || (a.write && other.read.overlap(begin, end))) return true;
    }
    return false;
  }
  void add(const Access& a) {
    if (a.range.place != PlanPlace::arena && a.range.place != PlanPlace::output) return;  // never written
    Memory& memory = memories_[key_of(a)][a.alone ? 1 : 0];
    (a.write ? memory.written : memory.read).add(a.range.offset, a.range.offset + a.range.bytes);
  }
  void clear() { memories_.clear(); }

 private:
  struct Memory {
    Ranges written, read;
  };
  using Key = std::pair<PlanPlace, std::uint32_t>;
  static Key key_of(const Access& a) { return {a.range.place, a.range.index}; }

  std::map<Key, std::array<Memory, 2>> memories_;  ///< of steps that all workers run, and of those of worker 0 alone
};

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
  Touched since;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::vector<Access> own = accesses(steps[i], written[i]);
    steps[i].barrier = std::any_of(own.begin(), own.end(), [&](const Access& a) { return since.conflicts(a); });
    if (steps[i].barrier) since.clear();
    for (const Access& a : own) since.add(a);
  }
}

}  // namespace whet
