#include "passes/testing/random_graph.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace whet::testing {
namespace {

constexpr std::int64_t kMostElements = 3000;

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : rng_(seed) { build_.rng = Rng(seed + 1); }

  Graph make() {
    add_inputs();
    const std::int64_t wanted = rng_.between(3, 14);
    for (int tries = 0; tries < 200 && static_cast<std::int64_t>(build_.graph.nodes.size()) < wanted; ++tries) grow();
    std::vector<ValueId> outputs = {values_.back()};
    while (rng_.chance(0.3)) outputs.push_back(pick());
    return build_.finish(outputs);
  }

 private:
  std::int64_t between(std::int64_t low, std::int64_t high) { return rng_.between(low, high); }
  /// Recent values more often, so that chains get long.
  ValueId pick() {
    const auto n = static_cast<std::int64_t>(values_.size());
    return values_[static_cast<std::size_t>(rng_.chance(0.6) ? n - 1 - rng_.below(std::min<std::int64_t>(n, 2))
                                                             : rng_.below(n))];
  }
  const Shape& shape(ValueId id) const { return build_.graph.value(id).type.shape; }
  /// Never the same, in whichever order a compiler evaluates arguments.
  std::string name() { return "v" + std::to_string(names_++); }

  void add_inputs() {
    values_.push_back(build_.input("x", {between(1, 2), between(1, 6), between(1, 7), between(1, 7)}));
    if (rng_.chance(0.4)) values_.push_back(build_.input("y", shape(values_[0])));
    if (rng_.chance(0.2)) values_.push_back(build_.input("z", {between(2, 5), between(2, 8)}));
  }

  /// Adds the node if it is legal and small.
  void try_add(Operator op, std::vector<ValueId> inputs) {
    std::vector<TensorType> types;
    for (ValueId id : inputs) types.push_back(build_.graph.value(id).type);
    const auto type = infer_type("node", op, types);
    if (!type.ok() || num_elements(type->shape) > kMostElements || num_elements(type->shape) == 0) return;
    values_.push_back(build_.add(name(), std::move(op), std::move(inputs)));
  }

