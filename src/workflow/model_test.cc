#include "workflow/model.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tensor_files/file.h"
#include "tensor_files/npy.h"

namespace whet {
namespace model_test {

/// The working folder of a test.
class AFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    before_ = std::filesystem::current_path();
    std::string path = (std::filesystem::temp_directory_path() / "whet-model-XXXXXX").string();
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    std::filesystem::current_path(path);
  }
  void TearDown() override {
    const std::filesystem::path folder = std::filesystem::current_path();
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(folder);
  }

  static void make(const std::string& path) { ASSERT_TRUE(save_npy(path, Tensor(DType::f32, {1, 784})).ok()); }
  /// "data, 1 unnamed", or the error.
  static std::string read(const std::string& entry, const std::string& model = "zoo:mlp") {
    const Result<InputFiles> files = read_inputs({.model = model, .inputs = {entry}});
    if (!files.ok()) return files.error().message;
    std::string text;
    for (const auto& [name, tensor] : files->named) text += name + ", ";
    return text + std::to_string(files->unnamed.size()) + " unnamed";
  }

 private:
  std::filesystem::path before_;
};

using ReadInputs = AFolder;

TEST_F(ReadInputs, TakesTheFileThatIsThere) {
  std::filesystem::create_directory("a=b");
  make("x.npy");
  make("a=b/c=d.npy");
  EXPECT_EQ(read("x.npy"), "1 unnamed");
  EXPECT_EQ(read("a=b/c=d.npy"), "1 unnamed");
  EXPECT_EQ(read("data=x.npy"), "data, 0 unnamed");
  EXPECT_EQ(read("data=a=b/c=d.npy"), "data, 0 unnamed");
  EXPECT_EQ(read("import/x:0=x.npy"), "import/x:0, 0 unnamed");
  EXPECT_EQ(read("import/x=y=a=b/c=d.npy"), "import/x=y, 0 unnamed");
}
TEST_F(ReadInputs, AsksTheModelWhereSeveralFilesAreThere) {
  make("x.npy");
  make("data=x.npy");
  make("mask=x.npy");
  EXPECT_EQ(read("data=x.npy"), "data, 0 unnamed");
  EXPECT_EQ(read("mask=x.npy"), "1 unnamed") << "the model has no such input";
}
TEST_F(ReadInputs, SaysWhichInputsThereAre) {
  EXPECT_EQ(read("foo=nothing.npy"), "--input: the model has no input \"foo\"; it takes data");
  EXPECT_EQ(read("dta=nothing.npy"), "--input: the model has no input \"dta\"; it takes data; did you mean \"data\"?");
  EXPECT_EQ(read("data=nothing.npy"), "cannot read \"nothing.npy\": No such file or directory");
  EXPECT_EQ(read("data=no=thing.npy"), "cannot read \"no=thing.npy\": No such file or directory");
  EXPECT_EQ(read("nothing.npy"), "cannot read \"nothing.npy\": No such file or directory");
  EXPECT_EQ(read("import/x:0=b.npy"), "--input: the model has no input \"import/x:0\"; it takes data");
  std::filesystem::create_directory("folder");
  EXPECT_EQ(read("folder/a=b.npy"), "cannot read \"folder/a=b.npy\": No such file or directory");
  EXPECT_EQ(read("foo=nothing.npy", "nowhere.onnx"), "cannot read \"nothing.npy\": No such file or directory");
}
TEST_F(ReadInputs, OfCommandsThatOnlyNeedShapesHaveNames) {
  make("x.npy");
  EXPECT_TRUE(read_named_inputs({.model = "zoo:mlp", .inputs = {"data=x.npy"}}).ok());
  EXPECT_EQ(read_named_inputs({.model = "zoo:mlp", .inputs = {"x.npy"}}).error().message,
            "--input: a value that decides shapes is known by its input's name; expected NAME=FILE.npy");
}

