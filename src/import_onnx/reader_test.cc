#include "import_onnx/reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <functional>

#include "tensor_files/file.h"

namespace whet {
namespace onnx_reader_test {

// ---- A few bytes of protobuf's wire format, so that a test can write what no exporter would.

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
  return bytes + static_cast<char>(value);
}
std::string number(int field, std::int64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(static_cast<std::uint64_t>(value));
}
std::string text(int field, const std::string& bytes) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(bytes.size()) + bytes;
}
template <typename T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// Field numbers of TensorProto, ModelProto and GraphProto.
constexpr int kDims = 1, kType = 2, kFloats = 4, kInt32s = 5, kInt64s = 7, kName = 8, kRaw = 9, kExternal = 13,
              kLocation = 14;
constexpr int kGraph = 7, kOpset = 8, kNode = 1, kInitializer = 5, kOutput = 12, kFunction = 25;

std::string parsed(const std::string& proto) {
  const auto named = parse_tensor_proto(proto, "t");
  if (!named.ok()) return named.error().message;
  std::string values = to_string(named->tensor.type());
  for (std::int64_t i = 0; i < named->tensor.size(); ++i) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, " %g", named->tensor.get(i));
    values += buffer;
  }
  return values;
}

TEST(TensorProto, ReadsRawAndTypedFields) {
  EXPECT_EQ(parsed(number(kDims, 2) + number(kType, 1) + text(kRaw, raw<float>({1.5f, -2}))), "f32[2] 1.5 -2");
  EXPECT_EQ(parsed(number(kDims, 2) + number(kType, 1) + text(kFloats, raw<float>({1.5f, -2}))), "f32[2] 1.5 -2");
  EXPECT_EQ(parsed(number(kType, 7) + number(kInt64s, -3)), "i64[scalar] -3");
  EXPECT_EQ(parsed(number(kDims, 2) + number(kType, 3) + number(kInt32s, -3) + number(kInt32s, 100)), "i8[2] -3 100");
  EXPECT_EQ(parsed(number(kDims, 1) + number(kType, 9) + text(kRaw, "\x05")), "bool[1] 1");
  EXPECT_EQ(parsed(number(kDims, 1) + number(kType, 10) + number(kInt32s, 0x3e00)), "f16[1] 1.5");
  EXPECT_EQ(parsed(number(kDims, 0) + number(kType, 7)), "i64[0]");
}
TEST(TensorProto, TypesThatWhetDoesNotHaveAreHeldInWiderOnes) {
  EXPECT_EQ(parsed(number(kDims, 1) + number(kType, 16) + number(kInt32s, 0x3fc0)), "f32[1] 1.5");  // BFLOAT16
  EXPECT_EQ(parsed(number(kDims, 2) + number(kType, 5) + text(kRaw, std::string("\xff\xff\x01\x00", 4))),
            "i32[2] -1 1");
  EXPECT_EQ(parsed(number(kDims, 2) + number(kType, 4) + text(kRaw, std::string("\xff\xff\x01\x00", 4))),
            "i32[2] 65535 1");
  EXPECT_EQ(parsed(number(kDims, 1) + number(kType, 12) + text(kRaw, std::string("\xff\xff\xff\xff", 4))),
            "i64[1] 4.29497e+09");
  EXPECT_EQ(parsed(number(kDims, 3) + number(kType, 22) + text(kRaw, "\x8f\x07")), "i8[3] -1 -8 7");  // INT4
  EXPECT_EQ(parsed(number(kDims, 3) + number(kType, 21) + number(kInt32s, 0x8f) + number(kInt32s, 7)), "u8[3] 15 8 7");
  EXPECT_EQ(parsed(number(kDims, 2) + number(kType, 5) + text(kRaw, "12345")),
            "t: i32[2] needs 4 bytes; the file holds 5");
}
TEST(TensorProto, SaysWhatIsWrong) {
  EXPECT_EQ(parsed(number(kDims, 2) + number(kType, 1) + text(kRaw, "12345")),
            "t: f32[2] needs 8 bytes; the file holds 5");
  EXPECT_EQ(parsed(number(kDims, 3) + number(kType, 7) + number(kInt64s, 1)),
            "t: i64[3] needs 3 values; the file holds 1");
  EXPECT_EQ(parsed(number(kDims, 1) + number(kType, 8)),
            "t: its type is STRING; expected FLOAT, DOUBLE, FLOAT16, INT8, UINT8, INT32, INT64 or BOOL");
  EXPECT_EQ(parsed(number(kDims, 1) + number(kType, 77)),
            "t: its type is number 77; expected FLOAT, DOUBLE, FLOAT16, INT8, UINT8, INT32, INT64 or BOOL");
  EXPECT_EQ(parsed(number(kDims, -1) + number(kType, 1)), "t has shape -1: an extent is negative");
  EXPECT_EQ(parsed(number(kDims, std::int64_t{1} << 40) + number(kType, 1)),
            "t has shape 1099511627776; at most 2147483647 elements are supported");
  EXPECT_EQ(parsed("\xff\xff\xff"), "t: not a valid TensorProto (damaged or cut off)");
}

