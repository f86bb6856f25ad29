// Operators that whet/op.hpp prints, read as models.

#include "whet/op.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "formats/import_model.h"
#include "import/zoo/zoo.h"
#include "import_onnx/export.h"
#include "import_onnx/import_onnx.h"
#include "ops/evaluate_graph.h"
#include "passes/optimize.h"
#include "task/task.h"

namespace whet {
namespace {

/// The first output for inputs of 0, 1, 2, ... each.
std::vector<double> values_of(const op::Tensor& tensor) {
  const Graph graph = import_model_bytes(op::text({tensor}), "own").value();
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs) {
    Tensor input(graph.value(id).type.dtype, graph.value(id).type.shape);
    for (std::int64_t i = 0; i < input.size(); ++i) input.set(i, static_cast<double>(i));
    inputs.push_back(std::move(input));
  }
  const Tensor output = evaluate_graph(graph, inputs).value()[graph.outputs[0].index()];
  std::vector<double> values;
  for (std::int64_t i = 0; i < output.size(); ++i) values.push_back(output.get(i));
  return values;
}

TEST(OwnOperators, MultiplyAndAdd) {
  const auto a = op::input("a", {2, 3}), b = op::input("b", {3, 2}), c = op::input("c", {2, 2});
  const auto i = op::axis("i", 2), j = op::axis("j", 2), k = op::axis("k", 3);
  const auto product = op::compute("product", {i, j}, op::sum(a(i, k) * b(k, j), {k}));
  EXPECT_EQ(values_of(op::compute("out", {i, j}, product(i, j) + c(i, j))), (std::vector<double>{10, 14, 30, 43}));
}
TEST(OwnOperators, TakeNumbersInTheTypeOfTheOtherOperand) {
  const auto x = op::input("x", {4});
  const auto i = op::axis("i", 4);
  EXPECT_EQ(values_of(op::compute("y", {i}, 2 * x(i) - 0.5)), (std::vector<double>{-0.5, 1.5, 3.5, 5.5}));
  EXPECT_EQ(values_of(op::compute("y", {i}, op::where(i >= 1 && !(i == 2), x(i - 1), -7))),
            (std::vector<double>{-7, 0, -7, 2}));
  EXPECT_EQ(values_of(op::compute("y", {i}, op::maximum(op::minimum(-x(3 - i), -1), -2))),
            (std::vector<double>{-2, -2, -1, -1}));
  EXPECT_EQ(values_of(op::compute("y", {i}, x(op::floordiv(i, 2)) / 2 + op::cast(op::DType::f32, op::floormod(i, 3)))),
            (std::vector<double>{0, 1, 2.5, 0.5}));
}
TEST(OwnOperators, ReadRowsThatAnInputNames) {
  const auto table = op::input("table", {5, 2});
  const auto rows = op::input("rows", {3}, {op::DType::i32, false, 5});
  const auto i = op::axis("i", 3), j = op::axis("j", 2);
  EXPECT_EQ(values_of(op::compute("taken", {i, j}, table(rows(i), j))), (std::vector<double>{0, 1, 2, 3, 4, 5}));
}
TEST(OwnOperators, HaveSizesByName) {
  const auto n = op::size("n");
  const auto x = op::input("x", {n, 2});
  const auto i = op::axis("i", n), j = op::axis("j", 2);
  const auto y = op::compute("y", {i, j}, x(i, j) / op::cast(op::DType::f32, n));
  EXPECT_EQ(op::text({y}), "x = PLACEHOLDER [n, 2]\ny(i, j) = (x[i, j]/f32(n)) for i in n, j in 2\nreturn y\n");
  ImportOptions options;
  options.shapes["x"] = {3, 2};
  const Graph graph = import_model_bytes(op::text({y}), "own", options).value();
  EXPECT_EQ(to_string(graph.value(graph.outputs[0]).type), "f32[3x2]");
  EXPECT_THROW(op::size("a b"), op::Error);
  const auto z = op::input("z", {op::size("m", 1, 8, 4), 2});
  EXPECT_EQ(op::text({z}), "m = SIZE 1..8 at 4\nz = PLACEHOLDER [m, 2]\nreturn z\n");
  const std::vector<std::int64_t> extents = {3, 2};
  EXPECT_EQ(op::text({op::input("z", extents)}), "z = PLACEHOLDER [3, 2]\nreturn z\n");
}
TEST(OwnOperators, MayHaveAnyNames) {
  const auto x = op::input("for \"one\"", {2});
  const auto i = op::axis("in", 2);
  EXPECT_EQ(values_of(op::compute("a\nb", {i}, x(i) + 1)), (std::vector<double>{1, 2}));
}
TEST(OwnOperators, AreRefusedWithASentence) {
  const auto x = op::input("x", {3, 4});
  const auto i = op::axis("i", 3), j = op::axis("j", 4);
  const auto error = [](const auto& make) {
    try {
      make();
    } catch (const op::Error& wrong) {
      return std::string(wrong.what());
    }
    return std::string();
  };
  EXPECT_EQ(error([&] { x(i); }), "x has 2 dimensions and is read at 1");
  EXPECT_EQ(error([&] { x(i, x(i, j)); }), "x is read at x[i, j], which is f32; an index is an integer");
  EXPECT_EQ(error([&] { x(i, j) + i; }), "x[i, j] is f32 and i is i64; op::cast gives them one type");
  EXPECT_EQ(error([&] { op::exp(i); }), "exp is of floats, and i is i64");
  EXPECT_EQ((i + std::int64_t{9007199254740993}).text, "(i + 9007199254740993)") << "which is no double";
  EXPECT_NE(error([&] { i + 1e300; }), "");
  EXPECT_NE(error([&] { i + std::numeric_limits<double>::infinity(); }), "");
  EXPECT_EQ(error([&] { i + 0.5; }), "0.500000 is no i64; op::cast makes one of it");
  EXPECT_EQ(error([&] { op::text({op::compute("x", {i}, x(i, 0))}); }), "two tensors are called \"x\"");
}

// ---- Operators of one's own inside of a network.

std::vector<std::string> keys_of(const Graph& graph) {
  const std::vector<Task> tasks = extract_tasks(optimize(graph, {}).value(), Target{}).value();
  std::vector<std::string> keys;
  for (const Task& task : tasks) keys.push_back(task.key);
  return keys;
}

TEST(OwnOperators, OfAMobileNetworkAreTheTasksThatItsOwnWouldBe) {
  const Graph built_in = zoo_model("mobilenet_v3_small", {.image = 64}).value();
  OnnxModel file = parse_onnx(onnx_bytes(built_in).value(), "", "mobile").value();
  int changed = 0;
  for (OnnxNode& node : file.nodes) {
    if (node.op != "HardSwish") continue;
    node.domain = "com.acme", node.op = "Swish", ++changed;
  }
  ASSERT_GT(changed, 10);
  const auto x = op::input("x", {});
  ImportOptions options;
  options.definitions["com.acme.Swish"] = {
      "swish.dag", op::text({op::compute("swish", {}, x() * op::minimum(op::maximum(x() * 0.16666667 + 0.5, 0), 1))})};
  EXPECT_EQ(keys_of(import_onnx(std::move(file), options).value()), keys_of(built_in));
}

}  // namespace
}  // namespace whet
