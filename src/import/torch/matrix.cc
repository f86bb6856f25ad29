#include "import/parts/matrix.h"

#include <cmath>

#include "import/parts/arithmetic.h"
#include "import/parts/attention.h"
#include "import/parts/einsum.h"
#include "import/parts/shape.h"
#include "import/torch/rows.h"

namespace whet::torch {
namespace {

using B = BinaryKind;

/// beta * c + alpha * (a b), for products of any rank.
Status give_affine(TorchSite& site, ValueId a, ValueId b) {
  WHET_TRY(ValueId c, site.tensor("self"));
  WHET_TRY(const double beta, site.number("beta"));
  WHET_TRY(const double alpha, site.number("alpha"));
  if (site.rank(a) == 2 && site.rank(b) == 2) return site.give(gemm(site, a, b, c, {.alpha = alpha, .beta = beta}));
  const DType dtype = site.dtype(a);
  WHET_TRY(ValueId product, matmul(site, a, b, true));
  WHET_TRY(c, site.cast("wide", c, site.dtype(product)));
  if (alpha != 1) {
    WHET_TRY(product, with_number(site, "scaled", B::mul, product, alpha));
  }
  if (beta == 0) return site.give(site.cast("narrow", product, dtype));
  if (beta != 1) {
    WHET_TRY(c, with_number(site, "addend", B::mul, c, beta));
  }
  WHET_TRY(const ValueId y, site.add("sum", BinaryOperator{B::add}, {c, product}));
  return site.give(site.cast("narrow", y, dtype));
}

/// The second operand, whatever the table calls it.
Result<ValueId> second_factor(TorchSite& site) {
  for (const std::string_view name : {"mm", "bmm"})
    if (site.op() == "aten." + std::string(name) + ".default") return site.tensor("mat2");
  if (site.op() == "aten.mv.default") return site.tensor("vec");
  if (site.op() == "aten.dot.default") return site.tensor("tensor");
  return site.tensor("other");
}

/// Queries, keys and values as [N, heads, places, size], and the way back.
struct HeadsOf {
  ValueId q, k, v;
  Shape leading;  ///< of the queries: all but places and size
};
Result<HeadsOf> heads_of(TorchSite& site) {
  WHET_TRY(const ValueId q, site.tensor("query"));
  WHET_TRY(const ValueId k, site.tensor("key"));
  WHET_TRY(const ValueId v, site.tensor("value"));
  const Shape shape = site.shape(q);
  if (shape.size() < 2) return site.error("the queries are " + to_string(site.type(q)) + "; expected places and sizes");
  HeadsOf heads{q, k, v, Shape(shape.begin(), shape.end() - 2)};
  for (ValueId* x : {&heads.q, &heads.k, &heads.v}) {
    const Shape own = site.shape(*x);
    if (own.size() != shape.size()) return site.error("queries, keys and values differ in rank");
    if (own.size() == 4) continue;
    Shape four = {1, 1, own[own.size() - 2], own.back()};
    if (own.size() >= 3) four[1] = own[own.size() - 3];
    if (own.size() > 4) four[0] = num_elements(Shape(own.begin(), own.end() - 3));
    WHET_TRY(*x, site.add("by_heads", ReshapeOperator{four}, {*x}));
  }
  return heads;
}

/// The mask of scores, which have four dimensions.
Result<std::optional<ValueId>> mask_of(TorchSite& site, const HeadsOf& heads, const char* name) {
  WHET_TRY(std::optional<ValueId> mask, site.optional_tensor(name));
  if (!mask || site.rank(*mask) <= 4) return mask;
  Shape own = site.shape(*mask);
  if (own.size() != heads.leading.size() + 2)
    return site.error("the mask is " + to_string(site.type(*mask)) + ", which does not fit the queries");
  const Shape four = {num_elements(Shape(own.begin(), own.end() - 3)), own[own.size() - 3], own[own.size() - 2],
                      own.back()};
  WHET_TRY(mask, site.add("mask", ReshapeOperator{four}, {*mask}));
  return mask;
}

Status give_attention(TorchSite& site, const char* mask_name) {
  WHET_TRY(const HeadsOf heads, heads_of(site));
  WHET_TRY(const double dropout, site.number("dropout_p"));
  if (dropout != 0)
    return site.error("drops numbers at random, as in training; in Python: model.eval() before torch.export.export");
  Attention form;
  form.scale = 1 / std::sqrt(static_cast<double>(site.shape(heads.q)[3]));
  if (site.has("scale")) {
    WHET_TRY(form.scale, site.number("scale"));
  }
  WHET_TRY(form.is_causal, site.flag("is_causal"));
  WHET_TRY(form.mask, mask_of(site, heads, mask_name));
  if (form.mask && site.dtype(*form.mask) != DType::boolean && site.dtype(heads.q) != DType::f16) {
    WHET_TRY(form.mask, site.cast("mask_typed", *form.mask, site.dtype(heads.q)));
  }
  WHET_TRY(const Attended attended, attention(site, heads.q, heads.k, heads.v, form));
  Shape shape = heads.leading;
  const Shape& y = site.shape(attended.y);
  shape.insert(shape.end(), {y[2], y[3]});
  return shape == y ? site.give(attended.y) : site.give(ReshapeOperator{shape}, {attended.y});
}

Status import_linear(TorchSite& site) {
  WHET_TRY(ValueId x, site.tensor("input"));
  WHET_TRY(const ValueId weight, site.tensor("weight"));
  WHET_TRY(const std::optional<ValueId> bias, site.optional_tensor("bias"));
  if (site.rank(weight) > 2 || site.rank(x) == 0)
    return site.error("multiplies " + to_string(site.type(x)) + " by weights " + to_string(site.type(weight)));
  if (site.rank(x) == 2 && site.rank(weight) == 2) return site.give(gemm(site, x, weight, bias, {.transpose_b = true}));
  const bool is_wide = bias && site.dtype(x) == DType::f16 && site.dtype(weight) == DType::f16;
  const MatMulOperator op{.transpose_b = true, .wide = is_wide};
  ValueId product;
  if (site.rank(weight) == 1) {
    WHET_TRY(product, matmul(site, x, weight));
  } else if (site.rank(x) == 1) {
    WHET_TRY(x, unsqueezed(site, x, {0}));
    WHET_TRY(product, site.add("product", op, {x, weight}));
    WHET_TRY(product, squeezed(site, product, std::vector<std::int64_t>{0}));
  } else {
    WHET_TRY(product, site.add("product", op, {x, weight}));
  }
  if (!bias) return site.give(product);
  if (!is_wide) return site.give(BinaryOperator{B::add}, {product, *bias});
  WHET_TRY(product, site.cast("wide", product, DType::f32));
  WHET_TRY(const ValueId shift, site.cast("wide_bias", *bias, DType::f32));
  WHET_TRY(const ValueId y, site.add("sum", BinaryOperator{B::add}, {product, shift}));
  return site.give(CastOperator{DType::f16}, {y});
}

Status import_matmul(TorchSite& site) {
  WHET_TRY(const ValueId a, site.tensor("self"));
  WHET_TRY(const ValueId b, second_factor(site));
  if (site.rank(a) == 0 || site.rank(b) == 0) return site.error("multiplies a scalar; expected matrices");
  return site.give(matmul(site, a, b));
}
Status import_addmm(TorchSite& site) {
  WHET_TRY(const ValueId a, site.tensor("mat1"));
  WHET_TRY(const ValueId b, site.tensor("mat2"));
  return give_affine(site, a, b);
}
Status import_addmv(TorchSite& site) {
  WHET_TRY(const ValueId a, site.tensor("mat"));
  WHET_TRY(const ValueId b, site.tensor("vec"));
  if (site.rank(a) != 2 || site.rank(b) != 1) return site.error("expected a matrix and a list");
  return give_affine(site, a, b);
}
Status import_baddbmm(TorchSite& site) {
  WHET_TRY(const ValueId a, site.tensor("batch1"));
  WHET_TRY(const ValueId b, site.tensor("batch2"));
  if (site.rank(a) != 3 || site.rank(b) != 3) return site.error("expected batches of matrices");
  return give_affine(site, a, b);
}
Status import_outer(TorchSite& site) {
  WHET_TRY(const DType dtype, site.common_type({"self", "vec2"}));
  WHET_TRY(const ValueId a, site.operand("self", dtype));
  WHET_TRY(const ValueId b, site.operand("vec2", dtype));
  WHET_TRY(const ValueId column, site.add("column", ReshapeOperator{{num_elements(site.shape(a)), 1}}, {a}));
  return site.give(BinaryOperator{B::mul}, {column, b});
}
Status import_einsum(TorchSite& site) {
  WHET_TRY(const std::vector<ValueId> values, site.tensors("tensors"));
  Einsum form;
  WHET_TRY(form.equation, site.text("equation"));
  if (operand_count(form) != values.size())
    return site.error("the equation " + form.equation + " is of " + std::to_string(operand_count(form)) +
                      " tensors; there are " + std::to_string(values.size()));
  return site.give(einsum(site, values, form));
}

Status import_sdpa(TorchSite& site) { return give_attention(site, "attn_mask"); }
Status import_sdpa_flash(TorchSite& site) { return give_attention(site, "attn_mask"); }
Status import_sdpa_biased(TorchSite& site) { return give_attention(site, "attn_bias"); }

}  // namespace

TorchRows matrix_rows() {
  static constexpr TorchRow kRows[] = {
      {"aten._scaled_dot_product_attention_math", "default",
       "query key value attn_mask=none dropout_p=0 is_causal=false dropout_mask=none scale=none enable_gqa=false",
       import_sdpa},
      {"aten._scaled_dot_product_cudnn_attention", "default",
       "query key value attn_bias compute_log_sumexp=false dropout_p=0 is_causal=false return_debug_mask=false "
       "scale=none",
       import_sdpa_biased},
      {"aten._scaled_dot_product_efficient_attention", "default",
       "query key value attn_bias compute_log_sumexp=false dropout_p=0 is_causal=false scale=none", import_sdpa_biased},
      {"aten._scaled_dot_product_flash_attention", "default",
       "query key value dropout_p=0 is_causal=false return_debug_mask=false scale=none attn_mask=none",
       import_sdpa_flash},
      {"aten._scaled_dot_product_flash_attention_for_cpu", "default",
       "query key value dropout_p=0 is_causal=false attn_mask=none scale=none", import_sdpa_flash},
      {"aten.addmm", "default", "self mat1 mat2 beta=1 alpha=1", import_addmm},
      {"aten.addmv", "default", "self mat vec beta=1 alpha=1", import_addmv},
      {"aten.baddbmm", "default", "self batch1 batch2 beta=1 alpha=1", import_baddbmm},
      {"aten.bmm", "default", "self mat2", import_matmul},
      {"aten.einsum", "default", "equation tensors path=none", import_einsum},
      {"aten.ger", "default", "self vec2", import_outer},
      {"aten.linear", "default", "input weight bias=none", import_linear},
      {"aten.matmul", "default", "self other", import_matmul},
      {"aten.mm", "default", "self mat2", import_matmul},
      {"aten.mv", "default", "self vec", import_matmul},
      {"aten.dot", "default", "self tensor", import_matmul},
      {"aten.outer", "default", "self vec2", import_outer},
      {"aten.scaled_dot_product_attention", "default",
       "query key value attn_mask=none dropout_p=0 is_causal=false scale=none enable_gqa=false", import_sdpa},
  };
  return kRows;
}

}  // namespace whet::torch