using Definitions = AFolder;

void write(const std::string& path, const std::string& text) { ASSERT_TRUE(write_file(path, text).ok()); }
constexpr const char* kSymbol =
    R"json({"nodes": [{"op": "null", "name": "data", "attrs": {"__shape__": "(2, 3)"}, "inputs": []},
                  {"op": "Own", "name": "y", "attrs": {"alpha": "2"}, "inputs": [[0, 0, 0]]}],
        "arg_nodes": [0], "heads": [[1, 0, 0]]})json";

TEST_F(Definitions, AreReadFromTheirFilesAndRepeated) {
  write("net-symbol.json", kSymbol);
  write("own.dag", "x = PLACEHOLDER []\ny() = (x[]*{alpha}f)\nreturn y\n");
  const ModelOptions options{.model = "net-symbol.json", .define = {"Own=own.dag"}};
  EXPECT_EQ(options.text(), "net-symbol.json --define Own=own.dag");
  const Result<Graph> graph = load_graph(options);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_NE(to_text(*graph).find("y: f32[2x3] = Own(data)"), std::string::npos) << to_text(*graph);
}
TEST_F(Definitions, ThatAreNoneAreNamed) {
  write("net-symbol.json", kSymbol);
  write("own.dag", "x = PLACEHOLDER []\n");
  const auto said = [](const std::vector<std::string>& define) {
    const Result<Graph> graph = load_graph({.model = "net-symbol.json", .define = define});
    return graph.ok() ? "" : graph.error().message;
  };
  EXPECT_EQ(said({}), "this operator is not supported: Own; --define Own=FILE.dag defines it (docs/operators/own.md)");
  EXPECT_EQ(said({"Own"}), "--define Own: expected OPERATOR=FILE.dag");
  EXPECT_EQ(said({"Own=own.dag", "Own=own.dag"}), "--define Own=own.dag: the operator is defined twice");
  EXPECT_EQ(said({"Own=none.dag"}), "--define: cannot read \"none.dag\": No such file or directory");
  EXPECT_EQ(said({"Own=own.dag"}), "y (Own): own.dag: DAG: a DAG has at least one output");
}

std::string refused(const ModelOptions& options, const InputFiles& files = {}) {
  const Result<Graph> graph = load_graph(options, files);
  return graph.ok() ? "" : graph.error().message;
}

TEST(LoadGraph, RefusesForAFileWhatMakesABuiltInNetwork) {
  const std::string sizes =
      " is for built-in networks, zoo:NAME; of m.onnx, --shape NAME=1x3x224x224 binds the sizes of an input that the "
      "file "
      "leaves open";
  EXPECT_EQ(refused({.model = "m.onnx", .batch = 1}), "--batch" + sizes);
  EXPECT_EQ(refused({.model = "m.onnx", .image = 64}), "--image" + sizes);
  EXPECT_EQ(refused({.model = "m.onnx", .layout = "nchw"}),
            "--layout is for built-in networks, zoo:NAME; m.onnx has the order of dimensions that its file says");
}
TEST(LoadGraph, RefusesPicturesOfNetworksThatTakeNone) {
  EXPECT_EQ(refused({.model = "zoo:mlp", .image = 64}), "--image is for networks of pictures; zoo:mlp takes none");
  EXPECT_EQ(refused({.model = "zoo:lstm", .layout = "nhwc"}),
            "--layout is for networks of pictures; zoo:lstm takes none");
  EXPECT_EQ(refused({.model = "zoo:mlp", .batch = 2}), "");
}
TEST(LoadGraph, KnowsTheInputsOfBuiltInNetworks) {
  EXPECT_EQ(refused({.model = "zoo:mlp"}, {{{"dta", Tensor(DType::f32, {1, 784})}}, {}}),
            "--input: the model has no input \"dta\"; it takes data; did you mean \"data\"?");
}

}  // namespace model_test
}  // namespace whet
