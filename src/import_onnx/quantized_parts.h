#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace whet {

/// A byte q without a sign stands for (q - zero) * scale.
struct ByteScale {
  double scale = 1;  ///< an f32
  std::int64_t zero = 0;
};

/// The constant factor of a product, as bytes with a sign that stand for themselves times a scale.
struct ByteWeights {
  Tensor weights;              ///< i8, of the shape of the node's own
  std::vector<double> scales;  ///< by output channel
};

/// What of a graph an ONNX file has as bytes.
struct QuantizedParts {
  /// Activations, each as a node reads it: rounded to bytes. Others read it as it is. A value has one scale.
  std::map<std::pair<NodeId, ValueId>, ByteScale> reads;
  /// Convolutions with channels last, and products of an activation by a matrix.
  std::map<NodeId, ByteWeights> weights;
};

}  // namespace whet
