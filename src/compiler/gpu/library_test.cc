#include <gtest/gtest.h>

#include "codegen/gpu/ptxas.h"
#include "compiler/choose.h"
#include "compiler/scratch.h"
#include "compiler/testing/model_builder.h"
#include "device/cpu/opened_model.h"
#include "ops/evaluate_graph.h"
#include "passes/optimize.h"
#include "tensor/compare.h"

namespace whet {
namespace {

using testing::ModelBuilder;
using testing::small_network;

const DeviceName kEmulated{DeviceName::Kind::emulated};

class GpuLibrary : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<ScratchDirectory> made = ScratchDirectory::make();
    ASSERT_TRUE(made.ok()) << made.error().message;
    scratch_ = std::make_unique<ScratchDirectory>(std::move(made).value());
  }
  std::string path() const { return scratch_->path() + "/model.so"; }

  void compile(const Graph& graph, const std::string& target = "cuda -arch=sm_80 -sms=108", bool emulated = true,
               bool cubin = false) {
    const Result<FusedGraph> fused = optimize(graph, {});
    ASSERT_TRUE(fused.ok()) << fused.error().message;
    CompileOptions options;
    options.emulated = emulated;
    options.cubin = cubin;
    const auto report = compile_model(*fused, nullptr, parse_target(target).value(), path(), options);
    ASSERT_TRUE(report.ok()) << report.error().message;
  }
  Result<OpenedModel> open(DeviceName device = kEmulated) const {
    OpenModelOptions options;
    options.device = device;
    return OpenedModel::open(path(), options);
  }
  std::string error_of_open(DeviceName device) const {
    const auto opened = open(device);
    return opened.ok() ? "" : opened.error().message;
  }
  /// The library gives what the slow interpreter gives, in the first run and in the second.
  void expect_right(const Graph& graph) const {
    Rng rng(99);
    std::vector<Tensor> inputs;
    for (ValueId id : graph.inputs) inputs.push_back(Tensor::random(graph.value(id).type, rng));
    const Result<std::vector<Tensor>> values = evaluate_graph(graph, inputs);
    ASSERT_TRUE(values.ok()) << values.error().message;
    Result<OpenedModel> model = open();
    ASSERT_TRUE(model.ok()) << model.error().message;
    for (int run = 0; run < 2; ++run) {
      const Result<std::vector<Tensor>> outputs = model->run(inputs);
      ASSERT_TRUE(outputs.ok()) << outputs.error().message;
      ASSERT_EQ(outputs->size(), graph.outputs.size());
      for (std::size_t i = 0; i < outputs->size(); ++i)
        EXPECT_LE(compare(outputs->at(i), values->at(graph.outputs[i].index())).relative, 2e-5) << "output " << i;
    }
  }

  std::unique_ptr<ScratchDirectory> scratch_;
};

