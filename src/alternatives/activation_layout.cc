#include "alternatives/activation_layout.h"

#include <charconv>

#include "base/arithmetic.h"
#include "passes/permutation.h"

namespace whet {
namespace {

/// Blocks of 64 pad as many channels as many layers have.
constexpr std::int64_t kLargestPadded = 32;

Result<ValueId> reshaped(Graph& graph, ValueId value, const Shape& to, const std::string& name) {
  if (graph.value(value).type.shape == to) return value;
  return graph.add_node(name, ReshapeOperator{to}, {value});
}

std::int64_t block_of(std::int64_t channels, ActivationLayout form) { return form.block == 0 ? channels : form.block; }

/// A value that is stored as `form`, with as many channels as `shape` [N, spatial..., C] has: padded with zeros, or cut.
Result<ValueId> with_channels(Graph& graph, ValueId value, const Shape& shape, ActivationLayout form,
                              const std::string& name) {
  const Shape has = graph.value(value).type.shape, wants = *stored_shape(shape, form);
  const std::size_t channel = form == kChannelsLast ? has.size() - 1 : 1;
  if (wants[channel] < has[channel])
    return graph.add_node(name, SliceOperator{Shape(has.size(), 0), Shape(has.size(), 1), wants}, {value});
  PadOperator pad{PadMode::constant, 0, Shape(has.size(), 0), Shape(has.size(), 0)};
  pad.end[channel] = wants[channel] - has[channel];
  return graph.add_node(name, std::move(pad), {value});
}

/// Between two forms that store the same channels.
Result<ValueId> add_turn(Graph& graph, ValueId value, const Shape& shape, ActivationLayout from, ActivationLayout to,
                         const std::string& name) {
  const std::int64_t have = block_of(shape.back(), from), want = block_of(shape.back(), to);
  const std::int64_t large = std::max(have, want), small = std::min(have, want);
  const Shape spatial(shape.begin() + 1, shape.end() - 1);
  const auto dims = static_cast<std::int64_t>(spatial.size());
  // Large blocks are [N, C/large, spatial, large/small, small], small ones [N, C/large, large/small, spatial, small].
  Shape large_blocks = {shape.front(), shape.back() / large},
        small_blocks = {shape.front(), shape.back() / large, large / small};
  for (Shape* blocks : {&large_blocks, &small_blocks}) blocks->insert(blocks->end(), spatial.begin(), spatial.end());
  large_blocks.push_back(large / small);
  for (Shape* blocks : {&large_blocks, &small_blocks}) blocks->push_back(small);
  Permutation to_small = {0, 1, dims + 2};
  for (std::int64_t d = 0; d < dims; ++d) to_small.push_back(d + 2);
  to_small.push_back(dims + 3);
  WHET_TRY(const ValueId split, reshaped(graph, value, have == large ? large_blocks : small_blocks, name + "_split"));
  const TransposeOperator turn{have == large ? to_small : inverse(to_small)};
  WHET_TRY(const ValueId turned, graph.add_node(name + "_turned", turn, {split}));
  return reshaped(graph, turned, *stored_shape(shape, to), name);
}

}  // namespace

DType dtype_of(StoredAs stored) {
  switch (stored) {
    case StoredAs::bf16:
      return DType::bf16;
    case StoredAs::i16:
      return DType::i16;
    case StoredAs::u8:
      return DType::u8;
    case StoredAs::usual:
      break;
  }
  return DType::f32;
}

std::string to_text(ActivationLayout form) {
  if (form.wide > 0) return "merged tensor " + std::to_string(form.wide);
  if (form.stored != StoredAs::usual) return std::string(name_of(dtype_of(form.stored)));
  if (form == kChannelsLast) return "nhwc";
  if (form == kChannelsFirst) return "nchw";
  return "nchw" + std::to_string(form.block) + "c";
}

std::optional<ActivationLayout> parse_activation_layout(std::string_view text) {
  if (text == "nhwc") return kChannelsLast;
  if (text == "nchw") return kChannelsFirst;
  for (StoredAs stored : kLoweredTypes)
    if (text == name_of(dtype_of(stored))) return ActivationLayout{0, 0, stored};
  if (!text.starts_with("nchw") || !text.ends_with('c')) return std::nullopt;
  ActivationLayout form;
  const char* end = text.data() + text.size() - 1;
  const auto [rest, error] = std::from_chars(text.data() + 4, end, form.block);
  if (error != std::errc() || rest != end || form.block < 2 || form.block > 4096) return std::nullopt;
  return form;
}

std::int64_t stored_channels(std::int64_t channels, ActivationLayout form) {
  return form.block < 2 ? channels : round_up(channels, form.block);
}

bool pads(const Shape& shape, ActivationLayout form) { return stored_channels(shape.back(), form) != shape.back(); }

bool pads_little(const Shape& shape, ActivationLayout form) {
  return form.block <= kLargestPadded && 3 * stored_channels(shape.back(), form) <= 4 * shape.back();
}

std::optional<Shape> stored_shape(const Shape& shape, ActivationLayout form) {
  if (form.stored != StoredAs::usual) return shape;
  if (shape.size() < 3 || shape.size() > 5 || form.wide > 0) return std::nullopt;
  if (form == kChannelsLast) return shape;
  Shape stored = {shape.front(), stored_channels(shape.back(), form) / form.block};
  stored.insert(stored.end(), shape.begin() + 1, shape.end() - 1);
  if (form.block > 1) stored.push_back(form.block);
  return stored;
}

bool nests(const Shape& shape, ActivationLayout a, ActivationLayout b) {
  if (a.stored != StoredAs::usual || b.stored != StoredAs::usual) return false;
  const std::int64_t channels = std::max(stored_channels(shape.back(), a), stored_channels(shape.back(), b));
  const std::int64_t x = block_of(channels, a), y = block_of(channels, b);
  return channels % std::max(x, y) == 0 && std::max(x, y) % std::min(x, y) == 0;
}

Result<ValueId> add_transform(Graph& graph, ValueId value, const Shape& shape, ActivationLayout from,
                              ActivationLayout to, const std::string& name) {
  WHET_CHECK(nests(shape, from, to), name.c_str());
  const std::int64_t has = stored_channels(shape.back(), from), wants = stored_channels(shape.back(), to);
  Shape stored = shape;
  stored.back() = std::max(has, wants);
  if (has < wants) {
    WHET_TRY(value, with_channels(graph, value, stored, from, name + "_padded"));
  }
  WHET_TRY(const ValueId turned, add_turn(graph, value, stored, from, to, has > wants ? name + "_whole" : name));
  return has > wants ? with_channels(graph, turned, shape, to, name) : Result<ValueId>(turned);
}

}  // namespace whet
