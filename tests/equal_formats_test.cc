// One network in several formats is the same tasks, so that records of one serve the others, and gives the same answers.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/testing/random_cases.h"
#include "formats/import_model.h"
#include "import_onnx/export.h"
#include "import_torch/testing/pt2.h"
#include "network_writers.h"
#include "ops/evaluate_graph.h"
#include "passes/optimize.h"
#include "task/task.h"
#include "tensor/compare.h"
#include "tensor_files/file.h"

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
    for (std::size_t i = 0; i < graph.values.size(); ++i) {
      if (!graph.values[i].constant) continue;
      file_.weight(graph.values[i].name, *graph.values[i].constant);
      constants_.push_back(ValueId{static_cast<std::int32_t>(i)});
    }
    for (const Node& node : graph.nodes) std::visit([&](const auto& op) { write(node, op); }, node.op);
    for (const ValueId output : graph.outputs) file_.output(name(output));
  }
  std::string bytes() const { return file_.bytes(); }
  /// The same as a frozen TorchScript program.
  std::string script_bytes() const {
    torch::Script script("v" + std::to_string(graph_.inputs[0].value) + ": Tensor",
                         script_ + "return v" + std::to_string(graph_.outputs[0].value));
    for (const ValueId constant : constants_) script.constant(*graph_.value(constant).constant);
    return script.bytes();
  }

 private:
  std::string name(ValueId id) const { return graph_.value(id).name; }
  std::string in(const Node& node, std::size_t i) const { return "%" + name(node.inputs[i]); }
  void add(const Node& node, const std::string& op, const std::string& arguments) {
    file_.node(op, arguments, {name(node.output)}, node.name);
    script_ += line_of(op, arguments, node.output) + "\n";
  }
  /// "v7 = torch.conv2d(v3, CONSTANTS.c2, None, [2,2], [1,1])" of "aten.conv2d.default" and its arguments.
  std::string line_of(const std::string& op, const std::string& arguments, ValueId output) const {
    std::string values;
    for (std::size_t at = 0; at < arguments.size();) {
      const std::size_t equals = arguments.find('=', at), end = std::min(arguments.find(' ', at), arguments.size());
      values += (at == 0 ? "" : ", ") + value_of(arguments.substr(equals + 1, end - equals - 1));
      at = end + 1;
    }
    const std::string word = op.substr(5, op.rfind('.') - 5);
    return "v" + std::to_string(output.value) + " = torch." + word + "(" + values + ")";
  }
  std::string value_of(const std::string& word) const {
    if (word == "none") return "None";
    if (word == "false") return "False";
    if (word[0] != '%') return word;
    for (std::size_t i = 0; i < constants_.size(); ++i)
      if (name(constants_[i]) == word.substr(1)) return "CONSTANTS.c" + std::to_string(i);
    for (const Value& value : graph_.values)
      if (value.name == word.substr(1)) return "v" + std::to_string(&value - graph_.values.data());
    return "unknown";
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
  std::vector<ValueId> constants_;
  std::string script_;
};

TEST(Formats, AResnetIsTheSameTasksInEach) {
  const Graph zoo = import_model("zoo:resnet-18", {.zoo = {1, 32, Layout::channels_first, 7}}).value();
  const Graph onnx = import_model_bytes(onnx_bytes(zoo).value(), "onnx").value();
  const TorchWriter writer(zoo);
  const Result<Graph> torch = import_model_bytes(writer.bytes(), "pt2");
  ASSERT_TRUE(torch.ok()) << torch.error().message;
  const std::string input = "v" + std::to_string(zoo.inputs[0].value);
  const Result<Graph> script = import_model_bytes(writer.script_bytes(), "pt", {.shapes = {{input, {1, 3, 32, 32}}}});
  ASSERT_TRUE(script.ok()) << script.error().message;
  EXPECT_EQ(tasks_of(*script), tasks_of(zoo));
  EXPECT_EQ(tasks_of(onnx), tasks_of(zoo));
  EXPECT_EQ(tasks_of(*torch), tasks_of(zoo));
  Rng rng(3);
  const std::vector<Tensor> inputs = {Tensor::random(zoo.value(zoo.inputs[0]).type, rng)};
  const Tensor want = evaluate_graph(zoo, inputs).value()[zoo.outputs[0].index()];
  EXPECT_LT(compare(evaluate_graph(*torch, inputs).value()[torch->outputs[0].index()], want).relative, 1e-6);
  EXPECT_LT(compare(evaluate_graph(*script, inputs).value()[script->outputs[0].index()], want).relative, 1e-6);
}

