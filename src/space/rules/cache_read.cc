// Cache read: what a tile reads again and again from lines that push each other out of the first-level cache is copied
// next to each other first. (Constants are packed ahead of time instead: pack.cc.)

#include "space/cpu/tile_axes.h"
#include "space/rules/rule.h"

namespace whet {
namespace {

/// The tensor that is not constant, if there is just one.
OpId activation_of(const Derivation& d, OpId op) {
  OpId found;
  for (OpId input : inputs_of(d.dag(), op)) {
    if (is_constant(d.dag(), input)) continue;
    if (found.valid()) return {};
    found = input;
  }
  return found;
}

std::optional<std::string> why_not_cache_read(const Derivation& d, OpId op) {
  if (d.name() == "copy") return "another op has a copy already";
  if (d.name().starts_with("winograd")) return "";
  const std::optional<TileAxes> axes = find_tile_axes(d.dag(), op, d.target());
  if (!axes || axes->in < 0) return "it is not tiled over input channels, so it reads nothing again";
  if (!activation_of(d, op).valid()) return "it does not read exactly one tensor that is not constant";
  const Tiling& tiling = axes->tiling;
  Tiling dense = tiling;  // the tile that a copy allows
  dense.column_bytes = dense.row_bytes = 0;
  if (tiling.column_bytes <= 0 || tiling.conflicts(dense.best()) + 2 <= tiling.cache_ways)
    return "the reads of a register tile fall into different sets of the first-level cache";
  return std::nullopt;
}

std::vector<Derivation> apply_cache_read(const Derivation& from, OpId op) {
  Derivation d = from;
  const OpId tensor = activation_of(d, op);
  d.call("copy");
  d.act([tensor, op](ScheduleDraft& m) { m.s.cache_read(tensor, op); });
  d.start_over();
  d.set_treatment(op, OpTreatment::copied);  // the copy has the number that its reader had
  return {std::move(d)};
}

}  // namespace

const Rule kCacheReadRule{"cache-read", "copies the elements that its tiles read into contiguous memory first",
                          why_not_cache_read, apply_cache_read, true};

}  // namespace whet
