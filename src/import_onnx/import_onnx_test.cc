#include "import/testing/imported.h"

#include <gtest/gtest.h>

#include <cctype>
#include <iterator>
#include <limits>

#include "base/testing/checkout.h"
#include "base/testing/random_cases.h"
#include "import/testing/limits.h"
#include "import_onnx/export.h"
#include "import_onnx/import_onnx.h"
#include "import_onnx/rows.h"
#include "tensor_files/file.h"

namespace whet {
namespace import_test {

std::string bundled(const std::string& file) { return checkout_path("tests/models/") + file; }

std::string signature(const Graph& graph) {
  std::string text;
  for (ValueId id : graph.inputs) text += graph.value(id).name + ": " + to_string(graph.value(id).type) + "\n";
  text += std::to_string(graph.nodes.size()) + " nodes\n";
  for (ValueId id : graph.outputs) text += graph.value(id).name + ": " + to_string(graph.value(id).type) + "\n";
  return text;
}

std::string failure(const Result<Graph>& graph) { return graph.ok() ? "imported" : graph.error().message; }

TEST(ImportModel, ReadsBlazeface) {
  EXPECT_EQ(signature(imported_file(read_onnx_model, bundled("blazeface_front.onnx"), {}).value()),
            "input:0: f32[1x128x128x3]\n"
            "95 nodes\n"
            "Identity:0: f32[1x512x1]\n"
            "Identity_1:0: f32[1x384x1]\n"
            "Identity_2:0: f32[1x512x16]\n"
            "Identity_3:0: f32[1x384x16]\n");
}
TEST(ImportModel, BindsTheDimensionsOfPpocr) {
  ImportOptions options;
  options.shapes["x"] = {1, 3, 48, 192};
  EXPECT_EQ(signature(imported_file(read_onnx_model, bundled("ppocr_cls.onnx"), options).value()),
            "x: f32[1x3x48x192]\n"
            "215 nodes\n"
            "softmax_0.tmp_0: f32[1x2]\n");
}
TEST(ImportModel, SaysWhichShapeToGive) {
  EXPECT_EQ(failure(imported_file(read_onnx_model, bundled("ppocr_cls.onnx"), {})),
            "input \"x\" is p2o.DynamicDimension.0x3xp2o.DynamicDimension.1xp2o.DynamicDimension.2: its dimensions are "
            "not fixed; give them, e.g. --shape x=1x3x224x224");
  ImportOptions options;
  options.shapes["x"] = {1, 4, 48, 192};
  EXPECT_EQ(failure(imported_file(read_onnx_model, bundled("ppocr_cls.onnx"), options)),
            "input \"x\" is given as 1x4x48x192; the model says "
            "p2o.DynamicDimension.0x3xp2o.DynamicDimension.1xp2o.DynamicDimension.2");
  options.shapes = {{"y", {1}}};
  EXPECT_EQ(failure(imported_file(read_onnx_model, bundled("ppocr_cls.onnx"), options)),
            "--shape y=1: the model has no such input; its inputs are \"x\"; did you mean \"x\"?");
}
TEST(ImportModel, ReferenceTensorsHaveTheTypesOfTheModel) {
  const Graph graph = imported_file(read_onnx_model, bundled("blazeface_front.onnx"), {}).value();
  EXPECT_EQ(npy(bundled("blazeface_front.in.npy")).type(), graph.value(graph.inputs[0]).type);
  const char* kOutputs[] = {"out", "out1", "out2", "out3"};
  for (std::size_t i = 0; i < 4; ++i) {
    const std::string file = std::string("blazeface_front.") + kOutputs[i] + ".npy";
    EXPECT_EQ(npy(bundled(file)).type(), graph.value(graph.outputs[i]).type);
  }
}
TEST(ImportModel, RefusesWhatIsNoModel) {
  EXPECT_EQ(failure(imported_file(read_onnx_model, "missing.onnx", {})),
            "cannot read \"missing.onnx\": No such file or directory");
  EXPECT_EQ(failure(imported(read_onnx_model, {"m.onnx", "", ""}, {})), "m.onnx: the file is empty");
  EXPECT_EQ(failure(imported(read_onnx_model, {"m.onnx", "", "hello, this is text"}, {})),
            "m.onnx: not a valid ONNX file (damaged or cut off)");
  const std::string bytes = read_file(bundled("ppocr_cls.onnx")).value();
  EXPECT_EQ(failure(imported(read_onnx_model, {"m.onnx", "", bytes.substr(0, bytes.size() / 2)}, {})),
            "m.onnx: not a valid ONNX file (damaged or cut off)");
}

/// A model of nodes "op_i" that read "x" (f32[2]) and each other as the test wires them.
OnnxModel chain(const std::vector<std::pair<std::string, std::vector<std::string>>>& nodes) {
  OnnxModel model;
  model.opset = 13;
  model.inputs.push_back({"x", DType::f32, std::vector<OnnxDimension>{{2, ""}}});
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    model.nodes.push_back({"", nodes[i].first, "", nodes[i].second, {"v" + std::to_string(i)}, {}});
  }
  model.outputs = {"v" + std::to_string(nodes.size() - 1)};
  return model;
}

TEST(ImportOnnx, ListsAllUnsupportedOperatorsAtOnce) {
  OnnxModel model = chain({{"Foo", {"x"}}, {"Bar", {"x"}}, {"Foo", {"v0"}}, {"Sum", {"v1", "v2", "x"}}});
  model.nodes[2].domain = "com.example";
  EXPECT_EQ(failure(import_onnx(model, {})),
            "these operators are not supported in operator set 13: Bar, Foo, com.example.Foo; --define NAME=FILE.dag "
            "defines it (docs/operators/own.md)");
}
TEST(ImportOnnx, SortsNodesAndForgetsDeadOnes) {
  const OnnxModel model = chain({{"Relu", {"v2"}}, {"Unique", {"x"}}, {"Exp", {"x"}}, {"Tanh", {"v0"}}});
  EXPECT_EQ(to_text(import_onnx(model, {}).value()),
            "graph \n"
            "input x: f32[2]\n"
            "v2: f32[2] = exp(x)  # Exp_2\n"
            "v0: f32[2] = relu(v2)  # Relu_0\n"
            "v3: f32[2] = tanh(v0)  # Tanh_3\n"
            "output v3\n");
}
TEST(ImportOnnx, RefusesCyclesAndUndefinedValues) {
  EXPECT_EQ(failure(import_onnx(chain({{"Relu", {"v1"}}, {"Exp", {"v0"}}}), {})), "Relu_0: is in a cycle of nodes");
  EXPECT_EQ(failure(import_onnx(chain({{"Relu", {"z"}}}), {})), "Relu_0: reads \"z\", which nothing defines");
  OnnxModel twice = chain({{"Relu", {"x"}}, {"Exp", {"x"}}});
  twice.nodes[1].outputs = {"v0"};
  EXPECT_EQ(failure(import_onnx(twice, {})), "Exp_1: writes \"v0\", which is defined elsewhere too");
}
TEST(ImportOnnx, OutputsKeepTheirNames) {
  OnnxModel model = chain({{"Relu", {"x"}}, {"Identity", {"v0"}}, {"Identity", {"x"}}, {"Identity", {"v0"}}});
  model.outputs = {"v1", "v2", "v3"};
  EXPECT_EQ(to_text(import_onnx(model, {}).value()),
            "graph \n"
            "input x: f32[2]\n"
            "v1: f32[2] = relu(x)  # Relu_0\n"
            "v2: f32[2] = reshape(x)  # output/v2\n"
            "v3: f32[2] = reshape(v1)  # output/v3\n"
            "output v1\noutput v2\noutput v3\n");
}
TEST(ImportOnnx, AnOutputThatNobodyReadsNeedNotBeComputed) {
  OnnxModel model = chain({{"Identity", {"x"}}, {"Relu", {"v0"}}});
  model.nodes[0].outputs.push_back("more");
  EXPECT_EQ(signature(import_onnx(model, {}).value()), "x: f32[2]\n1 nodes\nv1: f32[2]\n");
  model.outputs.push_back("more");
  EXPECT_EQ(failure(import_onnx(model, {})), "Identity_0: output 1 of Identity is not supported");
}
/// A function "local.F" of `nodes`, which give "Y".
OnnxFunction function_of(std::vector<std::string> inputs, std::vector<OnnxNode> nodes) {
  OnnxFunction function;
  function.opset = 13;
  function.body.inputs = std::move(inputs);
  function.body.outputs = {"Y"};
  function.body.nodes = std::move(nodes);
  return function;
}
/// "v0" is what F makes of "x".
OnnxModel calling(OnnxFunction function, std::vector<OnnxAttribute> attributes = {}) {
  OnnxModel model = chain({{"F", {"x"}}});
  model.nodes[0].domain = "local";
  model.nodes[0].attributes = std::move(attributes);
  model.functions[{"local", "F", ""}] = std::move(function);
  return model;
}
std::string text_of(const OnnxModel& model) {
  const Result<Graph> graph = import_onnx(model, {});
  return graph.ok() ? to_text(*graph) : graph.error().message;
}

TEST(ImportFunction, ItsBodyStandsWhereItIsCalled) {
  // The body's names are its own: "x" in it is not the model's.
  OnnxModel model = calling(function_of({"X"}, {{"", "Exp", "", {"X"}, {"x"}, {}}, {"", "Neg", "", {"x"}, {"Y"}, {}}}));
  model.nodes.push_back({"again", "F", "local", {"v0"}, {"v1"}, {}});
  model.nodes.push_back({"", "Add", "", {"v1", "x"}, {"v2"}, {}});
  model.outputs = {"v2"};
  EXPECT_EQ(text_of(model),
            "graph \n"
            "input x: f32[2]\n"
            "x_1: f32[2] = exp(x)  # F_0/Exp_0\n"
            "Y: f32[2] = neg(x_1)  # F_0/Neg_1\n"
            "x_2: f32[2] = exp(Y)  # again/Exp_0\n"
            "Y_1: f32[2] = neg(x_2)  # again/Neg_1\n"
            "v2: f32[2] = add(Y_1, x)  # Add_2\n"
            "output v2\n");
  model.functions.begin()->second.body.nodes[1].inputs = {"v0"};
  EXPECT_EQ(text_of(model), "F_0/Neg_1: reads \"v0\", which nothing before it defines");
}
TEST(ImportFunction, ItsAttributesComeFromTheCallOrItsDefaults) {
  const OnnxAttribute alpha{"alpha", OnnxAttribute::Reference{"slope"}};
  OnnxFunction function = function_of({"X"}, {{"", "LeakyRelu", "", {"X"}, {"Y"}, {alpha}}});
  function.attributes = {"slope"};
  const auto slope = [&](std::vector<OnnxAttribute> given) {
    const std::string text = text_of(calling(function, std::move(given)));
    const std::size_t at = text.find("alpha=");
    return at == std::string::npos ? text : text.substr(at, text.find(' ', at) - at);
  };
  EXPECT_EQ(slope({{"slope", 0.5}}), "alpha=0.5");
  EXPECT_EQ(slope({}), "alpha=0.01") << "the default of LeakyRelu";
  EXPECT_EQ(slope({{"slope", std::int64_t{1}}}),
            "F_0/LeakyRelu_0: attribute \"slope\" is an integer; expected a number");
  EXPECT_EQ(slope({{"angle", 0.5}}), "F_0: attribute \"angle\" is not one of F in operator set 13");
  EXPECT_EQ(slope({{"slope", std::make_shared<const OnnxSubgraph>()}}),
            "F_0: gives the function \"F\" a graph as attribute \"slope\"; this is not supported");
  function.defaults = {{"slope", 0.25}};
  EXPECT_EQ(slope({}), "alpha=0.25");
  EXPECT_EQ(slope({{"slope", 0.5}}), "alpha=0.5");
}
TEST(ImportFunction, AnAttributeThatTheCallLeavesOutIsAbsent) {
  const OnnxAttribute axes{"axes", OnnxAttribute::Reference{"dropped"}};
  OnnxFunction function = function_of({"X"}, {{"", "Squeeze", "", {"X"}, {"Y"}, {axes}}});
  function.opset = 11;
  function.attributes = {"dropped"};
  OnnxModel model = calling(function);
  model.inputs[0].dimensions = std::vector<OnnxDimension>{{1, ""}, {3, ""}, {1, ""}};
  EXPECT_NE(text_of(model).find("f32[3] = reshape(x)"), std::string::npos) << text_of(model);
  model.nodes[0].attributes = {{"dropped", std::vector<std::int64_t>{0}}};
  EXPECT_NE(text_of(model).find("f32[3x1] = reshape(x)"), std::string::npos) << text_of(model);
}
TEST(ImportFunction, AnInputThatIsLeftOutIsLeftOutInTheBody) {
  OnnxModel model = calling(function_of({"X", "low", "high"}, {{"", "Clip", "", {"X", "low", "high"}, {"Y"}, {}}}));
  model.initializers = {{"six", Tensor::of<double>(DType::f32, {}, {6})}};
  model.nodes[0].inputs = {"x", "", "six"};
  EXPECT_NE(text_of(model).find("= clip(x) high=6"), std::string::npos) << text_of(model);
  model.nodes[0].inputs = {"", "", "six"};
  EXPECT_EQ(text_of(model), "F_0/Clip_0: input 0 of Clip is left out");
  model.nodes[0].inputs = {"x", "six", "six", "six"};
  EXPECT_EQ(text_of(model), "F_0: has 4 inputs and 1 outputs; the function \"F\" has 3 and 1");
}
TEST(ImportFunction, CallsOthersAndIsOfItsOwnOperatorSet) {
  OnnxModel model = calling(function_of({"X"}, {{"", "G", "local", {"X"}, {"Y"}, {}}}));
  OnnxFunction old = function_of({"X"}, {{"", "Softmax", "", {"X"}, {"Y"}, {}}});
  old.opset = 11;
  model.functions[{"local", "G", ""}] = old;
  model.inputs[0].dimensions = std::vector<OnnxDimension>{{2, ""}, {3, ""}, {4, ""}};
  EXPECT_NE(text_of(model).find("softmax(F_0/G_0/Softmax_0/flat) axis=1"), std::string::npos) << text_of(model);
  model.nodes[0].overload = "wide";
  EXPECT_EQ(text_of(model),
            "this operator is not supported in operator set 13: local.F; --define local.F=FILE.dag defines it "
            "(docs/operators/own.md)");
  model.nodes[0].overload = "";
  model.functions.begin()->second.body.nodes.push_back({"", "Foo", "", {"X"}, {"z"}, {}});
  EXPECT_EQ(text_of(model),
            "this operator is not supported in operator set 13: Foo; --define Foo=FILE.dag defines it "
            "(docs/operators/own.md)");
}
TEST(ImportFunction, BranchesInItsBodyReadItsNames) {
  auto branch = std::make_shared<OnnxSubgraph>();
  branch->outputs = {"z"};
  branch->nodes = {{"", "LeakyRelu", "", {"X"}, {"z"}, {{"alpha", OnnxAttribute::Reference{"slope"}}}}};
  OnnxNode choice{"", "If", "", {"c"}, {"Y"}, {}, {"X"}};
  choice.attributes = {{"then_branch", std::shared_ptr<const OnnxSubgraph>(branch)},
                       {"else_branch", std::shared_ptr<const OnnxSubgraph>(branch)}};
  OnnxFunction function = function_of({"X", "c"}, {choice});
  function.attributes = {"slope"};
  OnnxModel model = calling(function, {{"slope", 0.5}});
  model.initializers = {{"yes", Tensor::of<double>(DType::boolean, {}, {1})}};
  model.nodes[0].inputs = {"x", "yes"};
  EXPECT_NE(text_of(model).find("leaky_relu(x) alpha=0.5"), std::string::npos) << text_of(model);
}
TEST(ImportFunction, NamesInItsBodyStayShort) {
  const OnnxModel model = calling(function_of({"X"}, {{std::string(9000, 'n') + "d", "Relu", "", {"Z"}, {"Y"}, {}}}));
  EXPECT_EQ(text_of(model), "..." + std::string(255, 'n') + "d: reads \"Z\", which nothing before it defines");
}
TEST(ImportFunction, RefusesWhatNeverEnds) {
  EXPECT_EQ(text_of(calling(function_of({"X"}, {{"", "F", "local", {"X"}, {"Y"}, {}}}))),
            "F_0/F_0: the function \"F\" calls itself");
  EXPECT_EQ(text_of(calling(function_of({"X"}, {{"", "Relu", "", {"X"}, {"Z"}, {}}}))),
            "F_0: nothing defines output \"Y\" of F");
  // Each function calls the next one twice.
  const testing::WithinLimits limits;
  OnnxModel model = calling({});
  const auto name = [](int i) { return i == 0 ? std::string("F") : "F" + std::to_string(i); };
  const auto chain_of = [&](int length, int calls) {
    for (int i = 0; i < length; ++i) {
      OnnxFunction f = function_of({"Y"}, {});
      const std::string op = i + 1 < length ? name(i + 1) : "Identity", domain = i + 1 < length ? "local" : "";
      for (int k = 0; k < calls; ++k) f.body.nodes.push_back({"n", op, domain, {"Y"}, {"Y"}, {}});
      model.functions[{"local", name(i), ""}] = f;
    }
    const std::string text = text_of(model);
    return text.substr(text.rfind(": ") + 2);
  };
  EXPECT_EQ(chain_of(40, 2), testing::too_many_nodes());
  EXPECT_EQ(chain_of(100, 1), "is inside 64 bodies; no more are supported");
}
TEST(ImportOnnx, BindsOneSymbolEverywhere) {
  OnnxModel model = chain({{"Add", {"x", "w"}}});
  model.inputs = {{"x", DType::f32, std::vector<OnnxDimension>{{{}, "batch"}, {{}, "n"}}},
                  {"w", DType::f32, std::vector<OnnxDimension>{{{}, "batch"}, {{}, "n"}}}};
  ImportOptions options;
  options.shapes["x"] = {1, 7};
  EXPECT_EQ(signature(import_onnx(model, options).value()), "x: f32[1x7]\nw: f32[1x7]\n1 nodes\nv0: f32[1x7]\n");
  options.shapes["w"] = {1, 8};
  EXPECT_EQ(failure(import_onnx(model, options)), "input \"w\" is given as 1x8, but \"n\" is 7 in another input");
}
TEST(ImportOnnx, RefusesAbsurdShapesWithoutUsingMemory) {
  OnnxModel model = chain({{"Relu", {"x"}}});
  model.inputs[0].dimensions = std::vector<OnnxDimension>{{std::int64_t{1} << 31, ""}};
  EXPECT_EQ(failure(import_onnx(model, {})),
            "input \"x\" has shape 2147483648; at most 2147483647 elements are supported");
  model.inputs[0].dimensions = std::vector<OnnxDimension>{{-5, ""}};
  EXPECT_EQ(failure(import_onnx(model, {})), "input \"x\" has shape -5: an extent is negative");
}

/// Seeded damage to a real file: import gives a graph or a sentence. It must not crash, hang or eat memory.
void expect_survives(const std::string& file, const ImportOptions& options, std::uint64_t seed) {
  const std::string bytes = read_file(bundled(file)).value();
  Rng rng(seed);
  const auto size = static_cast<std::int64_t>(bytes.size());
  // Weights are most of the bytes; where tags, names and shapes are, ASCII letters are near.
  std::vector<std::int64_t> structure;
  for (std::int64_t i = 8; i + 8 < size; ++i) {
    const auto letters = [&](std::int64_t from) {
      for (std::int64_t k = from; k < from + 4; ++k) {
        if (!std::isalpha(static_cast<unsigned char>(bytes[static_cast<std::size_t>(k)]))) return false;
      }
      return true;
    };
    if (letters(i - 8) || letters(i + 2)) structure.push_back(i);
  }
  for (int round = 0; round < testing::random_cases(300); ++round) {
    std::string damaged = bytes;
    if (rng.chance(0.1)) damaged.resize(static_cast<std::size_t>(rng.below(size)));
    for (std::int64_t flips = rng.between(1, 6); flips > 0; --flips) {
      const std::int64_t at =
          rng.chance(0.9) ? structure[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(structure.size())))]
                          : rng.below(size);
      if (at >= static_cast<std::int64_t>(damaged.size())) continue;
      char& byte = damaged[static_cast<std::size_t>(at)];
      byte = rng.chance(0.5) ? static_cast<char>(rng.below(256)) : static_cast<char>(byte ^ (1 << rng.below(8)));
    }
    const auto graph = imported(read_onnx_model, {file, "", damaged}, options);
    EXPECT_TRUE(graph.ok() || !graph.error().message.empty());
  }
}

