#include "formats/operator_file.h"

#include <gtest/gtest.h>

#include "compute/dag.h"
#include "formats/import_model.h"

namespace whet {
namespace {

namespace operator_file_test {

constexpr const char* kProduct = R"(# out = a * b + c
a = PLACEHOLDER [8, 16]
b = PLACEHOLDER [16, 32] const
c = PLACEHOLDER [8, 32]
product(i, j) += (a[i, k]*b[k, j]) for i in 8, j in 32, k in 16
out(i, j) = (product[i, j] + c[i, j]) for i in 8, j in 32
return out
)";

std::vector<std::string> names_of(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<std::string> names;
  for (const ValueId id : ids) names.push_back(graph.value(id).name);
  return names;
}
const ComputeDag& definition(const Graph& graph, std::size_t node) {
  return *std::get<CustomOperator>(graph.nodes[node].op).definition;
}
std::string error_of(const std::string& text, const ImportOptions& options = {}) {
  const auto graph = import_model_bytes(text, "matmul.dag", options);
  return graph.ok() ? "" : graph.error().message;
}

TEST(OperatorFile, IsAModelOfOneNode) {
  const Graph graph = import_model_bytes(kProduct, "matmul.dag").value();
  EXPECT_EQ(names_of(graph, graph.inputs), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(names_of(graph, graph.outputs), (std::vector<std::string>{"out"}));
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(name_of(graph.nodes[0].op), "product+out");
  EXPECT_EQ(to_string(graph.value(graph.outputs[0]).type), "f32[8x32]");
}
TEST(OperatorFile, HasTheRolesThatNobodyWrote) {
  const Graph graph = import_model_bytes(kProduct, "matmul.dag").value();
  const Element& product = definition(graph, 0).op(OpId(3)).element();
  EXPECT_EQ(product.family, OpFamily::matmul);
  EXPECT_EQ(product.axes[1].role, AxisRole::out_channel);
}
TEST(OperatorFile, HasAConstantWhereItsValueIsGiven) {
  ImportOptions options;
  options.values["b"] = Tensor(DType::f32, {16, 32});
  options.values["a"] = Tensor(DType::f32, {8, 16});  // no constant of the operator
  const Graph graph = import_model_bytes(kProduct, "matmul.dag", options).value();
  EXPECT_EQ(names_of(graph, graph.inputs), (std::vector<std::string>{"a", "c"}));
}
TEST(OperatorFile, IsANodeForEachOutput) {
  const Graph graph = import_model_bytes(R"(x = PLACEHOLDER [4, 6]
sum(i) += x[i, k] for i in 4, k in 6
most(i) max= x[i, k] for i in 4, k in 6
return sum, most
)",
                                         "two.dag")
                          .value();
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(name_of(graph.nodes[0].op), "sum");
  EXPECT_EQ(name_of(graph.nodes[1].op), "most");
}
TEST(OperatorFile, SaysWhichLineIsWrong) {
  EXPECT_EQ(error_of("x = PLACEHOLDER [4]\ny(i) = z[i] for i in 4\nreturn y\n"),
            "matmul.dag: DAG, line 2, column 10: no op before this line is named 'z'");
  EXPECT_EQ(error_of("x = PLACEHOLDER [4]\n"), "matmul.dag: DAG: a DAG has at least one output");
}
TEST(OperatorFile, ReadsInsideOfItsTensors) {
  const auto file = [](const std::string& index) {
    return "x = PLACEHOLDER [4]\nr = PLACEHOLDER [4] i32 < 4\ny(i) = x[" + index + "] for i in 4\nreturn y\n";
  };
  EXPECT_EQ(error_of(file("i64(r[i])")), "") << "what is given counts as the nearest";
  EXPECT_EQ(error_of(file("(i + 1)")).substr(0, 59), "matmul.dag: y reads x at (i + 1) in dimension 0, which is n");
}
TEST(OperatorFile, HasNoTensorThatIsTooLarge) {
  EXPECT_EQ(error_of("x = PLACEHOLDER [1]\nt(i, j) = x[0] for i in 4000000000, j in 4000000000\ny(i) = t[i, 0] for i "
                     "in 4\nreturn y\n"),
            "y: t has shape 4000000000x4000000000; at most 2147483647 elements are supported");
}
TEST(OperatorFile, HasBoundsThatTheTypeReaches) {
  EXPECT_NE(error_of("x = PLACEHOLDER [300]\nr = PLACEHOLDER [4] u8 < 300\ny(i) = x[i64(r[i])] for i in 4\nreturn y\n")
                .find("the index bound 300, which u8 does not reach"),
            std::string::npos);
  EXPECT_EQ(error_of("x = PLACEHOLDER [256]\nr = PLACEHOLDER [4] u8 < 256\ny(i) = x[i64(r[i])] for i in 4\nreturn y\n"),
            "");
}

constexpr const char* kOpen = R"(a = PLACEHOLDER [N, L]
b = PLACEHOLDER [L, 4]
product(i, j) += (a[i, k]*b[k, j]) for i in N, j in 4, k in L
mean(i, j) = (product[i, j]/f32(L)) for i in N, j in 4
return mean
)";

TEST(OperatorFile, TakesSizesByNameFromTheShapesOfItsInputs) {
  ImportOptions options;
  options.shapes["a"] = {3, 8};
  const Graph graph = import_model_bytes(kOpen, "open.dag", options).value();
  EXPECT_EQ(to_string(graph.value(graph.inputs[1]).type), "f32[8x4]");
  EXPECT_EQ(to_string(graph.value(graph.outputs[0]).type), "f32[3x4]");
  EXPECT_NE(to_text(definition(graph, 0)).find("f32(8)"), std::string::npos) << to_text(definition(graph, 0));
  EXPECT_EQ(definition(graph, 0).op(OpId(2)).element().family, OpFamily::matmul);
}
TEST(OperatorFile, WantsAValueForEachSize) {
  const auto error = [](const std::map<std::string, Shape>& shapes) {
    ImportOptions options;
    options.shapes = shapes;
    const auto graph = import_model_bytes(kOpen, "open.dag", options);
    return graph.ok() ? "" : graph.error().message;
  };
  EXPECT_EQ(error({{"b", {8, 4}}}), "open.dag: no value for size N; give --shape a=NxL");
  EXPECT_EQ(error({}), "open.dag: no value for size L; give --shape a=NxL or --shape b=Lx4");
  EXPECT_NE(error({{"a", {8}}}).find("the model says NxL"), std::string::npos) << error({{"a", {8}}});
  EXPECT_EQ(error({{"a", {2, 8}}, {"b", {9, 4}}}), "open.dag: L is 8, and 9 in b; a size has one value");
}
TEST(OperatorFile, HasBoundsOfItsSizes) {
  constexpr const char* text =
      "n = SIZE 4..12:4 at 8\nx = PLACEHOLDER [n, 2]\ny(i, j) = neg(x[i, j]) for i in n, j in 2\nreturn y\n";
  const auto type = [](const std::map<std::string, Shape>& shapes) {
    ImportOptions options;
    options.shapes = shapes;
    const auto graph = import_model_bytes(text, "sized.dag", options);
    return graph.ok() ? to_string(graph->value(graph->outputs[0]).type) : graph.error().message;
  };
  EXPECT_EQ(type({}), "f32[8x2]") << "the value that it names";
  EXPECT_EQ(type({{"x", {12, 2}}}), "f32[12x2]");
  EXPECT_NE(type({{"x", {16, 2}}}).find("is at 16"), std::string::npos) << type({{"x", {16, 2}}});
}
TEST(OperatorFile, HasTheSizesOfTheFile) {
  ImportOptions options;
  options.shapes["a"] = {9, 16};
  EXPECT_NE(error_of(kProduct, options).find("\"a\""), std::string::npos);
}

}  // namespace operator_file_test
}  // namespace
}  // namespace whet