/// A model whose one output is its one initializer.
std::string model_of(const std::string& tensor, int opset = 13, const std::string& more = "") {
  const std::string graph = text(kInitializer, tensor) + text(kOutput, text(1, "w")) + more;
  return text(kGraph, graph) + text(kOpset, number(2, opset));
}
/// The same of a sparse one: values and their places, as fields of tensors.
std::string sparse_model(const std::vector<float>& values, const std::string& places, const Shape& shape) {
  std::string sparse = text(1, number(kDims, std::int64_t(values.size())) + number(kType, 1) + text(kName, "w") +
                                   text(kRaw, raw(values))) +
                       text(2, places);
  for (const std::int64_t extent : shape) sparse += number(3, extent);
  return text(kGraph, text(15, sparse) + text(kOutput, text(1, "w"))) + text(kOpset, number(2, 13));
}
std::string places_of(const Shape& shape, const std::vector<std::int64_t>& places) {
  std::string proto = number(kType, 7) + text(kRaw, raw(places));
  for (const std::int64_t extent : shape) proto += number(kDims, extent);
  return proto;
}
std::string external(const std::string& location, const std::string& offset, const std::string& length) {
  const auto entry = [](const std::string& key, const std::string& value) {
    return text(kExternal, text(1, key) + text(2, value));
  };
  return number(kDims, 2) + number(kType, 1) + text(kName, "w") + entry("location", location) +
         entry("offset", offset) + entry("length", length) + number(kLocation, 1);
}
std::string loaded(const std::string& path) {
  WHET_CHECK(read_file(path).ok());
  const auto model = parse_onnx(read_file(path).value(), std::filesystem::path(path).parent_path(), path);
  if (!model.ok()) return model.error().message;
  const Tensor& w = model->initializers.at(0).tensor;
  return to_string(w.type()) + " " + std::to_string(w.get(0)) + " " + std::to_string(w.get(1));
}

TEST(SparseInitializers, BecomeDenseOnes) {
  const auto read = [](const std::string& bytes) {
    const Result<OnnxModel> model = parse_onnx(bytes, "", "m");
    if (!model.ok()) return model.error().message;
    std::string values = to_string(model->initializers.at(0).tensor.type());
    for (const float value : model->initializers[0].tensor.as<float>()) values += " " + std::to_string(int(value));
    return values;
  };
  EXPECT_EQ(read(sparse_model({3, -5}, places_of({2}, {1, 4}), {3, 2})), "f32[3x2] 0 3 0 0 -5 0");
  EXPECT_EQ(read(sparse_model({3, -5}, places_of({2, 2}, {0, 1, 2, 0}), {3, 2})), "f32[3x2] 0 3 0 0 -5 0");
  EXPECT_EQ(read(sparse_model({3}, places_of({1}, {6}), {3, 2})),
            "sparse initializer \"w\": value 0 is outside of 3x2");
  EXPECT_EQ(read(sparse_model({3}, places_of({1, 2}, {1, -1}), {3, 2})),
            "sparse initializer \"w\": value 0 is outside of 3x2");
  EXPECT_EQ(read(sparse_model({3}, places_of({2}, {1, 2}), {3, 2})),
            "sparse initializer \"w\": has places i64[2] of values f32[1] in a tensor of 3x2");
  EXPECT_EQ(read(sparse_model({3}, places_of({1}, {1}), {1 << 30})),
            "sparse initializer \"w\": 1073741824 is too large for a sparse tensor");
  EXPECT_EQ(read(sparse_model({3}, places_of({1}, {1}), {(1 << 26) + 1})),
            "sparse initializer \"w\": 67108865 is too large for a sparse tensor");
}

