#include "space/gpu/product.h"

#include <algorithm>

#include "space/gpu/limits.h"
#include "space/gpu/preferred.h"
#include "space/gpu/product_choices.h"

namespace whet {
namespace {

constexpr std::int64_t kFewestRows = 8;  ///< products with fewer are sums across threads (rows.h)

/// Where copies are loads, a thread has an address and indices of each row that it copies of a window of three dimensions. ptxas keeps
/// some of them in memory so that two blocks fit on an SM. Source: it gave 156 registers for 32 sums and 16 such rows.
Objection addresses_fit(const ProductForm& p, const ProductTile& tile, const GpuLimits& limits) {
  if (limits.async_copy || !p.has_outer) return std::nullopt;
  const std::int64_t registers = tile_registers(tile.sums()) + left_copy(p, tile).times * 7 / 2;
  return registers_fit(registers, tile.threads(), limits, std::max<std::int64_t>(2, tile.min_blocks));
}

}  // namespace

std::optional<Sketch> product_sketch(const ComputeDag& dag, const Target& target) {
  const std::optional<ProductForm> form = product_form(dag);
  if (!form || form->rows < kFewestRows) return std::nullopt;
  const GpuLimits limits = limits_of(target.gpu());
  Sketch sketch;
  sketch.name = "product";
  sketch.decisions = product_decisions(*form);
  sketch.constraints = product_constraints(*form, target.gpu());
  sketch.build = [p = *form](Scheduler& s, const Choices& choices) { build_product(s, p, tile_of(choices)); };
  Sketch careful = sketch;
  careful.constraints.push_back({{"rows", "columns", "depth", "min_blocks"}, [p = *form, limits](const Choices& c) {
                                   return addresses_fit(p, tile_of(c), limits);
                                 }});
  const Choices best = preferred_choices(careful, dag, target, product_tiles(*form, target.gpu().sms),
                                         {"split", "depth", "stages", "pad"});
  sketch.preferred = with_room_for_indices(sketch, *form, best, best.empty() ? 0 : tile_of(best).threads());
  if (sketch.preferred.empty()) return std::nullopt;
  return sketch;
}

}  // namespace whet
