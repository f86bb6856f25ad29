#include "space/gpu/product_choices.h"

#include <algorithm>

#include "schedule/pipeline.h"
#include "space/gpu/preferred.h"
#include "target/gpu_rates.h"

namespace whet {
namespace {

/// Parts of the sum that divide it.
std::vector<std::int64_t> depths(std::int64_t depth) {
  std::vector<std::int64_t> options;
  for (std::int64_t part = 4; part <= std::min<std::int64_t>(depth, 32); ++part)
    if (depth % part == 0) options.push_back(part);
  if (options.empty()) options.push_back(depth <= 32 ? depth : 16);
  return options;
}

/// A block of at most 512 threads: two of them share an SM.
constexpr std::int64_t kMostTileThreads = 512;

/// A vector of small elements has more of them than one of f32: fewer threads are enough.
Objection copy_fits(const TileCopy& copy, std::int64_t threads, bool small, std::int64_t bytes) {
  const Objection wrong =
      small ? std::nullopt : copies_whole(copy.times * copy.across * copy.down * 4 / bytes, threads);
  return wrong ? wrong : copies_few(copy.times);
}

/// The tiles among which the default is chosen: from large ones, which copy least, to small ones, of which there are many.
constexpr struct {
  TileCut rows, columns;
} kProductTiles[] = {
    {{1, 16, 8}, {2, 16, 4}}, {{1, 16, 8}, {1, 16, 4}}, {{1, 16, 4}, {2, 16, 4}}, {{1, 8, 8}, {1, 16, 4}},
    {{1, 16, 4}, {1, 16, 4}}, {{1, 8, 4}, {1, 32, 4}},  {{1, 8, 4}, {1, 16, 4}},  {{1, 16, 4}, {1, 8, 4}},
    {{1, 16, 2}, {1, 8, 4}},  {{1, 8, 2}, {1, 16, 4}},  {{1, 8, 2}, {1, 8, 4}},   {{1, 4, 2}, {1, 16, 4}},
    {{1, 16, 2}, {1, 16, 2}}, {{1, 32, 1}, {1, 8, 2}},  {{1, 16, 1}, {1, 16, 1}}, {{1, 4, 1}, {1, 32, 1}},
};

/// A thread holds what is copied otherwise than asynchronously while it works.
Objection held_copies_fit(const ProductForm& p, const ProductTile& tile, const GpuLimits& limits) {
  if ((limits.async_copy && !p.computes()) || tile.stages == 1) return std::nullopt;
  const TileCopy left = left_copy(p, tile), right = right_copy(p, tile);
  const std::int64_t held = left.times * left.lanes + right.times * right.lanes;
  return registers_fit(tile_registers(tile.sums()) + (held <= kMostHeld ? held : 0), tile.threads(), limits,
                       tile.min_blocks);
}

/// Another order than that of rows is worth a look where blocks run one after the other, and L2 does not hold both operands.
Objection raster_means(const ProductForm& p, const ProductTile& tile, const GpuTarget& gpu) {
  if (tile.raster == 0) return std::nullopt;
  const auto up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const std::int64_t rows = up(p.rows, tile.rows.whole()), columns = up(p.columns, tile.columns.whole());
  const std::int64_t bytes = (p.rows + p.columns) * p.depth * (p.of_bytes ? 1 : 4);
  return raster_worth(tile.raster, rows, columns, gpu.sms, bytes, data_sheet_rates(gpu).l2_bytes);
}

}  // namespace

TileCut cut_of(const Choice& choice) { return {choice[0], choice[1], choice[2]}; }

std::vector<Choice> cuts_of(std::int64_t extent, const std::vector<std::int64_t>& aparts,
                            const std::vector<std::int64_t>& strips) {
  std::vector<Choice> options;
  for (std::int64_t apart : aparts)
    for (std::int64_t threads : {1, 2, 4, 8, 16, 32})
      for (std::int64_t strip : strips)
        if (const std::int64_t whole = apart * threads * strip; whole <= 128 && whole <= extent)
          options.push_back({apart, threads, strip});
  return options;
}

Choice nearest_cut(TileCut cut, const std::vector<Choice>& options, std::int64_t extent) {
  const auto fits = [&] {
    const Choice choice{cut.apart, cut.threads, cut.strip};
    return std::find(options.begin(), options.end(), choice) != options.end() && !waste_bounded(extent, cut.whole());
  };
  while (!fits() && cut.whole() > 1) {
    std::int64_t& part = cut.apart > 1 ? cut.apart : cut.threads > 1 ? cut.threads : cut.strip;
    part /= 2;
  }
  return {cut.apart, cut.threads, cut.strip};
}

Objection cut_fits(std::int64_t extent, const TileCut& cut) {
  const Objection wrong = tile_within(extent, cut.whole());
  return wrong ? wrong : waste_bounded(extent, cut.whole());
}

Objection threads_and_registers_fit(const ProductTile& tile, const GpuLimits& limits) {
  if (const Objection wrong = threads_fit(tile.threads(), kMostTileThreads)) return wrong;
  if (const Objection wrong = blocks_fit(tile.min_blocks, tile.threads(), limits)) return wrong;
  return registers_fit(tile_registers(tile.sums()), tile.threads(), limits, tile.min_blocks);
}

std::vector<std::int64_t> parts_of_sum(std::int64_t terms) {
  std::vector<std::int64_t> options;
  for (const std::int64_t parts : {1, 2, 3, 4, 6, 8, 9, 12, 16, 18, 24})
    if (!split_fits(terms, parts, 1)) options.push_back(parts);
  return options;
}

Choice parts_for(const ProductForm& form, std::int64_t rows, std::int64_t columns, std::int64_t depth,
                 const std::vector<Choice>& options, int sms) {
  const auto up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const std::int64_t blocks = form.leads * up(form.rows, rows) * up(form.columns, columns);
  Choice best = {1};
  for (const Choice& parts : options)
    if (best[0] * blocks < sms && !split_fits(form.depth, parts[0], depth)) best = parts;
  return best;
}

Objection copies_fit(const ProductForm& p, const TileCopy& left, const TileCopy& right, std::int64_t threads) {
  const Objection wrong = copy_fits(left, threads, p.rows < kSmallAxis, p.left_bytes);
  return wrong ? wrong : copy_fits(right, threads, p.columns < kSmallAxis, p.right_bytes);
}

ProductTile tile_of(const Choices& c) {
  ProductTile tile{.rows = cut_of(c.at("rows")), .columns = cut_of(c.at("columns"))};
  const auto take = [&](const char* name, std::int64_t& value) {
    if (const auto found = c.find(name); found != c.end() && !found->second.empty()) value = found->second[0];
  };
  take("depth", tile.depth), take("stages", tile.stages), take("pad", tile.pad);
  take("split", tile.parts), take("min_blocks", tile.min_blocks);
  take("unroll", tile.unroll), take("raster", tile.raster);
  return tile;
}

Choices with_room_for_indices(const Sketch& sketch, const ProductForm& form, Choices choices, std::int64_t threads) {
  constexpr std::int64_t kMostThreads = 128;  // two blocks have all registers that a thread can have
  if (!form.has_outer || choices.empty() || choices.at("split")[0] == 1 || threads > kMostThreads) return choices;
  return asking_for_blocks(sketch, std::move(choices), 2);
}

std::vector<Decision> product_decisions(const ProductForm& form) {
  return {
      {"rows", "rows of a tile: strips of a thread, threads, rows of a strip", cuts_of(form.rows, {1, 2}, {1, 2, 4, 8}),
       0},
      {"columns", "columns of a tile: strips of a thread, threads, columns of a strip",
       cuts_of(form.columns, {1, 2}, {4, 1, 2}), 0},
      {"depth", "steps of the sum that are copied together", single(depths(form.depth)), 0},
      {"stages", "copies under way at once, and the one that is read", single({1, 2, 3, 4}), 0},
      {"pad", "elements between two rows of the left operand in block memory", single({0, 4}), 0},
      {"split", "parts of the sum, added up by a second launch", single(parts_of_sum(form.depth)), 0},
      {"min_blocks", "blocks that an SM is to hold; 0: as many as fit", single({0, 2, 3, 4}), 0},
      {"unroll", "steps of the sum that are unrolled; 0: all that are copied together", single({0, 4, 8}), 0},
      {"raster", "which blocks are neighbours: 0 those of a row, 1 of a column, 4 in groups of 4 rows",
       single({0, 1, 4}), 0},
  };
}

std::vector<Constraint> product_constraints(const ProductForm& p, const GpuTarget& gpu) {
  const GpuLimits limits = limits_of(gpu);
  return {
      {{"rows"}, [rows = p.rows](const Choices& c) { return cut_fits(rows, cut_of(c.at("rows"))); }},
      {{"columns"}, [columns = p.columns](const Choices& c) { return cut_fits(columns, cut_of(c.at("columns"))); }},
      {{"rows", "columns", "min_blocks"},
       [limits](const Choices& c) { return threads_and_registers_fit(tile_of(c), limits); }},
      {{"rows", "columns", "depth"},
       [p](const Choices& c) {
         const ProductTile tile = tile_of(c);
         return copies_fit(p, left_copy(p, tile), right_copy(p, tile), tile.threads());
       }},
      {{"rows", "columns", "depth", "stages", "min_blocks"},
       [p, limits](const Choices& c) { return held_copies_fit(p, tile_of(c), limits); }},
      {{"rows", "columns", "depth", "unroll"},
       [](const Choices& c) {
         const ProductTile tile = tile_of(c);
         return body_bounded(tile.sums() * tile.unrolled());
       }},
      {{"depth", "unroll"},
       [](const Choices& c) {
         const ProductTile tile = tile_of(c);
         return unroll_fits(tile.depth, tile.unroll);
       }},
      {{"rows", "columns", "raster"}, [p, gpu](const Choices& c) { return raster_means(p, tile_of(c), gpu); }},
      {{"rows", "columns", "depth", "stages", "pad"},
       [limits](const Choices& c) {
         const ProductTile tile = tile_of(c);
         const std::int64_t left = tile.rows.whole() * (tile.depth + tile.pad);
         return memory_fits(tile.stages * (left + tile.depth * tile.columns.whole()) * 4, limits);
       }},
      {{"depth", "split"},
       [depth = p.depth](const Choices& c) { return split_fits(depth, c.at("split")[0], c.at("depth")[0]); }},
  };
}

std::vector<Choices> product_tiles(const ProductForm& form, int sms) {
  std::vector<Choices> tiles;
  const std::vector<Decision> d = product_decisions(form);
  const std::vector<Choice>& depths = d[2].options;
  const auto middle = std::find_if(depths.begin(), depths.end(), [](const Choice& depth) { return depth[0] >= 16; });
  for (const auto& [rows, columns] : kProductTiles) {
    Choices tile{{"rows", nearest_cut(rows, d[0].options, form.rows)},
                 {"columns", nearest_cut(columns, d[1].options, form.columns)},
                 {"depth", middle == depths.end() ? depths.back() : *middle},
                 {"stages", {3}},
                 {"pad", {4}},
                 {"split", {1}},
                 {"min_blocks", {0}},
                 {"unroll", {0}},
                 {"raster", {0}}};
    tiles.push_back(tile);
    const ProductTile cut = tile_of(tile);
    tile["split"] = parts_for(form, cut.rows.whole(), cut.columns.whole(), cut.depth, d[5].options, sms);
    tiles.push_back(tile);
  }
  return tiles;
}

}  // namespace whet
