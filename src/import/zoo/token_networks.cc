#include "import/zoo/file_builder.h"

// Networks of tokens and steps.

namespace whet {

using Ints = FileBuilder::Ints;
using Name = FileBuilder::Name;

namespace {

/// x + f(x) twice: attention, then two dense layers. `first`: normalized before (ViT), else behind (BERT).
Name transformer_layer(FileBuilder& b, Name x, std::int64_t tokens, std::int64_t width, std::int64_t heads,
                       const Name& mask, bool first) {
  const auto dense = [&](const Name& from) {
    return b.linear(b.gelu(b.linear(from, width, 4 * width)), 4 * width, width);
  };
  if (first) {
    x = b.op("Add", {x, b.attention(b.layer_norm(x, width), tokens, width, heads, mask)});
    return b.op("Add", {x, dense(b.layer_norm(x, width))});
  }
  x = b.layer_norm(b.op("Add", {x, b.attention(x, tokens, width, heads, mask)}), width);
  return b.layer_norm(b.op("Add", {x, dense(x)}), width);
}

}  // namespace

/// 128 tokens ("data"), those that count ("mask"): 4 layers of 256; the pooled first token, 2 classes.
Graph make_bert_mini(const ZooOptions& options) {
  constexpr std::int64_t kTokens = 128, kWidth = 256, kHeads = 4, kWords = 30522;
  FileBuilder b("bert-mini", options);
  const Name ids = b.input("data", DType::i64, {options.batch, kTokens});
  const Name counts = b.input("mask", DType::i64, {options.batch, kTokens});
  const Name wide = b.op("Unsqueeze", {counts, b.integers({1, 2})});
  const Name kept = b.op("Cast", {wide}, {{"to", std::int64_t{onnx_type(DType::f32)}}});
  const Name mask = b.op("Mul", {b.op("Sub", {b.scalar(1), kept}), b.scalar(-10000)});
  Name x = b.op("Gather", {b.weight({kWords, kWidth}, 1), ids});
  x = b.layer_norm(b.op("Add", {x, b.weight({1, kTokens, kWidth}, 0.1)}), kWidth);
  for (int layer = 0; layer < 4; ++layer) x = transformer_layer(b, x, kTokens, kWidth, kHeads, mask, false);
  const Name first = b.op("Gather", {x, b.integers({0})}, {{"axis", std::int64_t{1}}});
  const Name flat = b.op("Flatten", {first});
  const Name scores = b.linear(b.op("Tanh", {b.linear(flat, kWidth, kWidth)}), kWidth, 2);
  return b.finish(b.op("Softmax", {scores}, {{"axis", std::int64_t{1}}}), "softmax");
}

/// Patches of 16 x 16, 12 layers of 384.
Graph make_vit_small(const ZooOptions& options) {
  constexpr std::int64_t kWidth = 384, kHeads = 6;
  const std::int64_t patches = options.image / 16, tokens = patches * patches + 1;
  FileBuilder b("vit-small", options);
  Name x = b.conv(b.image(3), {3, kWidth, {16, 16}, {16, 16}, {0, 0}, 1, true, 1});
  x = b.op("Reshape", {x, b.integers({options.batch, kWidth, patches * patches})});
  x = b.op("Transpose", {x}, {{"perm", Ints{0, 2, 1}}});
  const Name token = b.op("Expand", {b.weight({1, 1, kWidth}, 0.1), b.integers({options.batch, 1, 1})});
  x = b.op("Add", {b.concat({token, x}), b.weight({1, tokens, kWidth}, 0.1)});
  for (int layer = 0; layer < 12; ++layer) x = transformer_layer(b, x, tokens, kWidth, kHeads, "", true);
  const Name first = b.op("Gather", {b.layer_norm(x, kWidth), b.integers({0})}, {{"axis", std::int64_t{1}}});
  const Name scores = b.linear(b.op("Flatten", {first}), kWidth, 1000);
  return b.finish(b.op("Softmax", {scores}, {{"axis", std::int64_t{1}}}), "softmax");
}

/// 32 steps of 256 features through two layers of 256; the classes of the last step.
Graph make_lstm(const ZooOptions& options) {
  constexpr std::int64_t kSteps = 32, kWidth = 256;
  FileBuilder b("lstm", options);
  Name x = b.input("data", DType::f32, {kSteps, options.batch, kWidth});
  Name last;
  for (int layer = 0; layer < 2; ++layer) {
    const Name w = b.scaled({1, 4 * kWidth, kWidth}, kWidth, 1), r = b.scaled({1, 4 * kWidth, kWidth}, kWidth, 1);
    const std::vector<Name> outputs =
        b.op("LSTM", {x, w, r, b.weight({1, 8 * kWidth}, 0.1)}, 2, {{"hidden_size", std::int64_t{kWidth}}});
    x = b.op("Squeeze", {outputs[0], b.integers({1})});
    last = b.op("Squeeze", {outputs[1], b.integers({0})});
  }
  return b.finish(b.op("Softmax", {b.linear(last, kWidth, 1000)}, {{"axis", std::int64_t{1}}}), "softmax");
}

}  // namespace whet
