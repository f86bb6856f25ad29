#pragma once

#include <string>

#include "passes/testing/graph_builder.h"

namespace whet::testing {

/// How quantized models are written: bytes, which become floats or i32, and floats that become bytes.
struct QuantizedBuilder : GraphBuilder {
  DType bytes = DType::u8;
  int made = 0;

  std::string next(const char* part) { return part + std::to_string(++made); }
  ValueId number(double value, DType dtype = DType::f32) {
    return graph.add_constant(next("c"), Tensor::of<double>(dtype, {}, {value}));
  }
  ValueId centred(ValueId x, double zero) {
    x = add(next("wide"), CastOperator{DType::i32}, {x});
    return binary(next("centred"), BinaryKind::sub, x, number(zero, DType::i32));
  }
  ValueId real(ValueId x, double zero, ValueId scale) {
    return binary(next("real"), BinaryKind::mul, add(next("float"), CastOperator{DType::f32}, {centred(x, zero)}),
                  scale);
  }
  ValueId real(ValueId x, double zero, double scale) { return real(x, zero, number(scale)); }
  ValueId rounded(ValueId y, double zero, double scale) {
    y = unary(next("round"), UnaryKind::round, binary(next("divided"), BinaryKind::div, y, number(scale)));
    y = plus(next("shifted"), y, number(zero));
    const bool has_sign = bytes == DType::i8;
    y = add(next("clipped"), ClipOperator{has_sign ? -128.0 : 0, has_sign ? 127.0 : 255}, {y});
    return add(next("bytes"), CastOperator{bytes}, {y});
  }
  ValueId byte_constant(Shape shape) {
    return graph.add_constant(next("w"), Tensor::random({DType::i8, std::move(shape)}, rng, -127, 128));
  }
  /// Constant bytes with a scale for each index of the first dimension.
  ValueId weights(const Shape& shape) {
    Shape scales(shape.size(), 1);
    scales[0] = shape[0];
    return real(byte_constant(shape), 0,
                graph.add_constant(next("s"), Tensor::random({DType::f32, scales}, rng, 0.001, 0.01)));
  }
  double zero(std::int64_t value) const { return static_cast<double>(value - (bytes == DType::i8 ? 128 : 0)); }
};

}  // namespace whet::testing
