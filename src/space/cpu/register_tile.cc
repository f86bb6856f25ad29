#include "space/cpu/register_tile.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include "base/arithmetic.h"

namespace whet {
namespace {

/// Small numbers, the usual ones, and those whose last tile computes little that another has: 197 rows are 18 x 11.
std::vector<std::int64_t> pixel_options(std::int64_t extent, std::int64_t most) {
  constexpr std::int64_t kUsual[] = {9, 10, 12, 14, 28};
  std::vector<std::int64_t> options;
  for (std::int64_t n = 1; n <= std::min(extent, most); ++n) {
    const bool usual = n <= 8 || std::find(std::begin(kUsual), std::end(kUsual), n) != std::end(kUsual);
    if (usual || 50 * (ceil_div(extent, n) * n - extent) <= extent) options.push_back(n);
  }
  return options;
}

}  // namespace

std::int64_t TapWindow::inputs(std::int64_t count) const {
  if (is_loop()) return count * taps;
  std::vector<std::int64_t> read;
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t tap = 0; tap < taps; ++tap) read.push_back(i * stride + tap * dilation);
  std::sort(read.begin(), read.end());
  return std::unique(read.begin(), read.end()) - read.begin();
}

std::int64_t Tiling::vectors(std::int64_t elements) const {
  if (block > 0 && elements > block) return elements / block * vectors(block);
  return elements / lanes + std::popcount(static_cast<std::uint64_t>(elements % lanes));
}

bool Tiling::fits(const Tile& t) const {
  // All words of a tile's columns stay in registers beside its sums, a column of weights and what joins bytes. Those that one
  // pixel alone reads, and those of a loop's step, need not.
  const std::int64_t words = t.ow == 1 ? 1 : columns.is_loop() ? t.ow : columns.inputs(t.ow);
  if (joins_bytes) return vectors(t.oc) * t.oh * (t.ow + words) + vectors(t.oc) + 2 <= registers;
  const std::int64_t read = vectors(t.oc) * rows.inputs(t.oh) * columns.inputs(t.ow);
  if (depthwise && pipes.window_inputs > 0 && t.oh > 1 && read > pipes.window_inputs) return false;
  const auto needed = static_cast<double>(accumulators(t) + vectors(t.oc) + (depthwise ? 2 : 1));
  return needed <= pipes.tile_share * static_cast<double>(registers);
}

bool Tiling::fits_unrolled(const Tile& t) const {
  const bool few = static_cast<double>(accumulators(t)) <= pipes.unrolled_share * static_cast<double>(registers);
  return few && (input_lanes == 1 || accumulators(t) + t.oh * t.ow + vectors(t.oc) + 1 <= registers);
}

bool Tiling::divides(const Tile& t) const { return oc % t.oc == 0 && oh % t.oh == 0 && ow % t.ow == 0; }

std::int64_t Tiling::conflicts(const Tile& t) const {
  std::vector<std::int64_t> lines(static_cast<std::size_t>(pipes.l1_sets));
  for (std::int64_t row = 0; row < t.oh; ++row)
    for (std::int64_t column = 0; column < t.ow; ++column)
      ++lines[static_cast<std::size_t>((row * row_bytes + column * column_bytes) / 64 % pipes.l1_sets)];
  return *std::max_element(lines.begin(), lines.end());
}

double Tiling::cost(const Tile& t) const {
  const double tiles = static_cast<double>(ceil_div(oc, t.oc) * ceil_div(oh, t.oh) * ceil_div(ow, t.ow));
  // Rows of a tile that differ at the border multiply code; where taps are far apart, their guards stay in the loops.
  const double edges = 1 + (rows_skipped > 4 ? 1 : 0.04) * static_cast<double>(t.oh - 1);
  if (joins_bytes) return tiles * joined_cycles(t) * edges;
  if (depthwise) {
    // Measured: borders and the shares of few rows outweigh what tall tiles save, which is nothing where rows stay in
    // the first level until they are read again.
    const bool returns = row_bytes / rows.stride * rows.taps <= cache_ways * pipes.l1_sets * 64 / 2;
    const bool large = oh >= (taps > 9 ? 28 : 32) && oc % lanes == 0 && !returns;
    if (large) return tiles * window_cycles(t);
    const auto products = static_cast<double>(accumulators(t));
    const double code = 1 + 0.03 * std::max(0.0, products - (taps > 9 ? 14 : 6));
    return tiles * (12 * products + 20) * code * edges;
  }
  // All steps of such a tile are to be unrolled.
  const double unrolled = group > 0 && t.oc > group && accumulators(t) > 14 ? 1.3 : 1;
  // Lines of 16 inputs are read again in the steps to come, if weights and other lines leave them in their set.
  const bool crowded = column_bytes > 0 && conflicts(t) + 2 > cache_ways;
  return static_cast<double>(ceil_div(oc, t.oc) * ceil_div(oh, t.oh)) * row_cycles(t) * edges * unrolled *
         (crowded ? 1.15 : 1);
}

double Tiling::window_cycles(const Tile& t) const {
  const std::int64_t vecs = vectors(t.oc), products = vecs * t.oh * t.ow;
  // Unrolled taps share what they read.
  const std::int64_t deep = std::max<std::int64_t>(taps / (rows.taps * columns.taps), 1),
                     inputs = rows.inputs(t.oh) * columns.inputs(t.ow) * deep,
                     fresh = rows.inputs(t.oh) * std::min(t.ow * columns.stride, columns.inputs(t.ow)) * deep;
  const auto count = [](std::int64_t n) { return static_cast<double>(n); };
  // Measured: more than a few products do not pay their code, the later the more taps there are; rows that a tile
  // reads and the next one below reads again come from the second level.
  const double free = taps <= 9 ? 8 : taps <= 25 ? 16 : 28, dear = taps <= 9 ? 0.03 : 0.01;
  const double code = 1 + dear * std::max(0.0, count(products) - free);
  return 0.5 * (count(taps * products) + count(vecs * (inputs + taps))) * code + 0.75 * count(vecs * fresh) + 6;
}

