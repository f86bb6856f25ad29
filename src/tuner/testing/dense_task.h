#pragma once

#include <string>

#include "task/task.h"

namespace whet {

/// A dense layer: a task with a real space.
inline Task dense_task(const std::string& name, std::int64_t m, std::int64_t n, std::int64_t k, int weight) {
  ComputeDag dag;
  const OpId a = dag.add({"a", DType::f32, {m, k}, Placeholder{}});
  const OpId w = dag.add({"w", DType::f32, {k, n}, Placeholder{.constant = true}});
  Element element;
  element.axes = {{"i", m, AxisRole::row}, {"j", n, AxisRole::out_channel}};
  element.reduce_axes = {{"k", k, AxisRole::in_channel}};
  element.reducer = Reducer::sum;
  element.family = OpFamily::matmul;
  const Expr i = axis_var(element, 0), j = axis_var(element, 1), r = axis_var(element, 2);
  element.body = load(dag, a, {i, r}) * load(dag, w, {r, j});
  dag.outputs = {dag.add({"out", DType::f32, {m, n}, element})};
  return {workload_key(dag), name, dag, weight, {0}};
}

}  // namespace whet
