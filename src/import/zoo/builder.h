#pragma once

#include <string>

#include "base/rng.h"
#include "import/zoo/zoo.h"

namespace whet {

/// Grows a network of one layout with seeded weights. The same seed gives the same network in both layouts.
class ZooBuilder {
 public:
  ZooBuilder(std::string name, const ZooOptions& options);

  ValueId input(const std::string& name, const Shape& shape);
  /// An input image [N, C, H, W] or [N, H, W, C].
  ValueId image(const std::string& name, std::int64_t channels);
  /// Without bias. The weights' variance is gain / fan_in: 2 keeps the variance of what passes a relu before it.
  ValueId conv(const std::string& name, ValueId x, std::int64_t channels, std::int64_t kernel, std::int64_t stride,
               std::int64_t pad, double gain);
  /// Scale and variance near 1, bias and mean near 0.
  ValueId batch_norm(const std::string& name, ValueId x, double epsilon = 2e-5F);
  ValueId relu(const std::string& name, ValueId x);
  ValueId add(const std::string& name, ValueId a, ValueId b);
  ValueId max_pool(const std::string& name, ValueId x, std::int64_t kernel, std::int64_t stride, std::int64_t pad);
  /// The mean over height and width; they stay as extents of 1.
  ValueId global_average_pool(const std::string& name, ValueId x);
  ValueId flatten(const std::string& name, ValueId x);
  /// x [N, K] times weights [units, K] transposed, and a bias.
  ValueId dense(const std::string& name, ValueId x, std::int64_t units, double gain);
  ValueId softmax(const std::string& name, ValueId x);

  Graph finish(ValueId output);

 private:
  ValueId node(const std::string& name, Operator op, std::vector<ValueId> inputs);
  ValueId uniform(const std::string& name, const Shape& shape, double low, double high);
  const Shape& shape(ValueId id) const { return graph_.value(id).type.shape; }
  std::int64_t channels(ValueId id) const;

  Graph graph_;
  ZooOptions options_;
  Rng rng_;
};

Graph make_resnet(int depth, const ZooOptions& options);
/// Gluon's resnet18_v1: BN and relu are behind each convolution.
Graph make_gluon_resnet18(const ZooOptions& options);
Graph make_mlp(const ZooOptions& options);

}  // namespace whet
