#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "compute/dag.h"
#include "graph/graph.h"

namespace whet {

/// The names of the ops of one dag that grows, kept over many calls of `define`: to look through all ops for each new one takes
/// quadratic time.
class OpNames {
 public:
  /// `wanted`, or with the first number behind it that makes it the name of no op of the dag. It is taken from then on.
  std::string unique(const ComputeDag&, const std::string& wanted);

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> last_;  ///< the number behind a name that was given last
  std::size_t seen_ = 0;                       ///< ops of the dag whose names are taken
};

/// Appends to `dag` the ops that compute one graph operator, and returns the last of them, which has type `output`.
/// `inputs` are ops of the dag with the types `input_types`. `output` is the result of `infer_type` for them and has at
/// least one element. An input that is an element whose whole body is a constant is read as that literal.
/// The ops are called `name`, `name_pad`, `name_sum`, `name_bias`, ..., made unique.
///
/// Schedule templates recognise ops by families and roles:
///   conv       axes [n batch, (z depth, y row,) x column, oc out_channel] (channels_first: [n, oc, ...]),
///              reduce [taps tap, rc in_channel] (channels_first: [rc, taps]); body input * weights,
///              weights [taps..., rc, oc] (channels_first: [oc, rc, taps...])
///   depthwise  groups == channels == output channels: axes [n, ..., c channel], reduce [taps tap],
///              weights [taps..., c]
///   matmul     axes [batch..., m row, n out_channel], reduce [k in_channel], body a * b
///   pool       axes [n, ..., c channel], reduce [taps tap]
///   pad        before a conv, depthwise or pool whose window leaves its input, and for the pad operator
///   softmax    the four or five ops of a (log-)softmax
///   reduce, resize, injective (each element copies one element), elementwise
Result<OpId> define(ComputeDag& dag, const Operator&, const std::vector<OpId>& inputs,
                    const std::vector<TensorType>& input_types, const TensorType& output, const std::string& name);
/// The same of a dag that many operators are defined in; `names` are those of this dag.
Result<OpId> define(ComputeDag& dag, OpNames& names, const Operator&, const std::vector<OpId>& inputs,
                    const std::vector<TensorType>& input_types, const TensorType& output, const std::string& name);

}  // namespace whet
