#include "codegen/register_slots.h"

#include <algorithm>

#include "program/warp_tile.h"

namespace whet {

RegisterSlots::RegisterSlots(const Program& program)
    : program_(program),
      accesses_(program.buffers.size()),
      irregular_(program.buffers.size(), false),
      holds_(program.buffers.size(), false),
      of_(program.buffers.size()) {}

void RegisterSlots::access(BufferId id, const Linear* index, int lanes) {
  if (program_.buffer(id).scope != Scope::registers) return;
  const bool splat = index != nullptr && index->lane_stride == 0;
  const bool moves = index != nullptr && !index->terms.empty() && !program_.buffer(id).quad;
  if (index == nullptr || moves || (!splat && index->lane_stride != 1)) {
    irregular_[id.index()] = true;
  } else {
    accesses_[id.index()].push_back({first_of(id, *index), splat ? 1 : lanes});
  }
}

std::int64_t RegisterSlots::first_of(BufferId id, const Linear& index) const {
  return program_.buffer(id).quad ? quad_element(index.constant) : index.constant;
}

/// Empty when they do not fit together.
std::vector<RegisterSlots::Access> RegisterSlots::group(std::vector<Access> accesses) {
  std::sort(accesses.begin(), accesses.end(), [](const Access& a, const Access& b) {
    return a.first != b.first ? a.first < b.first : a.lanes > b.lanes;
  });
  std::vector<Access> groups;
  for (const Access& access : accesses) {
    if (groups.empty() || access.first >= groups.back().first + groups.back().lanes) {
      groups.push_back(access);
    } else if (access.first + access.lanes > groups.back().first + groups.back().lanes) {
      return {};
    }
  }
  return groups;
}

void RegisterSlots::finish() {
  for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
    const Buffer& buffer = program_.buffers[b];
    if (buffer.scope != Scope::registers || irregular_[b]) continue;
    const std::vector<Access> groups = group(accesses_[b]);
    holds_[b] = !groups.empty() || accesses_[b].empty();
    for (const Access& access : groups) {
      of_[b].push_back(static_cast<int>(slots_.size()));
      slots_.push_back({BufferId(static_cast<std::int64_t>(b)), access.first, access.lanes, buffer.dtype});
    }
  }
}

SlotPlace RegisterSlots::place(BufferId buffer, const Linear& index, int lanes) const {
  const std::vector<int>& list = of(buffer);
  const std::int64_t first = first_of(buffer, index);
  const auto after = std::upper_bound(list.begin(), list.end(), first,
                                      [&](std::int64_t at, int slot) { return at < slots_[slot].first; });
  WHET_CHECK(after != list.begin());
  const int slot = *(after - 1);
  return {slot, static_cast<int>(first - slots_[slot].first), index.lane_stride == 0 ? 1 : lanes};
}

}  // namespace whet
