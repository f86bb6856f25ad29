#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/tensorflow/site.h"
#include "import/tflite/model.h"

namespace whet::tflite {

struct TfliteRow;

/// The site of an operator of TensorFlow Lite: tensors by their places, options by their fields' numbers. It is TensorFlow's, too,
/// for what TensorFlow has under another name.
class TfliteSite : public tensorflow::TfSite {
 public:
  TfliteSite(GrowingGraph& graph, const TfliteModel& model, const Subgraph& tensors, const Operation& operation,
             std::vector<std::string> outputs, bool is_inner = false);

  Status import();

  const FlatTable& options() const { return operation_.options; }
  const Operation& operation() const { return operation_; }
  const Graph& graph() const { return graph_.graph; }

  // ---- Operands as the file has them.
  bool has(std::size_t i) const { return i < operation_.inputs.size() && operation_.inputs[i] >= 0; }
  Status expect_inputs(std::size_t low, std::size_t high) const;
  Status expect_inputs(std::size_t count) const { return expect_inputs(count, count); }
  const TensorInfo& info(std::size_t i) const { return tensor(operation_.inputs[i]); }
  const TensorInfo& result_info(std::size_t i = 0) const { return tensor(operation_.outputs[i]); }
  /// The values of a list that is known while importing, or null.
  const std::vector<ValueId>* list(std::size_t i) const { return graph_.sequence(in(i)); }

  // ---- Numbers of 8 and of 16 bits: what they mean.
  static bool has_bytes(const TensorInfo& info) {
    return (info.type == 9 || info.type == 3) && !info.quantization.scales.empty();
  }
  static bool is_quantized(const TensorInfo& info) {
    return has_bytes(info) || (info.type == kInt16 && !info.quantization.scales.empty());
  }
  /// Operand `i` in floats, whatever it is stored as.
  Result<ValueId> real(std::size_t i);
  /// A bias in floats: integers count steps of the product of the scales of image and weights.
  Result<ValueId> real_bias(std::size_t bias, std::size_t image, std::size_t weights);
  /// Gives floats as the file stores the result.
  Status give_real(ValueId y, std::size_t i = 0);
  Status give_real(const Result<ValueId>& y, std::size_t i = 0) { return y.ok() ? give_real(*y, i) : y.error(); }
  // What TensorFlow's functions give is stored, where they compute in floats.
  using TfSite::give;
  using TfSite::pass;
  Status give(ValueId x, std::size_t i = 0) override;
  Status give(const Operator&, std::vector<ValueId> inputs, std::size_t i = 0) override;
  Status pass(ValueId x, std::size_t i = 0) override { return computes_ ? give(x, i) : TfSite::pass(x, i); }
  /// Whether operand `i` and all results mean the same by the same numbers, so that they are moved as they are stored.
  bool moves_as_stored(std::size_t i) const;
  /// The scales of a tensor as a constant that broadcasts to `shape` along its own dimension, or along `dimension`.
  Result<ValueId> scales_of(const TensorInfo&, const Shape& shape, std::optional<std::size_t> dimension = std::nullopt);
  Result<std::optional<ValueId>> zeros_of(const TensorInfo&, const Shape& shape);

  /// Imports a graph of the file where the operator is, its inputs being `inputs`, and gives its outputs.
  Result<std::vector<ValueId>> inlined(int graph, const std::vector<ValueId>& inputs);

  // ---- Fused activations: none, relu, relu_n1_to_1, relu6, tanh.
  Result<ValueId> activated(ValueId y, int activation);

 private:
  Status check_int16() const;
  Status import_as(const TfliteRow&);
  void read_attributes(std::string_view);
  /// Floats as the file stores result `i`.
  Result<ValueId> stored(ValueId y, std::size_t i);
  const TensorInfo& tensor(int number) const { return subgraph_.tensors[static_cast<std::size_t>(number)]; }

  const TfliteModel& model_;
  const Subgraph& subgraph_;
  const Operation& operation_;
  tensorflow::TfNode call_;  ///< as TensorFlow has it
  tensorflow::Bodies no_bodies_{{}};
  bool computes_ = false;  ///< in floats: results are stored
  int activation_ = 0;     ///< of what it computes
};

}  // namespace whet::tflite
