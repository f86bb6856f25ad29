#pragma once

#include <string>
#include <vector>

#include "base/rng.h"
#include "import/growing.h"
#include "import/site.h"
#include "import/zoo/zoo.h"

namespace whet {

/// Grows a network of composed operators with seeded weights, node by node, as exporters write it: channels first, nodes
/// called "Conv_12", constants "constant_12".
class NetworkBuilder {
 public:
  using Ints = std::vector<std::int64_t>;

  NetworkBuilder(std::string name, const ZooOptions& options);

  ValueId input(const std::string& name, DType, const Shape&);
  /// [batch, channels, image, image], called "data".
  ValueId image(std::int64_t channels);
  std::int64_t batch() const { return options_.batch; }
  const Shape& shape(ValueId id) const { return graph_.graph.value(id).type.shape; }

  // ---- Constants.
  /// Uniform in +-bound.
  ValueId weight(const Shape&, double bound);
  /// Uniform with the variance gain / fan_in.
  ValueId scaled(const Shape&, std::int64_t fan_in, double gain);
  ValueId filled(const Shape&, double low, double high);
  ValueId integers(const Ints&);
  ValueId scalar(double value);

  // ---- Nodes of one operator.
  ValueId unary(const char* type, UnaryKind kind, ValueId x) { return node(type, UnaryOperator{kind}, {x}); }
  ValueId relu(ValueId x) { return unary("Relu", UnaryKind::relu, x); }
  ValueId clip(ValueId x, double low, double high);
  ValueId tanh(ValueId x) { return unary("Tanh", UnaryKind::tanh, x); }
  ValueId add(ValueId a, ValueId b) { return node("Add", BinaryOperator{BinaryKind::add}, {a, b}); }
  ValueId sub(ValueId a, ValueId b) { return node("Sub", BinaryOperator{BinaryKind::sub}, {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return node("Mul", BinaryOperator{BinaryKind::mul}, {a, b}); }
  ValueId div(ValueId a, ValueId b) { return node("Div", BinaryOperator{BinaryKind::div}, {a, b}); }
  ValueId matmul(ValueId a, ValueId b) { return node("MatMul", MatMulOperator{}, {a, b}); }
  ValueId transpose(ValueId x, const Ints& perm) { return node("Transpose", TransposeOperator{perm}, {x}); }
  ValueId concat(const std::vector<ValueId>& parts) { return node("Concat", ConcatOperator{1}, parts); }
  ValueId softmax(ValueId x, std::int64_t axis) { return node("Softmax", SoftmaxOperator{axis, false}, {x}); }
  /// Over the last dimension, which stays as an extent of 1.
  ValueId mean_of_last(ValueId x);
  ValueId reshape(ValueId x, const Ints& extents);
  ValueId squeeze(ValueId x, std::int64_t axis);
  ValueId unsqueeze(ValueId x, const Ints& axes);
  ValueId expand(ValueId x, const Ints& extents);
  ValueId as_float(ValueId x);
  ValueId flatten(ValueId x);
  /// Rows of a table.
  ValueId gather(ValueId table, ValueId indices, std::int64_t axis);
  /// x [N, K] times weights [units, K] transposed, and a bias.
  ValueId gemm(ValueId x, ValueId weights, ValueId bias);
  ValueId global_average_pool(ValueId x);

  // ---- What networks share.
  struct Conv {
    std::int64_t in, out;
    Ints kernel;
    Ints stride = {1, 1};
    Ints pad = {0, 0};
    std::int64_t groups = 1;
    bool bias = false;
    double gain = 2;
  };
  ValueId conv(ValueId x, const Conv&);
  /// The same padding around all sides; weights [in, out, kernel...].
  ValueId conv_transpose(ValueId x, ValueId weights, std::int64_t stride, std::int64_t pad);
  ValueId batch_norm(ValueId x, std::int64_t channels);
  ValueId conv_bn_relu(ValueId x, const Conv& c) { return relu(batch_norm(conv(x, c), c.out)); }
  ValueId max_pool(ValueId x, std::int64_t kernel, std::int64_t stride, bool ceil = false, std::int64_t pad = 0);
  ValueId average_pool(ValueId x, std::int64_t kernel, std::int64_t stride, std::int64_t pad);
  /// x [..., in] times weights and a bias.
  ValueId linear(ValueId x, std::int64_t in, std::int64_t out, double gain = 1);
  /// By its parts, as older exporters write it.
  ValueId layer_norm(ValueId x, std::int64_t width);
  ValueId gelu(ValueId x);
  /// x [batch, tokens, width] attends to itself; `mask` (may be invalid) is added to the scores.
  ValueId attention(ValueId x, std::int64_t tokens, std::int64_t width, std::int64_t heads, ValueId mask);
  /// [steps, batch, features] to the states of all steps, [steps, 1, batch, hidden], and the last one, [1, batch, hidden].
  struct Lstm {
    ValueId rows, last;
  };
  Lstm lstm(ValueId x, std::int64_t hidden);
  /// Mean over the spatial dimensions, a dense layer and its softmax, called "softmax".
  ValueId classify(ValueId x, std::int64_t channels, std::int64_t classes);

  /// The graph; the last operator's output gets the name `output`.
  Graph finish(ValueId last, const std::string& output);

 private:
  std::string fresh(const std::string& type) { return type + "_" + std::to_string(values_++) + ":0"; }
  /// The site of the next node.
  NodeSite site(const std::string& type, std::size_t outputs = 1);
  ValueId node(const char* type, const Operator&, std::vector<ValueId> inputs);
  /// A node whose one result `part` computes at its site.
  template <typename Part>
  ValueId composed(const char* type, const Part& part);
  ValueId pool(const char* type, PoolKind, ValueId x, std::int64_t kernel, std::int64_t stride, std::int64_t pad,
               bool ceil);
  ValueId constant(Tensor);

  ZooOptions options_;
  Rng rng_;
  GrowingGraph graph_;
  int nodes_ = 0, values_ = 0, constants_ = 0;
};

Graph make_mobilenet(const ZooOptions&);
Graph make_mobilenet_v2(const ZooOptions&);
Graph make_mobilenet_v3_small(const ZooOptions&);
Graph make_mnasnet(const ZooOptions&);
Graph make_efficientnet_b0(const ZooOptions&);
Graph make_googlenet(const ZooOptions&);
Graph make_squeezenet(const ZooOptions&);
Graph make_vgg16(const ZooOptions&);
Graph make_resnet3d(const ZooOptions&);
Graph make_inception_v3(const ZooOptions&);
Graph make_dcgan(const ZooOptions&);
Graph make_bert_mini(const ZooOptions&);
Graph make_vit_small(const ZooOptions&);
Graph make_lstm(const ZooOptions&);

}  // namespace whet
