#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/define.h"
#include "ops/evaluate_graph.h"

namespace whet::testing {

/// The dag of one operator over placeholders p0, p1, ... of the given types.
inline ComputeDag define_one(const Operator& op, const std::vector<TensorType>& inputs) {
  ComputeDag dag;
  std::vector<OpId> ids;
  for (const TensorType& type : inputs) {
    ids.push_back(dag.add({"p" + std::to_string(ids.size()), type.dtype, type.shape, Placeholder{}}));
  }
  const auto type = infer_type("node", op, inputs);
  EXPECT_TRUE(type.ok()) << (type.ok() ? "" : type.error().message);
  if (!type.ok()) return dag;
  const auto result = define(dag, op, ids, inputs, *type, name_of(op));
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  if (!result.ok()) return dag;
  dag.outputs = {*result};
  const Status status = verify(dag);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return dag;
}

/// The operator's value on `inputs`.
inline Tensor value_of(const Operator& op, const std::vector<Tensor>& inputs) {
  std::vector<TensorType> types;
  for (const Tensor& t : inputs) types.push_back(t.type());
  const auto type = infer_type("node", op, types);
  EXPECT_TRUE(type.ok()) << (type.ok() ? "" : type.error().message);
  if (!type.ok()) return Tensor();
  const auto value = evaluate_operator(op, inputs, *type, "node");
  EXPECT_TRUE(value.ok()) << (value.ok() ? "" : value.error().message);
  return value.ok() ? *value : Tensor();
}

inline Tensor floats(Shape shape, const std::vector<double>& values) {
  return Tensor::of<double>(DType::f32, std::move(shape), values);
}

/// The elements in row-major order.
inline std::vector<double> elements(const Tensor& x) {
  std::vector<double> list;
  for (std::int64_t i = 0; i < x.size(); ++i) list.push_back(x.get(i));
  return list;
}

inline void expect_near(const Tensor& got, const Shape& shape, const std::vector<double>& want,
                        double tolerance = 1e-6) {
  EXPECT_EQ(to_string(got.shape()), to_string(shape));
  ASSERT_EQ(got.size(), static_cast<std::int64_t>(want.size()));
  for (std::int64_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got.get(i), want[static_cast<std::size_t>(i)], tolerance) << "element " << i;
  }
}

inline TensorType f32(Shape shape) { return {DType::f32, std::move(shape)}; }

}  // namespace whet::testing
