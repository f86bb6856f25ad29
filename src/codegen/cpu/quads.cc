#include "codegen/cpu/quads.h"

#include <algorithm>
#include <map>
#include <set>

namespace whet {
namespace {

constexpr int kLanes = 4;

/// The first and the last store of a run that uses a value.
struct Uses {
  std::size_t first, last;
};

class Finder {
 public:
  Finder(const std::vector<const Store*>& run, Analysis& analysis, const Program& program)
      : run_(run), analysis_(analysis), program_(program), live_(run.size() + 1) {}

  Quads find(std::int64_t registers) {
    for (const Store* store : run_) {
      if (in_slots(store->buffer))
        accumulators_.insert(place_of(*store).slot);
      else
        changed_.insert(store->buffer);
    }
    for (now_ = 0; now_ < run_.size(); ++now_)
      if (!run_[now_]->mask.defined()) read(analysis_.table().intern(run_[now_]->value), false);
    Quads quads = neighbours();
    return registers_needed() <= registers ? quads : Quads();
  }

 private:
  struct Scalar {
    ExprRef load;
    Uses uses;
  };
  using Rows =
      std::map<std::pair<BufferId, Linear::Terms>, std::map<std::int64_t, Scalar>>;  ///< by the index's constant

  const Buffer& buffer(BufferId id) const { return program_.buffer(id); }
  bool in_slots(BufferId id) const { return buffer(id).scope == Scope::registers && analysis_.in_slots(id); }

  SlotPlace place_of(const Store& store) {
    const Linear& index = analysis_.table()[analysis_.table().intern(store.index[0])].linear;
    return analysis_.place(store.buffer, index, std::max(store.index[0]->lanes, store.value->lanes));
  }

  /// Notes the loads of an expression. A scalar that is used otherwise than as all lanes of a vector is no part of a quad,
  /// and neither is what a select may leave unread.
  void read(ExprRef ref, bool broadcast) {
    const ExprInfo& info = analysis_.table()[ref];
    if (info.lazy || !info.reads) return;
    if (const Load* load = std::get_if<Load>(&info.expr->kind)) return note(ref, info, *load, broadcast);
    const bool is_broadcast = std::holds_alternative<Broadcast>(info.expr->kind);
    for (const ExprRef child : info.children) read(child, is_broadcast);
  }

  void note(ExprRef ref, const ExprInfo& info, const Load& load, bool broadcast) {
    const BufferId from(load.source.value);
    const ExprInfo& index = analysis_.table()[info.children[0]];
    if (in_slots(from) || load.mask.defined() || !index.movable()) return;
    if (info.expr->lanes > 1) {
      const auto [found, fresh] = vectors_.try_emplace(ref, Uses{now_, now_});
      found->second.last = now_;
      return;
    }
    if (!broadcast || !index.is_linear || info.expr->dtype != DType::f32 || buffer(from).dtype != DType::f32 ||
        changed_.contains(from))
      return;
    const auto [found, fresh] =
        rows_[{from, index.linear.terms}].try_emplace(index.linear.constant, Scalar{ref, {now_, now_}});
    found->second.uses.last = now_;
  }

  Quads neighbours() {
    Quads quads;
    for (const auto& [row, scalars] : rows_)
      for (auto at = scalars.begin(); at != scalars.end();) {
        const auto first = at;
        while (at != scalars.end() && std::distance(first, at) < kLanes &&
               at->first - first->first == std::distance(first, at))
          ++at;
        if (std::distance(first, at) == kLanes) take(quads, row.first, {row.second, first->first}, first);
      }
    return quads;
  }

  void take(Quads& quads, BufferId from, Linear index, std::map<std::int64_t, Scalar>::const_iterator scalar) {
    Uses uses = scalar->second.uses;
    for (int lane = 0; lane < kLanes; ++lane, ++scalar) {
      quads.lanes[scalar->second.load] = {quads.all.size(), lane};
      uses = {std::min(uses.first, scalar->second.uses.first), std::max(uses.last, scalar->second.uses.last)};
    }
    quads.all.push_back({from, std::move(index)});
    occupy(uses, 1);
  }

  void occupy(Uses uses, std::int64_t registers) {
    live_[uses.first] += registers;
    live_[uses.last + 1] -= registers;
  }

  std::int64_t registers_needed() {
    const auto wide = [](int lanes) { return (lanes + kLanes - 1) / kLanes; };
    for (const auto& [ref, uses] : vectors_) occupy(uses, wide(analysis_.table()[ref].expr->lanes));
    std::int64_t now = 0, most = 0;
    for (const std::int64_t change : live_) most = std::max(most, now += change);
    for (const int slot : accumulators_) most += wide(analysis_.slots()[static_cast<std::size_t>(slot)].lanes);
    return most;
  }

  const std::vector<const Store*>& run_;
  Analysis& analysis_;
  const Program& program_;
  std::size_t now_ = 0;  ///< the number of the store that is looked at
  std::set<int> accumulators_;
  std::set<BufferId> changed_;
  std::map<ExprRef, Uses> vectors_;
  Rows rows_;
  std::vector<std::int64_t> live_;  ///< by store: registers that are taken there, less those that are free again
};

}  // namespace

Quads find_quads(const std::vector<const Store*>& run, Analysis& analysis, const Program& program,
                 std::int64_t registers) {
  return Finder(run, analysis, program).find(registers);
}

}  // namespace whet
