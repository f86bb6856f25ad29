#include "import/parts/matrix.h"

#include "import/parts/einsum.h"
#include "import_onnx/rows.h"

namespace whet {
namespace {

Result<ValueId> import_gemm(OnnxSite& site, ValueId a, ValueId b, std::optional<ValueId> c, bool transpose_a,
                            bool transpose_b, double alpha, double beta) {
  return gemm(site, a, b, c, {transpose_a, transpose_b, alpha, beta});
}

Status import_matmul(OnnxSite& site, ValueId a, ValueId b) {
  const bool has_vector = site.rank(a) == 1 || site.rank(b) == 1;
  const Result<ValueId> product = matmul(site, a, b);
  return has_vector ? site.pass(product) : site.give(product);
}

Status import_einsum(OnnxSite& site, const ValueIds& values, const std::string& equation) {
  const Einsum form{.equation = equation, .what = "attribute \"equation\""};
  WHET_RETURN_IF_ERROR(site.expect_inputs(operand_count(form)));
  return site.pass(einsum(site, values, form));
}

}  // namespace

OnnxRows onnx_matrix() {
  static constexpr OnnxRow kRows[] = {
      {"Det", 11, "x", calls<determinant>},
      {"Einsum", 12, "values... @equation", calls<import_einsum>},
      {"Gemm", 1, "a b c? @transA=0 @transB=0 @alpha=1 @beta=1 ~broadcast", calls<import_gemm>},
      {"Gemm", 7, "a b c? @transA=0 @transB=0 @alpha=1 @beta=1", calls<import_gemm>},
      {"MatMul", 1, "a b", calls<import_matmul>},
  };
  return kRows;
}

}  // namespace whet
