#include "import/onnx/importers.h"
#include "import/parts/arithmetic.h"

namespace whet {

Status import_bit_shift(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_RETURN_IF_ERROR(site.expect_attribute("direction"));
  WHET_TRY(const std::size_t direction, site.choice("direction", "", {"LEFT", "RIGHT"}));
  return site.give(bit_shift(site, site.in(0), site.in(1), direction == 0));
}

Status import_bitwise(OnnxSite& site, BinaryKind kind) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  return site.give(bitwise(site, kind, site.in(0), site.in(1)));
}

Status import_bitwise_not(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  return site.give(bitwise_not(site, site.in(0)));
}

}  // namespace whet
