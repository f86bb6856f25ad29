#include "space/gpu/dots.h"

#include <algorithm>

#include "space/gpu/preferred.h"
#include "space/gpu/product_choices.h"

namespace whet {
namespace {

constexpr std::int64_t kFewestDotRows = 8;  ///< products with fewer are sums across threads (rows.h)
constexpr std::int64_t kMostDepth = 128;    ///< bytes of a row that are copied together

/// Parts of the sum that divide it: whole words, in vectors where there are some.
std::vector<std::int64_t> dot_depths(std::int64_t depth) {
  std::vector<std::int64_t> options;
  for (const std::int64_t unit : {16, 8, 4}) {
    for (std::int64_t part = unit; part <= std::min(depth, kMostDepth); part += unit)
      if (depth % part == 0) options.push_back(part);
    if (!options.empty()) break;
  }
  return options;
}

std::vector<Decision> dot_decisions(const ProductForm& form) {
  return {
      {"rows", "rows of a tile: strips of a thread, threads, rows of a strip", cuts_of(form.rows, {1, 2}, {1, 2, 4, 8}),
       0},
      {"columns", "columns of a tile: strips of a thread, threads, columns of a strip",
       cuts_of(form.columns, {1, 2, 4, 8}, {1, 2, 4}), 0},
      {"depth", "bytes of a row that are copied together", single(dot_depths(form.depth)), 0},
      {"stages", "copies under way at once, and the one that is read", single({1, 2, 3, 4}), 0},
      {"pad", "bytes between two rows in block memory", single({16, 0, 4}), 0},
      {"split", "parts of the sum, added up by a second launch", single(parts_of_sum(form.depth)), 0},
      {"min_blocks", "blocks that an SM is to hold; 0: as many as fit", single({0, 2, 3, 4}), 0},
  };
}

Objection dots_fit_memory(const ProductTile& tile, const GpuLimits& limits) {
  return memory_fits(tile.stages * (tile.rows.whole() + tile.columns.whole()) * (tile.depth + tile.pad), limits);
}

std::vector<Constraint> dot_constraints(const ProductForm& p, const GpuLimits& limits) {
  return {
      {{"rows"}, [rows = p.rows](const Choices& c) { return cut_fits(rows, cut_of(c.at("rows"))); }},
      {{"columns"}, [columns = p.columns](const Choices& c) { return cut_fits(columns, cut_of(c.at("columns"))); }},
      {{"rows", "columns", "min_blocks"},
       [limits](const Choices& c) { return threads_and_registers_fit(tile_of(c), limits); }},
      {{"rows", "columns", "depth"},
       [p](const Choices& c) {
         const ProductTile tile = tile_of(c);
         const Objection wrong = body_bounded(tile.sums() * tile.depth / kDotTerms);
         return wrong ? wrong : copies_fit(p, left_copy(p, tile), right_copy(p, tile), tile.threads());
       }},
      {{"rows", "columns", "depth", "stages", "pad"},
       [limits](const Choices& c) { return dots_fit_memory(tile_of(c), limits); }},
      {{"depth", "split"},
       [depth = p.depth](const Choices& c) { return split_fits(depth, c.at("split")[0], c.at("depth")[0]); }},
  };
}

/// The tiles among which the default is chosen. A thread's columns are apart, so that neighbouring threads read neighbouring
/// rows of the weights, which lie in different banks.
constexpr struct {
  TileCut rows, columns;
} kDotTiles[] = {
    {{1, 16, 8}, {8, 16, 1}}, {{1, 16, 8}, {4, 16, 1}}, {{1, 16, 4}, {8, 16, 1}}, {{1, 16, 4}, {4, 16, 1}},
    {{1, 8, 8}, {4, 16, 1}},  {{1, 8, 4}, {4, 32, 1}},  {{1, 8, 4}, {4, 16, 1}},  {{1, 16, 4}, {4, 8, 1}},
    {{1, 8, 4}, {2, 16, 1}},  {{1, 8, 2}, {4, 16, 1}},  {{1, 16, 2}, {2, 8, 1}},  {{1, 4, 2}, {4, 16, 1}},
    {{1, 8, 1}, {2, 16, 1}},  {{1, 8, 1}, {1, 32, 1}},  {{1, 16, 1}, {1, 16, 1}}, {{1, 4, 1}, {1, 32, 1}},
};

std::vector<Choices> dot_tiles(const ProductForm& form, const std::vector<Decision>& d, int sms) {
  std::vector<Choices> tiles;
  const std::vector<Choice>& depths = d[2].options;
  const auto middle = std::find_if(depths.begin(), depths.end(), [](const Choice& depth) { return depth[0] >= 32; });
  for (const auto& [rows, columns] : kDotTiles) {
    Choices tile{{"rows", nearest_cut(rows, d[0].options, form.rows)},
                 {"columns", nearest_cut(columns, d[1].options, form.columns)},
                 {"depth", middle == depths.end() ? depths.back() : *middle},
                 {"stages", {3}},
                 {"pad", {16}},
                 {"split", {1}},
                 {"min_blocks", {0}}};
    tiles.push_back(tile);
    const ProductTile cut = tile_of(tile);
    tile["split"] = parts_for(form, cut.rows.whole(), cut.columns.whole(), cut.depth, d[5].options, sms);
    tiles.push_back(tile);
  }
  return tiles;
}

}  // namespace

std::optional<Sketch> dots_sketch(const ComputeDag& dag, const Target& target) {
  const std::optional<ProductForm> form = product_form_of_bytes(dag);
  if (!form || form->rows < kFewestDotRows || form->depth % kDotTerms != 0) return std::nullopt;
  Sketch sketch;
  sketch.name = "dots";
  sketch.decisions = dot_decisions(*form);
  sketch.constraints = dot_constraints(*form, limits_of(target.gpu()));
  sketch.build = [p = *form](Scheduler& s, const Choices& choices) { build_product(s, p, tile_of(choices)); };
  sketch.preferred = preferred_choices(sketch, dag, target, dot_tiles(*form, sketch.decisions, target.gpu().sms),
                                       {"split", "depth", "stages", "pad"});
  if (sketch.preferred.empty()) return std::nullopt;
  return sketch;
}

}  // namespace whet
