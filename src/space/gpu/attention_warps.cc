#include "space/gpu/attention_warps.h"

#include "base/arithmetic.h"

namespace whet {

std::int64_t WarpShare::of_warp(std::int64_t columns) const {
  return round_up((columns + column_warps - 1) / column_warps, kMmaColumns);
}
std::int64_t WarpShare::of_warps(std::int64_t columns) const { return round_up(columns, of_warp(columns)); }
std::int64_t WarpShare::terms_read(std::int64_t terms, std::int64_t at_once) const {
  return round_up(terms, at_once < terms ? at_once : step_of(intrinsic));
}
std::int64_t WarpShare::intrinsics(std::int64_t columns, std::int64_t terms) const {
  return warp_rows / kMmaRows * (of_warp(columns) / kMmaColumns) * (terms / step_of(intrinsic));
}

WarpShare share_of(Intrinsic intrinsic, const Choices& c) {
  WarpShare share{.intrinsic = intrinsic};
  const auto take = [&](const char* name, std::size_t at, std::int64_t& value) {
    if (const auto found = c.find(name); found != c.end() && at < found->second.size()) value = found->second[at];
  };
  take("queries", 0, share.row_warps), take("queries", 1, share.warp_rows), take("columns", 0, share.column_warps);
  take("depth", 0, share.keys), take("keys", 0, share.keys);
  take("stages", 0, share.stages), take("min_blocks", 0, share.min_blocks);
  return share;
}

std::int64_t unrolled_terms(const WarpShare& share, std::int64_t depth, std::int64_t keys,
                            std::int64_t most_intrinsics) {
  const std::int64_t step = step_of(share.intrinsic);
  std::int64_t terms = round_up(depth, step);
  while (terms > step && share.intrinsics(keys, terms) > most_intrinsics) terms = round_up(terms / 2, step);
  return terms;
}

OperandTile keys_tile(const WarpShare& share, bool by_row, std::int64_t keys, std::int64_t depth, std::int64_t bytes) {
  return by_row ? left_tile(share.intrinsic, keys, depth, bytes) : right_tile(share.intrinsic, depth, keys, bytes);
}

Objection warps_fit(const AttentionForm& form, const WarpShare& share, std::int64_t most_threads,
                    const GpuLimits& limits) {
  if (const Objection wrong = threads_fit(share.threads(), most_threads)) return wrong;
  if (const Objection wrong = blocks_fit(share.min_blocks, share.threads(), limits)) return wrong;
  // Whole tiles of the intrinsic waste what they must.
  return waste_bounded(round_up(form.rows, kMmaRows), share.queries());
}

std::vector<Choice> query_cuts(std::int64_t rows, const std::vector<std::int64_t>& of_warp, std::int64_t most) {
  std::vector<Choice> options;
  for (std::int64_t warps : {1, 2, 4, 8})
    for (std::int64_t each : of_warp)
      if (const std::int64_t all = warps * each; all <= most && (all <= rows || all == kMmaRows))
        options.push_back({warps, each});
  return options;
}

QueryLoops cut_queries(Scheduler& s, const AttentionForm& a, const WarpShare& share) {
  const LoopId row = s.loops(a.output)[static_cast<std::size_t>(a.row)];
  const auto block = s.split(row, share.queries(), Tail::guard);
  const auto rows = s.split(block.inner, share.warp_rows, Tail::guard);
  return {block.outer, rows.outer, rows.inner};
}

void bind_queries(Scheduler& s, const AttentionForm& a, const WarpShare& share, const std::vector<LoopId>& loops,
                  const QueryLoops& queries, const std::vector<LoopId>& inside) {
  std::vector<LoopId> heads;
  for (std::size_t k = 0; k < s.tree().dag.op(a.output).shape.size(); ++k)
    if (k != static_cast<std::size_t>(a.row) && k != static_cast<std::size_t>(a.column)) heads.push_back(loops[k]);
  std::vector<LoopId> order = heads;
  order.push_back(queries.blocks), order.push_back(queries.warps);
  order.insert(order.end(), inside.begin(), inside.end());
  s.reorder(order);
  if (heads.size() > 1) heads = {s.fuse(heads)};
  for (LoopId loop : heads) s.bind(loop, LoopKind::block);
  s.bind(queries.blocks, LoopKind::block);
  if (share.min_blocks > 0) s.min_blocks(heads.empty() ? queries.blocks : heads.front(), share.min_blocks);
  s.bind(queries.warps, LoopKind::warp);
}

void unroll_tiles(Scheduler& s, LoopId rows, LoopId columns) {
  if (!s.finish().ok()) return;
  const bool reduces = is_reduce(s.tree(), columns);
  const auto tiles = s.split(columns, kMmaColumns, Tail::guard);
  s.annotate(rows, LoopKind::unrolled);
  s.annotate(tiles.outer, LoopKind::unrolled);
  s.annotate(tiles.inner, reduces ? LoopKind::unrolled : LoopKind::vectorized);
}

}  // namespace whet
