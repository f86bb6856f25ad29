#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "compute/dag.h"
#include "device/spots.h"
#include "runner/messages.h"
#include "target/precision.h"
#include "trial/task_inputs.h"

namespace whet {

/// What the runner must know of a placeholder to make contents for it.
ArgumentSpec spec_of(const Op& placeholder, std::uint64_t seed);
/// The same with contents that are given, where `number` is not 0.
ArgumentSpec spec_of(const Op& placeholder, std::uint64_t seed, std::uint64_t number);
/// The tensor that the runner makes of a spec.
Tensor make_tensor(const ArgumentSpec&, const Shape&);

/// Right answers of a task for inputs made from a seed, or given. Small tasks are known whole; of others 256 elements an output,
/// corners included, until a kernel has passed: then all elements of later ones are compared with that one's too.
class Reference {
 public:
  /// `positive`: floats in [1/4, 1) instead of [-1, 1), for tasks that are undefined on negative numbers.
  static Result<Reference> make(const ComputeDag&, std::uint64_t seed, const TaskInputs& inputs = {});

  /// The inputs' specs, one a placeholder, as the kernel must see them.
  const std::vector<ArgumentSpec>& inputs() const { return inputs_; }
  /// Empty when the outputs (contents, one an output of the DAG) are right, else what differs most and where.
  ///   precision  what the kernel rounds the operands of its products to
  std::string compare(const std::vector<std::string>& outputs, Precision precision = Precision::f32);

  /// What to ask a device elsewhere about each output of the DAG, for an answer by spots: elements that are known, fewer where a
  /// kernel has passed, whose whole outputs the device compares.
  ///   within  the tensor that the only output is a part of; empty: outputs are whole
  std::vector<AskedOutput> asked(const Shape& within, bool passed, Precision precision = Precision::f32) const;
  /// As `compare`, of the device's answer to that.
  std::string compare(const std::vector<AskedOutput>&, const SpotsReply&, const Shape& within,
                      Precision precision = Precision::f32) const;

 private:
  struct Output {
    std::string name;
    TensorType type;
    double tolerance = 0;
    std::vector<std::int64_t> elements;  ///< row-major numbers of those known; empty: all
    Tensor values;
    std::optional<Tensor> passed;  ///< whole output of a kernel that was right
  };
  static std::string compare(const Output&, const Tensor& got, double rounded);
  static std::string compare(const Output&, const AskedOutput&, const SeenOutput&, double rounded);

  std::vector<ArgumentSpec> inputs_;
  std::vector<Output> outputs_;
};

/// The largest error to expect relative to the largest magnitude: rounding of the dtype, grown by the lengths of
/// reductions; of bf16 that of f32, and 2^-6 for each op that rounds to it; 2^-8 of floats that are rounded to i16. Kernels that round the
/// operands of products may err by more (target/precision.h).
double tolerance_of(const ComputeDag&, DType output);

}  // namespace whet
