#include "problem_graph.h"

namespace whet {
namespace {

using bench::Extents;

class Builder {
 public:
  explicit Builder(DType factors = DType::f32) : factors_(factors) {}

  /// Products read bf16, and add up in f32.
  bool is_wide() const { return factors_ != DType::f32; }
  ValueId input(const std::string& name, Shape shape) {
    const ValueId id = graph_.add_value(name, {factors_, std::move(shape)});
    graph_.inputs.push_back(id);
    return id;
  }
  /// Not used by what is timed: kernels get contents of their own.
  ValueId constant(const std::string& name, Shape shape) {
    return graph_.add_constant(name, Tensor::random({DType::f32, std::move(shape)}, rng_, 0.25, 0.5));
  }
  ValueId weights(const std::string& name, Shape shape) {
    return graph_.add_constant(name, Tensor::random({factors_, std::move(shape)}, rng_, 0.25, 0.5));
  }
  /// 0 .. count-1 in an order that is none.
  ValueId shuffled(const std::string& name, std::int64_t count) {
    std::vector<std::int64_t> places(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) places[static_cast<std::size_t>(i)] = i * 7919 % count;
    return graph_.add_constant(name, Tensor::of<std::int64_t>(DType::i64, {count}, places));
  }
  ValueId number(const std::string& name, double value) {
    return graph_.add_constant(name, Tensor::of<double>(DType::f32, {1}, {value}));
  }
  /// After a mistake everything does nothing; `finish` gives it.
  ValueId add(Operator op, std::vector<ValueId> inputs) {
    if (mistake_) return inputs[0];
    auto value = graph_.add_node(name_of(op) + std::to_string(graph_.nodes.size()), op, inputs);
    if (value.ok()) return *value;
    mistake_ = value.error();
    return inputs[0];
  }
  ValueId binary(BinaryKind kind, ValueId a, ValueId b) { return add(BinaryOperator{kind}, {a, b}); }
  ValueId relu(ValueId x) { return add(UnaryOperator{UnaryKind::relu}, {x}); }

  /// `x`, stored channels last, as the operators of a file read it, and back: the passes take both turns away.
  ValueId to_channels_first(ValueId x) {
    const auto rank = static_cast<std::int64_t>(graph_.value(x).type.shape.size());
    TransposeOperator turn{{0, rank - 1}};
    for (std::int64_t d = 1; d < rank - 1; ++d) turn.perm.push_back(d);
    return add(turn, {x});
  }
  ValueId to_channels_last(ValueId x) {
    const auto rank = static_cast<std::int64_t>(graph_.value(x).type.shape.size());
    TransposeOperator turn{{0}};
    for (std::int64_t d = 2; d < rank; ++d) turn.perm.push_back(d);
    turn.perm.push_back(1);
    return add(turn, {x});
  }

  Result<Graph> finish(ValueId output) {
    if (is_wide()) output = add(CastOperator{factors_}, {output});
    if (mistake_) return *mistake_;
    graph_.outputs = {output};
    return std::move(graph_);
  }