std::int64_t absurd_number(Rng& rng) {
  static constexpr std::int64_t kNumbers[] = {0,
                                              1,
                                              2,
                                              3,
                                              -1,
                                              -2,
                                              7,
                                              64,
                                              1000,
                                              -1000,
                                              65536,
                                              std::int64_t{1} << 31,
                                              -(std::int64_t{1} << 31),
                                              std::int64_t{1} << 40,
                                              std::numeric_limits<std::int64_t>::max(),
                                              std::numeric_limits<std::int64_t>::min()};
  return kNumbers[rng.below(static_cast<std::int64_t>(std::size(kNumbers)))];
}

/// Changes one thing that a file may say: an attribute, an operator, who reads what, a known integer, an input's shape.
void make_absurd(OnnxModel& model, Rng& rng) {
  OnnxNode& node = model.nodes[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(model.nodes.size())))];
  const OnnxNode& other =
      model.nodes[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(model.nodes.size())))];
  const auto rows = onnx_importers();
  switch (rng.below(7)) {
    case 0:
    case 1:
      for (OnnxAttribute& attribute : node.attributes) {
        if (auto* list = std::get_if<std::vector<std::int64_t>>(&attribute.value)) {
          for (std::int64_t& entry : *list) entry = rng.chance(0.5) ? absurd_number(rng) : entry;
          if (rng.chance(0.2)) list->push_back(absurd_number(rng));
        } else if (rng.chance(0.5)) {
          attribute.value = absurd_number(rng);
        }
      }
      break;
    case 2: {
      const OnnxRow& row = rows[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(rows.size())))];
      node.op = row.op, node.domain = row.domain;
      if (rng.chance(0.7)) node.attributes.clear();
      break;
    }
    case 3:
      if (!node.inputs.empty() && !other.inputs.empty()) node.inputs.back() = other.inputs.back();
      break;
    case 4:
      if (!node.inputs.empty())
        node.inputs[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(node.inputs.size())))] = "";
      break;
    case 5:
      for (NamedTensor& known : model.initializers) {
        if (known.tensor.dtype() != DType::i64 || rng.chance(0.7)) continue;
        known.tensor = known.tensor.clone();
        for (std::int64_t i = 0; i < known.tensor.size(); ++i) {
          if (rng.chance(0.5)) known.tensor.set_integer(i, absurd_number(rng));
        }
      }
      break;
    default:
      model.opset = rng.between(7, 21);
      if (rng.chance(0.5)) break;
      for (OnnxDimension& dimension : *model.inputs[0].dimensions) {
        if (rng.chance(0.5)) dimension.extent = absurd_number(rng);
      }
  }
}

