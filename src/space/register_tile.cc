#include "space/register_tile.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace whet {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::vector<std::int64_t> pixel_options(std::int64_t extent, std::int64_t most) {
  std::vector<std::int64_t> options;
  for (std::int64_t n = 1; n <= std::min(extent, most); ++n)
    if (n <= 8 || extent % n == 0 || n == 14 || n == 12 || n == 10 || n == 28) options.push_back(n);
  return options;
}

}  // namespace

std::int64_t Tiling::vectors(std::int64_t elements) const {
  return elements / lanes + std::popcount(static_cast<std::uint64_t>(elements % lanes));
}

bool Tiling::fits(const Tile& t) const { return accumulators(t) + vectors(t.oc) + (depthwise ? 2 : 1) <= registers; }

std::int64_t Tiling::conflicts(const Tile& t) const {
  std::array<std::int64_t, 64> lines = {};
  for (std::int64_t row = 0; row < t.oh; ++row)
    for (std::int64_t column = 0; column < t.ow; ++column)
      ++lines[static_cast<std::size_t>((row * row_bytes + column * column_bytes) / 64 % 64)];
  return *std::max_element(lines.begin(), lines.end());
}

double Tiling::cost(const Tile& t) const {
  const double vecs = static_cast<double>(vectors(t.oc)), pixels = static_cast<double>(t.oh * t.ow),
               products = vecs * pixels;
  const double tiles = static_cast<double>(ceil_div(oc, t.oc) * ceil_div(oh, t.oh) * ceil_div(ow, t.ow));
  const double edges =
      1 + 0.04 * static_cast<double>(t.oh - 1);  // rows of a tile that differ at the border multiply code
  if (depthwise) {
    // Taps and an epilogue a product, straight through; measured: more than a few products do not pay their code, but
    // where taps are many, tiles of several rows read each weight for all of them.
    const double code = 1 + 0.03 * std::max(0.0, products - (taps > 9 ? 14 : 6));
    return tiles * (12 * products + 20) * code * edges;
  }
  const double loads = vecs + pixels;  // two a cycle, as are the products
  const double weights = 3 * vecs;     // from the second level, a vector in a cycle and a half
  const double cycles = std::max({products, loads * 1.02, weights, 8.0 /* two units, four cycles each */});
  const double overhead = 2.5;  // loop control and addresses of a reduction step
  // Lines of 16 inputs are read again in the steps to come, if weights and other lines leave them in their set.
  const bool crowded = column_bytes > 0 && conflicts(t) + 2 > cache_ways;
  return tiles * (cycles + overhead + loads * 0.08) * edges * (crowded ? 1.15 : 1);
}

std::vector<std::int64_t> Tiling::oc_options() const {
  std::vector<std::int64_t> options;
  // A tile of several groups would gather its inputs lane by lane.
  if (group > 0) {
    for (std::int64_t parts = 1; parts <= group; ++parts)
      if (group % parts == 0 && group / parts <= 8 * lanes) options.push_back(group / parts);
    std::reverse(options.begin(), options.end());
    return options;
  }
  for (std::int64_t count = 1; count <= 8 && count * lanes <= oc; ++count) options.push_back(count * lanes);
  if (oc < 4 * lanes && oc % lanes != 0) options.push_back(oc);
  return options;
}

std::vector<std::int64_t> Tiling::oh_options() const { return pixel_options(oh, 4); }

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
