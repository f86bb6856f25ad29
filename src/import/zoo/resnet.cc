#include <array>
#include <numeric>

#include "import/zoo/builder.h"

namespace whet {
namespace {

struct Plan {
  std::array<int, 4> units;  ///< of each stage
  bool bottleneck;
};

Plan plan_of(int depth) {
  switch (depth) {
    case 18:
      return {{2, 2, 2, 2}, false};
    case 34:
      return {{3, 4, 6, 3}, false};
    case 50:
      return {{3, 4, 6, 3}, true};
    case 101:
      return {{3, 4, 23, 3}, true};
    default:
      WHET_CHECK(depth == 152);
      return {{3, 8, 36, 3}, true};
  }
}

struct Unit {
  std::string name;
  std::int64_t channels, stride;
  bool project;        ///< the first of a stage: the shortcut is a convolution
  double branch_gain;  ///< of the branch's last convolution
};

/// Pre-activation: BN and relu are before each convolution, and the sum is left as it is.
ValueId residual_unit(ZooBuilder& b, ValueId x, const Unit& u, bool bottleneck) {
  int count = 0;
  ValueId y = x, first_activation;
  const auto step = [&](std::int64_t channels, std::int64_t kernel, std::int64_t stride, double gain) {
    const std::string i = std::to_string(++count);
    y = b.relu(u.name + "_relu" + i, b.batch_norm(u.name + "_bn" + i, y));
    if (count == 1) first_activation = y;
    y = b.conv(u.name + "_conv" + i, y, channels, kernel, stride, kernel / 2, gain);
  };
  if (bottleneck) {
    step(u.channels / 4, 1, u.stride, 2);
    step(u.channels / 4, 3, 1, 2);
    step(u.channels, 1, 1, u.branch_gain);
  } else {
    step(u.channels, 3, u.stride, 2);
    step(u.channels, 3, 1, u.branch_gain);
  }
  const ValueId shortcut = u.project ? b.conv(u.name + "_sc", first_activation, u.channels, 1, u.stride, 0, 2) : x;
  return b.add(u.name, y, shortcut);
}

}  // namespace

Graph make_resnet(int depth, const ZooOptions& options) {
  const Plan plan = plan_of(depth);
  // Gain 2 keeps the variance. Every unit adds its branch to the sum: with a share of 1 / count each, all of them
  // together grow it by e at most.
  const double branch_gain = 2.0 / std::accumulate(plan.units.begin(), plan.units.end(), 0);
  ZooBuilder b("resnet-" + std::to_string(depth), options);
  ValueId x = b.batch_norm("bn_data", b.image("data", 3));
  x = b.conv("conv0", x, 64, 7, 2, 3, 1);
  x = b.relu("relu0", b.batch_norm("bn0", x));
  x = b.max_pool("pool0", x, 3, 2, 1);
  for (int stage = 0; stage < 4; ++stage) {
    for (int unit = 0; unit < plan.units[static_cast<std::size_t>(stage)]; ++unit) {
      const std::string name = "stage" + std::to_string(stage + 1) + "_unit" + std::to_string(unit + 1);
      const std::int64_t channels = (plan.bottleneck ? 256 : 64) << stage, stride = stage > 0 && unit == 0 ? 2 : 1;
      x = residual_unit(b, x, {name, channels, stride, unit == 0, branch_gain}, plan.bottleneck);
    }
  }
  x = b.relu("relu1", b.batch_norm("bn1", x));
  x = b.flatten("flatten0", b.global_average_pool("pool1", x));
  return b.finish(b.softmax("softmax", b.dense("fc1", x, 1000, 1)));
}

Graph make_gluon_resnet18(const ZooOptions& options) {
  constexpr double kEpsilon = 1e-5, kBranchGain = 2.0 / 8;  // of 8 units, as above
  ZooBuilder b("mxnet-resnet18_v1", options);
  int number = 0;
  const auto conv = [&](const std::string& scope, ValueId x, std::int64_t channels, std::int64_t kernel,
                        std::int64_t stride, double gain) {
    const std::string i = std::to_string(number++);
    const ValueId y = b.conv(scope + "conv" + i + "_fwd", x, channels, kernel, stride, kernel / 2, gain);
    return b.batch_norm(scope + "batchnorm" + i + "_fwd", y, kEpsilon);
  };
  const std::string net = "resnetv10_";
  ValueId x = b.relu(net + "relu0_fwd", conv(net, b.image("data", 3), 64, 7, 2, 1));
  x = b.max_pool(net + "pool0_fwd", x, 3, 2, 1);
  for (int stage = 0; stage < 4; ++stage) {
    const std::string scope = net + "stage" + std::to_string(stage + 1) + "_";
    number = 0;
    for (int unit = 0; unit < 2; ++unit) {
      const std::int64_t channels = std::int64_t{64} << stage, stride = stage > 0 && unit == 0 ? 2 : 1;
      const std::string i = std::to_string(unit), activation = scope + "activation" + i;
      ValueId y = b.relu(scope + "relu" + i + "_fwd", conv(scope, x, channels, 3, stride, 2));
      y = conv(scope, y, channels, 3, 1, kBranchGain);
      if (stride != 1) x = conv(scope, x, channels, 1, stride, 1);
      x = b.relu(activation, b.add(scope + "_plus" + i, x, y));
    }
  }
  x = b.flatten(net + "flatten0_flatten0", b.global_average_pool(net + "pool1_fwd", x));
  return b.finish(b.dense(net + "dense0_fwd", x, 1000, 1));
}

}  // namespace whet
