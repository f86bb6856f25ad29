#include "import/parts/matrix.h"

#include <cmath>

#include "import/parts/arithmetic.h"
#include "import/parts/attention.h"
#include "import/parts/einsum.h"
#include "import/parts/index.h"
#include "import/parts/shape.h"
#include "import_torch/rows.h"

namespace whet::torch {
namespace {

using B = BinaryKind;

/// beta * c + alpha * (a b), for products of operands of these ranks.
template <std::size_t rank_of_a, std::size_t rank_of_b>
Result<ValueId> import_affine(TorchSite& site, ValueId c, ValueId a, ValueId b, double beta, double alpha) {
  if (site.rank(a) != rank_of_a || site.rank(b) != rank_of_b)
    return site.error("multiplies " + to_string(site.type(a)) + " by " + to_string(site.type(b)) + "; expected ranks " +
                      std::to_string(rank_of_a) + " and " + std::to_string(rank_of_b));
  if (rank_of_a == 2 && rank_of_b == 2) return gemm(site, a, b, c, {.alpha = alpha, .beta = beta});
  const DType dtype = site.dtype(a);
  WHET_TRY(ValueId y, matmul(site, a, b, true));
  WHET_TRY(c, site.cast("wide", c, site.dtype(y)));
  if (alpha != 1) {
    WHET_TRY(y, with_number(site, "scaled", B::mul, y, alpha));
  }
  if (beta != 1 && beta != 0) {
    WHET_TRY(c, with_number(site, "addend", B::mul, c, beta));
  }
  if (beta != 0) {
    WHET_TRY(y, site.add("sum", BinaryOperator{B::add}, {c, y}));
  }
  return site.cast("narrow", y, dtype);
}

/// [..., heads, places, size] or [places, size] as four dimensions.
Result<ValueId> by_heads(TorchSite& site, const char* part, ValueId x) {
  const Shape own = site.shape(x);
  Shape four = {1, 1, own.end()[-2], own.back()};
  if (own.size() >= 3) four[1] = own.end()[-3];
  if (own.size() >= 4) four[0] = num_elements(Shape(own.begin(), own.end() - 3));
  return own == four ? Result<ValueId>(x) : site.add(part, ReshapeOperator{four}, {x});
}

Status import_sdpa(TorchSite& site, ValueId q, ValueId k, ValueId v, OptionalId mask, double dropout, bool is_causal,
                   std::optional<double> scale) {
  Shape shape = site.shape(q);
  if (shape.size() < 2) return site.error("the queries are " + to_string(site.type(q)) + "; expected places and sizes");
  if (site.rank(k) != shape.size() || site.rank(v) != shape.size())
    return site.error("queries, keys and values differ in rank");
  for (ValueId* x : {&q, &k, &v}) {
    WHET_TRY(*x, by_heads(site, "by_heads", *x));
  }
  WHET_RETURN_IF_ERROR(site.expect_no_dropout(dropout));
  if (mask && site.rank(*mask) > 4) {
    if (site.rank(*mask) != shape.size())
      return site.error("the mask is " + to_string(site.type(*mask)) + ", which does not fit the queries");
    WHET_TRY(mask, by_heads(site, "mask", *mask));
  }
  if (mask && site.dtype(*mask) != DType::boolean && !is_half(site.dtype(q))) {
    WHET_TRY(mask, site.cast("mask_typed", *mask, site.dtype(q)));
  }
  Attention form{.scale = scale.value_or(1 / std::sqrt(static_cast<double>(site.shape(q)[3])))};
  form.mask = mask;
  form.is_causal = is_causal;
  WHET_TRY(const Attended attended, attention(site, q, k, v, form));
  const Shape& y = site.shape(attended.y);
  shape.end()[-2] = y[2];
  shape.back() = y[3];
  return shape == y ? site.give(attended.y) : site.give(ReshapeOperator{shape}, {attended.y});
}

Status import_flash(TorchSite& site, ValueId q, ValueId k, ValueId v, double dropout, bool is_causal, OptionalId mask,
                    std::optional<double> scale) {
  return import_sdpa(site, q, k, v, mask, dropout, is_causal, scale);
}

Status import_linear(TorchSite& site, ValueId x, ValueId weight, OptionalId bias) {
  if (site.rank(weight) > 2 || site.rank(x) == 0)
    return site.error("multiplies " + to_string(site.type(x)) + " by weights " + to_string(site.type(weight)));
  if (site.rank(x) == 2 && site.rank(weight) == 2) return site.give(gemm(site, x, weight, bias, {.transpose_b = true}));
  const DType dtype = site.dtype(x);
  const bool is_wide = bias && is_half(dtype) && site.dtype(weight) == dtype;
  const MatMulOperator op{.transpose_b = true, .wide = is_wide};
  ValueId product;
  if (site.rank(weight) == 1) {
    WHET_TRY(product, matmul(site, x, weight));
  } else if (site.rank(x) == 1) {
    WHET_TRY(x, unsqueezed(site, x, {0}));
    WHET_TRY(product, site.add("product", op, {x, weight}));
    WHET_TRY(product, squeezed(site, product, Ints{0}));
  } else {
    WHET_TRY(product, site.add("product", op, {x, weight}));
  }
  if (!bias) return site.give(product);
  if (!is_wide) return site.give(BinaryOperator{B::add}, {product, *bias});
  WHET_TRY(product, site.cast("wide", product, DType::f32));
  WHET_TRY(const ValueId shift, site.cast("wide_bias", *bias, DType::f32));
  WHET_TRY(const ValueId y, site.add("sum", BinaryOperator{B::add}, {product, shift}));
  return site.give(CastOperator{dtype}, {y});
}

Result<ValueId> import_matmul(TorchSite& site, ValueId a, ValueId b) {
  if (site.rank(a) == 0 || site.rank(b) == 0) return site.error("multiplies a scalar; expected matrices");
  return matmul(site, a, b);
}
Status import_outer(TorchSite& site, ValueId a, ValueId b) {
  WHET_TRY(const ValueId column, site.add("column", ReshapeOperator{{num_elements(site.shape(a)), 1}}, {a}));
  return site.give(BinaryOperator{B::mul}, {column, b});
}
/// Rows [rows, K] in groups, of which each ends before its place of `ends`, by the group's own of matrices [groups, K, N]. Rows
/// behind the last end become 0. Without ends, batches.
Result<ValueId> import_grouped_mm(TorchSite& site, ValueId x, ValueId matrices, OptionalId ends) {
  if (!ends) return matmul(site, x, matrices);
  if (site.rank(x) != 2 || site.rank(matrices) != 3 || site.shape(*ends) != Shape{site.extent(matrices, 0)})
    return site.error("multiplies rows " + to_string(site.type(x)) + " by " + to_string(site.type(matrices)) +
                      " in groups " + to_string(site.type(*ends)) +
                      "; expected [rows, K], [groups, K, N] and [groups]");
  const std::int64_t rows = site.extent(x, 0), groups = site.extent(matrices, 0);
  // The group of a row: how many end at or before it.
  const ValueId order = site.add_constant("order", numbered({1, rows}, site.dtype(*ends)));
  WHET_TRY(ValueId group, unsqueezed(site, *ends, {1}));
  WHET_TRY(group, site.add("ended", BinaryOperator{B::less_equal}, {group, order}));
  WHET_TRY(group, site.cast("ones", group, DType::i64));
  WHET_TRY(group, site.add("group", ReduceOperator{ReduceKind::sum, {0}, true}, {group}));
  WHET_TRY(group, unsqueezed(site, group, {2}));
  const ValueId numbers = site.add_constant("groups", numbered({groups, 1, 1}));
  WHET_TRY(const ValueId own, site.add("own", BinaryOperator{B::equal}, {group, numbers}));
  WHET_TRY(ValueId y, matmul(site, x, matrices));
  WHET_TRY(y, site.add("of_groups", WhereOperator{}, {own, y, site.add_scalar("none", site.dtype(y), 0)}));
  return site.add("sum", ReduceOperator{ReduceKind::sum, {0}, false}, {y});
}
Result<ValueId> import_einsum(TorchSite& site, const std::string& equation, const ValueIds& values) {
  const Einsum form{equation};
  if (operand_count(form) == values.size()) return einsum(site, values, form);
  return site.error("the equation " + equation + " is of " + std::to_string(operand_count(form)) +
                    " tensors; there are " + std::to_string(values.size()));
}

}  // namespace

TorchRows matrix_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten._grouped_mm", "default", "self mat2 offs? ~out_dtype", calls<import_grouped_mm>},
      {"aten._scaled_dot_product_attention_math", "default",
       "query key value attn_mask? dropout_p=0 is_causal=false ~dropout_mask scale? ~enable_gqa", calls<import_sdpa>},
      {"aten._scaled_dot_product_cudnn_attention", "default",
       "query key value attn_bias? ~compute_log_sumexp dropout_p=0 is_causal=false ~return_debug_mask scale?",
       calls<import_sdpa>},
      {"aten._scaled_dot_product_efficient_attention", "default",
       "query key value attn_bias? ~compute_log_sumexp dropout_p=0 is_causal=false scale?", calls<import_sdpa>},
      {"aten._scaled_dot_product_flash_attention", "default",
       "query key value dropout_p=0 is_causal=false ~return_debug_mask attn_mask? scale?", calls<import_flash>},
      {"aten._scaled_dot_product_flash_attention_for_cpu", "default",
       "query key value dropout_p=0 is_causal=false attn_mask? scale?", calls<import_flash>},
      {"aten.addmm", "default", "self mat1 mat2 beta=1 alpha=1", calls<import_affine<2, 2>>},
      {"aten.addmv", "default", "self mat vec beta=1 alpha=1", calls<import_affine<2, 1>>},
      {"aten.baddbmm", "default", "self batch1 batch2 beta=1 alpha=1", calls<import_affine<3, 3>>},
      {"aten.bmm aten.mm", "default", "self mat2", calls<import_matmul>, kOfProducts},
      {"aten.dot", "default", "self tensor", calls<import_matmul>, kOfProducts},
      {"aten.einsum", "default", "equation tensors ~path", calls<import_einsum>, kOfProducts},
      {"aten.ger aten.outer", "default", "self:common vec2:common", calls<import_outer>, kOfProducts},
      {"aten.linear", "default", "input weight bias?", calls<import_linear>},
      {"aten.matmul", "default", "self other", calls<import_matmul>, kOfProducts},
      {"aten.mv", "default", "self vec", calls<import_matmul>},
      {"aten.scaled_dot_product_attention", "default",
       "query key value attn_mask? dropout_p=0 is_causal=false scale? ~enable_gqa", calls<import_sdpa>},
  };
  return kRows;
}

}  // namespace whet::torch