TEST(ReadOnnx, FindsExternalDataBesideTheModel) {
  const std::string folder = ::testing::TempDir() + "whet_external/", path = folder + "m.onnx";
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(write_file(folder + "weights.bin", "----" + raw<float>({2, 3})).ok());
  ASSERT_TRUE(write_file(path, model_of(external("weights.bin", "4", "8"))).ok());
  EXPECT_EQ(loaded(path), "f32[2] 2.000000 3.000000");
  ASSERT_TRUE(write_file(path, model_of(external("weights.bin", "8", "8"))).ok());
  EXPECT_EQ(loaded(path), "initializer \"w\": \"" + folder + "weights.bin\" has 12 bytes; 8 were expected from byte 8");
  ASSERT_TRUE(write_file(path, model_of(external("missing.bin", "0", "8"))).ok());
  EXPECT_EQ(loaded(path), "initializer \"w\": cannot read \"" + folder + "missing.bin\": No such file or directory");
  std::filesystem::remove_all(folder);
}
/// A model beside "weights.bin" of 16 bytes.
struct ModelFolder {
  std::string folder = ::testing::TempDir() + "whet_weights/";
  ModelFolder() {
    std::filesystem::create_directories(folder);
    EXPECT_TRUE(write_file(folder + "weights.bin", raw<float>({1, 2, 3, 4})).ok());
  }
  ~ModelFolder() { std::filesystem::remove_all(folder); }
  /// Of `count` tensors of eight bytes, the i-th at `offset(i)`.
  Result<OnnxModel> of_tensors(int count, const std::function<int(int)>& offset) const {
    std::string tensors;
    for (int i = 0; i < count; ++i) {
      std::string tensor = external("weights.bin", std::to_string(offset(i)), "8");
      tensors += text(kInitializer, tensor + text(kName, "w" + std::to_string(i)));
    }
    return parse_onnx(text(kGraph, tensors + text(kOutput, text(1, "w0"))) + text(kOpset, number(2, 13)), folder, "m");
  }
};

TEST(ReadOnnx, ReadsBytesOnceHoweverManyTensorsNameThem) {
  const ModelFolder model;
  const auto same = model.of_tensors(1000, [](int) { return 4; });
  ASSERT_TRUE(same.ok()) << same.error().message;
  EXPECT_EQ(same->initializers[0].tensor.data(), same->initializers[999].tensor.data());
  EXPECT_EQ(same->initializers[999].tensor.get(0), 2);
  EXPECT_TRUE(model.of_tensors(8, [](int i) { return i; }).ok());
  EXPECT_EQ(model.of_tensors(9, [](int i) { return i; }).error().message,
            "initializer \"w8\": the model asks \"" + model.folder +
                "weights.bin\" of 16 bytes for more than 4 times its bytes");
}
TEST(ReadOnnx, ReadsRegularFilesAloneBehindLinks) {
  const ModelFolder model;
  const auto through_link_to = [&](const std::string& file) {
    std::filesystem::remove(model.folder + "link");
    std::filesystem::create_symlink(file, model.folder + "link");
    EXPECT_TRUE(write_file(model.folder + "m.onnx", model_of(external("link", "4", "8"))).ok());
    return loaded(model.folder + "m.onnx");
  };
  EXPECT_EQ(through_link_to(model.folder + "weights.bin"), "f32[2] 2.000000 3.000000");
  for (const auto& [file, what] : {std::pair("/dev/zero", "device"), {"/proc/self/status", "file of the kernel"}})
    EXPECT_EQ(through_link_to(file),
              "initializer \"w\": cannot read \"" + model.folder + "link\": it is a " + std::string(what));
  ASSERT_EQ(mkfifo((model.folder + "pipe").c_str(), 0600), 0);
  EXPECT_EQ(through_link_to("pipe"), "initializer \"w\": cannot read \"" + model.folder + "link\": it is a pipe");
  EXPECT_TRUE(write_file(model.folder + "secret", "the word is sesame").ok());
  EXPECT_EQ(through_link_to("secret").find("sesame"), std::string::npos);
  std::filesystem::create_symlink(model.folder + "m.onnx", model.folder + "model");
  through_link_to("weights.bin");
  EXPECT_EQ(loaded(model.folder + "model"), "f32[2] 2.000000 3.000000") << "the model itself is a link";
}
TEST(ReadOnnx, ReadsNoFileOutsideTheModelsFolder) {
  for (const char* location : {"../secret", "/etc/passwd", "a/../../b", ""}) {
    const auto model = parse_onnx(model_of(external(location, "0", "8")), "", "m");
    EXPECT_EQ(model.error().message, "initializer \"w\": its external data is in \"" + std::string(location) +
                                         "\"; expected a file below the model's folder");
  }
  EXPECT_EQ(parse_onnx(model_of(external("w.bin", "-1", "8")), "", "m").error().message,
            "initializer \"w\": the offset of its external data is \"-1\"; expected a number of bytes");
}

