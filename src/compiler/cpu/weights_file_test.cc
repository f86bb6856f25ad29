#include "compiler/cpu/weights_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <sstream>

#include "compiler/choose.h"
#include "compiler/compile.h"
#include "compiler/scratch.h"
#include "compiler/testing/model_builder.h"
#include "device/cpu/opened_model.h"
#include "ops/evaluate_graph.h"
#include "passes/optimize.h"
#include "tensor/compare.h"
#include "whet/model.hpp"

namespace whet::weights_file_test {
namespace {

using testing::ModelBuilder;

/// Three convolutions; `seed` is of the weights.
Graph network(std::uint64_t seed, std::int64_t channels = 16) {
  ModelBuilder b(seed);
  const ValueId x = b.input("image", {1, 3, 12, 12});
  const ValueId first = b.relu(b.conv(x, channels, 3));
  const ValueId second = b.relu(b.conv(first, channels, 3));
  b.graph.outputs = {b.add(b.conv(second, channels, 1), first)};
  return b.graph;
}

class WeightsOfACompile : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<ScratchDirectory> made = ScratchDirectory::make();
    ASSERT_TRUE(made.ok()) << made.error().message;
    scratch_ = std::make_unique<ScratchDirectory>(std::move(made).value());
    target_ = parse_target("cpu -mcpu=x86-64-v2 -threads=2").value();
  }
  std::string path(const std::string& name) const { return scratch_->path() + "/" + name; }

  Status compile(const Graph& graph, const std::string& output, const CompileOptions& options) {
    Result<FusedGraph> fused = optimize(graph, {});
    if (!fused.ok()) return fused.error();
    const Result<CompileReport> report =
        compile_model(*fused, best_of(nullptr, target_), target_, path(output), options);
    return report.ok() ? ok_status() : Status(report.error());
  }
  Status compile_apart(const Graph& graph) {
    CompileOptions options;
    options.weights_file = path("net.weights");
    return compile(graph, "net.so", options);
  }
  /// The weights of another network for net.so.
  Status weights_of(const Graph& graph, const std::string& output) {
    CompileOptions options;
    options.weights_file = path(output);
    options.like = path("net.so");
    options.name = "other";
    return compile(graph, output, options);
  }
  void expect_right(const Graph& graph, const std::string& weights) {
    Rng rng(5);
    const std::vector<Tensor> inputs = {Tensor::random(graph.value(graph.inputs[0]).type, rng)};
    for (const bool map : {false, true}) {
      OpenModelOptions options;
      options.weights_file = path(weights);
      options.map_weights = map;
      Result<OpenedModel> opened = OpenedModel::open(path("net.so"), options);
      ASSERT_TRUE(opened.ok()) << opened.error().message;
      const std::vector<Tensor> got = opened->run(inputs).value();
      const std::vector<Tensor> want = evaluate_graph(graph, inputs).value();
      EXPECT_LE(compare(got[0], want[graph.outputs[0].index()]).relative, 2e-5);
    }
  }
  static std::string bytes(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
  }

  std::unique_ptr<ScratchDirectory> scratch_;
  Target target_;
};

TEST_F(WeightsOfACompile, AreReadFromTheirFile) {
  ASSERT_TRUE(compile_apart(network(1)).ok());
  expect_right(network(1), "net.weights");
}

TEST_F(WeightsOfACompile, ChangeWithoutANewLibrary) {
  ASSERT_TRUE(compile_apart(network(1)).ok());
  const std::string before = bytes(path("net.so"));
  const Status written = weights_of(network(2), "new.weights");
  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_EQ(bytes(path("net.so")), before);
  expect_right(network(2), "new.weights");
  expect_right(network(1), "net.weights");
}

TEST_F(WeightsOfACompile, AreTheSameBytesEachTime) {
  ASSERT_TRUE(compile_apart(network(1)).ok());
  ASSERT_TRUE(weights_of(network(1), "again.weights").ok());
  EXPECT_EQ(bytes(path("again.weights")), bytes(path("net.weights")));
}

TEST_F(WeightsOfACompile, AreRefusedWhereTheNetworkIsAnother) {
  ASSERT_TRUE(compile_apart(network(1)).ok());
  const std::string other = weights_of(network(1, 24), "new.weights").error().message;
  EXPECT_EQ(other.find("other is not the model of " + path("net.so") + ": its output is "), 0u) << other;
  EXPECT_TRUE(bytes(path("new.weights")).empty()) << "nothing is written";
  target_ = parse_target("cpu -mcpu=x86-64-v2 -threads=1").value();
  EXPECT_EQ(weights_of(network(1), "new.weights").error().message,
            path("net.so") +
                ": is compiled for \"cpu -mcpu=x86-64-v2 -threads=2\", and the weights for "
                "\"cpu -mcpu=x86-64-v2 -threads=1\"; give --target");
}

TEST_F(WeightsOfACompile, AreForALibraryThatHasNone) {
  ASSERT_TRUE(compile(network(1), "net.so", {}).ok());
  EXPECT_EQ(weights_of(network(1), "new.weights").error().message,
            path("net.so") + ": has its weights inside; --like takes a library that whet compile --weights-file wrote");
  std::ofstream(path("net.so")) << "no library";
  EXPECT_EQ(
      weights_of(network(1), "new.weights").error().message,
      path("net.so") + ": is no compiled model of whet; --like takes a library that whet compile --weights-file wrote");
}

/// A program that was compiled before there were weights files calls model_open alone.
TEST_F(WeightsOfACompile, AreMissedByAnOlderProgramWithASentence) {
  ASSERT_TRUE(compile_apart(network(1)).ok());
  whet_library library;
  whet_error error{};
  ASSERT_EQ(whet_library_open(path("net.so").c_str(), 0, &library, &error), 0) << error.message;
  whet_model* model = nullptr;
  EXPECT_EQ(library.api->model_open(nullptr, &model, &error), -1);
  EXPECT_EQ(std::string(error.message).find("model test: its weights are in a file of their own; open it with"), 0u);
  whet_library_close(&library);
}

TEST_F(WeightsOfACompile, AreGivenToTheWrapperOfCpp) {
  ASSERT_TRUE(compile_apart(network(1)).ok());
  rt::Session session(rt::Model::with_weights(path("net.so"), path("net.weights")));
  std::vector<float> image(3 * 12 * 12, 0.5f);
  session.set_input(0, image.data());
  session.run();
  EXPECT_NE(session.output<float>(0)[0], 0);
  EXPECT_THROW(rt::Model::with_weights(path("net.so"), path("net.so")), rt::Error);
  ASSERT_TRUE(compile(network(1), "whole.so", {}).ok());
  EXPECT_THROW(rt::Model::with_weights(path("whole.so"), path("net.weights")), rt::Error);
}

}  // namespace
}  // namespace whet::weights_file_test
