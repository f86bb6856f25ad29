#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "passes/rewriter.h"

namespace whet {

/// (x - zero) * scale, of bytes.
struct ByteForm {
  ValueId x;
  std::int64_t zero = 0;
  double scale = 1;
};

/// q * scale, of numbers that a byte with a sign holds; a scale for each index of dimension `along`, or one for all.
struct WeightForm {
  Tensor q;
  std::vector<double> scales;
  std::size_t along = 0;
};

/// Reads the graph that a Rewriter grows for what quantized models are written as. (Values are new ones.)
class IntegerForms {
 public:
  explicit IntegerForms(const Rewriter& rewriter) : rewriter_(rewriter) {}

  /// What follows from constants alone, whether or not it is folded; null for everything else.
  const Tensor* known(ValueId);
  /// The only element of what is known.
  std::optional<double> number(ValueId);

  /// i32(x) - zero, or the same in f32, with a scale of 1; in a few steps.
  std::optional<ByteForm> centred(ValueId id) { return centred(id, kMostSteps); }
  /// The f32 value (x - zero) * scale; a scale of 1 needs no product.
  std::optional<ByteForm> dequantized(ValueId);
  /// Constant weights whose dimension `along` has the output channels: of i32 as they are, of f32 as a product of bytes and
  /// scales, or a transpose of that. Nothing where a number does not fit a byte with a sign.
  std::optional<WeightForm> weights(ValueId, std::size_t along);

 private:
  /// Casts and subtractions between bytes and what they stand for: quantized models have two or three. In a chain of any
  /// length each value would go through all of it.
  static constexpr int kMostSteps = 32;

  std::optional<ByteForm> centred(ValueId, int steps);
  std::optional<WeightForm> scaled_weights(ValueId, std::size_t along);
  bool is_asked(ValueId) const;
  const Tensor* answer(ValueId) const;
  std::optional<ValueId> unasked_operand(ValueId) const;
  std::optional<Tensor> value_of(const Node&) const;

  const Rewriter& rewriter_;
  std::unordered_map<std::int32_t, std::optional<Tensor>> known_;
};

bool is_byte(DType);

}  // namespace whet
