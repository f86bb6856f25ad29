#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "import_tf/site.h"
#include "import_tf/tflite/model.h"

namespace whet::tflite {

enum Passing : std::uint8_t;

/// The site of an operator of TensorFlow Lite: tensors by their places, options by their fields' numbers. It is TensorFlow's, too,
/// for what TensorFlow has under another name. It is long because what a row does to operands decides what is done to results.
class TfliteSite : public tensorflow::TfSite {
 public:
  TfliteSite(GrowingGraph& graph, const TfliteModel& model, const Subgraph& tensors, const Operation& operation,
             Texts outputs, bool is_inner = false);

  Status import();

  const Operation& operation() const { return operation_; }
  const TensorInfo& info(std::size_t i) const { return tensor_info(operation_.inputs[i]); }
  const TensorInfo& result_info(std::size_t i = 0) const { return tensor_info(operation_.outputs[i]); }

  /// Numbers of 8 bits, or of 16 too, that mean others.
  static bool has_bytes(const TensorInfo& info) {
    return (info.type == 9 || info.type == 3) && !info.quantization.scales.empty();
  }
  static bool is_quantized(const TensorInfo& info) {
    return has_bytes(info) || (info.type == kInt16 && !info.quantization.scales.empty());
  }

  // Results are activated and stored where the row passes operands in floats.
  using TfSite::give;
  using TfSite::pass;
  Status give(ValueId x, std::size_t i = 0) override;
  Status give(const Operator&, ValueIds inputs, std::size_t i = 0) override;
  Status pass(ValueId x, std::size_t i = 0) override { return computes_ ? give(x, i) : TfSite::pass(x, i); }
  /// What the row does to the result, where it is not the last thing that is done.
  Result<ValueId> activated(ValueId y) { return activated(y, std::exchange(activation_, 0)); }
  /// One of none, relu, relu_n1_to_1, relu6, tanh.
  Result<ValueId> activated(ValueId y, int activation);

  /// Imports the graph of the file with that number.
  Result<ValueIds> inlined(const tensorflow::TfFunctionName&, const ValueIds& inputs) override;

 private:
  Status import_defined(const OperatorDefinition&);
  Status check_operands() const;
  Status check_results() const;
  Status read_fields(std::string_view fields);
  Status pass_operands(Passing);
  Status pass_bytes();
  /// Whether operand `i` and all results mean the same by the same numbers.
  bool moves_as_stored(std::size_t i) const;
  bool wraps(std::size_t i) const;
  /// Operand `i` in floats, whatever it is stored as.
  Result<ValueId> real(std::size_t i);
  /// A bias in floats: integers count steps of the product of the scales of image and weights.
  Result<ValueId> real_bias(std::size_t bias);
  /// The product of the scales of image and weights, which broadcasts along the last of `channels`.
  Result<ValueId> product_of_scales(const char* part, std::int64_t channels);
  Result<ValueId> sum_in_floats(ValueId sum);
  /// Floats as the file stores result `i`.
  Result<ValueId> stored(ValueId y, std::size_t i);
  /// The shape of `count` numbers along the tensor's own dimension; of one, a scalar.
  Result<Shape> column(const TensorInfo&, std::size_t count, const char* what, const Shape& shape) const;
  /// The scales of a tensor as a constant that broadcasts to `shape`.
  Result<ValueId> scales_of(const TensorInfo&, const Shape& shape);
  Result<std::optional<ValueId>> zeros_of(const TensorInfo&, const Shape& shape);
  const TensorInfo& tensor_info(int number) const { return subgraph_.tensors[static_cast<std::size_t>(number)]; }

  const TfliteModel& model_;
  const Subgraph& subgraph_;
  const Operation& operation_;
  tensorflow::TfNode attributes_;
  tensorflow::Bodies no_bodies_{{}};
  bool computes_ = false;            ///< in floats: results are stored
  bool moves_ = false;               ///< operands as they are stored
  bool sums_ = false;                ///< the result is a sum of products of bytes
  std::optional<ValueId> sum_bias_;  ///< of such a sum
  int activation_ = 0;               ///< of what it computes
};

}  // namespace whet::tflite
