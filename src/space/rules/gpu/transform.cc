// Transforms of Winograd's algorithm: a thread has a tile of a few channels in registers, half way and whole.

#include <algorithm>

#include "space/anatomy.h"
#include "space/gpu/levels.h"
#include "space/rules/rule.h"

namespace whet {
namespace {

constexpr std::int64_t kTileThreads = 128;

std::optional<std::string> why_not_transform(const Derivation& d, OpId op) {
  if (d.treatment(op) == OpTreatment::transform) return std::nullopt;
  return "";
}

/// What `op` reads that is computed in a thread's registers.
OpId half_way(const Derivation& d, OpId op) {
  for (OpId input : inputs_of(d.dag(), op))
    if (d.treatment(input) == OpTreatment::under) return input;
  return {};
}

/// Blocks and threads over tiles and channels, what a thread has of them inside.
LoopId launch_tiles(Scheduler& s, std::vector<LoopId> outer, std::vector<LoopId> inside, std::int64_t channels) {
  const auto cut = s.split(outer.back(), channels, Tail::guard);
  outer.back() = cut.outer;
  inside.push_back(cut.inner);
  if (!s.finish().ok()) return {};
  const LoopId threads = bind_levels(s, cut_levels(s, outer, kTileThreads), inside);
  unroll_vectors(s, inside);
  return threads;
}

void transform(Scheduler& s, OpId op, OpId half, std::int64_t m, bool results, std::int64_t channels) {
  const std::vector<LoopId> loops = s.loops(op);
  LoopId threads;
  if (results) {                            // n, oh, ow, oc
    const auto tiles = [&](LoopId along) {  // a picture may be smaller than a tile
      return s.split(along, std::min(m, extent_of(s.tree(), along)), Tail::guard);
    };
    const auto row = tiles(loops[1]), column = tiles(loops[2]);
    threads = launch_tiles(s, {loops[0], row.outer, column.outer, loops[3]}, {row.inner, column.inner}, channels);
  } else {  // x, y, n, th, tw, ic
    threads = launch_tiles(s, {loops.begin() + 2, loops.end()}, {loops[0], loops[1]}, channels);
  }
  if (const std::vector<LoopId> inner = s.compute_at(half, threads, StoredIn::registers); !inner.empty())
    unroll_vectors(s, inner);
}

std::vector<Derivation> apply_transform(const Derivation& from, OpId op) {
  Derivation d = from;
  const OpId half = half_way(d, op);
  if (!half.valid()) return {};
  std::vector<std::int64_t> sizes;
  for (const std::int64_t size : {1, 2, 4})
    if (d.dag().op(op).shape.back() % size == 0) sizes.push_back(size);
  const std::string name = d.dag().op(op).name + ".channels";
  d.decide({name, "channels of a thread that transforms a tile", single(sizes), 0}, {1});
  const bool results = is_output(d.dag(), op);
  const std::vector<std::int64_t>& tile = d.dag().op(half).shape;  // of results: n, th, tw, m, m + 2, oc
  d.act([=, m = tile[tile.size() - 3]](ScheduleDraft& draft) {
    transform(draft.s, op, half, m, results, draft.chosen(name));
  });
  d.set_treatment(op, OpTreatment::nest);
  return {std::move(d)};
}

}  // namespace

const Rule kGpuTransformRule{"transform", "transforms a tile in the registers of each thread", why_not_transform,
                             apply_transform};

}  // namespace whet
