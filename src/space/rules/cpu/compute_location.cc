// Compute location: what is stored for its readers is computed under their rows, where it stays in the cache; in a nest
// of its own where that would compute it again and again.

#include "space/cpu/row_nest.h"
#include "space/rules/cpu/nest.h"

namespace whet {
namespace {

std::optional<std::string> why_not_compute_location(const Derivation& d, OpId op) {
  if (d.treatment(op) != OpTreatment::open && d.treatment(op) != OpTreatment::copied) return "";
  return std::nullopt;
}

/// A copy is where the tiles that read it begin: inside the block of the reduction.
void place_copy(Derivation& d, OpId op) {
  const OpId reader = d.only_reader(op);
  if (!reader.valid() || d.treatment(reader) != OpTreatment::tiled) {
    d.set_treatment(op, OpTreatment::open);
    return make_nest(d, op);
  }
  d.act([op, reader, lanes = lanes_of(d, op)](ScheduleDraft& m) {
    const Levels& levels = m.levels.at(reader);
    const std::vector<LoopId> loops =
        m.s.compute_at(op, levels.blocked ? levels.reduce_outer.back() : levels.block.back(), StoredIn::memory);
    LoopId last = loops.empty() ? LoopId() : loops.back();
    if (!last.valid() || extent_of(m.s.tree(), last) < 4) return;
    if (extent_of(m.s.tree(), last) > lanes) last = m.s.split(last, lanes, Tail::overlap).inner;
    m.s.annotate(last, LoopKind::vectorized);
  });
  d.set_treatment(op, OpTreatment::under);
}

std::vector<Derivation> apply_compute_location(const Derivation& from, OpId op) {
  Derivation d = from;
  const LoopId place = d.treatment(op) == OpTreatment::copied ? LoopId() : place_of(d, op);
  if (d.treatment(op) == OpTreatment::copied) {
    place_copy(d, op);
  } else if (place.valid()) {
    // Small enough for registers: a few sums. The group is found again by each choice: its loop depends on it.
    OpId nest;
    for (const auto& [other, loop] : d.groups())
      if (loop == place) nest = other;
    d.act([op, nest](ScheduleDraft& m) {
      const LoopId loop = m.groups.at(nest);
      constexpr std::int64_t kFew = 8;
      const bool few = elements_in(required_region(m.s.tree(), op, loop)) <= kFew;
      m.s.compute_at(op, loop, few ? StoredIn::registers : StoredIn::memory);
    });
    d.set_treatment(op, OpTreatment::under);
  } else {
    make_nest(d, op);
  }
  return {std::move(d)};
}

}  // namespace

const Rule kComputeLocationRule{"compute-location",
                                "stores it for its readers, under their rows where that repeats nothing",
                                why_not_compute_location, apply_compute_location};

}  // namespace whet