std::string failure(const std::string& bytes) {
  const auto model = parse_onnx(bytes, "", "m.onnx");
  return model.ok() ? "read" : model.error().message;
}
const std::string kTensor = number(kType, 1) + text(kName, "w") + text(kRaw, raw<float>({1}));

TEST(ReadOnnx, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(failure(model_of(kTensor)), "read");
  EXPECT_EQ(failure(model_of(kTensor, 0)), "m.onnx: uses operator set 0 of ONNX; 1 to 24 are supported");
  EXPECT_EQ(failure(model_of(kTensor, 25)), "m.onnx: uses operator set 25 of ONNX; 1 to 24 are supported");
  EXPECT_EQ(failure(text(kOpset, number(2, 13))), "m.onnx: not an ONNX model (it holds no graph)");
  EXPECT_EQ(failure(model_of(kTensor, 13, text(kInitializer, kTensor))), "initializer \"w\" occurs twice in the file");
}
TEST(ReadOnnx, ReadsTheFunctionsOfTheModel) {
  // Fields of FunctionProto: name 1, input 4, output 5, attribute 6, node 7, opset 9, domain 10, default 11, overload 13.
  // Of NodeProto: input 1, output 2, op 4, attribute 5, overload 8; of AttributeProto: name 1, number 2, type 20,
  // reference 21.
  const std::string number_half = varint(2 << 3 | 5) + raw<float>({0.5f});
  const std::string reference = text(1, "alpha") + text(21, "slope") + number(20, 1);
  const std::string node = text(1, "X") + text(2, "Y") + text(4, "LeakyRelu") + text(5, reference) + text(8, "o");
  const std::string function = text(1, "F") + text(4, "X") + text(5, "Y") + text(6, "angle") + text(7, node) +
                               text(9, number(2, 11)) + text(10, "local") +
                               text(11, text(1, "slope") + number_half + number(20, 1)) + text(13, "wide");
  const std::string model = model_of(kTensor) + text(kFunction, function);
  const auto read = parse_onnx(model, "", "m.onnx");
  ASSERT_TRUE(read.ok()) << read.error().message;
  const OnnxFunction& f = read->functions.at({"local", "F", "wide"});
  EXPECT_EQ(f.opset, 11);
  EXPECT_EQ(f.attributes, std::vector<std::string>{"angle"});
  ASSERT_EQ(f.defaults.size(), 1u);
  EXPECT_EQ(std::get<double>(f.defaults[0].value), 0.5);
  EXPECT_EQ(f.body.inputs, std::vector<std::string>{"X"});
  EXPECT_EQ(f.body.outputs, std::vector<std::string>{"Y"});
  EXPECT_EQ(f.body.nodes.at(0).overload, "o");
  EXPECT_EQ(std::get<OnnxAttribute::Reference>(f.body.nodes.at(0).attributes.at(0).value).name, "slope");
  EXPECT_EQ(failure(model + text(kFunction, function)), "function \"F\" occurs twice in the file");
  EXPECT_EQ(failure(model_of(kTensor) + text(kFunction, text(1, "F") + text(9, number(2, 99)))),
            "function \"F\": uses operator set 99 of ONNX; 1 to 24 are supported");
  EXPECT_EQ(failure(model_of(kTensor) + text(kFunction, text(1, "F") + text(11, "\xff"))),
            "function \"F\": a default of its attributes is damaged");
}
TEST(ReadOnnx, RefusesDeepNesting) {
  // A node whose attribute holds a graph with a node whose attribute ... (fields: attribute 5, type 20, graph 6).
  std::string node = text(4, "If");
  for (int depth = 0; depth < 500; ++depth) {
    node = text(4, "If") + text(5, text(1, "then_branch") + number(20, 5) + text(6, text(kNode, node)));
  }
  EXPECT_EQ(failure(model_of(kTensor, 13, text(kNode, node))), "m.onnx: not a valid ONNX file (damaged or cut off)");
}

}  // namespace onnx_reader_test
}  // namespace whet
