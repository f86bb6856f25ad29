#include "passes/integer_products.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/arithmetic.h"
#include "passes/border_sums.h"
#include "passes/integer_form.h"

namespace whet {
namespace {

/// The most products of bytes whose sum i32 holds, and the most whose sum f32 holds without rounding.
constexpr std::int64_t kMostTerms = 1 << 15, kMostExactTerms = (1 << 24) / (256 * 128);
/// Factors that one instruction multiplies.
constexpr std::int64_t kFactors = 4;

/// A product, and how it reads its operands.
struct ProductSite {
  ValueId x, w, bias;      ///< bias may be invalid
  std::size_t out = 0;     ///< the dimension of the weights with the output channels
  std::size_t in = 0;      ///< and that with those of a group's input; of a depthwise one, none
  std::size_t x_in = 0;    ///< the dimension of x with the input channels
  std::size_t result = 0;  ///< the dimension of the result with the output channels
  bool depthwise = false, grouped = false;
};

std::optional<ProductSite> site_of(const Rewriter& rewriter, const Operator& op, const std::vector<ValueId>& in) {
  if (in.size() < 2) return std::nullopt;
  const Shape &x = rewriter.shape(in[0]), &w = rewriter.shape(in[1]);
  ProductSite site{in[0], in[1], in.size() > 2 ? in[2] : ValueId()};
  if (const auto* conv = std::get_if<ConvOperator>(&op)) {
    if (conv->layout == Layout::channels_blocked) return std::nullopt;
    const bool last = conv->layout == Layout::channels_last;
    site.x_in = site.result = last ? x.size() - 1 : 1;
    site.depthwise = conv->groups > 1 && conv->groups == x[site.x_in] && (w.size() < x.size() || w[0] == conv->groups);
    site.grouped = conv->groups > 1;
    site.out = last ? w.size() - 1 : 0;
    site.in = last ? w.size() - 2 : 1;
    if (last && site.depthwise && w.size() == x.size()) site.depthwise = false;
    return site;
  }
  const auto* matmul = std::get_if<MatMulOperator>(&op);
  if (!matmul || matmul->transpose_a || w.size() != 2) return std::nullopt;
  site.x_in = site.result = x.size() - 1;
  site.out = matmul->transpose_b ? 0 : 1, site.in = 1 - site.out;
  return site;
}

bool has_padding(const Operator& op) {
  const auto* conv = std::get_if<ConvOperator>(&op);
  const auto pads = [](const std::vector<std::int64_t>& by) {
    return std::any_of(by.begin(), by.end(), [](std::int64_t n) { return n != 0; });
  };
  return conv && (pads(conv->pads_begin) || pads(conv->pads_end));
}

/// The convolution of what `pad` pads, with this padding as its own; nothing where it pads by another number than `zero`, or
/// channels.
std::optional<ConvOperator> with_padding_of(ConvOperator conv, const PadOperator& pad, std::int64_t zero) {
  if (pad.mode != PadMode::constant || pad.value != static_cast<double>(zero)) return std::nullopt;
  const std::size_t first = conv.layout == Layout::channels_last ? 1 : 2;
  for (std::size_t d = 0; d < pad.begin.size(); ++d) {
    const bool spatial = d >= first && d < first + conv.strides.size();
    if (pad.begin[d] < 0 || pad.end[d] < 0 || (!spatial && pad.begin[d] + pad.end[d] > 0)) return std::nullopt;
    if (spatial) conv.pads_begin[d - first] += pad.begin[d], conv.pads_end[d - first] += pad.end[d];
  }
  return conv;
}

/// Of the weights of each output channel.
std::vector<std::int64_t> sums_of(const Tensor& q, std::size_t out) {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(q.shape()[out]), 0);
  std::int64_t inner = 1;
  for (std::size_t d = out + 1; d < q.shape().size(); ++d) inner *= q.shape()[d];
  for (std::int64_t i = 0; i < q.size(); ++i)
    sums[static_cast<std::size_t>(i / inner % q.shape()[out])] += q.integer(i);
  return sums;
}

/// The weights with dimension `d` of `extent`, zeros behind.
Tensor widened_weights(const Tensor& q, std::size_t d, std::int64_t extent) {
  Shape shape = q.shape();
  shape[d] = extent;
  Tensor wide(q.dtype(), shape);
  std::int64_t inner = 1;
  for (std::size_t k = d + 1; k < shape.size(); ++k) inner *= shape[k];
  for (std::int64_t i = 0; i < q.size(); ++i) {
    const std::int64_t outer = i / (inner * q.shape()[d]), rest = i % (inner * q.shape()[d]);
    wide.set(outer * inner * extent + rest, q.get(i));
  }
  return wide;
}

Tensor times(Tensor numbers, std::int64_t factor) {
  for (std::int64_t i = 0; i < numbers.size(); ++i) numbers.set_integer(i, factor * numbers.integer(i));
  return numbers;
}

Tensor channels(DType dtype, const std::vector<double>& values, std::size_t behind) {
  if (values.size() == 1) return Tensor::of(dtype, {}, values);
  Shape shape(1 + behind, 1);
  shape[0] = static_cast<std::int64_t>(values.size());
  return Tensor::of(dtype, shape, values);
}

class Products {
 public:
  explicit Products(const Graph& from) : rewriter_(from), forms_(rewriter_) {}

