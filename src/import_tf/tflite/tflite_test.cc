#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/testing/checkout.h"
#include "import_tf/tflite/rows.h"
#include "import_tf/tflite/testing/flat_writer.h"
#include "ops/evaluate_graph.h"
#include "tensor/compare.h"
#include "tensor_files/file.h"
#include "tensor_files/zip.h"

namespace whet::tflite {
namespace tflite_test {

using Numbers = std::vector<double>;

std::string error_of(const std::string& bytes) {
  const auto graph = imported(bytes, "m");
  return graph.ok() ? "" : graph.error().message;
}
/// The first output where the first input holds `values`.
Numbers answer(const std::string& bytes, const Numbers& values) {
  const Result<Graph> graph = imported(bytes, "m");
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
  for (const TfliteRow& row : rows()) wanted += std::string(row.op) + "\n";
  const Result<std::string> document = read_file(checkout_path("docs/operators/tflite.md"));
  ASSERT_TRUE(document.ok());
  for (std::size_t at = 0; (at = document->find("\n| `", at)) != std::string::npos; ++at)
    found += document->substr(at + 4, document->find('`', at + 4) - at - 4) + "\n";
  EXPECT_EQ(found, wanted) << "docs/operators/tflite.md";
}

TEST(Tflite, RowsWithoutAFunctionAreAnOperatorOfTensorFlow) {
  for (const TfliteRow& row : rows())
    EXPECT_TRUE((row.import == nullptr) == (tensorflow_row(row) != nullptr)) << row.op;
  EXPECT_EQ(tensorflow_row(*find_row("GREATER_EQUAL"))->op, "GreaterEqual");
  EXPECT_EQ(tensorflow_row(*find_row("SELECT_V2"))->op, "SelectV2");
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
  m.operation(139, {x}, {y});
  EXPECT_EQ(error_of(m.bytes({x}, {y})).find("this operator is not supported: HASHTABLE_SIZE; --define"), 0u);
  EXPECT_EQ(error_of(small_conv(5)), "y (CONV_2D): its activation 5 is not supported");
  ModelWriter n;
  const int a = n.tensor("x", {2}, 5), b = n.tensor("y", {2}, 5);
  n.operation(19, {a}, {b});
  EXPECT_EQ(error_of(n.bytes({a}, {b})), "input \"x\" is no tensor of a type that is supported");
}
TEST(Tflite, BlocksBecomeBatchesAndComeBack) {
  ModelWriter m;
  const int x = m.tensor("x", {1, 3, 1}), y = m.tensor("y", {2, 2, 1}), z = m.tensor("z", {1, 3, 1});
  const int block = m.constant<std::int32_t>("block", {1}, 2, {2}),
            edges = m.constant<std::int32_t>("edges", {1, 2}, 2, {1, 0});
  m.operation(38, {x, block, edges}, {y});
  EXPECT_EQ(answer(m.bytes({x}, {y}), {1, 2, 3}), (Numbers{0, 2, 1, 3}));
  m.operation(37, {y, block, edges}, {z});
  EXPECT_EQ(answer(m.bytes({x}, {z}), {1, 2, 3}), (Numbers{1, 2, 3}));
}
TEST(Tflite, BranchesOfAnUnknownConditionAreBothComputed) {
  ModelWriter m, yes, no;
  const int x = m.tensor("x", {1}), zero = m.constant<float>("zero", {}, 0, {0}), is = m.tensor("is", {1}, 6),
            y = m.tensor("y", {1});
  m.operation(61, {x, zero}, {is});  // GREATER
  m.operation(118, {is, x}, {y}, FlatRecord().number<std::int32_t>(0, 1).number<std::int32_t>(1, 2));
  const int a = yes.tensor("a", {1}), b = yes.tensor("b", {1});
  yes.operation(59, {a}, {b});  // NEG
  m.body(yes, {a}, {b});
  const int c = no.tensor("c", {1}), d = no.tensor("d", {1});
  no.operation(92, {c}, {d});  // SQUARE
  m.body(no, {c}, {d});
  EXPECT_EQ(answer(m.bytes({x}, {y}), {3}), (Numbers{-3}));
  EXPECT_EQ(answer(m.bytes({x}, {y}), {-3}), (Numbers{9}));
}
TEST(Tflite, LoopsThatCountAreUnrolled) {
  // (i, one, three, x) while i < three: (i + one, one, three, x + x)
  ModelWriter m, condition, body;
  const int zero = m.constant<std::int32_t>("zero", {}, 2, {0}), one = m.constant<std::int32_t>("one", {}, 2, {1}),
            three = m.constant<std::int32_t>("three", {}, 2, {3}), x = m.tensor("x", {2});
  const int i = m.tensor("i", {}, 2), j = m.tensor("j", {}, 2), k = m.tensor("k", {}, 2), y = m.tensor("y", {2});
  m.operation(119, {zero, one, three, x}, {i, j, k, y},
              FlatRecord().number<std::int32_t>(0, 1).number<std::int32_t>(1, 2));
  const auto loop = [](ModelWriter& w) {
    return std::vector<std::int32_t>{w.tensor("i", {}, 2), w.tensor("one", {}, 2), w.tensor("three", {}, 2),
                                     w.tensor("x", {2})};
  };
  const std::vector<std::int32_t> in = loop(condition);
  const int less = condition.tensor("less", {}, 6);
  condition.operation(58, {in[0], in[2]}, {less});
  m.body(condition, in, {less});
  const std::vector<std::int32_t> at = loop(body);
  const int next = body.tensor("next", {}, 2), twice = body.tensor("twice", {2});
  body.operation(0, {at[0], at[1]}, {next});
  body.operation(0, {at[3], at[3]}, {twice});
  m.body(body, at, {next, at[1], at[2], twice});
  EXPECT_EQ(answer(m.bytes({x}, {y}), {1, 3}), (Numbers{8, 24}));
}
/// x and a variable, which another graph makes {10, 20}; `again`: the main graph assigns it, too.
std::string with_variable(bool again) {
  constexpr int kCallOnce = 129, kVarHandle = 142, kReadVariable = 143, kAssignVariable = 144, kResource = 13;
  ModelWriter m, first;
  const int start = m.constant<float>("start", {2}, 0, {10, 20});  // buffer 1
  const int x = m.tensor("x", {2}), v = m.tensor("v", {}, kResource), now = m.tensor("now", {2}),
            y = m.tensor("y", {2});
  const FlatRecord name = FlatRecord().text(1, "counter");
  m.operation(kCallOnce, {}, {}, FlatRecord().number<std::int32_t>(0, 1));
  m.operation(kVarHandle, {}, {v}, name);
  m.operation(kReadVariable, {v}, {now});
  m.operation(0, {x, now}, {y});
  if (again) m.operation(kAssignVariable, {v, start}, {});
  const int handle = first.tensor("handle", {}, kResource), value = first.tensor("value", {2});
  first.info(value).number<std::uint32_t>(2, 1);
  first.operation(kVarHandle, {}, {handle}, name);
  first.operation(kAssignVariable, {handle, value}, {});
  m.body(first, {}, {});
  return m.bytes({x}, {y});
}
TEST(Tflite, VariablesThatAreSetOnceAreConstants) {
  EXPECT_EQ(answer(with_variable(false), {1, 2}), (Numbers{11, 22}));
  const auto graph = imported(with_variable(true), "m");
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.error().message.find("READ_VARIABLE"), std::string::npos) << graph.error().message;
}
TEST(Tflite, TheMemoryOfFiltersStandsBeforeTheInput) {
  ModelWriter m;
  const int x = m.tensor("x", {1, 2}), y = m.tensor("y", {1, 1});
  const int features = m.constant<float>("f", {2, 2}, 0, {1, 0, 0, 1}),
            times = m.constant<float>("t", {2, 2}, 0, {10, 1, 100, 2});
  const int bias = m.constant<float>("b", {1}, 0, {0.5f}), memory = m.constant<float>("m", {1, 4}, 0, {9, 3, 9, 4});
  m.operation(27, {x, features, times, bias, memory}, {y}, FlatRecord().number<std::int32_t>(0, 2));
  // Filter 0: 10 * 3 + 1 * x0; filter 1: 100 * 4 + 2 * x1.
  EXPECT_EQ(answer(m.bytes({x}, {y}), {5, 7}), (Numbers{30 + 5 + 400 + 14 + 0.5}));
}
TEST(Tflite, OneStepOfACellIsAStepOfASequence) {
  // One unit: gates i, c, f, o of the basic cell are those of the full one in another order.
  const auto cell = [](bool basic) {
    ModelWriter m;
    const int x = m.tensor("x", {1, 1}), y = m.tensor("y", {1, 1});
    const auto column = [&](const std::string& name, float value) {
      return m.constant<float>(name, {1, 1}, 0, {value});
    };
    const auto one = [&](const std::string& name, float value) { return m.constant<float>(name, {1}, 0, {value}); };
    if (basic) {
      const int w = m.constant<float>("w", {4, 2}, 0, {0.1f, 9, 0.2f, 9, 0.3f, 9, 0.4f, 9});
      const int b = m.constant<float>("b", {4}, 0, {0.5f, 0.6f, 0.7f, 0.8f});
      const int state = m.tensor("cell", {1, 1}), both = m.tensor("both", {1, 2}), gates = m.tensor("gates", {1, 4});
      m.operation(16, {x, column("h", 0), w, b, column("c", 2)}, {y, state, both, gates},
                  FlatRecord().number<std::int8_t>(3, 1));
      return m.bytes({x}, {y});
    }
    // i f c o
    std::vector<std::int32_t> inputs = {x, column("wi", 0.1f), column("wf", 0.3f), column("wc", 0.2f),
                                        column("wo", 0.4f)};
    for (const char* name : {"ri", "rf", "rc", "ro"}) inputs.push_back(column(name, 9));
    inputs.insert(inputs.end(), {-1, -1, -1, one("bi", 0.5f), one("bf", 0.7f), one("bc", 0.6f), one("bo", 0.8f)});
    m.operation(16, inputs, {y}, FlatRecord().number<std::int8_t>(0, 4));
    return m.bytes({x}, {y});
  };
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  const auto expected = [&](double x, double c) {
    const double next = sigmoid(0.1 * x + 0.5) * std::tanh(0.2 * x + 0.6) + sigmoid(0.3 * x + 0.7) * c;
    return sigmoid(0.4 * x + 0.8) * std::tanh(next);
  };
  EXPECT_NEAR(answer(cell(true), {0.5})[0], expected(0.5, 2), 1e-6);
  EXPECT_NEAR(answer(cell(false), {0.5})[0], expected(0.5, 0), 1e-6);
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
    const auto graph = imported(damaged, "m");
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
/// of the elements and by 2 in all. Of one file the weights alone have 8 bits: LiteRT rounds activations to 8 bits too, by the
/// least and the largest of an image, and of a pixel before a kernel of 1x1 (an evaluation that does the same is off by
/// 1e-8), which whet does not.
std::string compare_with_reference(const std::filesystem::path& file) {
  const std::string stem = file.parent_path() / file.stem();
  const auto graph = imported_file(file);
  if (!graph.ok()) return graph.error().message;
  if (!std::filesystem::exists(stem + ".out0.npy")) return "";
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < graph->inputs.size(); ++i)
    inputs.push_back(npy(stem + ".in" + std::to_string(i) + ".npy"));
  const auto values = evaluate_graph(*graph, inputs);
  if (!values.ok()) return values.error().message;
  for (std::size_t i = 0; i < graph->outputs.size(); ++i) {
    const Tensor want = npy(stem + ".out" + std::to_string(i) + ".npy");
    const Tensor& found = (*values)[graph->outputs[i].index()];
    if (is_float(want.dtype())) {
      const double error = compare(found, want).relative;
      const bool rounds = file.stem() == "kws_ref_model_float32";
      if (!(error < (rounds ? 1e-3 : 1e-4)))
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