/// The answer to an image, of any layout.
Tensor answer_of(const Graph& graph, const Tensor& image) {
  return evaluate_graph(graph, {image}).value()[graph.outputs[0].index()];
}
TEST(Formats, GluonsResnetIsTheSameTasksInMxnetTensorFlowAndTflite) {
  if (testing::kSanitized) GTEST_SKIP() << "AResnetIsTheSameTasksInEach reads the formats there";
  const Graph first = import_model("zoo:mxnet-resnet18_v1", {.zoo = {1, 32, Layout::channels_first, 7}}).value();
  const Graph last = import_model("zoo:mxnet-resnet18_v1", {.zoo = {1, 32, Layout::channels_last, 7}}).value();
  Rng rng(3);
  const Tensor image = Tensor::random(first.value(first.inputs[0]).type, rng);
  Tensor turned(DType::f32, last.value(last.inputs[0]).type.shape);
  for (std::int64_t pixel = 0; pixel < 32 * 32; ++pixel)
    for (std::int64_t c = 0; c < 3; ++c) turned.set(pixel * 3 + c, image.get(c * 32 * 32 + pixel));
  const Tensor want = answer_of(first, image);
  const std::map<std::string, int> of_first = tasks_of(first), of_last = tasks_of(last);
  int own = 0;
  for (const auto& [key, weight] : of_first) own += of_last.contains(key) ? 0 : 1;
  EXPECT_EQ(own, 1) << "the first convolution, which turns the image";

  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "formats_mxnet";
  std::filesystem::create_directories(folder);
  const MxnetWriter writer(first);
  ASSERT_TRUE(write_file(folder / "net-symbol.json", writer.json()).ok());
  ASSERT_TRUE(write_file(folder / "net-0000.params", writer.params()).ok());
  ImportOptions options;
  options.shapes["data"] = image.shape();
  const Result<Graph> mxnet = import_model(folder / "net-symbol.json", options);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(mxnet.ok()) << mxnet.error().message;
  EXPECT_EQ(tasks_of(*mxnet), of_first);
  EXPECT_LT(compare(answer_of(*mxnet, image), want).relative, 1e-6);

  const Result<Graph> tensorflow = import_model_bytes(GraphDefWriter(last).bytes(), "graph_def");
  ASSERT_TRUE(tensorflow.ok()) << tensorflow.error().message;
  EXPECT_EQ(tasks_of(*tensorflow), of_last);
  EXPECT_LT(compare(answer_of(*tensorflow, turned), want).relative, 1e-6);

  const Result<Graph> tflite = import_model_bytes(TfliteWriter(last).bytes(), "tflite");
  ASSERT_TRUE(tflite.ok()) << tflite.error().message;
  EXPECT_EQ(tasks_of(*tflite), of_last);
  EXPECT_LT(compare(answer_of(*tflite, turned), want).relative, 1e-5);
}

/// squeezenet1_1 of torchvision as ONNX, as .pt2 and as TorchScript, where folders with them are given.
TEST(Formats, OneTrainedNetworkIsTheSameTasksInEach) {
  const char *frontends = std::getenv("WHET_FRONTENDS"), *models = std::getenv("WHET_MODELS");
  if (frontends == nullptr || models == nullptr)
    GTEST_SKIP() << "WHET_FRONTENDS and WHET_MODELS name no folders with model files";
  const auto onnx = import_model(std::filesystem::path(models) / "squeezenet1_1.onnx");
  const auto torch = import_model(std::filesystem::path(frontends) / "pt2" / "squeezenet1_1.pt2");
  const auto script = import_model(std::filesystem::path(frontends) / "torchscript" / "squeezenet1_1.pt");
  ASSERT_TRUE(onnx.ok() && torch.ok() && script.ok());
  EXPECT_EQ(tasks_of(*torch), tasks_of(*onnx));
  EXPECT_EQ(tasks_of(*script), tasks_of(*onnx));
  Rng rng(4);
  const std::vector<Tensor> inputs = {Tensor::random(onnx->value(onnx->inputs[0]).type, rng)};
  const auto answer = [&](const Graph& graph) {
    return evaluate_graph(graph, inputs).value()[graph.outputs[0].index()];
  };
  EXPECT_LT(compare(answer(*torch), answer(*onnx)).relative, 1e-4);
  EXPECT_LT(compare(answer(*script), answer(*onnx)).relative, 1e-4);
}

}  // namespace
}  // namespace whet