  Status visit(const Node& node) {
    const std::vector<ValueId> in = rewriter_.now(node.inputs);
    if (const std::optional<ProductSite> site = site_of(rewriter_, node.op, in)) {
      const DType dtype = rewriter_.type(in[0]).dtype;
      const auto x = dtype == DType::f32 ? forms_.dequantized(site->x) : forms_.centred(site->x);
      const auto w = x && dtype != DType::u8 ? forms_.weights(site->w, site->out) : std::nullopt;
      if (x && w && rewriter_.type(x->x).dtype == DType::u8 && x->zero >= 0 && x->zero <= 255) {
        WHET_TRY(const ValueId value, product(node, *site, *x, *w, dtype));
        if (value.valid()) return rewriter_.replace(node.output, value), ok_status();
      }
      WHET_TRY(const ValueId value, product_of_computed_zero(node, *site));
      if (value.valid()) return rewriter_.replace(node.output, value), ok_status();
    }
    WHET_TRY(const bool added, take_bias(node, in));
    if (added || skip_whole_numbers(node, in)) return ok_status();
    return rewriter_.copy(node);
  }

  Graph finish() && { return std::move(rewriter_).finish(); }

 private:
  /// A product of bytes whose sums are still to be given a bias.
  struct Made {
    Operator op;
    ValueId x, w;
    std::vector<std::int64_t> bias;
    std::optional<Tensor> at_borders;  ///< what is added where taps lie in the padding or not: a bias for the borders
    std::size_t behind;                ///< dimensions of the result behind the output channels
    bool in_floats;                    ///< adds up whole numbers in f32
    bool as_i32;                       ///< they are read as i32
    std::int64_t most_bias = 0;
  };

  Result<ValueId> product(Node node, const ProductSite& site, ByteForm x, const WeightForm& w, DType dtype) {
    const std::int64_t outputs = w.q.shape()[site.out], terms = w.q.size() / std::max<std::int64_t>(outputs, 1);
    const bool floats = site.grouped && !site.depthwise;
    if (terms == 0 || terms > (floats ? kMostExactTerms : kMostTerms)) return ValueId();
    take_padding(node, x);
    std::vector<std::int64_t> bias(static_cast<std::size_t>(outputs), 0);
    std::vector<double> scales = w.scales;
    for (double& s : scales) s = static_cast<float>(static_cast<float>(s) * static_cast<float>(x.scale));
    bool has_bias = site.bias.valid();
    const std::vector<double> units = dtype == DType::f32 ? scales : std::vector<double>{1};
    if (has_bias && !add_bias(site.bias, units, bias, most_bias(floats, terms))) {
      if (dtype != DType::f32) return ValueId();
    } else {
      has_bias = false;
    }
    WHET_TRY(Made made, floats ? in_floats(node, x, w) : in_bytes(node, site, x, w, bias));
    if (floats) made.bias = bias;
    made.as_i32 = made.in_floats && dtype == DType::i32;
    made.most_bias = most_bias(floats, terms);
    made.behind = rewriter_.from().value(node.output).type.shape.size() - 1 - site.result;
    WHET_TRY(ValueId sum, emit(node.name, made));
    if (dtype != DType::f32) return sum;
    if (!made.in_floats) {
      WHET_TRY(sum, rewriter_.emit(node.name + "_float", CastOperator{DType::f32}, {sum}));
    }
    const ValueId scale = rewriter_.constant(node.name + "_scale", channels(DType::f32, scales, made.behind));
    WHET_TRY(sum, rewriter_.emit(node.name + "_scaled", BinaryOperator{BinaryKind::mul}, {sum, scale}));
    if (!has_bias) return sum;
    Shape shape(1 + made.behind, 1);
    shape[0] = outputs;
    WHET_TRY(const ValueId shift, rewriter_.emit(node.name + "_shift", ReshapeOperator{shape}, {site.bias}));
    return rewriter_.emit(node.name + "_biased", BinaryOperator{BinaryKind::add}, {sum, shift});
  }