TEST(ImportGarbage, SurvivesAbsurdModels) {
  Rng rng(3);
  for (const char* file : {"blazeface_front.onnx", "ppocr_cls.onnx"}) {
    const OnnxModel whole = parse_onnx(read_file(bundled(file)).value(), "", file).value();
    ImportOptions options;
    if (whole.inputs[0].name == "x") options.shapes["x"] = {1, 3, 48, 192};
    for (int round = 0; round < testing::random_cases(250); ++round) {
      OnnxModel model = whole;
      for (std::int64_t changes = rng.between(1, 3); changes > 0; --changes) make_absurd(model, rng);
      const auto graph = import_onnx(std::move(model), options);
      EXPECT_TRUE(graph.ok() || !graph.error().message.empty());
    }
  }
}
TEST(ImportGarbage, SurvivesDamagedBlazeface) { expect_survives("blazeface_front.onnx", {}, 1); }
TEST(ImportGarbage, SurvivesDamagedPpocr) {
  ImportOptions options;
  options.shapes["x"] = {1, 3, 48, 192};
  expect_survives("ppocr_cls.onnx", options, 2);
}

/// A body that runs `inner` (may be null) as often as "n" says, and passes its value on.
std::shared_ptr<const OnnxSubgraph> loop_body(std::shared_ptr<const OnnxSubgraph> inner) {
  auto body = std::make_shared<OnnxSubgraph>();
  body->inputs = {"i", "go", "v"};
  body->outputs = {"go", "w"};
  OnnxNode node{"", inner ? "Loop" : "Identity", "", {"v"}, {"w"}, {}, {}};
  if (inner) {
    node.inputs = {"n", "", "v"};
    node.attributes.push_back({"body", inner});
    node.captured = {"n"};
  }
  body->nodes.push_back(node);
  return body;
}

