#include "import/parts/einsum.h"

#include "import/onnx/importers.h"

namespace whet {

Status import_einsum(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_attribute("equation"));
  Einsum form{.equation = {}, .what = "attribute \"equation\""};
  WHET_TRY(form.equation, site.text("equation", ""));
  WHET_RETURN_IF_ERROR(site.expect_inputs(operand_count(form)));
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < site.input_count(); ++i) inputs.push_back(site.in(i));
  return site.pass(einsum(site, inputs, form));
}

}  // namespace whet
