#pragma once

#include <algorithm>
#include <vector>

#include "compute/dag.h"
#include "lower/lower.h"
#include "tensor/compare.h"

namespace whet::testing {

/// The first argument of a kernel with sizes.
inline Tensor size_tensor(const SizeValues& sizes) {
  Tensor tensor(DType::i64, {static_cast<std::int64_t>(sizes.size())});
  for (std::size_t k = 0; k < sizes.size(); ++k) tensor.set_integer(static_cast<std::int64_t>(k), sizes[k]);
  return tensor;
}

/// What a lowered program is called with: inputs, constants as they are packed, room for outputs.
///   dag     of one size: that of `sizes` where the program has sizes
///   inputs  a tensor for each placeholder of the DAG, constant ones too
inline Result<std::vector<Tensor>> arguments_of(const Lowered& lowered, const ComputeDag& dag,
                                                const std::vector<Tensor>& inputs, const SizeValues& sizes = {}) {
  std::vector<Tensor> constants;
  std::size_t placeholder = 0;
  for (const Op& op : dag.ops) {
    if (!op.is_placeholder()) continue;
    if (std::get<Placeholder>(op.def).constant) constants.push_back(inputs[placeholder]);
    ++placeholder;
  }
  WHET_TRY(const std::vector<Tensor> packed, evaluate(lowered.packing, constants));
  std::vector<Tensor> arguments;
  for (const KernelArgument& a : lowered.arguments) {
    const auto index = static_cast<std::size_t>(a.index);
    const Shape& shape =
        sizes.empty() || a.kind != KernelArgument::Kind::output ? a.type.shape : dag.op(dag.outputs[index]).shape;
    arguments.push_back(a.kind == KernelArgument::Kind::input    ? inputs[index]
                        : a.kind == KernelArgument::Kind::packed ? packed[index]
                        : a.kind == KernelArgument::Kind::sizes  ? size_tensor(sizes)
                                                                 : Tensor(a.type.dtype, shape));
  }
  return arguments;
}

/// The largest relative difference of the outputs among `arguments`, behind a run, from those that the DAG is evaluated to.
inline double worst_output(const Lowered& lowered, const std::vector<Tensor>& want,
                           const std::vector<Tensor>& arguments) {
  double worst = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (lowered.arguments[i].kind == KernelArgument::Kind::output)
      worst =
          std::max(worst, compare(arguments[i], want[static_cast<std::size_t>(lowered.arguments[i].index)]).relative);
  return worst;
}
inline Result<double> worst_output(const Lowered& lowered, const ComputeDag& dag, const std::vector<Tensor>& inputs,
                                   const std::vector<Tensor>& arguments) {
  WHET_TRY(const std::vector<Tensor> want, evaluate(dag, inputs));
  return worst_output(lowered, want, arguments);
}

}  // namespace whet::testing
