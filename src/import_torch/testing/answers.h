#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "import_torch/testing/pt2.h"
#include "ops/evaluate_graph.h"

/// What programs of a few nodes answer.
namespace whet::torch {

using Values = std::vector<double>;

inline Tensor f32(const Shape& shape, const Values& values) { return Tensor::of(DType::f32, shape, values); }
inline Tensor i64(const Shape& shape, const Values& values) { return Tensor::of(DType::i64, shape, values); }
inline Tensor truths(const Shape& shape, const Values& values) { return Tensor::of(DType::boolean, shape, values); }

/// All outputs where the inputs are `given`; an error is a failure.
inline std::vector<Values> answers(const Pt2& program, const std::vector<Tensor>& given) {
  const Result<Graph> graph = imported_pt2(program.bytes(), "m");
  if (!graph.ok()) {
    ADD_FAILURE() << graph.error().message;
    return {};
  }
  const auto values = evaluate_graph(*graph, given).value();
  std::vector<Values> all;
  for (const ValueId output : graph->outputs) {
    const Tensor& y = values[output.index()];
    all.emplace_back();
    for (std::int64_t i = 0; i < y.size(); ++i) all.back().push_back(y.get(i));
  }
  return all;
}
/// The results of one operator of the tensors "a", "b", ..., as `arguments` name them.
inline std::vector<Values> results(const std::string& op, const std::string& arguments,
                                   const std::vector<Tensor>& given, std::size_t outputs = 1) {
  Pt2 p;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const DType dtype = given[i].dtype();
    const int type = dtype == DType::i64       ? 5
                     : dtype == DType::boolean ? 12
                     : dtype == DType::i32     ? 4
                     : dtype == DType::i8      ? 2
                     : dtype == DType::u8      ? 1
                     : dtype == DType::f64     ? 8
                                               : 7;
    p.input(std::string(1, static_cast<char>('a' + i)), given[i].shape(), type);
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < outputs; ++i) names.push_back("y" + std::to_string(i));
  p.node(op, arguments, names);
  for (const std::string& name : names) p.output(name);
  return answers(p, given);
}
inline Values result(const std::string& op, const std::string& arguments, const std::vector<Tensor>& given) {
  const auto all = results(op, arguments, given);
  return all.empty() ? Values{} : all[0];
}
inline void expect_near(const Values& got, const Values& want, double tolerance = 1e-5) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance) << i;
}
/// The sentence of a refusal.
inline std::string refusal(const Pt2& program) {
  const Result<Graph> graph = imported_pt2(program.bytes(), "m");
  return graph.ok() ? "" : graph.error().message;
}

}  // namespace whet::torch