  /// A convolution of a picture that is padded by the zero point pads it.
  void take_padding(Node& node, ByteForm& x) const {
    const Node* pad = rewriter_.producer_as<PadOperator>(x.x);
    const auto* conv = std::get_if<ConvOperator>(&node.op);
    const auto own =
        pad && conv ? with_padding_of(*conv, std::get<PadOperator>(pad->op), x.zero) : std::optional<ConvOperator>();
    if (own) node.op = *own, x.x = pad->inputs[0];
  }

  /// product(i32(x) - z, w) with a z that is computed, as dynamic quantization has it: product(x, w) - z * (sum of w).
  Result<ValueId> product_of_computed_zero(const Node& node, const ProductSite& site) {
    const Node* found = rewriter_.producer_as<BinaryOperator>(site.x);
    const bool differs = found && std::get<BinaryOperator>(found->op).kind == BinaryKind::sub &&
                         rewriter_.type(site.x).dtype == DType::i32 && !site.bias.valid();
    if (!differs || (site.grouped && !site.depthwise)) return ValueId();
    const ValueId bytes = found->inputs[0], zero = found->inputs[1];
    if (num_elements(rewriter_.shape(zero)) != 1 || rewriter_.shape(bytes) != rewriter_.shape(site.x)) return ValueId();
    const std::optional<ByteForm> x = forms_.centred(bytes);
    if (!x || x->zero != 0 || rewriter_.type(x->x).dtype != DType::u8) return ValueId();
    const std::optional<WeightForm> w = forms_.weights(site.w, site.out);
    if (!w) return ValueId();
    if (has_padding(node.op)) return convolution_of_computed_zero(node, site, *x, *w, zero);
    WHET_TRY(const ValueId sum, product(node, site, *x, *w, DType::i32));
    if (!sum.valid()) return sum;
    const std::vector<std::int64_t> of_weights = sums_of(w->q, site.out);
    const std::vector<double> values(of_weights.begin(), of_weights.end());
    const std::size_t behind = rewriter_.shape(sum).size() - 1 - site.result;
    const ValueId sums = rewriter_.constant(node.name + "_weight_sums", channels(DType::i32, values, behind));
    WHET_TRY(const ValueId shift,
             rewriter_.emit(node.name + "_zero_sums", BinaryOperator{BinaryKind::mul}, {sums, zero}));
    return rewriter_.emit(node.name + "_centred", BinaryOperator{BinaryKind::sub}, {sum, shift});
  }

  /// Its bias for the borders is computed from the zero point, which is what it pads by.
  Result<ValueId> convolution_of_computed_zero(const Node& node, const ProductSite& site, const ByteForm& x,
                                               const WeightForm& w, ValueId zero) {
    const std::int64_t terms = w.q.size() / std::max<std::int64_t>(w.q.shape()[site.out], 1);
    const Shape shape = rewriter_.shape(x.x);
    const auto sums =
        border_sums(std::get<ConvOperator>(node.op), shape, w.q, rewriter_.from().value(node.output).type.shape);
    if (!sums || terms == 0 || terms > kMostTerms) return ValueId();
    Tensor q = w.q;
    ValueId bytes = x.x;
    if (const std::int64_t depth = round_up(shape[site.x_in], kFactors); !site.depthwise && depth != shape[site.x_in]) {
      PadOperator pad{PadMode::constant, 0, Shape(shape.size(), 0), Shape(shape.size(), 0)};
      pad.end[site.x_in] = depth - shape[site.x_in];
      q = widened_weights(q, site.in, depth);
      WHET_TRY(bytes, rewriter_.emit(node.name + "_padded", pad, {bytes}));
    }
    const ValueId of_weights = rewriter_.constant(node.name + "_weight_sums", times(*sums, -1));
    WHET_TRY(const ValueId one, rewriter_.emit(node.name + "_zero", ReshapeOperator{{1}}, {zero}));
    WHET_TRY(const ValueId shift,
             rewriter_.emit(node.name + "_zero_sums", BinaryOperator{BinaryKind::mul}, {of_weights, one}));
    return rewriter_.emit(node.name, node.op, {bytes, rewriter_.constant(node.name + "_bytes", q), shift});
  }

