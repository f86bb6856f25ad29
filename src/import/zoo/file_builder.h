#pragma once

#include <string>
#include <vector>

#include "base/rng.h"
#include "import/onnx/reader.h"
#include "import/zoo/zoo.h"

namespace whet {

/// Grows a network as an ONNX file holds it, with seeded weights: for networks of operators that importers compose.
/// Every operator gives the name of its (first) output.
class FileBuilder {
 public:
  using Name = std::string;
  using Ints = std::vector<std::int64_t>;

  FileBuilder(std::string name, const ZooOptions& options);

  Name input(const Name& name, DType, const Shape&);
  /// [batch, channels, image, image], called "data".
  Name image(std::int64_t channels);
  std::int64_t batch() const { return options_.batch; }

  /// Uniform in +-bound.
  Name weight(const Shape&, double bound);
  /// Uniform with the variance gain / fan_in.
  Name scaled(const Shape&, std::int64_t fan_in, double gain);
  Name filled(const Shape&, double low, double high);
  Name integers(const Ints&);
  Name scalar(double value);

  Name op(const std::string& type, const std::vector<Name>& inputs, std::vector<OnnxAttribute> attributes = {});
  /// Several outputs.
  std::vector<Name> op(const std::string& type, const std::vector<Name>& inputs, std::size_t outputs,
                       std::vector<OnnxAttribute> attributes);

  // ---- What networks share. Extents are followed by hand: the caller says how many channels come in.
  struct Conv {
    std::int64_t in, out;
    Ints kernel;
    Ints stride = {1, 1};
    Ints pad = {0, 0};
    std::int64_t groups = 1;
    bool bias = false;
    double gain = 2;
  };
  Name conv(const Name& x, const Conv&);
  Name batch_norm(const Name& x, std::int64_t channels);
  Name relu(const Name& x) { return op("Relu", {x}); }
  Name conv_bn_relu(const Name& x, const Conv& c) { return relu(batch_norm(conv(x, c), c.out)); }
  Name pool(const char* type, const Name& x, std::int64_t kernel, std::int64_t stride, std::int64_t pad,
            bool ceil = false);
  Name concat(const std::vector<Name>& parts, std::int64_t axis = 1);
  /// x [..., in] times weights and a bias.
  Name linear(const Name& x, std::int64_t in, std::int64_t out, double gain = 1);
  /// By its parts, as older exporters write it.
  Name layer_norm(const Name& x, std::int64_t width);
  Name gelu(const Name& x);
  /// x [batch, tokens, width] attends to itself; `mask` (may be "") is added to the scores.
  Name attention(const Name& x, std::int64_t tokens, std::int64_t width, std::int64_t heads, const Name& mask);
  /// Mean over the spatial dimensions, a dense layer and its softmax, called "softmax".
  Name classify(const Name& x, std::int64_t channels, std::int64_t classes);

  /// The graph; the last operator's output gets the name `output`.
  Graph finish(const Name& last, const Name& output);

 private:
  Name fresh(const std::string& type) { return type + "_" + std::to_string(count_++) + ":0"; }
  Name constant(Tensor);

  ZooOptions options_;
  Rng rng_;
  OnnxModel model_;
  int count_ = 0;
};

Graph make_mobilenet(const ZooOptions&);
Graph make_squeezenet(const ZooOptions&);
Graph make_vgg16(const ZooOptions&);
Graph make_resnet3d(const ZooOptions&);
Graph make_inception_v3(const ZooOptions&);
Graph make_dcgan(const ZooOptions&);
Graph make_bert_mini(const ZooOptions&);
Graph make_vit_small(const ZooOptions&);
Graph make_lstm(const ZooOptions&);

}  // namespace whet
