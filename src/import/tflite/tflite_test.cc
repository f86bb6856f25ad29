#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "import/import.h"
#include "import/load_tensors.h"
#include "import/tflite/importers.h"
#include "import/tflite/testing/flat_writer.h"
#include "ops/evaluate_graph.h"
#include "tensor/compare.h"
#include "tensor_files/file.h"

namespace whet::tflite {
namespace tflite_test {

using Numbers = std::vector<double>;

std::string error_of(const std::string& bytes) {
  const auto graph = import_model_bytes(bytes, "m");
  return graph.ok() ? "" : graph.error().message;
}
/// The first output where the first input holds `values`.
Numbers answer(const std::string& bytes, const Numbers& values) {
  const Result<Graph> graph = import_model_bytes(bytes, "m");
  if (!graph.ok()) {
    ADD_FAILURE() << graph.error().message;
    return {};
  }
  const TensorType type = graph->value(graph->inputs[0]).type;
  const Tensor y =
      evaluate_graph(*graph, {Tensor::of<double>(type.dtype, type.shape, values)}).value()[graph->outputs[0].index()];
  Numbers result;
  for (std::int64_t i = 0; i < y.size(); ++i) result.push_back(y.get(i));
  return result;
}

TEST(Tflite, TheOperatorsAreTheOnesThatTheDocumentLists) {
  std::string wanted, found;
  for (const TfliteImporter& row : importers()) wanted += std::string(row.op) + "\n";
  const Result<std::string> document = read_file(WHET_SOURCE_DIR "/docs/operators/tflite.md");
  ASSERT_TRUE(document.ok());
  for (std::size_t at = 0; (at = document->find("\n| `", at)) != std::string::npos; ++at)
    found += document->substr(at + 4, document->find('`', at + 4) - at - 4) + "\n";
  EXPECT_EQ(found, wanted) << "docs/operators/tflite.md";
}

/// CONV_2D of 1x2x2x1 by two kernels of 1x1, plus a bias, then relu.
std::string small_conv(int activation = 1) {
  ModelWriter m;
  const int x = m.tensor("x", {1, 2, 2, 1}), y = m.tensor("y", {1, 2, 2, 2});
  const int w = m.constant<float>("w", {2, 1, 1, 1}, 0, {1, -1}), b = m.constant<float>("b", {2}, 0, {0, 2});
  FlatRecord options;
  options.number<std::int8_t>(0, 1).number<std::int32_t>(1, 1).number<std::int32_t>(2, 1).number<std::int8_t>(
      3, static_cast<std::int8_t>(activation));
  m.operation(3, {x, w, b}, {y}, options);
  return m.bytes({x}, {y});
}

TEST(Tflite, AConvolutionIsRead) { EXPECT_EQ(answer(small_conv(), {0, 1, 2, 3}), (Numbers{0, 2, 1, 1, 2, 0, 3, 0})); }
TEST(Tflite, DepthwiseWeightsAreRead) {
  ModelWriter m;
  const int x = m.tensor("x", {1, 2, 1, 2}), y = m.tensor("y", {1, 1, 1, 2});
  const int w = m.constant<float>("w", {1, 2, 1, 2}, 0, {1, 10, 2, 20});
  FlatRecord options;
  options.number<std::int8_t>(0, 1).number<std::int32_t>(1, 1).number<std::int32_t>(2, 1);
  m.operation(4, {x, w, -1}, {y}, options);
  EXPECT_EQ(answer(m.bytes({x}, {y}), {1, 2, 3, 4}), (Numbers{7, 100}));
}
TEST(Tflite, SamePaddingPutsTheOddPixelBehind) {
  ModelWriter m;
  const int x = m.tensor("x", {1, 1, 4, 1}), y = m.tensor("y", {1, 1, 2, 1});
  FlatRecord options;
  options.number<std::int8_t>(0, 0)
      .number<std::int32_t>(1, 2)
      .number<std::int32_t>(2, 2)
      .number<std::int32_t>(3, 3)
      .number<std::int32_t>(4, 1);
  m.operation(17, {x}, {y}, options);  // MAX_POOL_2D
  EXPECT_EQ(answer(m.bytes({x}, {y}), {1, 2, 9, 3}), (Numbers{9, 9}));
  ModelWriter n;
  const int a = n.tensor("x", {1, 1, 4, 1}), b = n.tensor("y", {1, 1, 2, 1});
  n.operation(1, {a}, {b}, options);  // AVERAGE_POOL_2D: padding is not counted
  EXPECT_EQ(answer(n.bytes({a}, {b}), {1, 2, 9, 3}), (Numbers{4, 6}));
}
TEST(Tflite, NumbersOf8BitsAreSummedExactly) {
  // x = 0.5 (q - 3); w = 0.25 q and 2 q; y = (q + 1).
  ModelWriter m;
  const int x = m.tensor("x", {1, 2}, 9), y = m.tensor("y", {1, 2}, 9);
  m.quantize(x, {0.5f}, {3});
  m.quantize(y, {1.0f}, {-1});
  const int w = m.constant<std::int8_t>("w", {2, 2}, 9, {4, 8, 1, -1});
  m.quantize(w, {0.25f, 2.0f}, {0, 0}, 0);
  const int b = m.constant<std::int32_t>("b", {2}, 2, {8, 1});
  m.operation(9, {x, w, b}, {y});
  // x: 5, 7 are 1 and 2; rows 1 and 2, 2 and -2: 1 + 4 + 1 = 6 and 2 - 4 + 1 = -1
  EXPECT_EQ(answer(m.bytes({x}, {y}), {5, 7}), (Numbers{5, -2}));
}
TEST(Tflite, SparseWeightsBecomeDense) {
  ModelWriter m;
  const int x = m.tensor("x", {1, 3}), y = m.tensor("y", {1, 2});
  const int w = m.constant<float>("w", {2, 3}, 0, {5, 7});
  // Row 0 has an element in column 2, row 1 one in column 0.
  FlatRecord rows, columns, sparsity;
  rows.number<std::int8_t>(0, 0).number<std::int32_t>(1, 2);
  columns.number<std::int8_t>(0, 1);
  columns.number<std::uint8_t>(2, 1).table(3, FlatRecord().numbers<std::int32_t>(0, {0, 1, 2}));
  columns.number<std::uint8_t>(4, 3).table(5, FlatRecord().numbers<std::uint8_t>(0, {2, 0}));
  sparsity.numbers<std::int32_t>(0, {0, 1}).tables(2, {rows, columns});
  m.info(w).table(6, sparsity);
  const int dense = m.tensor("dense", {2, 3});
  m.operation(124, {w}, {dense});
  m.operation(9, {x, dense, -1}, {y});
  EXPECT_EQ(answer(m.bytes({x}, {y}), {1, 2, 3}), (Numbers{15, 7}));
}
TEST(Tflite, ValuesAreCheckedAgainstTheFile) {
  ModelWriter m;
  const int x = m.tensor("x", {2, 3}), y = m.tensor("block/y", {2, 4});
  m.operation(19, {x}, {y});
  EXPECT_EQ(error_of(m.bytes({x}, {y})), "block/y (RELU): \"block/y\" becomes f32[2x3]; the file says float32[2x4]");
}
TEST(Tflite, WhatIsNotReadIsNamed) {
  ModelWriter m;
  const int x = m.tensor("x", {2}), y = m.tensor("y", {2});
  m.operation(16, {x}, {y});  // LSTM
  EXPECT_EQ(error_of(m.bytes({x}, {y})), "this operator is not supported: LSTM");
  EXPECT_EQ(error_of(small_conv(5)), "y (CONV_2D): its activation 5 is not supported");
  ModelWriter n;
  const int a = n.tensor("x", {2}, 7), b = n.tensor("y", {2}, 7);
  n.operation(19, {a}, {b});
  EXPECT_EQ(error_of(n.bytes({a}, {b})), "input \"x\" is no tensor of a type that is supported");
}
TEST(Tflite, OffsetsOutsideOfTheFileAreRefused) {
  const std::string whole = small_conv();
  for (std::size_t size = 8; size < whole.size(); size += 8) EXPECT_NE(error_of(whole.substr(0, size)), "") << size;
  std::string far = whole;
  far[3] = '\x7f';
  EXPECT_EQ(error_of(far), "m: is damaged or cut off: something in it points outside of it");
}
TEST(Tflite, GarbageIsASentence) {
  const std::string whole = small_conv();
  Rng rng(5);
  int read_count = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string damaged = whole;
    for (std::int64_t k = rng.between(1, 4); k > 0; --k)
      damaged[static_cast<std::size_t>(rng.between(8, static_cast<std::int64_t>(damaged.size()) - 1))] =
          static_cast<char>(rng.between(0, 1) == 0 ? rng.between(0, 4) : rng.between(0, 255));
    const auto graph = import_model_bytes(damaged, "m");
    read_count += graph.ok() ? 1 : 0;
    if (!graph.ok()) {
      ASSERT_FALSE(graph.error().message.empty());
      ASSERT_EQ(graph.error().message.find('\n'), std::string::npos);
    }
  }
  EXPECT_GT(read_count, 0) << "some damage is harmless";
}

// ---- Real models, with the answers of LiteRT.

/// The error, or what differs from the reference: floats by 1e-4 of the largest magnitude, numbers of 8 bits by 1 step in 99.9%
/// of the elements and by 2 in all. Of one file the weights alone have 8 bits, and LiteRT rounds activations to 8 bits
/// too: 2e-2.
std::string compare_with_reference(const std::filesystem::path& file) {
  const std::string stem = file.parent_path() / file.stem();
  const auto graph = import_model(file);
  if (!graph.ok()) return graph.error().message;
  if (!std::filesystem::exists(stem + ".out0.npy")) return "";
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < graph->inputs.size(); ++i)
    inputs.push_back(load_tensor(stem + ".in" + std::to_string(i) + ".npy").value());
  const auto values = evaluate_graph(*graph, inputs);
  if (!values.ok()) return values.error().message;
  for (std::size_t i = 0; i < graph->outputs.size(); ++i) {
    const Tensor want = load_tensor(stem + ".out" + std::to_string(i) + ".npy").value();
    const Tensor& found = (*values)[graph->outputs[i].index()];
    if (is_float(want.dtype())) {
      const double error = compare(found, want).relative;
      const bool rounds = file.stem() == "kws_ref_model_float32";
      if (!(error < (rounds ? 2e-2 : 1e-4)))
        return "output " + std::to_string(i) + " is off by " + std::to_string(error);
      continue;
    }
    std::int64_t beyond = 0;
    for (std::int64_t k = 0; k < want.size(); ++k) {
      const double steps = std::abs(found.get(k) - want.get(k));
      if (steps > 2) return "output " + std::to_string(i) + " is off by " + std::to_string(steps) + " steps";
      beyond += steps > 1 ? 1 : 0;
    }
    if (beyond * 1000 > want.size())
      return "output " + std::to_string(i) + " is off by 2 steps in " + std::to_string(beyond) + " elements";
  }
  return "";
}

TEST(TfliteFiles, OfAFolderThatIsGivenAnswerAsLiteRtDoes) {
  const char* folder = std::getenv("WHET_FRONTENDS");
  if (folder == nullptr) GTEST_SKIP() << "WHET_FRONTENDS names no folder with model files of other frameworks";
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(folder) / "tflite")) {
    const bool small = entry.path().extension() == ".tflite" && entry.file_size() < 400000;  // evaluated naively
    if (small) {
      EXPECT_EQ(compare_with_reference(entry.path()), "") << entry.path();
    }
  }
}

}  // namespace tflite_test
}  // namespace whet::tflite
