#include <limits>
#include <optional>

#include "base/arithmetic.h"
#include "import/onnx/importers.h"
#include "import/onnx/matrix.h"
#include "import/onnx/window.h"

// Convolutions and products with what ONNX Runtime's optimizer has put into them.

namespace whet {
namespace {

/// What is done to a result: an operator of one operand.
Result<Operator> read_activation(OnnxSite& site, const std::string& name, const std::vector<double>& parameters) {
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
                      const std::vector<double>& parameters) {
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

/// Matrices of at least two dimensions; `first_is_row`: the first one counts the rows, and the others are the batch.
Result<ValueId> operand(OnnxSite& site, std::size_t i, bool first_is_row) {
  const std::int64_t rank = static_cast<std::int64_t>(site.rank(i));
  if (!first_is_row || rank < 3) return site.in(i);
  TransposeOperator op;
  for (std::int64_t d = 1; d < rank - 1; ++d) op.perm.push_back(d);
  op.perm.push_back(0);
  op.perm.push_back(rank - 1);
  return site.add("rows", op, {site.in(i)});
}

}  // namespace

/// (x, w, bias, what is added before the activation)
Status import_fused_conv(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2, 4));
  WHET_TRY(const ConvOperator op, read_conv(site, 1));
  WHET_TRY(const std::vector<double> parameters, site.numbers("activation_params", {}));
  return give_activated(site, convolved(site, site.in(0), site.in(1), site.if_given(2), op), site.if_given(3),
                        parameters);
}

Status import_fused_gemm(OnnxSite& site) {
  std::vector<double> parameters;
  for (const char* attribute : {"activation_alpha", "activation_beta", "activation_gamma"}) {
    if (!site.has_attribute(attribute)) break;
    WHET_TRY(const double parameter, site.number(attribute, 0));
    parameters.push_back(parameter);
  }
  return give_activated(site, read_gemm(site), std::nullopt, parameters);
}

/// alpha * a * b. Vectors are not transposed.
Status import_fused_matmul(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  MatMulOperator op;
  WHET_TRY(op.transpose_a, site.flag("transA", false));
  WHET_TRY(op.transpose_b, site.flag("transB", false));
  WHET_TRY(const bool rows_a, site.flag("transBatchA", false));
  WHET_TRY(const bool rows_b, site.flag("transBatchB", false));
  WHET_TRY(const double alpha, site.number("alpha", 1));
  if (!is_float(site.dtype(0)))
    return site.error("multiplies " + to_string(site.type(site.in(0))) + "; expected floats");
  ValueId product;
  if (site.rank(0) < 2 || site.rank(1) < 2) {
    if ((site.rank(0) >= 2 && op.transpose_a) || (site.rank(1) >= 2 && op.transpose_b)) {
      return site.error("transposes a matrix beside a vector, which is not supported");
    }
    WHET_TRY(product, matmul(site, site.in(0), site.in(1)));
  } else {
    WHET_TRY(const ValueId a, operand(site, 0, rows_a));
    WHET_TRY(const ValueId b, operand(site, 1, rows_b));
    if (alpha == 1) return site.give(op, {a, b});
    WHET_TRY(product, site.add("matmul", op, {a, b}));
  }
  if (alpha == 1) return site.pass(product);
  return site.give(BinaryOperator{BinaryKind::mul}, {product, site.add_scalar("alpha", site.dtype(0), alpha)});
}

}  // namespace whet
