// Tiling fused with the consumer: what follows a tiled op element by element is computed while the tile is at hand.

#include "space/rules/rule.h"

namespace whet {
namespace {

/// The op that could follow `op` on its tiles.
OpId follower_of(const Derivation& d, OpId op) {
  const OpId reader = d.only_reader(op);
  if (!reader.valid() || d.treatment(reader) != OpTreatment::open || d.dag().op(reader).element().reducer) return {};
  return reader;
}

std::optional<std::string> why_not_fuse_consumer(const Derivation& d, OpId op) {
  if (d.treatment(op) != OpTreatment::tiled) return "it is not tiled";
  if (!follower_of(d, op).valid()) return "the ops that read it are not exactly one op without a reduction";
  return std::nullopt;
}

void follow(ScheduleDraft& m, OpId op, OpId follower, const std::string& place) {
  const Levels& levels = m.levels.at(op);
  const bool at_tile = m.chosen(place) == 0;
  const LoopId loop = at_tile ? levels.cell.back() : levels.block.back();
  std::vector<std::int64_t> tile;
  for (LoopId inner : levels.tile) tile.push_back(extent_of(m.s.tree(), inner));
  const std::vector<LoopId> loops = m.s.reverse_compute_at(follower, loop, at_tile && !levels.blocked);
  // The innermost axis in the tile's vectors, the others of a register tile unrolled.
  LoopId last;
  for (LoopId own : loops)
    if (own.valid() && extent_of(m.s.tree(), own) > 1) last = own;
  for (LoopId own : loops) {
    if (!own.valid() || extent_of(m.s.tree(), own) == 1) continue;
    if (own != last && at_tile) m.s.annotate(own, LoopKind::unrolled);
  }
  if (!last.valid()) return;
  const std::int64_t step = tile.empty() ? 1 : tile.back();
  if (extent_of(m.s.tree(), last) > step) last = m.s.split(last, step, Tail::guard).inner;
  if (extent_of(m.s.tree(), last) <= kMaxVector) m.s.annotate(last, LoopKind::vectorized);
}

std::vector<Derivation> apply_fuse_consumer(const Derivation& from, OpId op) {
  Derivation d = from;
  const OpId follower = follower_of(d, op);
  const std::string name = d.name_for(op, "follow");
  d.decide({name, "where " + d.dag().op(follower).name + " is computed: 0 on each register tile, 1 on each block",
            single({0, 1}), 0},
           {0});
  d.act([op, follower, name](ScheduleDraft& m) { follow(m, op, follower, name); });
  d.set_treatment(follower, OpTreatment::follower);
  return {std::move(d)};
}

}  // namespace

const Rule kFuseConsumerRule{"fuse-consumer", "computes the op that reads it element by element on its tiles",
                             why_not_fuse_consumer, apply_fuse_consumer};

}  // namespace whet
