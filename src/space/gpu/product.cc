#include "space/gpu/product.h"

#include "space/gpu/preferred.h"
#include "space/gpu/product_choices.h"

namespace whet {
namespace {

constexpr std::int64_t kFewestRows = 8;  ///< products with fewer are sums across threads (rows.h)

}  // namespace

std::optional<Sketch> product_sketch(const ComputeDag& dag, const Target& target) {
  const std::optional<ProductForm> form = product_form(dag);
  if (!form || form->rows < kFewestRows) return std::nullopt;
  Sketch sketch;
  sketch.name = "product";
  sketch.decisions = product_decisions(*form);
  sketch.constraints = product_constraints(*form, target.gpu());
  sketch.build = [p = *form](Scheduler& s, const Choices& choices) { build_product(s, p, tile_of(choices)); };
  sketch.preferred = preferred_choices(sketch, dag, target, product_tiles(*form, target.gpu().sms),
                                       {"split", "depth", "stages", "pad"});
  if (sketch.preferred.empty()) return std::nullopt;
  return sketch;
}

}  // namespace whet
