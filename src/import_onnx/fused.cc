#include <limits>
#include <optional>

#include "base/arithmetic.h"
#include "import/parts/matrix.h"
#include "import_onnx/rows.h"
#include "import_onnx/window.h"

// Convolutions and products with what ONNX Runtime's optimizer has put into them.

namespace whet {
namespace {

/// What is done to a result: an operator of one operand.
Result<Operator> read_activation(OnnxSite& site, const std::string& name, const Numbers& parameters) {
  const auto parameter = [&](std::size_t i, double fallback) {
    return i < parameters.size() ? parameters[i] : fallback;
  };
  if (name == "Relu") return Operator(UnaryOperator{UnaryKind::relu});
  if (name == "Sigmoid") return Operator(UnaryOperator{UnaryKind::sigmoid});
  if (name == "Tanh") return Operator(UnaryOperator{UnaryKind::tanh});
  if (name == "Softplus") return Operator(UnaryOperator{UnaryKind::softplus});
  if (name == "Softsign") return Operator(UnaryOperator{UnaryKind::softsign});
  if (name == "HardSwish") return Operator(UnaryOperator{UnaryKind::hard_swish});
  if (name == "LeakyRelu") return Operator(LeakyReluOperator{parameter(0, 0.01)});
  if (name == "HardSigmoid") return Operator(HardSigmoidOperator{parameter(0, 0.2), parameter(1, 0.5)});
  if (name == "Clip") return Operator(ClipOperator{parameter(0, -kInfinity), parameter(1, kInfinity)});
  return site.error("attribute \"activation\" is \"" + name +
                    "\"; expected Relu, Sigmoid, Tanh, Softplus, Softsign, HardSwish, LeakyRelu, HardSigmoid or Clip");
}

/// `product`, plus `more` where that is there, through the activation.
Status give_activated(OnnxSite& site, const Result<ValueId>& product, std::optional<ValueId> more,
                      const Numbers& parameters) {
  WHET_TRY(ValueId y, product);
  WHET_TRY(const std::string name, site.text("activation", ""));
  if (name.empty() && !more) return site.give(y);
  if (more) {
    WHET_TRY(y, site.add("sum", BinaryOperator{BinaryKind::add}, {y, *more}));
  }
  if (name.empty()) return site.pass(y);
  WHET_TRY(const Operator activation, read_activation(site, name, parameters));
  return site.give(activation, {y});
}

/// (x, w, bias, what is added before the activation)
Status import_fused_conv(OnnxSite& site, ValueId x, ValueId w, std::optional<ValueId> bias, std::optional<ValueId> more,
                         const Numbers& parameters) {
  WHET_TRY(const ConvOperator op, read_conv(site, x, w));
  return give_activated(site, convolved(site, x, w, bias, op), more, parameters);
}

Status import_fused_gemm(OnnxSite& site, ValueId a, ValueId b, std::optional<ValueId> c, bool transpose_a,
                         bool transpose_b, double alpha, double beta) {
  Numbers parameters;
  for (const char* attribute : {"activation_alpha", "activation_beta", "activation_gamma"}) {
    if (!site.has_attribute(attribute)) break;
    WHET_TRY(const double parameter, site.number(attribute, 0));
    parameters.push_back(parameter);
  }
  return give_activated(site, gemm(site, a, b, c, {transpose_a, transpose_b, alpha, beta}), std::nullopt, parameters);
}

/// Matrices of at least two dimensions; `first_is_row`: the first one counts the rows, and the others are the batch.
Result<ValueId> with_rows(OnnxSite& site, ValueId x, bool first_is_row) {
  const std::int64_t rank = static_cast<std::int64_t>(site.rank(x));
  if (!first_is_row || rank < 3) return x;
  TransposeOperator op;
  for (std::int64_t d = 1; d < rank - 1; ++d) op.perm.push_back(d);
  op.perm.push_back(0);
  op.perm.push_back(rank - 1);
  return site.add("rows", op, {x});
}

/// alpha * a * b. Vectors are not transposed.
Status import_fused_matmul(OnnxSite& site, ValueId a, ValueId b, bool transpose_a, bool transpose_b, bool rows_a,
                           bool rows_b, double alpha) {
  const DType dtype = site.dtype(a);
  if (!is_float(dtype)) return site.error("multiplies " + to_string(site.type(a)) + "; expected floats");
  const MatMulOperator op{.transpose_a = transpose_a, .transpose_b = transpose_b};
  ValueId product;
  if (site.rank(a) < 2 || site.rank(b) < 2) {
    if ((site.rank(a) >= 2 && transpose_a) || (site.rank(b) >= 2 && transpose_b)) {
      return site.error("transposes a matrix beside a vector, which is not supported");
    }
    WHET_TRY(product, matmul(site, a, b));
  } else {
    WHET_TRY(a, with_rows(site, a, rows_a));
    WHET_TRY(b, with_rows(site, b, rows_b));
    if (alpha == 1) return site.give(op, {a, b});
    WHET_TRY(product, site.add("matmul", op, {a, b}));
  }
  if (alpha == 1) return site.pass(product);
  return site.give(BinaryOperator{BinaryKind::mul}, {product, site.add_scalar("alpha", dtype, alpha)});
}

}  // namespace

OnnxRows onnx_fused() {
  static constexpr OnnxRow kRows[] = {
      {"FusedConv", 1,
       "x w bias? more? @activation_params= @activation? @kernel_shape? @strides? @dilations? @pads? @auto_pad? "
       "@group?",
       calls<import_fused_conv>, kMicrosoft},
      {"FusedGemm", 1,
       "a b c? @transA=0 @transB=0 @alpha=1 @beta=1 @activation? @activation_alpha? @activation_beta? "
       "@activation_gamma?",
       calls<import_fused_gemm>, kMicrosoft},
      {"FusedMatMul", 1, "a b @transA=0 @transB=0 @transBatchA=0 @transBatchB=0 @alpha=1", calls<import_fused_matmul>,
       kMicrosoft},
  };
  return kRows;
}

}  // namespace whet