  /// The bias with which sums are still exact: in f32 up to 2^24.
  static std::int64_t most_bias(bool in_floats, std::int64_t terms) {
    const std::int64_t most = in_floats ? 1 << 24 : std::numeric_limits<std::int32_t>::max();
    return most - terms * 255 * 128;
  }

  /// Adds a constant bias in units of the sums; false where it is no whole number of these, or together more than `most`.
  bool add_bias(ValueId id, const std::vector<double>& units, std::vector<std::int64_t>& bias, std::int64_t most) {
    constexpr double kMost = 1 << 30;
    const Tensor* values = forms_.known(id);
    if (!values || (values->size() != 1 && values->size() != std::ssize(bias))) return false;
    std::vector<std::int64_t> result = bias;
    for (std::size_t c = 0; c < bias.size(); ++c) {
      const double value =
          values->get(values->size() == 1 ? 0 : static_cast<std::int64_t>(c)) / units[units.size() == 1 ? 0 : c];
      if (!(std::abs(value) < kMost) || std::abs(value - std::round(value)) > 1e-6 * std::abs(value) + 1e-3)
        return false;
      result[c] += static_cast<std::int64_t>(std::round(value));
      if (std::abs(result[c]) > most) return false;
    }
    bias = std::move(result);
    return true;
  }

  Result<Made> in_bytes(const Node& node, const ProductSite& site, const ByteForm& x, const WeightForm& w,
                        std::vector<std::int64_t> bias) {
    Operator op = node.op;
    Tensor q = w.q;
    const Shape shape = rewriter_.shape(x.x);
    const std::int64_t depth = site.depthwise ? shape[site.x_in] : round_up(shape[site.x_in], kFactors);
    const auto at_borders =
        x.zero != 0 && depth == shape[site.x_in] && has_padding(op)
            ? border_sums(std::get<ConvOperator>(op), shape, q, rewriter_.from().value(node.output).type.shape)
            : std::nullopt;
    PadOperator pad{PadMode::constant, static_cast<double>(x.zero), Shape(shape.size(), 0), Shape(shape.size(), 0)};
    pad.end[site.x_in] = depth - shape[site.x_in];
    if (auto* conv = std::get_if<ConvOperator>(&op); conv && !at_borders) {
      const std::size_t first = conv->layout == Layout::channels_last ? 1 : 2;
      for (std::size_t d = 0; d < conv->strides.size(); ++d) {
        std::swap(pad.begin[first + d], conv->pads_begin[d]);
        std::swap(pad.end[first + d], conv->pads_end[d]);
      }
    }
    if (!at_borders) {
      const std::vector<std::int64_t> sums = sums_of(q, site.out);
      for (std::size_t c = 0; c < bias.size(); ++c) bias[c] -= x.zero * sums[c];
    }
    if (depth != shape[site.x_in]) q = widened_weights(q, site.in, depth);
    ValueId padded = x.x;
    const auto is_zero = [](std::int64_t n) { return n == 0; };
    if (!std::all_of(pad.begin.begin(), pad.begin.end(), is_zero) ||
        !std::all_of(pad.end.begin(), pad.end.end(), is_zero)) {
      WHET_TRY(padded, rewriter_.emit(node.name + "_padded", pad, {x.x}));
    }
    const ValueId weights = rewriter_.constant(node.name + "_bytes", q);
    return Made{op, padded, weights, bias, at_borders ? std::optional(times(*at_borders, -x.zero)) : std::nullopt,
                0,  false,  false};
  }