TEST_F(GpuLibrary, GivesTheAnswersOfTheInterpreterUnderEmulation) {
  const Graph graph = small_network();
  for (const char* target : {"cuda -arch=sm_75 -sms=40", "cuda -arch=sm_90 -sms=132"}) {
    compile(graph, target);
    expect_right(graph);
  }
}
TEST_F(GpuLibrary, HasSeveralSizes) {
  const auto network_of = [](std::int64_t n) {
    ModelBuilder b(4);
    const ValueId x = b.input("x", {n, 24});
    b.graph.outputs = {b.relu(b.node(MatMulOperator{}, {x, b.constant({24, 40})}))};
    return b.graph;
  };
  const SizedNetwork network{
      {{"x.0", 0, 0, {1, 3, 8}}}, 1, [&](std::size_t v) { return optimize(network_of(std::vector{1, 3, 8}[v]), {}); }};
  CompileOptions options;
  options.emulated = true;
  const Target target = parse_target("cuda -arch=sm_80 -sms=108").value();
  const auto report = compile_sizes(network, best_of(nullptr, target), target, path(), options);
  ASSERT_TRUE(report.ok()) << report.error().message;
  Result<OpenedModel> model = open();
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->inputs()[0].type.shape, (Shape{3, 24}));
  for (const std::int64_t n : {3, 8, 1, 3, 8}) {
    ASSERT_TRUE(model->set_sizes({n}).ok());
    Rng rng(static_cast<std::uint64_t>(n));
    const Tensor x = Tensor::random({DType::f32, {n, 24}}, rng);
    const Graph graph = network_of(n);
    const std::vector<Tensor> values = evaluate_graph(graph, {x}).value();
    const Result<std::vector<Tensor>> outputs = model->run({x});
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    EXPECT_LE(compare(outputs->at(0), values[graph.outputs[0].index()]).relative, 2e-5) << n;
  }
  EXPECT_EQ(model->set_sizes({2}).error().message, "input \"x\" is 2x?; x.0 is 1, 3 or 8");
  ASSERT_TRUE(model->move_to_device().ok());
  EXPECT_TRUE(model->run().ok());
}
TEST_F(GpuLibrary, GivesOutputsThatNoKernelWrites) {
  ModelBuilder b(2);
  const ValueId x = b.input("x", {1, 4, 6, 6}), y = b.relu(x);
  b.graph.outputs = {y, x, b.constant({3, 5}), y};
  compile(b.graph);
  expect_right(b.graph);
}
TEST_F(GpuLibrary, WritesTheOperandsOfAConcatenationInPlace) {
  ModelBuilder b(3);
  const ValueId x = b.input("x", {1, 16, 9, 9});
  const ValueId parts = b.node(ConcatOperator{1}, {b.conv(x, 32, 1), b.conv(x, 16, 3), b.conv(x, 48, 3)});
  b.graph.outputs = {b.relu(b.conv(parts, 8, 1))};
  compile(b.graph);
  expect_right(b.graph);
}
TEST_F(GpuLibrary, TellsWhatItRunsOnAndHowLongEachStepTakes) {
  compile(small_network());
  Result<OpenedModel> model = open();
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_STREQ(model->device()->name, "emulated");
  EXPECT_STREQ(model->device()->image, "emulated code of sm_80");
  EXPECT_STREQ(model->info().target, "cuda -arch=sm_80 -sms=108");
  ASSERT_TRUE(model->set_inputs({Tensor(DType::f32, {1, 3, 17, 13})}).ok());
  ASSERT_TRUE(model->profile_runs(0, 3).ok());
  const whet_profile profile = model->profile();
  EXPECT_EQ(profile.runs, 3u);
  ASSERT_EQ(profile.steps, model->info().steps);
  for (std::uint32_t i = 0; i < profile.steps; ++i) EXPECT_GT(profile.step[i].total_ns, 0u) << profile.step[i].node;
}
TEST_F(GpuLibrary, RunsWithInputsAndOutputsOnTheDevice) {
  compile(small_network());
  Result<OpenedModel> model = open();
  ASSERT_TRUE(model.ok()) << model.error().message;
  ASSERT_TRUE(model->set_inputs({Tensor(DType::f32, {1, 3, 17, 13})}).ok());
  ASSERT_TRUE(model->run().ok());
  const Status moved = model->move_to_device();
  ASSERT_TRUE(moved.ok()) << moved.error().message;
  ASSERT_TRUE(model->run().ok());
  const double before = model->clock();
  ASSERT_TRUE(model->run_back_to_back(1).ok());
  const double once = model->clock() - before;
  ASSERT_TRUE(model->run_back_to_back(3).ok());
  EXPECT_NEAR(model->clock() - before - once, 3 * once, once / 100) << "by the emulated device's clock";
}
TEST_F(GpuLibrary, SaysWhichDeviceItWants) {
  compile(small_network(), "cuda -arch=sm_80 -sms=108", false);
  EXPECT_EQ(error_of_open(kEmulated),
            path() + ": model test has no code for the emulated device; it has PTX for sm_80 or newer");
  compile(small_network(), "cpu -mcpu=x86-64-v2 -threads=2", false);
  EXPECT_EQ(error_of_open(kEmulated), path() + ": runs on the CPU; --device emulated is for models that run on a GPU");
  EXPECT_EQ(error_of_open({}), "");
}
TEST_F(GpuLibrary, HasMachineCodeWhereThatIsWanted) {
  if (installed_ptxas().path.empty()) GTEST_SKIP() << "ptxas is not installed";
  compile(small_network(), "cuda -arch=sm_80 -sms=108", false, true);
  EXPECT_EQ(error_of_open(kEmulated), path() +
                                          ": model test has no code for the emulated device; it has PTX for sm_80 "
                                          "or newer, a cubin for sm_80");
}

}  // namespace
}  // namespace whet