TEST(ImportOnnx, LoopsOfLoopsStayBounded) {
  const testing::WithinLimits limits;
  OnnxModel model = chain({{"Loop", {"n", "", "x"}}});
  Tensor rounds(DType::i64, {});
  rounds.set_integer(0, 4000 / testing::kLimitsAreParts);
  model.initializers.push_back({"n", rounds});
  model.nodes[0].attributes.push_back({"body", loop_body(nullptr)});
  EXPECT_EQ(signature(import_onnx(model, {}).value()), "x: f32[2]\n1 nodes\nv0: f32[2]\n");
  model.nodes[0].attributes[0] = {"body", loop_body(loop_body(loop_body(nullptr)))};
  model.nodes[0].captured = {"n"};
  const std::string message = failure(import_onnx(model, {}));
  EXPECT_NE(message.find(testing::too_many_nodes()), std::string::npos) << message;
}
TEST(ImportOnnx, ALoopOfNoRoundsCollectsNothing) {
  auto body = std::make_shared<OnnxSubgraph>();
  body->inputs = {"i", "go", "v"};
  body->outputs = {"go", "w", "w"};
  body->nodes = {{"", "Exp", "", {"v"}, {"w"}, {}, {}}};
  OnnxModel model = chain({{"Loop", {"n", "", "x"}}});
  model.nodes[0].attributes = {{"body", std::shared_ptr<const OnnxSubgraph>(body)}};
  model.nodes[0].outputs.push_back("rows");
  model.initializers = {{"n", Tensor(DType::i64, {})}};
  model.outputs = {"rows"};
  EXPECT_EQ(signature(import_onnx(model, {}).value()), "x: f32[2]\n0 nodes\nrows: f32[0x2]\n");
  model.outputs = {"v0"};
  EXPECT_EQ(signature(import_onnx(model, {}).value()), "x: f32[2]\n1 nodes\nv0: f32[2]\n");
  model.nodes[0].outputs.pop_back();
  EXPECT_EQ(signature(import_onnx(model, {}).value()), "x: f32[2]\n1 nodes\nv0: f32[2]\n");
}
/// As torch writes `while`: the largest number of rounds, and a condition.
TEST(ImportOnnx, ALoopWithoutANumberOfRoundsEndsByItsCondition) {
  const auto whole = [](std::int64_t value) {
    Tensor tensor(DType::i64, {});
    tensor.set_integer(0, value);
    return tensor;
  };
  auto body = std::make_shared<OnnxSubgraph>();
  body->inputs = {"i", "go", "v"};
  body->outputs = {"on", "w"};
  body->nodes = {{"", "Less", "", {"i", "limit"}, {"on"}, {}, {}}, {"", "Exp", "", {"v"}, {"w"}, {}, {}}};
  OnnxModel model = chain({{"Loop", {"n", "yes", "x"}}});
  model.nodes[0].attributes = {{"body", std::shared_ptr<const OnnxSubgraph>(body)}};
  model.nodes[0].captured = {"limit"};
  Tensor yes(DType::boolean, {});
  yes.set_integer(0, 1);
  model.initializers = {{"n", whole(std::numeric_limits<std::int64_t>::max())}, {"limit", whole(2)}, {"yes", yes}};
  EXPECT_EQ(signature(import_onnx(model, {}).value()), "x: f32[2]\n3 nodes\nv0: f32[2]\n");
  model.initializers[1] = {"limit", whole(100'000)};
  const std::string message = failure(import_onnx(model, {}));
  EXPECT_NE(message.find("does not end within 4096 rounds"), std::string::npos) << message;
}
TEST(ImportOnnx, BranchesAreChosenOrComputed) {
  const auto branch = [](const char* op) {
    auto body = std::make_shared<OnnxSubgraph>();
    body->nodes.push_back({"", op, "", {"x"}, {"r"}, {}, {}});
    body->outputs = {"r"};
    return std::shared_ptr<const OnnxSubgraph>(body);
  };
  OnnxModel model = chain({{"If", {"c"}}});
  model.nodes[0].attributes = {{"then_branch", branch("Exp")}, {"else_branch", branch("Abs")}};
  model.nodes[0].captured = {"x"};
  model.inputs.push_back({"c", DType::boolean, std::vector<OnnxDimension>{}});
  EXPECT_NE(to_text(import_onnx(model, {}).value()).find("v0: f32[2] = where(If_0/condition, r, r_1)"),
            std::string::npos)
      << to_text(import_onnx(model, {}).value());
  model.inputs.pop_back();
  model.initializers.push_back({"c", Tensor(DType::boolean, {})});
  EXPECT_EQ(to_text(import_onnx(model, {}).value()),
            "graph \ninput x: f32[2]\nv0: f32[2] = abs(x)  # If_0/Abs_0\noutput v0\n");
}
TEST(ImportOnnx, MessagesStayOneLine) {
  OnnxModel model = chain({{"Relu", {"x"}}});
  const Graph graph = import_onnx(model, {}).value();
  std::string bytes = onnx_bytes(graph).value();
  const std::size_t at = bytes.rfind("Relu");
  bytes.replace(at, 4, "R\nlu");
  EXPECT_EQ(failure(imported(read_onnx_model, {"m", "", bytes}, {})),
            "this operator is not supported in operator set 13: R\\u000alu; --define R\\u000alu=FILE.dag defines it "
            "(docs/operators/own.md)");
}

}  // namespace import_test
}  // namespace whet