 private:
  const DType factors_;
  Graph graph_;
  Rng rng_{1};
  std::optional<Error> mistake_;
};

/// [batch, spatial..., channels]
Shape channels_last(std::int64_t batch, const Extents& spatial, std::int64_t channels) {
  Shape shape = {batch};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  shape.push_back(channels);
  return shape;
}

ValueId convolution(Builder& build, const bench::Convolution& c) {
  const ValueId x = build.to_channels_first(build.input("x", channels_last(c.batch, c.size, c.in)));
  Shape weights = {c.out, c.in / c.groups};
  weights.insert(weights.end(), c.kernel.begin(), c.kernel.end());
  ConvOperator op{c.stride, c.dilation, c.pad, c.pad, c.groups, Layout::channels_first};
  op.wide = build.is_wide();
  const ValueId w = c.groups > 1 ? build.constant("w", weights) : build.weights("w", weights);
  const ValueId y = build.add(op, {x, w, build.constant("b", {c.out})});
  return build.to_channels_last(build.relu(y));
}

/// Weights [columns, inner] where `transposed`, as a file's dense layers have them, else [inner, columns].
ValueId dense(Builder& build, const Extents& n, bool transposed) {
  const ValueId w = build.weights("w", transposed ? Shape{n[2], n[1]} : Shape{n[1], n[2]});
  const ValueId y = build.add(MatMulOperator{false, transposed, build.is_wide()}, {build.input("x", {n[0], n[1]}), w});
  return build.relu(build.binary(BinaryKind::add, y, build.constant("b", {n[2]})));
}

ValueId layer_norm(Builder& build, const Extents& n) {
  const ValueId x = build.input("x", {n[0], n[1]});
  const ReduceOperator mean{ReduceKind::mean, {1}, true};
  const ValueId centred = build.binary(BinaryKind::sub, x, build.add(mean, {x}));
  const ValueId variance = build.add(mean, {build.binary(BinaryKind::mul, centred, centred)});
  const ValueId deviation = build.add(UnaryOperator{UnaryKind::sqrt},
                                      {build.binary(BinaryKind::add, variance, build.number("epsilon", 1e-5))});
  const ValueId scaled =
      build.binary(BinaryKind::mul, build.binary(BinaryKind::div, centred, deviation), build.constant("scale", {n[1]}));
  return build.binary(BinaryKind::add, scaled, build.constant("shift", {n[1]}));
}

ValueId max_pool(Builder& build, const Extents& n) {
  PoolOperator op{PoolKind::max};
  op.kernel = {n[4], n[4]};
  op.strides = {n[5], n[5]};
  op.dilations = {1, 1};
  op.pads_begin = op.pads_end = {n[6], n[6]};
  return build.to_channels_last(
      build.add(op, {build.to_channels_first(build.input("x", channels_last(n[0], {n[2], n[3]}, n[1])))}));
}

/// [batch, queries, depth], [batch, keys, depth], [batch, keys, depth]
ValueId attention(Builder& build, const Extents& n) {
  const ValueId q = build.input("q", {n[0], n[1], n[2]}), k = build.input("k", {n[0], n[3], n[2]}),
                v = build.input("v", {n[0], n[3], n[2]});
  const ValueId scores = build.add(MatMulOperator{false, true}, {q, k});
  return build.add(MatMulOperator{}, {build.add(SoftmaxOperator{2}, {scores}), v});
}

/// Linear, of rows and columns, channels last.
ValueId resize(Builder& build, const Extents& n) {
  ResizeOperator op{ResizeMode::linear, CoordinateMode::half_pixel};
  const auto factor = static_cast<double>(n[4]);
  op.scales = {1, factor, factor, 1};
  op.shape = channels_last(n[0], {n[2] * n[4], n[3] * n[4]}, n[1]);
  return build.add(op, {build.input("x", channels_last(n[0], {n[2], n[3]}, n[1]))});
}

ValueId result_of(Builder& build, const bench::Problem& p) {
  const Extents& n = p.numbers;
  if (p.is_convolution()) return convolution(build, p.convolution());
  if (p.kind == "ip" || p.kind == "mm") return dense(build, n, p.kind == "ip");
  if (p.kind == "bmm")
    return build.add(MatMulOperator{}, {build.input("a", {n[0], n[1], n[2]}), build.input("b", {n[0], n[2], n[3]})});
  if (p.kind == "softmax") return build.add(SoftmaxOperator{1}, {build.input("x", {n[0], n[1]})});
  if (p.kind == "layer_norm") return layer_norm(build, n);
  if (p.kind == "max_pool") return max_pool(build, n);
  if (p.kind == "attention") return attention(build, n);
  if (p.kind == "sum")
    return build.add(ReduceOperator{ReduceKind::sum, {n[2]}, false}, {build.input("x", {n[0], n[1]})});
  if (p.kind == "sigmoid") return build.add(UnaryOperator{UnaryKind::sigmoid}, {build.input("x", {n[0], n[1]})});
  if (p.kind == "add")
    return build.relu(build.binary(BinaryKind::add, build.input("a", {n[0], n[1]}), build.input("b", {n[0], n[1]})));
  if (p.kind == "transpose") return build.add(TransposeOperator{{1, 0}}, {build.input("x", {n[0], n[1]})});
  if (p.kind == "concat")
    return build.add(ConcatOperator{1}, {build.input("a", {n[0], n[1]}), build.input("b", {n[0], n[2]})});
  if (p.kind == "resize") return resize(build, n);
  if (p.kind == "gather")
    return build.add(GatherOperator{0}, {build.input("x", {n[0], n[1]}), build.shuffled("places", n[0])});
  if (p.kind == "top_k") return build.add(TopKOperator{1, n[2]}, {build.input("x", {n[0], n[1]})});
  return build.add(ReduceOperator{ReduceKind::mean, {1, 2}, true},
                   {build.input("x", channels_last(n[0], {n[2], n[3]}, n[1]))});
}

}  // namespace

Result<Graph> blocked_graph_of(const bench::Problem& problem, std::int64_t block) {
  if (!problem.is_convolution()) return Error{problem.name + " is no convolution, which alone have blocks of channels"};
  const bench::Convolution c = problem.convolution();
  const std::int64_t in = std::min(block, c.in);
  if (c.in % in != 0 || c.out % block != 0)
    return Error{problem.name + ": blocks of " + std::to_string(block) + " do not divide the channels"};
  Builder build;
  Shape x = {c.batch, c.in / in}, w = c.kernel;
  x.insert(x.end(), c.size.begin(), c.size.end());
  x.push_back(in);
  if (c.groups == 1) w.push_back(c.in);
  w.push_back(c.out);
  const ConvOperator op{c.stride, c.dilation, c.pad, c.pad, c.groups, Layout::channels_blocked, block};
  const ValueId y = build.add(op, {build.input("x", x), build.constant("w", w), build.constant("b", {c.out})});
  return build.finish(build.relu(y));
}

Result<Graph> graph_of(const bench::Problem& problem, DType factors) {
  if (factors != DType::f32 && !problem.is_convolution() && problem.kind != "ip" && problem.kind != "mm")
    return Error{problem.name +
                 " is neither a convolution nor a product with weights, which alone have factors of bf16"};
  Builder build(factors);
  const ValueId output = result_of(build, problem);
  return build.finish(output);
}

}  // namespace whet
