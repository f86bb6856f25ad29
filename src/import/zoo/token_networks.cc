#include "import/zoo/network_builder.h"

// Networks of tokens and steps.

namespace whet {

namespace {

/// x + f(x) twice: attention, then two dense layers. `first`: normalized before (ViT), else behind (BERT).
ValueId transformer_layer(NetworkBuilder& b, ValueId x, std::int64_t tokens, std::int64_t width, std::int64_t heads,
                          ValueId mask, bool first) {
  const auto dense = [&](ValueId from) { return b.linear(b.gelu(b.linear(from, width, 4 * width)), 4 * width, width); };
  if (first) {
    x = b.add(x, b.attention(b.layer_norm(x, width), tokens, width, heads, mask));
    return b.add(x, dense(b.layer_norm(x, width)));
  }
  x = b.layer_norm(b.add(x, b.attention(x, tokens, width, heads, mask)), width);
  return b.layer_norm(b.add(x, dense(x)), width);
}

}  // namespace

/// 128 tokens ("data"), those that count ("mask"): 4 layers of 256; the pooled first token, 2 classes.
Graph make_bert_mini(const ZooOptions& options) {
  constexpr std::int64_t kTokens = 128, kWidth = 256, kHeads = 4, kWords = 30522;
  NetworkBuilder b("bert-mini", options);
  const ValueId ids = b.input("data", DType::i64, {options.batch, kTokens});
  const ValueId counts = b.input("mask", DType::i64, {options.batch, kTokens});
  const ValueId kept = b.as_float(b.unsqueeze(counts, {1, 2}));
  const ValueId left_out = b.sub(b.scalar(1), kept);
  const ValueId mask = b.mul(left_out, b.scalar(-10000));
  ValueId x = b.gather(b.weight({kWords, kWidth}, 1), ids, 0);
  x = b.layer_norm(b.add(x, b.weight({1, kTokens, kWidth}, 0.1)), kWidth);
  for (int layer = 0; layer < 4; ++layer) x = transformer_layer(b, x, kTokens, kWidth, kHeads, mask, false);
  const ValueId flat = b.flatten(b.gather(x, b.integers({0}), 1));
  const ValueId scores = b.linear(b.tanh(b.linear(flat, kWidth, kWidth)), kWidth, 2);
  return b.finish(b.softmax(scores, 1), "softmax");
}

/// Patches of 16 x 16, 12 layers of 384.
Graph make_vit_small(const ZooOptions& options) {
  constexpr std::int64_t kWidth = 384, kHeads = 6;
  const std::int64_t patches = options.image / 16, tokens = patches * patches + 1;
  NetworkBuilder b("vit-small", options);
  ValueId x = b.conv(b.image(3), {3, kWidth, {16, 16}, {16, 16}, {0, 0}, 1, true, 1});
  x = b.transpose(b.reshape(x, {options.batch, kWidth, patches * patches}), {0, 2, 1});
  const ValueId token = b.expand(b.weight({1, 1, kWidth}, 0.1), {options.batch, 1, 1});
  x = b.concat({token, x});
  x = b.add(x, b.weight({1, tokens, kWidth}, 0.1));
  for (int layer = 0; layer < 12; ++layer) x = transformer_layer(b, x, tokens, kWidth, kHeads, ValueId(), true);
  x = b.layer_norm(x, kWidth);
  const ValueId scores = b.linear(b.flatten(b.gather(x, b.integers({0}), 1)), kWidth, 1000);
  return b.finish(b.softmax(scores, 1), "softmax");
}

/// 32 steps of 256 features through two layers of 256; the classes of the last step.
Graph make_lstm(const ZooOptions& options) {
  constexpr std::int64_t kSteps = 32, kWidth = 256;
  NetworkBuilder b("lstm", options);
  ValueId x = b.input("data", DType::f32, {kSteps, options.batch, kWidth});
  ValueId last;
  for (int layer = 0; layer < 2; ++layer) {
    const NetworkBuilder::Lstm states = b.lstm(x, kWidth);
    x = b.squeeze(states.rows, 1);
    last = b.squeeze(states.last, 0);
  }
  return b.finish(b.softmax(b.linear(last, kWidth, 1000), 1), "softmax");
}

}  // namespace whet
