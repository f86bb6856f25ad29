// Multi-level tiling, S S S R R S: blocks, virtual threads, threads, parts of the sum, its steps, strips of a thread.

#include <algorithm>

#include "space/gpu/product_choices.h"
#include "space/rules/gpu/own_decisions.h"
#include "space/rules/gpu/sums.h"

namespace whet {
namespace {

const std::vector<std::string> kTileNames = {"rows", "columns", "depth", "min_blocks", "unroll", "raster"};

std::int64_t chosen_parts(const Derivation& d, OpId op) {
  const auto split = d.preferred().find("split");
  return split != d.preferred().end() && d.decided_first(op) ? split->second[0] : 1;
}

std::optional<std::string> why_not_tile_on_gpu(const Derivation& d, OpId op) {
  if (d.treatment(op) != OpTreatment::open) return "";
  if (!d.dag().op(op).element().reducer) return "it does not reduce, so nothing is read for several of its elements";
  if (!is_unfolded(d, op)) return "its factors have no copies, of which a block could keep tiles";
  if (legal_tiles(unfolded_form(d, op), d.target().gpu(), chosen_parts(d, op) > 1).empty())
    return "no tile of it is legal";
  return std::nullopt;
}

/// The largest tiles of which each SM has one; else the last ones.
const Choices& first_guess(const std::vector<Choices>& tiles, const ProductForm& form, std::int64_t parts, int sms) {
  const auto up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const auto found = std::find_if(tiles.begin(), tiles.end(), [&](const Choices& tile) {
    const ProductTile cut = tile_of(tile);
    return parts * form.leads * up(form.rows, cut.rows.whole()) * up(form.columns, cut.columns.whole()) >= sms;
  });
  return found == tiles.end() ? tiles.back() : *found;
}

std::vector<Derivation> apply_tile_on_gpu(const Derivation& from, OpId op) {
  Derivation d = from;
  const ProductForm form = unfolded_form(d, op);
  const std::int64_t parts = chosen_parts(d, op);
  const OwnDecisions own{d.prefix_for(op)};
  const GpuTarget& gpu = d.target().gpu();
  const std::vector<Constraint> constraints = product_constraints(form, gpu);
  const std::vector<Choices> tiles = legal_tiles(form, gpu, parts > 1);
  const Choices& guess = first_guess(tiles, form, parts, gpu.sms);
  own.decide(d, product_decisions(form), kTileNames, guess, constraints);
  own.consider(d, tiles);
  d.call("tiles");
  d.act([op, form, own](ScheduleDraft& m) {
    const ProductLoops loops = tile_product(m.s, form, tile_of(own.of(m.choices)));
    m.launches[op] = {loops.depth, loops.threads};
  });
  d.set_treatment(op, OpTreatment::tiled);
  return {std::move(d)};
}

}  // namespace

const Rule kGpuTilingRule{"multi-level-tiling",
                          "tiles it for blocks, virtual threads, threads and registers: S S S R R S",
                          why_not_tile_on_gpu, apply_tile_on_gpu};

}  // namespace whet
