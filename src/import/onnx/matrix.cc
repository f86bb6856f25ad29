#include "import/onnx/matrix.h"

#include "import/onnx/importers.h"

namespace whet {

Result<ValueId> read_gemm(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 3));
  if (site.opset() < 7) site.ignore({"broadcast"});
  Gemm form;
  WHET_TRY(form.transpose_a, site.flag("transA", false));
  WHET_TRY(form.transpose_b, site.flag("transB", false));
  WHET_TRY(form.alpha, site.number("alpha", 1));
  WHET_TRY(form.beta, site.number("beta", 1));
  return gemm(site, site.in(0), site.in(1), site.if_given(2), form);
}

Status import_gemm(OnnxSite& site) { return site.give(read_gemm(site)); }

Status import_matmul(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  const bool has_vector = site.rank(0) == 1 || site.rank(1) == 1;
  const Result<ValueId> product = matmul(site, site.in(0), site.in(1));
  return has_vector ? site.pass(product) : site.give(product);
}

Status import_det(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  return site.give(determinant(site, site.in(0)));
}

}  // namespace whet
