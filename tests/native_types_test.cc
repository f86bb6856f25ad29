// Networks of bf16 in files: read, compiled and run as such, or held in f32.

#include <gtest/gtest.h>

#include "compiler/choose.h"
#include "compiler/scratch.h"
#include "device/cpu/opened_model.h"
#include "formats/import_model.h"
#include "import_onnx/export.h"
#include "ops/evaluate_graph.h"
#include "passes/optimize.h"
#include "tensor/compare.h"

namespace whet {
namespace {

/// A network of the zoo with weights and values of bf16, as a file.
std::string file_of(const std::string& network) {
  Graph graph = zoo_model(network).value();
  for (Value& value : graph.values) {
    if (value.type.dtype != DType::f32) continue;
    value.type.dtype = DType::bf16;
    if (value.constant) value.constant = held_as(*value.constant, DType::bf16);
  }
  return onnx_bytes(graph).value();
}

Graph read(const std::string& bytes, bool native_types) {
  ImportOptions options;
  options.native_types = native_types;
  return import_model_bytes(bytes, "network.onnx", options).value();
}

Tensor answer_of(const Graph& graph, const Tensor& x) {
  return evaluate_graph(graph, {held_as(x, graph.value(graph.inputs[0]).type.dtype)}).value()[graph.outputs[0].index()];
}

TEST(NativeTypes, AreThoseOfTheFileWhereTheyAreAskedFor) {
  const std::string bytes = file_of("mlp");
  const Graph held = read(bytes, false), native = read(bytes, true);
  EXPECT_EQ(to_string(held.value(held.inputs[0]).type), "f32[1x784]");
  EXPECT_EQ(to_string(native.value(native.inputs[0]).type), "bf16[1x784]");
  EXPECT_EQ(to_string(native.value(native.outputs[0]).type), "bf16[1x10]");
  for (const Value& value : native.values)
    if (value.constant) {
      EXPECT_EQ(value.type.dtype, DType::bf16) << value.name;
    }
  Rng rng(5);
  const Tensor x = Tensor::random({DType::bf16, {1, 784}}, rng);
  const Tensor rounded = held_as(answer_of(native, x), DType::f32);
  EXPECT_LE(compare(rounded, answer_of(held, x)).relative, 3e-2);
}

TEST(NativeTypes, GiveTheInterpretersAnswersOnEveryProcessor) {
  const Result<ScratchDirectory> scratch = ScratchDirectory::make();
  const std::string library = scratch.value().path() + "/network.so";
  const Graph graph = read(file_of("mlp"), true);
  Rng rng(6);
  const Tensor x = Tensor::random(graph.value(graph.inputs[0]).type, rng);
  const Tensor want = answer_of(graph, x);
  int ran = 0;
  for (const char* processor : {"x86-64-v2", "znver3", "znver4"}) {
    const Target target = parse_target("cpu -mcpu=" + std::string(processor) + " -threads=1").value();
    const FusedGraph fused = optimize(graph, {}).value();
    const Result<CompileReport> compiled = compile_model(fused, best_of(nullptr, target), target, library);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message;
    Result<OpenedModel> model = OpenedModel::open(library);
    if (!model.ok()) continue;  // this machine lacks the instructions
    const Result<std::vector<Tensor>> got = model->run({x});
    ASSERT_TRUE(got.ok()) << processor << ": " << got.error().message;
    EXPECT_EQ((*got)[0].type(), want.type());
    EXPECT_LE(compare((*got)[0], want).relative, 3e-2) << processor;
    ++ran;
  }
  EXPECT_GT(ran, 0);
}

}  // namespace
}  // namespace whet
