// One network in several formats is the same tasks, so that records of one serve the others, and gives the same answers.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "import/import.h"
#include "import/onnx/export.h"
#include "import/torch/testing/pt2.h"
#include "ops/evaluate_graph.h"
#include "passes/optimize.h"
#include "task/task.h"
#include "tensor/compare.h"

namespace whet {
namespace {

/// Keys of a network's tasks, and how often each is run.
std::map<std::string, int> tasks_of(const Graph& graph) {
  std::map<std::string, int> tasks;
  const std::vector<Task> all = extract_tasks(optimize(graph, {}).value(), Target{}).value();
  for (const Task& task : all) tasks[task.key] += task.weight;
  return tasks;
}

std::string listed(const std::vector<std::int64_t>& values) {
  std::string text;
  for (const std::int64_t value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
  return "[" + text + "]";
}

/// A network of the zoo as torch.export writes it, activations and sums in place as torchvision has them.
class TorchWriter {
 public:
  explicit TorchWriter(const Graph& graph) : graph_(graph) {
    for (const ValueId input : graph.inputs) file_.input(name(input), graph.value(input).type.shape);
    for (const Value& value : graph.values)
      if (value.constant) file_.weight(value.name, *value.constant);
    for (const Node& node : graph.nodes) std::visit([&](const auto& op) { write(node, op); }, node.op);
    for (const ValueId output : graph.outputs) file_.output(name(output));
  }
  std::string bytes() const { return file_.bytes(); }

 private:
  std::string name(ValueId id) const { return graph_.value(id).name; }
  std::string in(const Node& node, std::size_t i) const { return "%" + name(node.inputs[i]); }
  void add(const Node& node, const std::string& op, const std::string& arguments) {
    file_.node(op, arguments, {name(node.output)}, node.name);
  }
  /// Whether the node may write into its first input, which nobody reads again.
  bool is_last_reader(const Node& node) const {
    int readers = 0;
    for (const Node& other : graph_.nodes)
      for (const ValueId input : other.inputs) readers += input == node.inputs[0] ? 1 : 0;
    return readers == 1 && !graph_.value(node.inputs[0]).constant;
  }

  void write(const Node& node, const ConvOperator& op) {
    add(node, "aten.conv2d.default",
        "input=" + in(node, 0) + " weight=" + in(node, 1) + " bias=none stride=" + listed(op.strides) +
            " padding=" + listed(op.pads_begin));
  }
  void write(const Node& node, const BatchNormOperator& op) {
    char epsilon[64];
    std::snprintf(epsilon, sizeof epsilon, "%.17f", op.epsilon);
    add(node, "aten.batch_norm.default",
        "input=" + in(node, 0) + " weight=" + in(node, 1) + " bias=" + in(node, 2) + " running_mean=" + in(node, 3) +
            " running_var=" + in(node, 4) + " training=false momentum=0.1 eps=" + epsilon);
  }
  void write(const Node& node, const UnaryOperator& op) {
    ASSERT_EQ(static_cast<int>(op.kind), static_cast<int>(UnaryKind::relu));
    add(node, is_last_reader(node) ? "aten.relu_.default" : "aten.relu.default", "self=" + in(node, 0));
  }
  void write(const Node& node, const BinaryOperator& op) {
    ASSERT_EQ(static_cast<int>(op.kind), static_cast<int>(BinaryKind::add));
    add(node, is_last_reader(node) ? "aten.add_.Tensor" : "aten.add.Tensor",
        "self=" + in(node, 0) + " other=" + in(node, 1));
  }
  void write(const Node& node, const PoolOperator& op) {
    add(node, "aten.max_pool2d.default",
        "self=" + in(node, 0) + " kernel_size=" + listed(op.kernel) + " stride=" + listed(op.strides) +
            " padding=" + listed(op.pads_begin));
  }
  void write(const Node& node, const ReduceOperator&) {
    add(node, "aten.adaptive_avg_pool2d.default", "self=" + in(node, 0) + " output_size=[1,1]");
  }
  void write(const Node& node, const ReshapeOperator&) {
    add(node, "aten.flatten.using_ints", "self=" + in(node, 0) + " start_dim=1");
  }
  void write(const Node& node, const MatMulOperator&) {
    add(node, "aten.linear.default", "input=" + in(node, 0) + " weight=" + in(node, 1));
  }
  void write(const Node& node, const SoftmaxOperator&) {
    add(node, "aten.softmax.int", "self=" + in(node, 0) + " dim=1");
  }
  template <typename Other>
  void write(const Node& node, const Other&) {
    FAIL() << node.name;
  }

  const Graph& graph_;
  torch::Pt2 file_;
};

TEST(Formats, AResnetIsTheSameTasksInEach) {
  const Graph zoo = import_model("zoo:resnet-18", {.zoo = {1, 32, Layout::channels_first, 7}}).value();
  const Graph onnx = import_model_bytes(onnx_bytes(zoo).value(), "onnx").value();
  const Result<Graph> torch = import_model_bytes(TorchWriter(zoo).bytes(), "pt2");
  ASSERT_TRUE(torch.ok()) << torch.error().message;
  EXPECT_EQ(tasks_of(onnx), tasks_of(zoo));
  EXPECT_EQ(tasks_of(*torch), tasks_of(zoo));
  Rng rng(3);
  const std::vector<Tensor> inputs = {Tensor::random(zoo.value(zoo.inputs[0]).type, rng)};
  const Tensor want = evaluate_graph(zoo, inputs).value()[zoo.outputs[0].index()];
  EXPECT_LT(compare(evaluate_graph(*torch, inputs).value()[torch->outputs[0].index()], want).relative, 1e-6);
}

/// squeezenet1_1 of torchvision as ONNX and as .pt2, where a folder with both is given.
TEST(Formats, OneTrainedNetworkIsTheSameTasksInEach) {
  const char *frontends = std::getenv("WHET_FRONTENDS"), *models = std::getenv("WHET_MODELS");
  if (frontends == nullptr || models == nullptr)
    GTEST_SKIP() << "WHET_FRONTENDS and WHET_MODELS name no folders with model files";
  const auto onnx = import_model(std::filesystem::path(models) / "squeezenet1_1.onnx");
  const auto torch = import_model(std::filesystem::path(frontends) / "pt2" / "squeezenet1_1.pt2");
  ASSERT_TRUE(onnx.ok() && torch.ok());
  EXPECT_EQ(tasks_of(*torch), tasks_of(*onnx));
}

}  // namespace
}  // namespace whet
