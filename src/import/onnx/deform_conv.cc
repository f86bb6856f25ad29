#include "import/parts/deform_conv.h"

#include "import/onnx/importers.h"
#include "import/onnx/window.h"

namespace whet {

Status import_deform_conv(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(3, 5));
  WHET_TRY(const ConvOperator conv, read_conv(site, 1));
  WHET_TRY(const std::int64_t parts, site.integer("offset_group", 1));
  const DeformInputs inputs{site.in(0), site.in(1), site.in(2), site.if_given(3), site.if_given(4)};
  return site.give(deform_convolved(site, inputs, conv, parts));
}

}  // namespace whet