double Tiling::joined_cycles(const Tile& t) const {
  // Two vector instructions start in a cycle. A row of bytes is one to load or insert, and a column one to join.
  constexpr double kStore = 12;
  const auto count = [](std::int64_t n) { return static_cast<double>(n); };
  const double words = count(ceil_div(rows.taps, 4)), join = count(rows.taps) + words;
  const double pixels = count(t.oh * t.ow), joined = count(t.oh * columns.inputs(t.ow) + columns.taps) * join;
  return 0.5 * count(vectors(t.oc)) * (joined + pixels * (count(columns.taps) * words + kStore)) + 6;
}

double Tiling::step_cycles(const Tile& t, std::int64_t pixels) const {
  const double vecs = static_cast<double>(vectors(t.oc)), inputs = static_cast<double>(pixels);
  const double input_loads = fits_unrolled(t) ? inputs / static_cast<double>(input_lanes) : inputs;
  // A load counts as the products that the core starts in the same time.
  const double loads = (vecs + input_loads) * (pipes.multiply_adds / pipes.loads);
  // From the second level, a vector in a cycle and a half; or from the third. Tiles that divide the result can have the
  // reduction in blocks.
  const bool far = t.oc * channel_bytes > weights_room && !divides(t);
  const double weights = (far ? 14 : 3) * vecs;
  const double permutations = group > 0 && t.oc > group ? vecs * inputs : 0;  // one unit does them
  const double cycles =
      std::max({vecs * inputs + permutations, loads * 1.02, weights, pipes.multiply_adds * pipes.latency});
  // Loads are all but free on a core of one's own. Where other programs have the other half of the core, tiles of
  // 2 to 28 pixels were measured to take 1 + 2.7 / vectors + 4.2 / pixels for each product; this is the mean of both.
  const double control = fits_unrolled(t) ? 1.5 : 2.5;  // of the loop, and addresses
  return cycles + 0.6 * input_loads + vecs + control;
}

double Tiling::row_cycles(const Tile& t) const {
  const std::int64_t tiles = ceil_div(ow, t.ow);
  if (read_columns.empty()) return static_cast<double>(tiles) * step_cycles(t, t.oh * t.ow);
  double sum = 0;
  for (const auto& [first, end] : read_columns) {
    const auto cycles_of = [&, first = first, end = end](std::int64_t tile) {
      const std::int64_t begin = std::min(tile * t.ow, ow - t.ow);
      const std::int64_t columns = std::min(end, begin + t.ow) - std::max(first, begin);
      return columns > 0 ? step_cycles(t, t.oh * columns) : 0.0;
    };
    // Whole tiles are alike, and rows may have a million; the last one may begin earlier.
    const std::int64_t whole = std::min(ceil_div(first, t.ow), tiles - 1),
                       behind = std::max(whole, std::min(end / t.ow, tiles - 1));
    sum += static_cast<double>(behind - whole) * step_cycles(t, t.oh * t.ow);
    if (first / t.ow < whole) sum += cycles_of(first / t.ow);
    sum += cycles_of(behind);
    if (behind < tiles - 1) sum += cycles_of(tiles - 1);
  }
  return sum / static_cast<double>(read_columns.size());
}

std::vector<std::int64_t> Tiling::oc_options() const {
  std::vector<std::int64_t> options;
  // A tile of several groups would gather its inputs lane by lane, but where one vector holds those of all its lanes.
  if (group > 0) {
    for (std::int64_t parts = 1; parts <= group; ++parts)
      if (group % parts == 0 && group / parts <= 8 * lanes) options.push_back(group / parts);
    std::reverse(options.begin(), options.end());
    for (std::int64_t vectors : {1, 2})
      if (mixes_groups && oc % (vectors * lanes) == 0) options.push_back(vectors * lanes);
    return options;
  }
  if (block > 0) {
    for (std::int64_t elements = lanes; elements < block; elements += lanes)
      if (block % elements == 0) options.push_back(elements);
    for (std::int64_t blocks = 1; blocks * block <= oc && vectors(blocks * block) <= 8; ++blocks)
      if (oc % (blocks * block) == 0) options.push_back(blocks * block);
    return options;
  }
  for (std::int64_t count = 1; count <= 8 && count * lanes <= oc; ++count) options.push_back(count * lanes);
  if (oc < 4 * lanes && oc % lanes != 0 && !whole_vectors) options.push_back(oc);
  return options;
}

std::vector<std::int64_t> Tiling::oh_options() const { return pixel_options(oh, depthwise ? 8 : 4); }

// Unrolled taps multiply a depthwise tile's code.
std::vector<std::int64_t> Tiling::ow_options() const { return pixel_options(ow, depthwise ? 8 : 28); }

Tile Tiling::best() const {
  Tile best;
  double best_cost = INFINITY;
  for (std::int64_t elements : oc_options())
    for (std::int64_t rows : oh_options())
      for (std::int64_t columns : ow_options()) {
        const Tile tile{elements, rows, columns};
        if (fits(tile) && cost(tile) < best_cost) best = tile, best_cost = cost(tile);
      }
  return best;
}

}  // namespace whet
