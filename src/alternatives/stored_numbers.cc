#include "alternatives/stored_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "passes/border_sums.h"
#include "passes/host_tensor.h"

namespace whet {
namespace {

/// One task for most layers of a shape: the number of bits is a part of it, the scale is not.
constexpr int kBitsOfI16[] = {14, 12, 10};
constexpr double kMostSum = std::numeric_limits<std::int32_t>::max();
constexpr double kMostI16 = std::numeric_limits<std::int16_t>::max(), kMostI8 = 127, kMostU8 = 255;
/// The sums of as many products of bytes, and what is left for a bias beside them and the zero point, are within i32.
constexpr std::int64_t kMostTermsOfBytes = 1 << 15;
constexpr double kMostBiasOfBytes = 1 << 30;

std::int64_t most_of(int bits) { return (std::int64_t{1} << (bits - 1)) - 1; }

/// How a processor multiplies such an activation by constants.
enum class ProductKind : std::uint8_t { none, of_words, depthwise };

/// As passes/halves.cc has it for a whole network: words of terms by a constant factor, for a vector of results.
ProductKind product_kind(const Graph& graph, const Node& node, StoredAs stored) {
  constexpr std::int64_t kSums = 16;
  if (!is_product(node.op) || !graph.value(node.inputs[1]).constant) return ProductKind::none;
  const Shape &x = graph.value(node.inputs[0]).type.shape, &y = graph.value(node.output).type.shape;
  const std::int64_t word = stored == StoredAs::u8 ? 4 : 2;
  const bool fits = x.back() % word == 0 && y.back() >= kSums;
  if (const auto* matmul = std::get_if<MatMulOperator>(&node.op)) {
    const bool is_matrix = stored == StoredAs::bf16 || graph.value(node.inputs[1]).type.shape.size() == 2;
    return fits && is_matrix && !matmul->transpose_a && !matmul->wide ? ProductKind::of_words : ProductKind::none;
  }
  const auto& conv = std::get<ConvOperator>(node.op);
  if (conv.layout != Layout::channels_last || conv.wide) return ProductKind::none;
  if (conv.groups == 1) return fits ? ProductKind::of_words : ProductKind::none;
  return conv.groups == x.back() && conv.groups == y.back() ? ProductKind::depthwise : ProductKind::none;
}

/// Constant weights by output channel.
struct ChannelWeights {
  Tensor weights;
  std::int64_t channels = 1, terms = 1;  ///< terms of a sum
  bool channel_first = false;            ///< the first dimension is that of the channels, else the last

