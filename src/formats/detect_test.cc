#include "formats/detect.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/rng.h"
#include "base/testing/checkout.h"
#include "formats/import_model.h"
#include "import_onnx/export.h"
#include "tensor_files/file.h"
#include "tensor_files/npy.h"
#include "tensor_files/zip.h"

namespace whet {
namespace {

// ---- Files by their bytes. Protobuf: a field of a number, and one of text.

std::string number(int field, char value) { return {static_cast<char>(field << 3), value}; }
std::string text(int field, const std::string& bytes) {
  return std::string{static_cast<char>(field << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
std::string zip_of(const std::vector<std::string>& names) {
  ZipWriter zip;
  for (const std::string& name : names) EXPECT_TRUE(zip.add(name, "content").ok());
  return std::move(zip).finish().value();
}
std::string bundled(const std::string& file) { return read_file(checkout_path("tests/models/") + file).value(); }
const std::string kNode = text(1, "x") + text(2, "Placeholder");

struct Known {
  FileKind kind;
  std::string bytes;
};
std::vector<Known> known_files() {
  const std::string params = {'\x12', '\x01', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  const std::string header = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  const std::string safetensors = std::string{static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0} + header + "data";
  return {
      {FileKind::onnx, bundled("blazeface_front.onnx")},
      {FileKind::onnx, onnx_bytes(import_model("zoo:mlp").value()).value()},
      {FileKind::pt2, zip_of({"m/archive_format", "m/models/model.json", "m/data/weights/weight_0"})},
      {FileKind::pt2, zip_of({"serialized_exported_program.json", "serialized_state_dict.pt"})},
      {FileKind::torch_compiled, zip_of({"m/archive_format", "m/data/aotinductor/model/model.so"})},
      {FileKind::torchscript, zip_of({"net/data.pkl", "net/code/__torch__/net.py", "net/constants.pkl"})},
      {FileKind::torch_weights, zip_of({"archive/data.pkl", "archive/data/0"})},
      {FileKind::executorch, std::string("\x1c\0\0\0ET12....", 12)},
      {FileKind::tflite, std::string("\x1c\0\0\0TFL3....", 12)},
      {FileKind::tflite_bundle, zip_of({"face_detector.tflite", "face_landmarks.tflite"})},
      {FileKind::saved_model, number(1, 1) + text(2, text(1, text(4, "serve")) + text(2, text(1, kNode)))},
      {FileKind::graph_def, text(1, kNode) + text(1, text(1, "y") + text(2, "Relu") + text(3, "x"))},
      {FileKind::tfjs_graph, R"({"format": "graph-model", "modelTopology": {"node": []}, "weightsManifest": []})"},
      {FileKind::tfjs_layers, R"({"format": "layers-model", "modelTopology": {"keras_version": "2.0"}})"},
      {FileKind::keras, zip_of({"metadata.json", "config.json", "model.weights.h5"})},
      {FileKind::hdf5, "\x89HDF\r\n\x1a\n"},
      {FileKind::mxnet_symbol, R"({"nodes": [{"op": "null"}], "arg_nodes": [0], "heads": [[0, 0]]})"},
      {FileKind::mxnet_params, params},
      {FileKind::safetensors, safetensors},
      {FileKind::gguf, "GGUF\x03"},
      {FileKind::pickle, "\x80\x02}q"},
      {FileKind::numpy, format_npy(Tensor(DType::f32, {2}))},
      {FileKind::numpy, zip_of({"x.npy", "y.npy"})},
      {FileKind::compiled_model,
       "\x7f"
       "ELF" +
           std::string(100, '.') + "whet.so\n" + std::string(56, '\0')},
      {FileKind::library,
       "\x7f"
       "ELF" +
           std::string(200, '.')},
      {FileKind::unknown, ""},
      {FileKind::unknown, "no model at all"},
      {FileKind::unknown, "\x89PNG\r\n\x1a\n"},
      {FileKind::unknown, R"({"name": "a package"})"},
      {FileKind::unknown, zip_of({"word/document.xml"})},
  };
}

TEST(Detect, TellsFilesByTheirContent) {
  const std::vector<Known> files = known_files();
  for (std::size_t i = 0; i < files.size(); ++i)
    EXPECT_EQ(static_cast<int>(detect(files[i].bytes)), static_cast<int>(files[i].kind)) << "file " << i;
}
TEST(Detect, AModelThatIsCutOffIsStillItsKind) {
  for (const char* file : {"blazeface_front.onnx", "ppocr_cls.onnx"}) {
    const std::string bytes = bundled(file);
    for (const std::size_t size : {std::size_t{200}, bytes.size() / 2, bytes.size() - 1})
      EXPECT_EQ(static_cast<int>(detect(bytes.substr(0, size))), static_cast<int>(FileKind::onnx))
          << file << " " << size;
  }
  const std::string zip = zip_of({"net/code/__torch__/net.py", "net/constants.pkl"});
  EXPECT_EQ(static_cast<int>(detect(zip.substr(0, zip.size() - 4))), static_cast<int>(FileKind::torchscript));
}
TEST(Detect, SurvivesDamage) {
  Rng rng(11);
  for (const Known& file : known_files()) {
    const std::string whole = file.bytes.substr(0, 4096);
    for (int round = 0; round < 50; ++round) {
      std::string damaged =
          whole.substr(0, static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(whole.size()))));
      for (int k = 0; k < 3 && !damaged.empty(); ++k)
        damaged[static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(damaged.size()) - 1))] =
            static_cast<char>(rng.between(0, 255));
      (void)detect(damaged);
    }
  }
}
TEST(Detect, FoldersAreToldByTheirFiles) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "detect_folder";
  std::filesystem::create_directories(folder);
  EXPECT_EQ(static_cast<int>(detect_folder(folder)), static_cast<int>(FileKind::unknown));
  ASSERT_TRUE(write_file(folder / "saved_model.pb", "").ok());
  EXPECT_EQ(static_cast<int>(detect_folder(folder)), static_cast<int>(FileKind::saved_model));
  EXPECT_EQ(import_model(folder).error().message, folder.string() + ": holds no graph");
  std::filesystem::remove_all(folder);
}
TEST(Detect, WhatHasNoReaderIsNamed) {
  const std::string read = "whet reads ONNX, .pt2, TorchScript, .tflite, SavedModel, GraphDef, TensorFlow.js and MXNet";
  const auto said = [](const std::string& bytes) { return import_model_bytes(bytes, "m").error().message; };
  EXPECT_EQ(
      said(zip_of({"archive/data.pkl"})),
      "m: holds weights that torch.save wrote, without a graph; " + read +
          " (in Python: torch.export.save(torch.export.export(model.eval(), (example,)), \"model.pt2\") writes one)");
  EXPECT_EQ(said("no model at all"), "m: is none of the models that whet reads:" + read.substr(10));
  EXPECT_EQ(said(""), "m: the file is empty");
  for (const Known& file : known_files()) {
    constexpr FileKind kRead[] = {FileKind::onnx,          FileKind::pt2,          FileKind::tflite,
                                  FileKind::saved_model,   FileKind::graph_def,    FileKind::tfjs_graph,
                                  FileKind::tflite_bundle, FileKind::mxnet_symbol, FileKind::torchscript,
                                  FileKind::unknown};
    if (std::find(std::begin(kRead), std::end(kRead), file.kind) != std::end(kRead)) continue;
    const std::string message = said(file.bytes);
    EXPECT_NE(message.find("; " + read + " ("), std::string::npos) << message;
  }
}
TEST(Detect, OnnxIsReadWhateverItIsCalled) {
  const std::string path = ::testing::TempDir() + "a_model.tflite";
  ASSERT_TRUE(write_file(path, bundled("blazeface_front.onnx")).ok());
  EXPECT_TRUE(import_model(path).ok());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace whet
