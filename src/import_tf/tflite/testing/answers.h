#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "import_tf/tflite/testing/flat_writer.h"
#include "ops/evaluate_graph.h"

namespace whet::tflite {

using Numbers = std::vector<double>;

/// Each output's numbers of the model in `bytes` where its inputs hold `given`.
inline std::vector<Numbers> answers(const std::string& bytes, const std::vector<Numbers>& given) {
  const Result<Graph> graph = imported(bytes, "m");
  if (!graph.ok()) {
    ADD_FAILURE() << graph.error().message;
    return {};
  }
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const TensorType& type = graph->value(graph->inputs[i]).type;
    inputs.push_back(Tensor::of<double>(type.dtype, type.shape, given[i]));
  }
  const std::vector<Tensor> values = evaluate_graph(*graph, inputs).value();
  std::vector<Numbers> found;
  for (const ValueId id : graph->outputs) {
    const Tensor& y = values[id.index()];
    found.emplace_back();
    for (std::int64_t i = 0; i < y.size(); ++i) found.back().push_back(y.get(i));
  }
  return found;
}

/// Why the model is refused; empty where it is read.
inline std::string said(const std::string& bytes) {
  const Result<Graph> graph = imported(bytes, "m");
  return graph.ok() ? "" : graph.error().message;
}

}  // namespace whet::tflite
