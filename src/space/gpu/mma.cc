#include "space/gpu/mma.h"

#include <algorithm>

#include <fmt/format.h>

#include "program/swizzle.h"
#include "schedule/pipeline.h"
#include "space/gpu/limits.h"
#include "space/gpu/mma_tile.h"
#include "space/gpu/preferred.h"
#include "space/gpu/product_choices.h"
#include "target/gpu_rates.h"

namespace whet {
namespace {

constexpr std::int64_t kSwizzled = -1;  ///< in place of a pad

MmaTile mma_tile_of(Intrinsic intrinsic, const Choices& c) {
  MmaTile tile{.intrinsic = intrinsic};
  const auto take = [&](const char* name, std::size_t at, std::int64_t& value) {
    if (const auto found = c.find(name); found != c.end() && at < found->second.size()) value = found->second[at];
  };
  take("rows", 0, tile.row_warps), take("rows", 1, tile.warp_rows);
  take("columns", 0, tile.column_warps), take("columns", 1, tile.warp_columns);
  take("depth", 0, tile.depth), take("stages", 0, tile.stages);
  take("pad", 0, tile.left_pad), take("pad", 1, tile.right_pad);
  tile.swizzled = tile.left_pad == kSwizzled;
  if (tile.swizzled) tile.left_pad = tile.right_pad = 0;
  take("split", 0, tile.parts), take("min_blocks", 0, tile.min_blocks);
  take("raster", 0, tile.raster);
  return tile;
}

/// Warps side by side, and what each has, at most the axis; what does not divide it is guarded.
std::vector<Choice> mma_cuts(std::int64_t extent, const std::vector<std::int64_t>& of_warp) {
  std::vector<Choice> options;
  for (std::int64_t warps : {2, 1, 4, 8})
    for (std::int64_t each : of_warp)
      if (warps * each <= std::min<std::int64_t>(extent, 256)) options.push_back({warps, each});
  return options;
}

constexpr std::int64_t kFewestMmaTerms = 16, kFewestByteTerms = 32;
constexpr std::int64_t kMostMmaThreads = 512;  ///< of a block: two of them share an SM
constexpr std::int64_t kMostIntrinsics = 256;  ///< of an unrolled step; ptxas took 40 ms for 64

Objection threads_and_registers_fit(const MmaTile& tile, const GpuLimits& limits) {
  if (const Objection wrong = threads_fit(tile.threads(), kMostMmaThreads)) return wrong;
  if (const Objection wrong = blocks_fit(tile.min_blocks, tile.threads(), limits)) return wrong;
  return registers_fit(mma_registers(tile.sums(), tile.operands()), tile.threads(), limits, tile.min_blocks);
}

/// The product with operands that are rounded where warps read them, and with such that are rounded when they are copied.
struct MmaForms {
  std::optional<ProductForm> at_use, at_copy;