  /// Sums of whole numbers that f32 holds exactly.
  Result<Made> in_floats(const Node& node, const ByteForm& x, const WeightForm& w) {
    WHET_TRY(ValueId floats, rewriter_.emit(node.name + "_whole", CastOperator{DType::f32}, {x.x}));
    if (x.zero != 0) {
      const ValueId zero = rewriter_.constant(node.name + "_zero", Tensor::of<std::int64_t>(DType::f32, {}, {x.zero}));
      WHET_TRY(floats, rewriter_.emit(node.name + "_centred", BinaryOperator{BinaryKind::sub}, {floats, zero}));
    }
    Tensor q(DType::f32, w.q.shape());
    for (std::int64_t i = 0; i < q.size(); ++i) q.set(i, w.q.get(i));
    return Made{node.op, floats, rewriter_.constant(node.name + "_whole_weights", q), {}, {}, 0, true, false};
  }

  /// The product with its bias: f32 where it adds up in floats, else i32.
  Result<ValueId> emit(const std::string& name, const Made& made) {
    const bool conv = std::holds_alternative<ConvOperator>(made.op);
    const DType dtype = made.in_floats ? DType::f32 : DType::i32;
    const bool biased =
        made.at_borders || std::any_of(made.bias.begin(), made.bias.end(), [](std::int64_t b) { return b != 0; });
    const std::vector<double> values(made.bias.begin(), made.bias.end());
    Tensor bias = Tensor::of(dtype, {std::ssize(values)}, values);
    if (made.at_borders) {
      bias = *made.at_borders;
      for (std::int64_t i = 0; i < bias.size(); ++i)
        bias.set_integer(i, bias.integer(i) + made.bias[static_cast<std::size_t>(i) % made.bias.size()]);
    }
    std::vector<ValueId> inputs = {made.x, made.w};
    if (biased && conv) inputs.push_back(rewriter_.constant(name + "_bias", bias));
    WHET_TRY(ValueId sum, rewriter_.emit(name, made.op, inputs));
    if (biased && !conv) {
      const ValueId shift = rewriter_.constant(name + "_bias", bias);
      WHET_TRY(sum, rewriter_.emit(name + "_biased", BinaryOperator{BinaryKind::add}, {sum, shift}));
    }
    if (made.as_i32) {
      WHET_TRY(sum, rewriter_.emit(name + "_i32", CastOperator{DType::i32}, {sum}));
    }
    made_.insert_or_assign(sum.value, made);
    return sum;
  }

  /// f32(i32(whole)) of a sum in floats.
  bool skip_whole_numbers(const Node& node, const std::vector<ValueId>& in) {
    const auto* op = std::get_if<CastOperator>(&node.op);
    const auto found = op && op->to == DType::f32 ? made_.find(in[0].value) : made_.end();
    if (found == made_.end() || !found->second.as_i32) return false;
    rewriter_.replace(node.output, rewriter_.producer(in[0])->inputs[0]);
    return true;
  }

  /// sum + bias, of i32: the product takes it.
  Result<bool> take_bias(const Node& node, const std::vector<ValueId>& in) {
    const auto* op = std::get_if<BinaryOperator>(&node.op);
    if (!op || op->kind != BinaryKind::add) return false;
    for (const std::size_t k : {0u, 1u}) {
      const auto found = made_.find(in[k].value);
      if (found == made_.end() || rewriter_.uses(node.inputs[k]) != 1 || rewriter_.type(in[k]).dtype != DType::i32)
        continue;
      Made made = found->second;
      const Tensor* values = forms_.known(in[1 - k]);
      if (!values || rewriter_.shape(in[k]) != rewriter_.from().value(node.output).type.shape) return false;
      const Shape own = values->shape();
      const std::size_t behind = made.behind;
      const bool along = values->size() == 1 || (own.size() > behind && own[own.size() - 1 - behind] == values->size());
      if (!along || !add_bias(in[1 - k], {1}, made.bias, made.most_bias)) return false;
      WHET_TRY(const ValueId sum, emit(node.name, made));
      rewriter_.replace(node.output, sum);
      return true;
    }
    return false;
  }

  Rewriter rewriter_;
  IntegerForms forms_;
  std::unordered_map<std::int32_t, Made> made_;
};

}  // namespace

Result<Graph> form_integer_products(const Graph& from) {
  Products products(from);
  for (const Node& node : from.nodes) WHET_RETURN_IF_ERROR(products.visit(node));
  return std::move(products).finish();
}

}  // namespace whet
