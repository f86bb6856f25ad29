#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/testing/checkout.h"
#include "base/testing/random_cases.h"
#include "import_mxnet/params.h"
#include "import_mxnet/rows.h"
#include "import_mxnet/testing/symbol_writer.h"
#include "ops/evaluate_graph.h"
#include "tensor/compare.h"
#include "tensor_files/file.h"

namespace whet::mxnet {
namespace mxnet_test {

using Numbers = std::vector<double>;
using Attributes = SymbolWriter::Attributes;

ImportOptions with_shape(const Shape& shape) {
  ImportOptions options;
  options.shapes["data"] = shape;
  return options;
}
Numbers numbers_of(const Tensor& tensor) {
  Numbers numbers;
  for (std::int64_t i = 0; i < tensor.size(); ++i) numbers.push_back(tensor.get(i));
  return numbers;
}
Numbers answer(const Result<Graph>& graph, const Numbers& values) {
  if (!graph.ok()) {
    ADD_FAILURE() << graph.error().message;
    return {};
  }
  const TensorType type = graph->value(graph->inputs[0]).type;
  const auto results = evaluate_graph(*graph, {Tensor::of<double>(type.dtype, type.shape, values)});
  return numbers_of((*results)[graph->outputs[0].index()]);
}
/// One operator of "data", which gets its own shape.
std::string one_node(const std::string& op, const Attributes& attributes) {
  SymbolWriter s;
  const int data = s.null("data");
  return s.json({s.node(op, "y", {data}, attributes)});
}
Numbers answer(const std::string& op, const Shape& shape, const Attributes& attributes, const Numbers& values) {
  return answer(imported(one_node(op, attributes), "m", with_shape(shape)), values);
}
std::string error_of(const std::string& op, const Shape& shape, const Attributes& attributes) {
  const auto graph = imported(one_node(op, attributes), "m", with_shape(shape));
  return graph.ok() ? "" : graph.error().message;
}
/// A folder with a symbol and its parameters.
struct Files {
  std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "mxnet_files";
  Files() { std::filesystem::create_directories(folder); }
  ~Files() { std::filesystem::remove_all(folder); }
  std::string write(const std::string& name, const std::string& bytes) const {
    EXPECT_TRUE(write_file(folder / name, bytes).ok());
    return (folder / name).string();
  }
};

TEST(MxNet, TheOperatorsAreTheOnesThatTheDocumentLists) {
  std::string wanted, found;
  for (const MxRow& row : rows()) wanted += std::string(row.op) + "\n";
  const Result<std::string> document = read_file(checkout_path("docs/operators/mxnet.md"));
  ASSERT_TRUE(document.ok());
  for (std::size_t at = 0; (at = document->find("\n| `", at)) != std::string::npos; ++at)
    found += document->substr(at + 4, document->find('`', at + 4) - at - 4) + "\n";
  EXPECT_EQ(found, wanted) << "docs/operators/mxnet.md";
}

TEST(MxNet, SizesComeFromTheUser) {
  const auto graph = imported(one_node("relu", {}), "m");
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.error().message.find("--shape data="), std::string::npos) << graph.error().message;
}
TEST(MxNet, PoolsRoundAsTheyAreTold) {
  const Attributes valid = {{"kernel", "(1, 2)"}, {"stride", "(1, 2)"}, {"pool_type", "max"}};
  Attributes full = valid;
  full.emplace_back("pooling_convention", "full");
  EXPECT_EQ(answer("Pooling", {1, 1, 1, 5}, valid, {1, 2, 3, 4, 5}), (Numbers{2, 4}));
  EXPECT_EQ(answer("Pooling", {1, 1, 1, 5}, full, {1, 2, 3, 4, 5}), (Numbers{2, 4, 5}));
  const Attributes average = {{"kernel", "(1, 3)"}, {"pad", "(0, 1)"}, {"pool_type", "avg"}};
  EXPECT_EQ(answer("Pooling", {1, 1, 1, 3}, average, {3, 3, 3}), (Numbers{2, 3, 2}));
  Attributes without = average;
  without.emplace_back("count_include_pad", "False");
  EXPECT_EQ(answer("Pooling", {1, 1, 1, 3}, without, {3, 3, 3}), (Numbers{3, 3, 3}));
  EXPECT_EQ(
      answer("Pooling", {1, 1, 1, 3}, {{"kernel", "(1, 1)"}, {"global_pool", "True"}, {"pool_type", "sum"}}, {1, 2, 3}),
      (Numbers{6}));
}
TEST(MxNet, FullPoolsMayEndInAWindowOfNothing) {
  const Attributes max = {{"kernel", "(1, 1)"}, {"stride", "(1, 2)"}, {"pooling_convention", "full"}};
  const Numbers found = answer("Pooling", {1, 1, 1, 4}, max, {1, 2, 3, 4});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(Numbers(found.begin(), found.begin() + 2), (Numbers{1, 3}));
  EXPECT_LT(found[2], -3e38);
  const Attributes average = {{"kernel", "(1, 2)"},
                              {"stride", "(1, 3)"},
                              {"pad", "(0, 1)"},
                              {"pooling_convention", "full"},
                              {"pool_type", "avg"}};
  EXPECT_EQ(answer("Pooling", {1, 1, 1, 4}, average, {1, 2, 3, 4}), (Numbers{0.5, 3.5, 0}));
}
std::string shape_of(const std::string& op, const Attributes& attributes) {
  const auto graph = imported(one_node(op, attributes), "m", with_shape({2, 3}));
  return graph.ok() ? to_string(graph->value(graph->outputs[0]).type.shape) : graph.error().message;
}
TEST(MxNet, AnAxisOfNoneIsTheFlatTensor) {
  const Numbers x = {3, 1, 2, 6, 5, 4};
  const Attributes none = {{"axis", "None"}};
  EXPECT_EQ(answer("sort", {2, 3}, none, x), (Numbers{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(shape_of("sort", none), "6");
  EXPECT_EQ(answer("sort", {2, 3}, {}, x), (Numbers{1, 2, 3, 4, 5, 6})) << "of the last axis";
  EXPECT_EQ(shape_of("sort", {}), "2x3");
  EXPECT_EQ(answer("argsort", {2, 3}, {{"axis", "None"}, {"is_ascend", "False"}}, x), (Numbers{3, 4, 5, 0, 2, 1}));
  EXPECT_EQ(answer("topk", {2, 3}, {{"axis", "None"}, {"k", "2"}}, x), (Numbers{3, 4}));
  EXPECT_EQ(answer("topk", {2, 3}, {{"axis", "None"}, {"k", "4"}, {"ret_typ", "value"}}, x), (Numbers{6, 5, 4, 3}));
  EXPECT_EQ(answer("argmax", {2, 3}, {}, x), (Numbers{3}));
  EXPECT_EQ(answer("argmin", {2, 3}, none, x), (Numbers{1}));
  EXPECT_EQ(shape_of("argmax", {{"keepdims", "True"}}), "1x1");
  EXPECT_EQ(shape_of("argmax", {}), "1");
  EXPECT_EQ(answer("repeat", {2, 3}, {{"axis", "None"}, {"repeats", "1"}}, x), x);
  EXPECT_EQ(answer("mean", {2, 3}, none, x), (Numbers{3.5}));
  EXPECT_EQ(answer("sum", {2, 3}, {{"axis", "None"}, {"exclude", "True"}}, x), (Numbers{21}));
}
TEST(MxNet, BroadcastsTheAxesThatAreNamed) {
  const auto shape = [](const Attributes& attributes) {
    SymbolWriter s;
    const int data = s.null("data"), like = s.null("like");
    ImportOptions options = with_shape({1, 3, 1});
    options.shapes["like"] = {5, 7};
    const auto graph = imported(s.json({s.node("broadcast_like", "y", {data, like}, attributes)}), "m", options);
    return graph.ok() ? to_string(graph->value(graph->outputs[0]).type.shape) : graph.error().message;
  };
  EXPECT_EQ(shape({{"lhs_axes", "(0,)"}, {"rhs_axes", "(1,)"}}), "7x3x1");
  EXPECT_EQ(shape({{"lhs_axes", "(0, -1)"}, {"rhs_axes", "(-1, 0)"}}), "7x3x5");
  EXPECT_EQ(shape({{"lhs_axes", "(0,)"}}),
            "y (broadcast_like): names 1 axes of its own and 0 of the second input; expected as many");
}
TEST(MxNet, CodesOfReshapes) {
  const auto shape = [](const std::string& codes, const std::string& reverse = "False") {
    const auto graph =
        imported(one_node("Reshape", {{"shape", codes}, {"reverse", reverse}}), "m", with_shape({2, 3, 4, 5}));
    return graph.ok() ? to_string(graph->value(graph->outputs[0]).type.shape) : graph.error().message;
  };
  EXPECT_EQ(shape("(0, -1)"), "2x60");
  EXPECT_EQ(shape("(-2,)"), "2x3x4x5");
  EXPECT_EQ(shape("(-3, -3)"), "6x20");
  EXPECT_EQ(shape("(0, 0, -4, 2, -1, 0)"), "2x3x2x2x5");
  EXPECT_EQ(shape("(-1, 5)", "True"), "24x5");
  EXPECT_EQ(shape("(7, -1)"), "y (Reshape): reshapes f32[2x3x4x5] to (7, -1)");
}
TEST(MxNet, ScalarsStandOnTheSideThatTheNameSays) {
  EXPECT_EQ(answer("_minus_scalar", {2}, {{"scalar", "1"}}, {3, 5}), (Numbers{2, 4}));
  EXPECT_EQ(answer("_rminus_scalar", {2}, {{"scalar", "1"}}, {3, 5}), (Numbers{-2, -4}));
  EXPECT_EQ(answer("_greater_scalar", {2}, {{"scalar", "4"}}, {3, 5}), (Numbers{0, 1}));
}
TEST(MxNet, RemaindersHaveTheSignOfTheDivisor) {
  EXPECT_EQ(answer("_mod_scalar", {2}, {{"scalar", "3"}}, {-1, 4}), (Numbers{2, 1}));
  EXPECT_EQ(answer("_rmod_scalar", {2}, {{"scalar", "-5"}}, {3, -3}), (Numbers{1, -2}));
}
TEST(MxNet, LogicOfNumbersIsZeroOrOne) {
  EXPECT_EQ(answer("_logical_and_scalar", {3}, {{"scalar", "2"}}, {0, 5, -1}), (Numbers{0, 1, 1}));
  EXPECT_EQ(answer("_logical_and_scalar", {2}, {{"scalar", "0"}}, {0, 5}), (Numbers{0, 0}));
  EXPECT_EQ(answer("_logical_or_scalar", {2}, {{"scalar", "0"}}, {0, 5}), (Numbers{0, 1}));
  EXPECT_EQ(answer("_logical_xor_scalar", {2}, {{"scalar", "1"}}, {0, 5}), (Numbers{1, 0}));
}
TEST(MxNet, SidesOfATriangleMayBeLong) {
  const Numbers found = answer("_hypot_scalar", {5}, {{"scalar", "4"}}, {3, -3, 0, 4, 3e30});
  EXPECT_EQ(Numbers(found.begin(), found.begin() + 3), (Numbers{5, 5, 4}));
  EXPECT_NEAR(found[3], 5.65685425, 1e-6);
  EXPECT_NEAR(found[4] / 3e30, 1, 1e-6);
  EXPECT_EQ(answer("_hypot_scalar", {2}, {{"scalar", "0"}}, {0, -7}), (Numbers{0, 7}));
}
TEST(MxNet, CubeRootsKeepTheSign) {
  const Numbers found = answer("cbrt", {4}, {}, {27, -8, 0, 1e-6}), wanted = {3, -2, 0, 0.01};
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-6);
  EXPECT_NEAR(answer("rcbrt", {1}, {}, {-8})[0], -0.5, 1e-6);
}
TEST(MxNet, AMaskIsOneAtTheFirstInOrder) {
  const Numbers x = {3, 1, 2, 6, 5, 4};
  EXPECT_EQ(answer("topk", {2, 3}, {{"k", "2"}, {"ret_typ", "mask"}}, x), (Numbers{1, 0, 1, 1, 1, 0}));
  const Attributes flat = {{"k", "2"}, {"ret_typ", "mask"}, {"axis", "None"}};
  EXPECT_EQ(answer("topk", {2, 3}, flat, x), (Numbers{0, 0, 0, 1, 1, 0}));
  EXPECT_EQ(shape_of("topk", flat), "2x3");
}
TEST(MxNet, FurtherImagesGetTheSizeOfTheFirst) {
  const auto enlarged = [](const Attributes& attributes) {
    SymbolWriter s;
    const int data = s.null("data"), large = s.node("UpSampling", "large", {data}, {{"scale", "2"}});
    const int y = s.node("UpSampling", "y", {data, large}, attributes);
    return answer(imported(s.json({y}), "m", with_shape({1, 1, 1, 2})), {1, 2});
  };
  const Numbers one = {1, 1, 2, 2, 1, 1, 2, 2};
  Numbers both = one, sum = one;
  both.insert(both.end(), one.begin(), one.end());
  for (double& number : sum) number *= 2;
  EXPECT_EQ(enlarged({{"scale", "2"}, {"num_args", "2"}, {"sample_type", "nearest"}}), both);
  EXPECT_EQ(enlarged({{"scale", "2"}, {"multi_input_mode", "sum"}}), sum);
}
TEST(MxNet, AxesThatAreExcludedStay) {
  EXPECT_EQ(answer("sum", {2, 2}, {{"axis", "0"}, {"exclude", "True"}}, {1, 2, 3, 4}), (Numbers{3, 7}));
  EXPECT_EQ(answer("sum", {2, 2}, {}, {1, 2, 3, 4}), (Numbers{10}));
}
TEST(MxNet, SoftmaxActivationIsOfAllOrOfTheChannels) {
  EXPECT_EQ(answer("SoftmaxActivation", {1, 2, 2}, {}, {1, 1, 1, 1}), Numbers(4, 0.25));
  EXPECT_EQ(answer("SoftmaxActivation", {1, 2, 2}, {{"mode", "channel"}}, {1, 1, 1, 1}), Numbers(4, 0.5));
}
TEST(MxNet, RintGivesTheLowerOfTwoThatAreAsNear) {
  EXPECT_EQ(answer("rint", {7}, {}, {-1.5, -0.5, 0.5, 1.5, 1.75, 2.25, -1.25}), (Numbers{-2, -1, 0, 1, 2, 2, -1}));
}
TEST(MxNet, ClassesThatAreNoneAreNotHot) {
  EXPECT_EQ(answer("one_hot", {3}, {{"depth", "2"}}, {1, -1, 2}), (Numbers{0, 1, 0, 0, 0, 0}));
}
TEST(MxNet, LabelsAreNotRead) {
  SymbolWriter s;
  const int data = s.null("data"), label = s.null("softmax_label");
  const auto graph = imported(s.json({s.node("SoftmaxOutput", "softmax", {data, label})}), "m", with_shape({1, 2}));
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->inputs.size(), 1u);
  EXPECT_EQ(answer(graph, {1, 1}), (Numbers{0.5, 0.5}));
}
TEST(MxNet, PartsOfASplitHaveNumbers) {
  SymbolWriter s;
  const int parts = s.node("SliceChannel", "parts", {s.null("data")}, {{"num_outputs", "2"}, {"squeeze_axis", "1"}});
  const int y = s.node("_minus", "y", {SymbolWriter::result(parts, 1), parts});
  EXPECT_EQ(answer(imported(s.json({y}), "m", with_shape({1, 2, 2})), {1, 2, 5, 9}), (Numbers{4, 7}));
}

TEST(MxNet, ParametersOfAllVersionsAndBothGenerationsOfJsonAreRead) {
  const Tensor w = Tensor::of<double>(DType::f32, {1, 2}, {10, 1}), b = Tensor::of<double>(DType::f32, {1}, {5});
  for (const char* field : {"attrs", "attr", "param"}) {
    for (int version = 0; version <= 3; ++version) {
      const Files files;
      SymbolWriter s;
      s.field = field;
      const int data = s.null("data"), weight = s.null("fc_weight"), bias = s.null("fc_bias");
      const int y = s.node("FullyConnected", "fc", {data, weight, bias}, {{"num_hidden", "1"}});
      const std::string path = files.write("net-symbol.json", s.json({y}));
      files.write("net-0000.params", params_bytes({{"arg:fc_weight", b}, {"arg:fc_bias", b}}, version));
      files.write("net-0007.params", params_bytes({{"arg:fc_weight", w}, {"arg:fc_bias", b}}, version));
      EXPECT_EQ(answer(imported_file(path, with_shape({1, 2})), {1, 2}), (Numbers{17})) << field << version;
    }
  }
}
TEST(MxNet, ParametersThatAreMissingAreNamed) {
  const Files files;
  SymbolWriter s;
  const int data = s.null("data"), weight = s.null("fc_weight");
  const std::string path =
      files.write("net-symbol.json", s.json({s.node("FullyConnected", "fc", {data, weight}, {{"no_bias", "True"}})}));
  EXPECT_EQ(imported_file(path).error().message, path +
                                                     ": has the parameter \"fc_weight\", and no file of parameters "
                                                     "beside it; looked for net-0000.params and the like");
  files.write("net-0000.params", params_bytes({{"arg:other", Tensor()}}));
  EXPECT_EQ(imported_file(path).error().message, path + ": net-0000.params does not have the parameter \"fc_weight\"");
  ImportOptions options;
  options.entry = "net-0001.params";
  EXPECT_EQ(imported_file(path, options).error().message,
            path + ": \"net-0001.params\" is no file of its parameters beside it; did you mean \"net-0000.params\"?");
}
TEST(MxNet, GammaIsOneWhereItIsFixed) {
  for (const bool fixed : {true, false}) {
    const Files files;
    SymbolWriter s;
    std::vector<int> inputs = {s.null("data")};
    for (const char* name : {"gamma", "beta", "mean", "var"}) inputs.push_back(s.null(name));
    const int y = s.node("BatchNorm", "bn", inputs,
                         fixed ? Attributes{{"eps", "0"}} : Attributes{{"eps", "0"}, {"fix_gamma", "False"}});
    const std::string path = files.write("net-symbol.json", s.json({y}));
    const auto one = [](double value) { return Tensor::of<double>(DType::f32, {1}, {value}); };
    files.write("net.params",
                params_bytes({{"arg:gamma", one(3)}, {"arg:beta", one(1)}, {"aux:mean", one(2)}, {"aux:var", one(4)}}));
    EXPECT_EQ(answer(imported_file(path, with_shape({1, 1, 1, 1})), {6}), (Numbers{fixed ? 3.0 : 7.0}));
  }
}

TEST(MxNet, EveryOperatorWithoutAttributesIsAGraphOrASentence) {
  for (const MxRow& row : rows())
    for (const Shape& shape : {Shape{1, 2, 4, 4}, Shape{2, 3}})
      for (int count = 0; count <= 5; ++count) {
        SymbolWriter s;
        ImportOptions options;
        std::vector<int> inputs;
        for (int i = 0; i < count; ++i) {
          options.shapes["x" + std::to_string(i)] = shape;
          inputs.push_back(s.null("x" + std::to_string(i)));
        }
        const auto graph = imported(s.json({s.node(std::string(row.op), "y", inputs)}), "m", options);
        EXPECT_TRUE(graph.ok() || !graph.error().message.empty()) << row.op;
      }
}
TEST(MxNet, WhatIsNotReadIsNamed) {
  EXPECT_EQ(
      error_of("_contrib_Proposal", {1, 2}, {}).find("this operator is not supported: _contrib_Proposal; --define"),
      0u);
  EXPECT_EQ(error_of("Activation", {1, 2}, {{"act_type", "swash"}}),
            "y (Activation): attribute \"act_type\" is \"swash\"; expected relu, sigmoid, tanh, softrelu, softsign, "
            "silu or mish");
  EXPECT_EQ(error_of("clip", {1, 2}, {{"a_min", "zero"}}), "y (clip): attribute \"a_min\" is zero; expected a number");
}
TEST(MxNet, ResultsAreBounded) {
  if (testing::kSanitized) GTEST_SKIP() << "four million names take long there";
  SymbolWriter s;
  int last = s.null("data");
  for (int i = 0; i < 500; ++i) last = s.node("relu", "r" + std::to_string(i), {last}, {{"num_outputs", "9999"}});
  const auto graph = imported(s.json({last}), "m", with_shape({1}));
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().message, "m: its nodes have more than 4194304 results");
}
TEST(MxNet, GarbageIsASentence) {
  SymbolWriter s;
  const int data = s.null("data");
  const int pool =
      s.node("Pooling", "pool", {data}, {{"kernel", "(2, 2)"}, {"stride", "(2, 2)"}, {"pool_type", "max"}});
  const int flat = s.node("Reshape", "flat", {pool}, {{"shape", "(0, -1)"}});
  const std::string whole = s.json({s.node("softmax", "y", {flat})});
  Rng rng(11);
  int read_count = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = whole;
    for (std::int64_t k = rng.between(1, 4); k > 0; --k)
      damaged[static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(damaged.size()) - 1))] =
          "0123456789{}[]\",:-() xyen"[rng.between(0, 24)];
    const auto graph = imported(damaged, "m", with_shape({1, 2, 4, 4}));
    read_count += graph.ok() ? 1 : 0;
    if (graph.ok()) continue;
    ASSERT_FALSE(graph.error().message.empty());
    ASSERT_EQ(graph.error().message.find('\n'), std::string::npos);
  }
  EXPECT_GT(read_count, 0) << "some damage is harmless";
}
TEST(MxNet, ParametersThatAreDamagedAreRefused) {
  const std::string whole = params_bytes({{"arg:w", Tensor(DType::f32, {2, 3})}, {"b", Tensor(DType::f16, {4})}});
  ASSERT_TRUE(parse_params(whole, "p").ok());
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parse_params(whole.substr(0, size), "p").ok()) << size;
  Rng rng(3);
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = whole;
    damaged[static_cast<std::size_t>(rng.between(8, static_cast<std::int64_t>(damaged.size()) - 1))] =
        static_cast<char>(rng.between(0, 255));
    const auto params = parse_params(damaged, "p");
    if (!params.ok()) {
      ASSERT_EQ(params.error().message.rfind("p: ", 0), 0u);
    }
  }
}