  std::size_t channel(std::int64_t i) const {
    return static_cast<std::size_t>(channel_first ? i / terms : i % channels);
  }
};
ChannelWeights channel_weights(const Graph& graph, const Node& node) {
  ChannelWeights w{*graph.value(node.inputs[1]).constant};
  const auto* matmul = std::get_if<MatMulOperator>(&node.op);
  w.channel_first = matmul != nullptr && matmul->transpose_b;
  w.channels = graph.value(node.output).type.shape.back();
  w.terms = w.weights.size() / std::max<std::int64_t>(w.channels, 1);
  return w;
}

/// Infinity of NaN, so that no scale is found where one is.
double magnitude_of(double number) {
  return std::isnan(number) ? std::numeric_limits<double>::infinity() : std::abs(number);
}

/// Of a channel's weights.
struct Magnitudes {
  double largest = 0, sum = 0;
};
std::vector<Magnitudes> magnitudes_of(const ChannelWeights& w) {
  std::vector<Magnitudes> all(static_cast<std::size_t>(w.channels));
  for (std::int64_t i = 0; i < w.weights.size(); ++i) {
    const double magnitude = magnitude_of(w.weights.get(i));
    Magnitudes& own = all[w.channel(i)];
    own.largest = std::max(own.largest, magnitude), own.sum += magnitude;
  }
  return all;
}

bool has_padding(const Operator& op) {
  const auto* conv = std::get_if<ConvOperator>(&op);
  const auto pads = [](std::int64_t n) { return n != 0; };
  return conv != nullptr && (std::ranges::any_of(conv->pads_begin, pads) || std::ranges::any_of(conv->pads_end, pads));
}

std::int64_t nearest(double value) { return static_cast<std::int64_t>(std::nearbyint(value)); }

/// Each weight as a multiple of its channel's scale.
Tensor whole_weights(const ChannelWeights& w, DType to, const std::vector<double>& scales) {
  Tensor whole(to, w.weights.shape());
  for (std::int64_t i = 0; i < whole.size(); ++i)
    whole.set_integer(i, nearest(w.weights.get(i) / scales[w.channel(i)]));
  return whole;
}

/// Of a bias for the borders or without, the largest magnitude by channel; zeros where there is none.
std::vector<double> largest_bias(const Tensor* bias, std::int64_t channels) {
  std::vector<double> largest(static_cast<std::size_t>(channels), 0);
  for (std::int64_t i = 0; bias != nullptr && i < bias->size(); ++i) {
    double& own = largest[static_cast<std::size_t>(i % channels)];
    own = std::max(own, magnitude_of(bias->get(i)));
  }
  return largest;
}

/// The sum of two biases, of which one may have values for the borders.
Tensor added(const Tensor& a, const Tensor& b) {
  const Tensor &large = a.size() >= b.size() ? a : b, &small = a.size() >= b.size() ? b : a;
  Tensor sum = large.clone();
  for (std::int64_t i = 0; i < sum.size(); ++i) sum.set_integer(i, large.integer(i) + small.integer(i % small.size()));
  return sum;
}

/// What a zero point adds to the sums: -zero for each weight whose tap lies in the picture. Nothing where that takes long to compute.
std::optional<Tensor> bias_of_zero(const Graph& graph, const Node& node, const ChannelWeights& w, const Tensor& whole,
                                   std::int64_t zero) {
  Tensor bias(DType::i32, {w.channels});
  if (has_padding(node.op)) {
    const auto sums = border_sums(std::get<ConvOperator>(node.op), graph.value(node.inputs[0]).type.shape, whole,
                                  graph.value(node.output).type.shape);
    if (!sums) return std::nullopt;
    bias = sums->clone();
  } else {
    for (std::int64_t i = 0; i < whole.size(); ++i) {
      const auto channel = static_cast<std::int64_t>(w.channel(i));
      bias.set_integer(channel, bias.integer(channel) + whole.integer(i));
    }
  }
  for (std::int64_t i = 0; i < bias.size(); ++i) bias.set_integer(i, -zero * bias.integer(i));
  return bias;
}

/// The least scale of a channel's weights with which no sum leaves i32. Nothing where there is none.
std::optional<double> weight_scale(const Magnitudes& w, double bias, std::int64_t terms, const StoredNumbers& x) {
  double scale = 0;
  if (x.stored == StoredAs::u8) {
    scale = std::max(w.largest / kMostI8, bias / x.scale / kMostBiasOfBytes);
  } else {
    const auto most = static_cast<double>(x.most);
    const double room = kMostSum - 1 - most * static_cast<double>(terms) / 2;  // a weight rounds by half a step
    if (room < kMostSum / 2) return std::nullopt;
    scale = std::max(w.largest / kMostI16, (most * w.sum + bias / x.scale) / room);
  }
  if (!std::isfinite(scale) || !std::isfinite(w.sum)) return std::nullopt;
  return scale > 0 ? scale : 1;
}

/// Sums of whole numbers.
std::optional<LoweredProduct> whole_product(const Graph& graph, const Node& node, const StoredNumbers& x) {
  const ChannelWeights w = channel_weights(graph, node);
  if (x.stored == StoredAs::u8 && w.terms > kMostTermsOfBytes) return std::nullopt;
  const Tensor* const own_bias =
      node.inputs.size() > 2 && graph.value(node.inputs[2]).constant ? &*graph.value(node.inputs[2]).constant : nullptr;
  const std::vector<Magnitudes> magnitudes = magnitudes_of(w);
  const std::vector<double> biases = largest_bias(own_bias, w.channels);
  std::vector<double> scales;
  Tensor units(DType::f32, {w.channels});
  for (std::size_t c = 0; c < magnitudes.size(); ++c) {
    const std::optional<double> scale = weight_scale(magnitudes[c], biases[c], w.terms, x);
    if (!scale) return std::nullopt;
    scales.push_back(*scale);
    units.set(static_cast<std::int64_t>(c), *scale * x.scale);
  }
  const DType dtype = x.stored == StoredAs::u8 ? DType::i8 : DType::i16;
  const auto make = [w, dtype, scales] { return whole_weights(w, dtype, scales); };
  LoweredProduct product{.weights = Tensor::later({dtype, w.weights.shape()}, make), .scales = units};
  if (own_bias != nullptr) {
    Tensor bias(DType::i32, own_bias->shape());
    for (std::int64_t i = 0; i < bias.size(); ++i)
      bias.set_integer(i, nearest(own_bias->get(i) / (x.scale * scales[static_cast<std::size_t>(i % w.channels)])));
    product.bias = std::move(bias), product.has_own_bias = true;
  }
  if (x.zero != 0) {
    const std::optional<Tensor> of_zero = bias_of_zero(graph, node, w, product.weights, x.zero);
    if (!of_zero) return std::nullopt;
    product.bias = product.bias ? added(*product.bias, *of_zero) : *of_zero;
  }
  return product;
}

}  // namespace

bool is_product(const Operator& op) {
  return std::holds_alternative<ConvOperator>(op) || std::holds_alternative<MatMulOperator>(op);
}

bool copies_numbers(const Operator& op) {
  const auto* pool = std::get_if<PoolOperator>(&op);
  const auto* pad = std::get_if<PadOperator>(&op);
  return std::holds_alternative<ReshapeOperator>(op) || std::holds_alternative<TransposeOperator>(op) ||
         std::holds_alternative<SliceOperator>(op) || std::holds_alternative<ConcatOperator>(op) ||
         (pool != nullptr && pool->kind == PoolKind::max) || (pad != nullptr && pad->value == 0);
}

std::string to_text(const StoredNumbers& numbers) {
  if (numbers.stored == StoredAs::u8)
    return fmt::format("8 bits, step {:.2g}", numbers.scale) +
           (numbers.zero != 0 ? fmt::format(", zero {}", numbers.zero) : "");
  if (numbers.stored != StoredAs::i16) return "";
  const auto* const bits = std::ranges::find(kBitsOfI16, numbers.most, most_of);
  return fmt::format("{} bits, step {:.2g}", *bits, numbers.scale);
}

// ---- Which numbers

StoredForms::StoredForms(const FusedGraph& fused, const ValueRanges& ranges)
    : graph_(fused.graph), parent_(fused.graph.values.size()) {
  for (std::size_t v = 0; v < parent_.size(); ++v) parent_[v] = v;
  if (ranges.empty()) return;
  unite_copies();
  read_ranges(ranges);
  choose_bits();
}

std::size_t StoredForms::class_of(ValueId id) const {
  std::size_t at = id.index();
  while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
  return at;
}

void StoredForms::unite_copies() {
  for (const Node& node : graph_.nodes) {
    if (!copies_numbers(node.op)) continue;
    for (ValueId id : node.inputs)
      if (!graph_.value(id).constant) parent_[class_of(id)] = class_of(node.output);
  }
}

/// Of a class what lies between all of its values' numbers.
void StoredForms::read_ranges(const ValueRanges& ranges) {
  for (std::size_t v = 0; v < graph_.values.size(); ++v) {
    const auto found = ranges.find(graph_.values[v].name);
    if (found == ranges.end()) continue;
    const std::size_t own = class_of(ValueId(static_cast<std::int64_t>(v)));
    const auto [known, is_new] = ranges_.try_emplace(own, found->second);
    if (is_new) continue;
    known->second.least = std::min(known->second.least, found->second.least);
    known->second.most = std::max(known->second.most, found->second.most);
  }
  std::erase_if(ranges_, [](const auto& each) {
    const ValueRange& range = each.second;
    return !std::isfinite(range.least) || !std::isfinite(range.most) || range.least > range.most;
  });
}

/// The factors of a product share the bits of its sums: with most of them in the activation the weights have few.
void StoredForms::choose_bits() {
  constexpr double kFewerInWeights = 4;  // steps of a weight may be so much larger than the activation's
  for (const Node& node : graph_.nodes) {
    if (product_kind(graph_, node, StoredAs::i16) != ProductKind::of_words) continue;
    double room = kMostSum;  // of the products of the largest factors
    for (const Magnitudes& own : magnitudes_of(channel_weights(graph_, node)))
      if (own.largest > 0 && std::isfinite(own.sum)) room = std::min(room, kMostSum * own.largest / own.sum);
    int bits = 0;
    for (const int each : kBitsOfI16) {
      const auto most = static_cast<double>(most_of(each));
      bits = each;
      if (most * most <= kFewerInWeights * room) break;
    }
    const auto [known, is_new] = bits_.try_emplace(class_of(node.inputs[0]), bits);
    if (!is_new) known->second = std::min(known->second, bits);
  }
}

std::optional<StoredNumbers> StoredForms::numbers(ValueId id, StoredAs stored) const {
  constexpr double kLeastScale = 1e-30, kMostScale = 1e30;  // their reciprocals are f32, too
  const Value& value = graph_.value(id);
  if (value.constant || value.type.dtype != DType::f32 || stored == StoredAs::usual) return std::nullopt;
  if (stored == StoredAs::bf16) return StoredNumbers{};
  const auto found = ranges_.find(class_of(id));
  if (found == ranges_.end()) return std::nullopt;
  const double least = std::min(found->second.least, 0.0), most = std::max(found->second.most, 0.0);
  StoredNumbers numbers{.stored = stored};
  if (stored == StoredAs::i16) {
    const auto bits = bits_.find(found->first);
    numbers.most = most_of(bits == bits_.end() ? kBitsOfI16[0] : bits->second), numbers.least = -numbers.most;
    numbers.scale = static_cast<float>(kRoomBeyondRange * std::max(-least, most) / static_cast<double>(numbers.most));
  } else {
    numbers.most = static_cast<std::int64_t>(kMostU8);
    numbers.scale = static_cast<float>(kRoomBeyondRange * (most - least) / kMostU8);
  }
  if (!(numbers.scale >= kLeastScale && numbers.scale <= kMostScale)) return std::nullopt;
  if (stored == StoredAs::u8) numbers.zero = nearest(-kRoomBeyondRange * least / numbers.scale);
  return numbers;
}

// ---- Products

const LoweredProduct* StoredForms::product(const Node& node, StoredAs stored) const {
  const auto [known, is_new] = products_.try_emplace({node.output, stored});
  if (is_new) known->second = make_product(node, stored);
  return known->second ? &*known->second : nullptr;
}

std::optional<LoweredProduct> StoredForms::make_product(const Node& node, StoredAs stored) const {
  const ProductKind kind = product_kind(graph_, node, stored);
  if (kind == ProductKind::none) return std::nullopt;
  const std::optional<StoredNumbers> x = numbers(node.inputs[0], stored);
  if (!x) return std::nullopt;
  const Tensor& weights = *graph_.value(node.inputs[1]).constant;
  const bool widens = kind == ProductKind::depthwise && stored != StoredAs::u8;
  if (stored == StoredAs::bf16) return LoweredProduct{widens ? weights : stored_as(weights, DType::bf16)};
  if (!widens) return whole_product(graph_, node, *x);
  const auto scaled = [weights, scale = x->scale] {
    Tensor now(DType::f32, weights.shape());
    for (std::int64_t i = 0; i < now.size(); ++i) now.set(i, scale * weights.get(i));
    return now;
  };
  return LoweredProduct{Tensor::later({DType::f32, weights.shape()}, scaled)};
}

// ---- Nodes

Result<ValueId> add_rounding(const NodeSink& sink, const std::string& name, ValueId x, const StoredNumbers& numbers) {
  if (numbers.stored == StoredAs::bf16) return sink.add(name, CastOperator{DType::bf16}, {x});
  const auto number = [&](const char* part, double value) {
    return sink.constant(name + part, Tensor::of<double>(DType::f32, {1}, {value}));
  };
  WHET_TRY(x, sink.add(name + "_steps", BinaryOperator{BinaryKind::mul}, {x, number("_a_unit", 1 / numbers.scale)}));
  WHET_TRY(x, sink.add(name + "_whole", UnaryOperator{UnaryKind::round}, {x}));
  if (numbers.zero != 0) {
    const ValueId zero = number("_zero", static_cast<double>(numbers.zero));
    WHET_TRY(x, sink.add(name + "_shifted", BinaryOperator{BinaryKind::add}, {x, zero}));
  }
  const ClipOperator clip{static_cast<double>(numbers.least), static_cast<double>(numbers.most)};
  WHET_TRY(x, sink.add(name + "_clipped", clip, {x}));
  return sink.add(name, CastOperator{dtype_of(numbers.stored)}, {x});
}

Result<ValueId> add_widening(const NodeSink& sink, const std::string& name, ValueId x, const StoredNumbers& numbers) {
  if (numbers.stored == StoredAs::bf16) return sink.add(name, CastOperator{DType::f32}, {x});
  const auto number = [&](const char* part, double value) {
    return sink.constant(name + part, Tensor::of<double>(DType::f32, {1}, {value}));
  };
  WHET_TRY(x, sink.add(name + "_steps", CastOperator{DType::f32}, {x}));
  if (numbers.zero != 0) {
    const ValueId zero = number("_zero", static_cast<double>(numbers.zero));
    WHET_TRY(x, sink.add(name + "_centred", BinaryOperator{BinaryKind::sub}, {x, zero}));
  }
  return sink.add(name, BinaryOperator{BinaryKind::mul}, {x, number("_unit", numbers.scale)});
}

Result<ValueId> add_product(const NodeSink& sink, const Node& node, const LoweredProduct& product, ValueId x,
                            const std::function<Result<ValueId>()>& bias) {
  Operator op = node.op;
  const bool wide = product.weights.dtype() != DType::i8;
  auto* const conv = std::get_if<ConvOperator>(&op);
  if (conv != nullptr) conv->wide = wide;
  if (auto* matmul = std::get_if<MatMulOperator>(&op)) matmul->wide = wide;
  std::vector<ValueId> inputs = {x, sink.constant(node.name + "_weights", product.weights)};
  const bool has_bias = node.inputs.size() > 2 && !product.has_own_bias;
  if (!product.scales) {
    if (has_bias) {
      WHET_TRY(const ValueId own, bias());
      inputs.push_back(own);
    }
    return sink.add(node.name, std::move(op), std::move(inputs));
  }
  const auto shift = [&] { return sink.constant(node.name + "_shift", *product.bias); };
  if (product.bias && conv != nullptr) inputs.push_back(shift());
  WHET_TRY(ValueId sum, sink.add(node.name + "_sums", std::move(op), std::move(inputs)));
  if (product.bias && conv == nullptr) {
    WHET_TRY(sum, sink.add(node.name + "_shifted", BinaryOperator{BinaryKind::add}, {sum, shift()}));
  }
  WHET_TRY(sum, sink.add(node.name + "_float", CastOperator{DType::f32}, {sum}));
  const ValueId scales = sink.constant(node.name + "_scales", *product.scales);
  WHET_TRY(sum, sink.add(node.name, BinaryOperator{BinaryKind::mul}, {sum, scales}));
  if (!has_bias) return sum;
  WHET_TRY(const ValueId own, bias());
  return sink.add(node.name + "_biased", BinaryOperator{BinaryKind::add}, {sum, own});
}

}  // namespace whet
