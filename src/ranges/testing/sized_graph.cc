#include "ranges/testing/sized_graph.h"

#include <optional>

#include "passes/testing/graph_builder.h"

namespace whet::testing {
namespace {

/// Chooses by the seed alone, never by an extent that changes: the same operators at all sizes.
class SizedGenerator {
 public:
  SizedGenerator(std::uint64_t seed, const SizeValues& sizes) : rng_(seed), sizes_(sizes) {
    build_.rng = Rng(seed + 1);
  }

  Result<Graph> make() {
    const std::int64_t channels = rng_.between(1, 5);
    pictures_.push_back(build_.input("x", {1, channels, sizes_[0], sizes_[1]}));
    if (rng_.chance(0.3)) pictures_.push_back(build_.input("y", {1, channels, sizes_[0], sizes_[1]}));
    for (std::int64_t steps = rng_.between(2, 7); steps > 0; --steps) grow_picture();
    std::vector<ValueId> outputs = {pictures_.back()};
    if (rng_.chance(0.5)) {
      add_tokens();
      for (std::int64_t steps = rng_.between(1, 5); steps > 0; --steps) grow_tokens();
      outputs.push_back(tokens_);
    }
    if (error_) return *error_;
    return build_.finish(outputs);
  }

 private:
  const Shape& shape(ValueId id) const { return build_.graph.value(id).type.shape; }
  std::string name() { return "v" + std::to_string(names_++); }
  ValueId picture() {
    return pictures_[static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(pictures_.size())))];
  }

  /// The operand where the operator is not legal, which is an error of the graph.
  ValueId node(Operator op, std::vector<ValueId> inputs) {
    const auto value = build_.graph.add_node(name(), std::move(op), inputs);
    if (value.ok()) return *value;
    if (!error_) error_ = value.error();
    return inputs[0];
  }

  void grow_picture() {
    const ValueId x = picture();
    const Shape s = shape(x);
    switch (rng_.below(11)) {
      case 0:
        return pictures_.push_back(node(UnaryOperator{UnaryKind::sigmoid}, {x}));
      case 1:
        return pictures_.push_back(node(BinaryOperator{BinaryKind::mul}, {x, build_.constant(name(), {s[1], 1, 1})}));
      case 2:
      case 3: {
        const std::int64_t out = rng_.between(1, 5), kernel = rng_.between(1, 3), stride = rng_.between(1, 2);
        const std::int64_t pad = rng_.between(0, 1);
        const ValueId w = build_.constant(name(), {out, s[1], kernel, kernel});
        const ConvOperator op{{stride, stride}, {1, 1}, {pad, pad}, {pad, pad}, 1, Layout::channels_first};
        return pictures_.push_back(node(op, {x, w}));
      }
      case 4: {
        const PoolOperator op{
            rng_.chance(0.5) ? PoolKind::max : PoolKind::average, {2, 2}, {2, 1}, {1, 1}, {0, 0}, {0, 0}};
        return pictures_.push_back(node(op, {x}));
      }
      case 5: {
        const ValueId mean = node(ReduceOperator{ReduceKind::mean, {2, 3}, true}, {x});
        return pictures_.push_back(node(BinaryOperator{BinaryKind::sub}, {x, mean}));
      }
      case 6:
        return pictures_.push_back(node(SoftmaxOperator{rng_.between(2, 3)}, {x}));
      case 7: {
        SliceOperator op{{0, 0, 1, 0}, {1, 1, 1, 1}, s};
        op.shape[2] -= 1;
        if (rng_.chance(0.5)) op.shape[3] = s[3] / 2;
        return pictures_.push_back(node(op, {x}));
      }
      case 8: {
        const PadOperator op{PadMode::constant, 0, {0, 0, 1, 0}, {0, 0, 0, 2}};
        return pictures_.push_back(node(op, {x}));
      }
      case 9:
        return pictures_.push_back(
            node(ConcatOperator{rng_.between(1, 3)}, {x, node(UnaryOperator{UnaryKind::relu}, {x})}));
      default: {
        ResizeOperator op{
            .mode = ResizeMode::nearest, .coordinates = CoordinateMode::asymmetric, .scales = {1, 1, 2, 1}, .shape = s};
        op.shape[2] *= 2;
        return pictures_.push_back(node(op, {x}));
      }
    }
  }

  /// [1, n * m, C]
  void add_tokens() {
    const Shape s = shape(pictures_.back());
    const ValueId flat = node(ReshapeOperator{{1, s[1], s[2] * s[3]}}, {pictures_.back()});
    tokens_ = node(TransposeOperator{{0, 2, 1}}, {flat});
  }

  void grow_tokens() {
    const Shape s = shape(tokens_);
    switch (rng_.below(5)) {
      case 0: {
        const std::int64_t width = rng_.between(1, 6);
        tokens_ = node(MatMulOperator{}, {tokens_, build_.constant(name(), {s[2], width})});
        return;
      }
      case 1:
        tokens_ = node(SoftmaxOperator{2}, {tokens_});
        return;
      case 2: {
        const ValueId mean = node(ReduceOperator{ReduceKind::mean, {1}, true}, {tokens_});
        tokens_ = node(BinaryOperator{BinaryKind::sub}, {tokens_, mean});
        return;
      }
      case 3: {
        const ValueId scores = node(MatMulOperator{.transpose_b = true}, {tokens_, tokens_});
        tokens_ = node(MatMulOperator{}, {node(SoftmaxOperator{2}, {scores}), tokens_});
        return;
      }
      default: {
        const std::int64_t width = rng_.between(1, 3);
        const ValueId row = build_.constant(name(), {1, 1, s[2]});
        tokens_ = node(BinaryOperator{BinaryKind::add}, {tokens_, row});
        if (width > 1) tokens_ = node(UnaryOperator{UnaryKind::tanh}, {tokens_});
        return;
      }
    }
  }

  GraphBuilder build_;
  Rng rng_;
  const SizeValues& sizes_;
  std::vector<ValueId> pictures_;
  ValueId tokens_;
  std::optional<Error> error_;
  int names_ = 0;
};

}  // namespace

Result<Graph> random_sized_graph(std::uint64_t seed, const SizeValues& sizes) {
  return SizedGenerator(seed, sizes).make();
}

}  // namespace whet::testing
