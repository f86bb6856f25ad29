#include "alternatives/form.h"

#include <charconv>

#include "passes/permutation.h"

namespace whet {
namespace {

std::int64_t block_of(const Shape& shape, Form form) { return form.block == 0 ? shape.back() : form.block; }

Result<ValueId> reshaped(Graph& graph, ValueId value, const Shape& to, const std::string& name) {
  if (graph.value(value).type.shape == to) return value;
  return graph.add_node(name, ReshapeOperator{to}, {value});
}

}  // namespace

std::string to_text(Form form) {
  if (form.wide > 0) return "merged tensor " + std::to_string(form.wide);
  if (form == kChannelsLast) return "nhwc";
  if (form == kChannelsFirst) return "nchw";
  return "nchw" + std::to_string(form.block) + "c";
}

std::optional<Form> parse_form(std::string_view text) {
  if (text == "nhwc") return kChannelsLast;
  if (text == "nchw") return kChannelsFirst;
  if (!text.starts_with("nchw") || !text.ends_with('c')) return std::nullopt;
  Form form;
  const char* end = text.data() + text.size() - 1;
  const auto [rest, error] = std::from_chars(text.data() + 4, end, form.block);
  if (error != std::errc() || rest != end || form.block < 2 || form.block > 4096) return std::nullopt;
  return form;
}

std::optional<Shape> stored_shape(const Shape& shape, Form form) {
  if (shape.size() < 3 || shape.size() > 5 || form.wide > 0) return std::nullopt;
  if (form == kChannelsLast) return shape;
  if (shape.back() % form.block != 0) return std::nullopt;
  Shape stored = {shape.front(), shape.back() / form.block};
  stored.insert(stored.end(), shape.begin() + 1, shape.end() - 1);
  if (form.block > 1) stored.push_back(form.block);
  return stored;
}

Result<ValueId> add_transform(Graph& graph, ValueId value, const Shape& shape, Form from, Form to,
                              const std::string& name) {
  const std::int64_t have = block_of(shape, from), want = block_of(shape, to);
  const std::int64_t large = std::max(have, want), small = std::min(have, want);
  WHET_CHECK(shape.back() % large == 0 && large % small == 0, name.c_str());
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

}  // namespace whet