  const ProductForm& of(const Choices& c) const {
    const auto found = c.find("round");
    return at_copy && found != c.end() && found->second[0] == 1 ? *at_copy : *at_use;
  }
};

/// Where an operand is rounded or scaled when it is copied, threads hold what they copy while they work.
Objection held_copies_fit(const ProductForm& p, const MmaTile& tile, const GpuLimits& limits) {
  const bool as_they_are = tile.intrinsic == Intrinsic::mma_half || tile.intrinsic == Intrinsic::mma_half_bf16;
  const std::int64_t of_register = as_they_are ? 2 : 1;
  const auto registers = [&](const TileCopy& copy) { return copy.times * copy.lanes / of_register; };
  const std::int64_t held =
      (p.left_computed ? registers(left_copy(p, tile)) : 0) + (p.right_computed ? registers(right_copy(p, tile)) : 0);
  if (tile.stages == 1 || held == 0 || held > kMostHeld) return std::nullopt;
  return registers_fit(mma_registers_beside(held, tile.sums(), tile.operands()), tile.threads(), limits,
                       tile.min_blocks);
}

/// As of other products (product_choices.cc): blocks run one after the other, and L2 does not hold both operands.
Objection mma_raster_means(const ProductForm& p, const MmaTile& tile, const GpuTarget& gpu) {
  if (tile.raster == 0) return std::nullopt;
  const auto up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const std::int64_t bytes = (p.rows * p.left_bytes + p.columns * p.right_bytes) * p.depth;
  return raster_worth(tile.raster, up(p.rows, tile.rows()), up(p.columns, tile.columns()), gpu.sms, bytes,
                      data_sheet_rates(gpu).l2_bytes);
}

Objection swizzle_fits(const ProductForm& p, const MmaTile& tile) {
  for (const std::int64_t row : {left_row_bytes(p, tile), right_row_bytes(p, tile)})
    if (tile.swizzled && !is_swizzle(std::min<std::int64_t>(row, 128), row))
      return fmt::format("rows of {} bytes; a swizzle wants {}", row, kSwizzledRows);
  return std::nullopt;
}

std::vector<Constraint> constraints_of(const MmaForms& forms, Intrinsic intrinsic, const GpuTarget& gpu) {
  const GpuLimits limits = limits_of(gpu);
  const auto tile = [intrinsic](const Choices& c) { return mma_tile_of(intrinsic, c); };
  const ProductForm& p = *forms.at_use;
  return {
      {{"rows"}, [rows = p.rows, tile](const Choices& c) { return waste_bounded(rows, tile(c).rows()); }},
      {{"columns"},
       [columns = p.columns, tile](const Choices& c) { return waste_bounded(columns, tile(c).columns()); }},
      {{"rows", "columns", "min_blocks"},
       [limits, tile](const Choices& c) { return threads_and_registers_fit(tile(c), limits); }},
      {{"rows", "columns", "depth", "round"},
       [forms, tile](const Choices& c) {
         const Objection wrong = intrinsics_bounded(tile(c).intrinsics(), kMostIntrinsics);
         const MmaTile t = tile(c);
         const ProductForm& form = forms.of(c);
         return wrong ? wrong : copies_fit(form, left_copy(form, t), right_copy(form, t), t.threads());
       }},
      {{"rows", "columns", "depth", "stages", "min_blocks", "round"},
       [forms, limits, tile](const Choices& c) { return held_copies_fit(forms.of(c), tile(c), limits); }},
      {{"rows", "columns", "depth", "stages", "pad", "round"},
       [forms, limits, tile](const Choices& c) { return memory_fits(bytes_of(forms.of(c), tile(c)), limits); }},
      {{"columns", "depth", "pad", "round"},
       [forms, tile](const Choices& c) { return swizzle_fits(forms.of(c), tile(c)); }},
      {{"depth", "split"},
       [depth = p.depth](const Choices& c) { return split_fits(depth, c.at("split")[0], c.at("depth")[0]); }},
      {{"rows", "columns", "raster"}, [p, gpu, tile](const Choices& c) { return mma_raster_means(p, tile(c), gpu); }},
  };
}

/// The tiles among which the default is chosen: warps by rows, rows of one, warps by columns, columns of one.
constexpr std::int64_t kTiles[][4] = {
    {2, 64, 4, 64}, {4, 64, 2, 64}, {2, 64, 2, 64}, {2, 64, 2, 32}, {2, 32, 2, 64}, {2, 32, 2, 32},
    {4, 32, 2, 32}, {2, 32, 4, 16}, {2, 32, 2, 16}, {1, 32, 4, 32}, {1, 32, 4, 16}, {2, 16, 2, 32},
    {2, 16, 2, 16}, {1, 16, 4, 16}, {1, 16, 4, 8},  {4, 16, 1, 8},
};

/// Fewer warps, then smaller parts, until they fit the axis.
Choice fitting(std::int64_t warps, std::int64_t each, std::int64_t extent) {
  while (warps * each > extent) (warps > 1 ? warps : each) /= 2;
  return {warps, each};
}

/// Below, the first choice stays: a deeper step, of which there are fewer, has fewer instructions that are none of the work.
constexpr double kLeastGain = 1e-3;
/// Products of a step that take longer than what threads load ahead of them: an operand is better rounded once, when it is copied.
constexpr std::int64_t kHideLoads = 64;

std::vector<Choices> tiles_of(const Sketch& sketch, const ProductForm& form, Intrinsic intrinsic, int sms) {
  std::vector<Choices> tiles;
  const std::vector<Choice>& roundings = sketch.decisions[7].options;
  for (const auto& [row_warps, rows, column_warps, columns] : kTiles)
    for (const Choice& depth : sketch.decisions[2].options) {
      Choices choices{{"rows", fitting(row_warps, rows, form.rows)},
                      {"columns", fitting(column_warps, columns, form.columns)},
                      {"depth", depth},
                      {"stages", {3}},
                      {"pad", sketch.decisions[4].options.front()},
                      {"split", {1}},
                      {"min_blocks", {0}},
                      {"round", roundings.front()},
                      {"raster", {0}}};
      const MmaTile tile = mma_tile_of(intrinsic, choices);
      if (roundings.size() > 1 && tile.intrinsics() >= kHideLoads) choices["round"] = {1};
      tiles.push_back(choices);
      choices["split"] = parts_for(form, tile.rows(), tile.columns(), tile.depth, sketch.decisions[5].options, sms);
      tiles.push_back(choices);
    }
  return tiles;
}

/// Operands of two bytes.
constexpr bool of_halves(Intrinsic i) { return multiplies_halves(i) || i == Intrinsic::mma_half_bf16; }

std::vector<std::int64_t> mma_depths(std::int64_t depth, Intrinsic intrinsic) {
  std::vector<std::int64_t> options = {64, 32, 16};
  if (multiplies_bytes(intrinsic)) options = {32, 64, 128};
  std::erase_if(options, [&](std::int64_t part) { return part > depth; });
  return options;
}

/// Free of bank conflicts first: neighbouring lanes read rows of the left operand, and terms or rows of the right one.
std::vector<Choice> pads(Intrinsic intrinsic, bool right_along_depth) {
  if (intrinsic == Intrinsic::mma_tf32)
    return right_along_depth ? std::vector<Choice>{{4, 4}, {0, 0}, {4, 0}, {kSwizzled, kSwizzled}}
                             : std::vector<Choice>{{4, 8}, {0, 0}, {4, 0}};
  if (multiplies_bytes(intrinsic)) return {{16, 16}, {0, 0}, {kSwizzled, kSwizzled}};
  if (of_halves(intrinsic)) return {{8, 8}, {0, 0}, {8, 0}, {kSwizzled, kSwizzled}};
  return {{8, 4}, {0, 0}, {8, 0}};
}

/// 0: where warps read them; 1: when they are copied. Those of f16 then take half the memory.
std::vector<Choice> roundings(const MmaForms& forms, Intrinsic intrinsic) {
  if (!forms.at_copy) return {{0}};
  return intrinsic == Intrinsic::mma_f16 ? std::vector<Choice>{{1}, {0}} : std::vector<Choice>{{0}, {1}};
}

std::optional<Sketch> mma_sketch_of(const MmaForms& forms, Intrinsic intrinsic, const ComputeDag& dag,
                                    const Target& target) {
  const std::optional<ProductForm>& form = forms.at_use;
  if (!form || form->rows < kMmaRows || form->columns < kMmaColumns) return std::nullopt;
  if (form->depth < (form->of_bytes ? kFewestByteTerms : kFewestMmaTerms)) return std::nullopt;
  Sketch sketch;
  const bool as_they_are = intrinsic == Intrinsic::mma_half || intrinsic == Intrinsic::mma_half_bf16;
  sketch.name = form->of_bytes ? "mma_bytes" : as_they_are ? "mma_half" : "mma";
  sketch.decisions = {
      {"rows", "rows of a tile: warps, and rows of each", mma_cuts(form->rows, {16, 32, 64}), 0},
      {"columns", "columns of a tile: warps, and columns of each", mma_cuts(form->columns, {8, 16, 32, 64}), 0},
      {"depth", "steps of the sum that are copied together", single(mma_depths(form->depth, intrinsic)), 0},
      {"stages", "copies under way at once, and the one that is read", single({1, 2, 3, 4}), 0},
      {"pad", "elements between rows in block memory: of the left operand, of the right one; -1: rows are swizzled",
       pads(intrinsic, form->right_along_depth), 0},
      {"split", "parts of the sum, added up by a second launch", single(parts_of_sum(form->depth)), 0},
      {"min_blocks", "blocks that an SM is to hold; 0: as many as fit", single({0, 2, 3, 4}), 0},
      {"round", "where operands that are not constant are rounded: 0 where warps read them, 1 when they are copied",
       roundings(forms, intrinsic), 0},
      {"raster", "which blocks are neighbours: 0 those of a row, 1 of a column, n in groups of n rows",
       single({0, 1, 4, 8}), 0},
  };
  sketch.constraints = constraints_of(forms, intrinsic, target.gpu());
  sketch.build = [forms, i = intrinsic](Scheduler& s, const Choices& choices) {
    build_mma(s, forms.of(choices), mma_tile_of(i, choices));
  };
  const Choices best = preferred_choices(sketch, dag, target, tiles_of(sketch, *form, intrinsic, target.gpu().sms),
                                         {"split", "depth", "stages", "pad", "round", "raster"}, kLeastGain);
  sketch.preferred =
      with_room_for_indices(sketch, *form, best, best.empty() ? 0 : mma_tile_of(intrinsic, best).threads());
  if (sketch.preferred.empty()) return std::nullopt;
  return sketch;
}

}  // namespace

std::optional<Sketch> mma_sketch(const ComputeDag& dag, const Target& target, Precision precision) {
  const std::optional<Intrinsic> intrinsic = mma_of(precision);
  if (!intrinsic || !limits_of(target.gpu()).mma || mma_of_halves(dag)) return std::nullopt;
  MmaForms forms{product_form(dag, {precision, false}), std::nullopt};
  if (precision != Precision::bf16) forms.at_copy = product_form(dag, {precision, true});
  return mma_sketch_of(forms, *intrinsic, dag, target);
}

std::optional<Sketch> mma_half_sketch(const ComputeDag& dag, const Target& target) {
  const std::optional<Intrinsic> intrinsic = mma_of_halves(dag);
  if (!limits_of(target.gpu()).mma || !intrinsic) return std::nullopt;
  const std::optional<ProductForm> form = product_form(dag, {Precision::f16, false});
  if (!form || form->left_bytes != 2 || form->right_bytes != 2) return std::nullopt;
  return mma_sketch_of({form, std::nullopt}, *intrinsic, dag, target);
}

std::optional<Sketch> mma_bytes_sketch(const ComputeDag& dag, const Target& target) {
  const std::optional<ProductForm> form = product_form_of_bytes(dag);
  return mma_sketch_of({form, std::nullopt}, form && form->has_sign ? Intrinsic::mma_s8 : Intrinsic::mma_u8, dag,
                       target);
}

}  // namespace whet