  void grow() {
    static const std::vector<void (Generator::*)(ValueId)> kSteps = {&Generator::unary,
                                                                     &Generator::unary,
                                                                     &Generator::constant_binary,
                                                                     &Generator::constant_binary,
                                                                     &Generator::binary,
                                                                     &Generator::binary,
                                                                     &Generator::conv,
                                                                     &Generator::conv,
                                                                     &Generator::conv,
                                                                     &Generator::pool,
                                                                     &Generator::reduce,
                                                                     &Generator::softmax,
                                                                     &Generator::norm,
                                                                     &Generator::transpose,
                                                                     &Generator::transpose,
                                                                     &Generator::reshape,
                                                                     &Generator::reshape,
                                                                     &Generator::concat,
                                                                     &Generator::slice,
                                                                     &Generator::pad,
                                                                     &Generator::gather,
                                                                     &Generator::expand,
                                                                     &Generator::resize,
                                                                     &Generator::matmul,
                                                                     &Generator::gate,
                                                                     &Generator::row_norm,
                                                                     &Generator::choose,
                                                                     &Generator::cumsum,
                                                                     &Generator::scatter,
                                                                     &Generator::shuffle};
    (this->*kSteps[static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(kSteps.size())))])(pick());
  }

  void unary(ValueId x) {
    static const Operator kOperators[] = {UnaryOperator{UnaryKind::relu}, UnaryOperator{UnaryKind::sigmoid},
                                          UnaryOperator{UnaryKind::tanh}, UnaryOperator{UnaryKind::abs},
                                          UnaryOperator{UnaryKind::neg},  UnaryOperator{UnaryKind::hard_swish},
                                          ClipOperator{-0.5, 0.75},       HardSigmoidOperator{},
                                          LeakyReluOperator{0.1},         CastOperator{DType::f32}};
    try_add(kOperators[rng_.below(std::size(kOperators))], {x});
  }

  /// A constant that is one value, one a channel (either layout), or one an element.
  ValueId constant_for(const Shape& s) {
    Shape own;
    const std::int64_t kind = rng_.below(5);
    if (kind == 1 && s.size() == 4) own = {s[1], 1, 1};
    if (kind == 2 && !s.empty()) own = {s.back()};
    if (kind == 3) own = s;
    if (kind == 4) {
      return build_.constant(name(), {}, {static_cast<double>(rng_.below(3))});  // 0 and 1 are neutral
    }
    return build_.constant(name(), own);
  }

  void constant_binary(ValueId x) {
    static const BinaryKind kKinds[] = {BinaryKind::add, BinaryKind::mul, BinaryKind::sub, BinaryKind::max};
    std::vector<ValueId> operands = {x, constant_for(shape(x))};
    if (rng_.chance(0.3)) std::swap(operands[0], operands[1]);
    try_add(BinaryOperator{kKinds[rng_.below(4)]}, operands);
  }

  void binary(ValueId x) {
    for (int i = 0; i < 6; ++i) {
      const ValueId y = pick();
      if (y != x && broadcast(shape(x), shape(y))) {
        return try_add(BinaryOperator{rng_.chance(0.6) ? BinaryKind::add : BinaryKind::mul}, {x, y});
      }
    }
  }

  void conv(ValueId x) {
    if (shape(x).size() != 4) return;
    const std::int64_t channels = shape(x)[1];
    std::int64_t groups = 1, out = between(1, 6);
    if (rng_.chance(0.3)) groups = out = channels;
    if (rng_.chance(0.15) && channels % 2 == 0) groups = 2, out = 2 * between(1, 3);
    const ConvOperator op{{between(1, 2), between(1, 2)},
                          {between(1, 2), 1},
                          {between(0, 1), between(0, 1)},
                          {between(0, 1), between(0, 1)},
                          groups,
                          Layout::channels_first};
    std::vector<ValueId> inputs = {x, build_.constant(name(), {out, channels / groups, between(1, 3), between(1, 3)})};
    if (rng_.chance(0.5)) inputs.push_back(build_.constant(name() + "b", {out}));
    try_add(op, inputs);
  }

  void pool(ValueId x) {
    if (shape(x).size() != 4) return;
    PoolOperator op{rng_.chance(0.5) ? PoolKind::max : PoolKind::average,
                    {between(1, 3), between(1, 3)},
                    {between(1, 2), between(1, 2)},
                    {1, 1},
                    {0, 0},
                    {0, 0}};
    for (std::size_t d = 0; d < 2; ++d) {
      op.pads_begin[d] = op.kernel[d] > 1 ? between(0, 1) : 0;
      op.pads_end[d] = op.kernel[d] > 1 ? between(0, 1) : 0;
    }
    op.count_include_pad = rng_.chance(0.5);
    try_add(op, {x});
  }

  void reduce(ValueId x) {
    static const ReduceKind kKinds[] = {ReduceKind::mean, ReduceKind::sum, ReduceKind::max, ReduceKind::sum_square};
    ReduceOperator op{kKinds[rng_.below(4)], {}, rng_.chance(0.7)};
    for (std::size_t d = 0; d < shape(x).size(); ++d) {
      if (rng_.chance(0.4)) op.axes.push_back(static_cast<std::int64_t>(d));
    }
    if (!op.axes.empty()) try_add(op, {x});
  }

  void softmax(ValueId x) {
    if (!shape(x).empty()) try_add(SoftmaxOperator{rng_.below(static_cast<std::int64_t>(shape(x).size()))}, {x});
  }

  void norm(ValueId x) {
    if (shape(x).size() == 4) values_.push_back(build_.batch_norm(name(), x));
  }

  void transpose(ValueId x) {
    std::vector<std::int64_t> perm(shape(x).size());
    std::iota(perm.begin(), perm.end(), 0);
    for (std::size_t i = perm.size(); i > 1; --i)
      std::swap(perm[i - 1], perm[static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(i)))]);
    if (perm.size() == 4 && rng_.chance(0.5)) perm = {0, 2, 3, 1};
    try_add(TransposeOperator{perm}, {x});
  }

  /// Merges two neighbours, splits a dimension, or adds or drops a one.
  void reshape(ValueId x) {
    Shape to = shape(x);
    if (to.empty()) return;
    const auto at = static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(to.size())));
    const std::int64_t kind = rng_.below(4);
    if (kind == 0 && at + 1 < to.size()) {
      to[at] *= to[at + 1];
      to.erase(to.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    } else if (kind == 1 && to[at] % 2 == 0) {
      to[at] /= 2;
      to.insert(to.begin() + static_cast<std::ptrdiff_t>(at), 2);
    } else if (kind == 2 && to.size() < 5) {
      to.insert(to.begin() + static_cast<std::ptrdiff_t>(at), 1);
    } else if (kind == 3) {
      to = {to[0], num_elements(to) / to[0]};
    }
    try_add(ReshapeOperator{to}, {x});
  }

  void concat(ValueId x) {
    if (shape(x).empty()) return;
    const auto axis = rng_.below(static_cast<std::int64_t>(shape(x).size()));
    std::vector<ValueId> parts = {x};
    for (int i = 0; i < 4; ++i) parts.push_back(pick());
    std::erase_if(parts, [&](ValueId id) {
      return shape(id).size() != shape(x).size() ||
             !infer_type("", ConcatOperator{axis}, {build_.graph.value(x).type, build_.graph.value(id).type}).ok();
    });
    try_add(ConcatOperator{axis}, parts);
  }

  void slice(ValueId x) {
    SliceOperator op{Shape(shape(x).size(), 0), Shape(shape(x).size(), 1), shape(x)};
    for (std::size_t d = 0; d < op.shape.size(); ++d) {
      if (!rng_.chance(0.4)) continue;
      op.starts[d] = rng_.below(op.shape[d]);
      op.steps[d] = between(1, 2);
      op.shape[d] = (op.shape[d] - op.starts[d] + op.steps[d] - 1) / op.steps[d];
    }
    try_add(op, {x});
  }

  void pad(ValueId x) {
    static const PadMode kModes[] = {PadMode::constant, PadMode::constant, PadMode::reflect, PadMode::edge};
    PadOperator op{kModes[rng_.below(4)], rng_.chance(0.7) ? 0.0 : 0.25, {}, {}};
    for (std::size_t d = 0; d < shape(x).size(); ++d) {
      const bool spatial = shape(x).size() != 4 || d >= 2 || rng_.chance(0.2);
      op.begin.push_back(spatial ? between(0, 1) : 0);
      op.end.push_back(spatial ? between(0, 1) : 0);
    }
    try_add(op, {x});
  }

  void gather(ValueId x) {
    if (shape(x).empty()) return;
    const auto axis = rng_.below(static_cast<std::int64_t>(shape(x).size()));
    const std::int64_t extent = shape(x)[static_cast<std::size_t>(axis)];
    const Shape own = rng_.chance(0.3) ? Shape{} : rng_.chance(0.8) ? Shape{between(1, 4)} : Shape{2, 2};
    Tensor indices(DType::i64, own);
    for (std::int64_t i = 0; i < indices.size(); ++i) indices.set_integer(i, between(-extent, extent - 1));
    try_add(GatherOperator{axis}, {x, build_.graph.add_constant(name(), indices)});
  }

  void expand(ValueId x) {
    Shape to = shape(x);
    for (std::int64_t& extent : to) extent = extent == 1 && rng_.chance(0.6) ? between(1, 4) : extent;
    if (rng_.chance(0.3) && to.size() < 4) to.insert(to.begin(), between(1, 3));
    try_add(ExpandOperator{to}, {x});
  }

  void resize(ValueId x) {
    if (shape(x).size() != 4) return;
    ResizeOperator op{.mode = rng_.chance(0.5) ? ResizeMode::nearest : ResizeMode::linear,
                      .coordinates = rng_.chance(0.5) ? CoordinateMode::asymmetric : CoordinateMode::half_pixel,
                      .scales = {1, 1, 2, static_cast<double>(between(1, 3))},
                      .shape = shape(x)};
    for (std::size_t d = 2; d < 4; ++d) op.shape[d] = static_cast<std::int64_t>(op.scales[d]) * op.shape[d];
    try_add(op, {x});
  }

  void matmul(ValueId x) {
    if (shape(x).size() < 2) return;
    const bool turned = rng_.chance(0.3);
    const std::int64_t depth = shape(x).back(), columns = between(1, 6);
    const ValueId b = build_.constant(name(), turned ? Shape{columns, depth} : Shape{depth, columns});
    try_add(MatMulOperator{.transpose_b = turned}, {x, b});
  }

  /// x * sigmoid(x)
  void gate(ValueId x) {
    const ValueId y = build_.unary(name(), UnaryKind::sigmoid, x);
    try_add(BinaryOperator{BinaryKind::mul}, {x, y});
  }

  /// Layer normalization of the last dimension, from primitives.
  void row_norm(ValueId x) {
    if (shape(x).empty()) return;
    const auto axis = static_cast<std::int64_t>(shape(x).size()) - 1;
    const ReduceOperator mean{ReduceKind::mean, {axis}, true};
    const ValueId center = build_.binary(name(), BinaryKind::sub, x, build_.add(name(), mean, {x}));
    const ValueId square = build_.binary(name(), BinaryKind::mul, center, center);
    const ValueId variance = build_.add(name(), mean, {square});
    const ValueId shifted = build_.plus(name(), variance, build_.constant(name(), {}, {0.5}));
    const ValueId deviation = build_.unary(name(), UnaryKind::sqrt, shifted);
    try_add(BinaryOperator{BinaryKind::div}, {center, deviation});
  }

  /// The largest elements, by their places: near ties may swap places, not values.
  void choose(ValueId x) {
    if (shape(x).empty()) return;
    const std::int64_t axis = rng_.below(static_cast<std::int64_t>(shape(x).size()));
    const std::int64_t extent = shape(x)[static_cast<std::size_t>(axis)];
    const bool largest = rng_.chance(0.5);
    Operator op = TopKOperator{axis, between(1, extent), largest};
    if (rng_.chance(0.5)) op = ArgReduceOperator{largest, axis, true, rng_.chance(0.5)};
    const ValueId places = build_.add(name(), op, {x});
    try_add(GatherElementsOperator{axis}, {x, places});
  }

  void cumsum(ValueId x) {
    if (shape(x).empty()) return;
    const std::int64_t axis = rng_.below(static_cast<std::int64_t>(shape(x).size()));
    try_add(CumSumOperator{axis, rng_.chance(0.5), rng_.chance(0.5)}, {x});
  }

  void scatter(ValueId x) {
    if (shape(x).empty()) return;
    Shape own = shape(x);
    for (std::int64_t& extent : own) extent = between(1, extent);
    const bool elements = rng_.chance(0.5);
    const std::int64_t axis = rng_.below(static_cast<std::int64_t>(own.size()));
    const Shape index_shape = elements ? own : Shape{between(1, 3), 1};
    Tensor indices(DType::i64, index_shape);
    const std::int64_t extent = shape(x)[elements ? static_cast<std::size_t>(axis) : 0];
    for (std::int64_t i = 0; i < indices.size(); ++i) indices.set_integer(i, between(-extent, extent - 1));
    const ValueId places = build_.graph.add_constant(name(), indices);
    if (!elements) {
      own = shape(x);
      own[0] = index_shape[0];
    }
    const ScatterKind kind = rng_.chance(0.5) ? ScatterKind::replace : ScatterKind::add;
    const ValueId updates = build_.constant(name(), own);
    if (elements) return try_add(ScatterElementsOperator{axis, kind}, {x, places, updates});
    try_add(ScatterNdOperator{kind}, {x, places, updates});
  }

  /// The channel shuffle of shufflenet.
  void shuffle(ValueId x) {
    const Shape s = shape(x);
    if (s.size() != 4 || s[1] % 2 != 0) return;
    const ValueId split = build_.add(name(), ReshapeOperator{{s[0], 2, s[1] / 2, s[2], s[3]}}, {x});
    const ValueId turned = build_.add(name(), TransposeOperator{{0, 2, 1, 3, 4}}, {split});
    try_add(ReshapeOperator{s}, {turned});
  }

  GraphBuilder build_;
  std::int64_t names_ = 0;
  Rng rng_;
  std::vector<ValueId> values_;
};

}  // namespace

Graph random_graph(std::uint64_t seed) { return Generator(seed).make(); }

std::vector<Tensor> random_inputs(const Graph& graph, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<Tensor> inputs;
  for (ValueId id : graph.inputs) inputs.push_back(Tensor::random(graph.value(id).type, rng));
  return inputs;
}

}  // namespace whet::testing
