#include "formats/import_model.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "import_tf/tflite/testing/flat_writer.h"
#include "import_torch/testing/script.h"
#include "tensor_files/file.h"
#include "tensor_files/zip.h"

namespace whet {
namespace {

std::string small_tflite() {
  tflite::ModelWriter m;
  const int x = m.tensor("x", {2}), y = m.tensor("y", {2});
  m.operation(19, {x}, {y});  // RELU
  return m.bytes({x}, {y});
}

TEST(ImportModel, KnowsTheBuiltInNetworks) {
  const Graph graph = import_model("zoo:resnet-18").value();
  EXPECT_EQ(to_string(graph.value(graph.inputs[0]).type), "f32[1x3x224x224]");
  EXPECT_EQ(to_string(graph.value(graph.outputs[0]).type), "f32[1x1000]");
}
TEST(ImportModel, RefusesWhatIsNotThere) {
  EXPECT_EQ(import_model("missing.onnx").error().message, "cannot read \"missing.onnx\": No such file or directory");
  EXPECT_EQ(import_model("resnet-18").error().message,
            "cannot read \"resnet-18\": No such file or directory; did you mean \"zoo:resnet-18\"?");
}
TEST(ImportModel, ZooNetworksHaveNoNamesToEndAt) {
  ImportOptions options;
  options.until = {"x"};
  EXPECT_EQ(
      import_model("zoo:mlp", options).error().message,
      "--until is for model files; zoo:mlp is built in: --batch and --image choose its sizes, and `whet zoo export` "
      "makes it a file");
}
TEST(ImportModel, KeepsTheTypesOfFormatsAlone) {
  ImportOptions options;
  options.native_types = true;
  EXPECT_EQ(import_model_bytes(small_tflite(), "m.tflite", options).error().message,
            "m.tflite: --native-types is for ONNX files and for programs of torch");
  EXPECT_TRUE(import_model("zoo:mlp", options).error().message.starts_with("--native-types is for model files"));
}
TEST(ImportModel, AModelOfABundleIsOpenedByItsName) {
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / "face.task";
  const std::string bytes = small_tflite();
  ZipWriter zip;
  ASSERT_TRUE(zip.add("detector.tflite", bytes).ok());
  ASSERT_TRUE(zip.add("landmarks.tflite", bytes).ok());
  ASSERT_TRUE(write_file(file, std::move(zip).finish().value()).ok());
  EXPECT_TRUE(import_model(file.string() + ":landmarks.tflite").ok());
  const std::string all =
      file.string() + ": is a bundle of TensorFlow Lite models; FILE:NAME opens one: detector.tflite, landmarks.tflite";
  EXPECT_EQ(import_model(file).error().message, all);
  EXPECT_EQ(import_model(file.string() + ":hands.tflite").error().message, all);
  std::filesystem::remove(file);
}
TEST(ImportModel, WeightsAloneAreRefusedWithTheLinesThatMakeAFile) {
  torch::PickleWriter state;
  state.raw("}(")
      .text("w")
      .tensor(Tensor(DType::f32, {2}), "0")
      .text("b")
      .tensor(Tensor(DType::f32, {2}), "1")
      .raw("u");
  ZipWriter zip;
  ASSERT_TRUE(zip.add("archive/data.pkl", state.bytes()).ok());
  EXPECT_EQ(
      import_model_bytes(std::move(zip).finish().value(), "m.pth").error().message,
      "m.pth: holds weights that torch.save wrote, without a graph (2 tensors); whet reads ONNX, .pt2, TorchScript, "
      ".tflite, SavedModel, GraphDef, TensorFlow.js and MXNet (in Python: "
      "torch.export.save(torch.export.export(model.eval(), (example,)), \"model.pt2\") writes one)");
}

}  // namespace
}  // namespace whet