// ---- Real networks, with the answers of an evaluation in Python that was written from MXNet's documentation.

TEST(MxNetFiles, OfAFolderThatIsGivenAnswerAsTheyShould) {
  const char* folder = std::getenv("WHET_FRONTENDS");
  if (folder == nullptr) GTEST_SKIP() << "WHET_FRONTENDS names no folder with model files of other frameworks";
  const std::string models = std::string(folder) + "/mxnet/", answers = checkout_path("tests/models/mxnet/");
  for (const std::string name : {"det1", "det2", "det3"}) {
    const Tensor input = npy(answers + name + ".in0.npy");
    const auto graph = imported_file(models + name + "-symbol.json", with_shape(input.shape()));
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    const auto values = evaluate_graph(*graph, {input});
    for (std::size_t i = 0; i < graph->outputs.size(); ++i) {
      const Tensor want = npy(answers + name + ".out" + std::to_string(i) + ".npy");
      EXPECT_LT(compare((*values)[graph->outputs[i].index()], want).relative, 1e-4) << name << i;
    }
  }
  const auto old = parse_params(read_file(models + "legacy_ndarray.v0").value(), "legacy");
  ASSERT_TRUE(old.ok()) << old.error().message;
  EXPECT_EQ(old->size(), 6u);
}

}  // namespace mxnet_test
}  // namespace whet::mxnet
