#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "base/testing/checkout.h"
#include "import_torch/rows.h"
#include "import_torch/testing/pt2.h"
#include "ops/evaluate_graph.h"
#include "tensor/compare.h"
#include "tensor_files/file.h"

namespace whet::torch {
namespace torch_test {

/// The graph's nodes as text, one a line, or the error.
std::string text_of(const Result<Graph>& graph) {
  if (!graph.ok()) return graph.error().message;
  std::string text;
  const std::string whole = to_text(*graph);
  for (std::size_t at = 0; at < whole.size();) {
    const std::size_t end = whole.find('\n', at);
    const std::string line = whole.substr(at, end - at);
    at = end + 1;
    if (line.find(" = ") != std::string::npos) text += line.substr(0, line.find("  # ")) + "\n";
  }
  return text;
}
std::string read(const Pt2& program, const ImportOptions& options = {}) {
  return text_of(imported_pt2(program.bytes(), "m", options));
}
Tensor numbers(const Shape& shape, double first = 0) {
  Tensor tensor(DType::f32, shape);
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, first + static_cast<double>(i));
  return tensor;
}
/// The first output where inputs count 0, 1, 2, ...
std::vector<double> answer(const Pt2& program, std::size_t output = 0) {
  const Result<Graph> graph = imported_pt2(program.bytes(), "m");
  if (!graph.ok()) {
    ADD_FAILURE() << graph.error().message;
    return {};
  }
  std::vector<Tensor> inputs;
  for (const ValueId input : graph->inputs) inputs.push_back(numbers(graph->value(input).type.shape));
  const Tensor y = evaluate_graph(*graph, inputs).value()[graph->outputs[output].index()];
  std::vector<double> values;
  for (std::int64_t i = 0; i < y.size(); ++i) values.push_back(y.get(i));
  return values;
}
using Numbers = std::vector<double>;

// ---- The table.

TEST(Torch, TheOperatorsAreTheOnesThatTheDocumentLists) {
  std::set<std::pair<std::string, std::string>> rows;
  for (const TorchRow& row : torch::rows()) rows.emplace(row.op, row.overloads);
  std::map<std::string, std::string> listed;
  for (const auto& [op, overloads] : rows) {
    std::string& all = listed[op];
    all += (all.empty() || overloads.empty() ? "" : " ") + overloads;
  }
  std::string wanted, found;
  for (const auto& [op, overloads] : listed) {
    std::string text;
    for (const char c : overloads) text += c == ' ' ? std::string(", ") : std::string(1, c);
    wanted += "| `" + op + "` | " + text + " |\n";
  }
  const Result<std::string> document = read_file(checkout_path("docs/operators/torch.md"));
  ASSERT_TRUE(document.ok());
  for (std::size_t at = 0; (at = document->find("\n| `", at)) != std::string::npos;) {
    const std::size_t second = document->find(" | ", at), third = document->find(" |", second + 3);
    found += document->substr(at + 1, third + 2 - at - 1) + "\n";
    at = third;
  }
  EXPECT_EQ(found, wanted) << "docs/operators/torch.md";
}

TEST(Torch, RowsReferToTheirOwnWordsByMarksThatThereAre) {
  for (const TorchRow& row : torch::rows()) {
    const std::vector<Word> words = words_of(row.takes);
    const auto has = [&](std::string_view name) {
      return std::any_of(words.begin(), words.end(), [&](const Word& word) { return word.name == name; });
    };
    for (const Word& word : words) {
      std::istringstream names{std::string(word.axis_of)};
      for (std::string name; std::getline(names, name, '|');)
        EXPECT_TRUE(has(name.ends_with('!') ? name.substr(0, name.size() - 1) : name)) << row.op << ": " << name;
      if (word.choices.size() != 1) continue;
      const std::set<std::string_view> marks = {"floats", "common", "ratio", "number"};
      EXPECT_TRUE(marks.contains(word.choices[0]) || parse_dtype(word.choices[0])) << row.op << ": " << word.name;
    }
  }
}

// ---- Reading.

TEST(Torch, ANetworkIsRead) {
  Pt2 p;
  p.input("x", {1, 3, 4, 4}).weight("w", Tensor(DType::f32, {8, 3, 3, 3}));
  p.node("aten.conv2d.default", "input=%x weight=%w bias=none stride=[2,2] padding=[1,1]", {"conv"}, "features.0");
  p.node("aten.relu_.default", "self=%conv", {"relu_"}, "features.1").output("relu_");
  EXPECT_EQ(read(p),
            "conv: f32[1x8x2x2] = conv(x, w) strides=[2,2] pads=[1,1]\n"
            "output0: f32[1x8x2x2] = relu(conv)\n");
}
TEST(Torch, ArgumentsThatAreLeftOutHaveTheirDefaults) {
  Pt2 p;
  p.input("x", {1, 1, 4, 4}).node("aten.avg_pool2d.default", "self=%x kernel_size=[2,2]", {"y"}).output("y");
  EXPECT_EQ(answer(p), (Numbers{2.5, 4.5, 10.5, 12.5}));
}
TEST(Torch, ValuesAreCheckedAgainstTheFile) {
  Pt2 p;
  p.input("x", {2, 3}).node("aten.relu.default", "self=%x", {"y"}, "act").said("y", {2, 4}).output("y");
  EXPECT_EQ(read(p), "act/relu: \"y\" becomes f32[2x3]; the file says float32[2x4]");
}
TEST(Torch, NumbersTakeTheTypeOfTensors) {
  Pt2 p;
  p.input("x", {3}).node("aten.add.Tensor", "self=%x other=2 alpha=3", {"y"}).output("y");
  EXPECT_EQ(answer(p), (Numbers{6, 7, 8}));
  Pt2 q;
  q.input("x", {3}, 5).node("aten.mul.Tensor", "self=%x other=0.5", {"y"}).said("y", {3}).output("y");
  EXPECT_EQ(read(q).find("the file says"), std::string::npos) << read(q);
}
TEST(Torch, OpenSizesAreBound) {
  Pt2 p;
  p.input("x", {-1, 3}).number("aten.sym_size.int", "self=%x dim=0", "n").number("_operator.mul", "a=#n b=3", "m");
  p.node("aten.view.default", "self=%x size=[#m]", {"y"}).output("y");
  EXPECT_EQ(read(p), "output0: f32[3] = reshape(x)\n");
  ImportOptions options;
  options.shapes["x"] = {5, 3};
  EXPECT_EQ(read(p, options), "output0: f32[15] = reshape(x)\n");
  options.shapes["x"] = {5, 4};
  EXPECT_EQ(read(p, options), "input \"x\" is given as 5x4; the model says s1x3");
}
TEST(Torch, OneOfSeveralProgramsIsNamed) {
  Pt2 p;
  p.input("x", {2}).node("aten.relu.default", "self=%x", {"y"}).output("y").entry("encoder").entry("decoder");
  EXPECT_EQ(read(p), "m: holds several programs; name one of them by --entry: encoder, decoder");
  ImportOptions options;
  options.entry = "decodr";
  EXPECT_EQ(read(p, options), "m: has no program \"decodr\"; did you mean \"decoder\"?; it holds encoder, decoder");
  options.entry = "decoder";
  EXPECT_EQ(read(p, options), "output0: f32[2] = relu(x)\n");
}

// ---- Writes.

TEST(TorchWrites, AWriteIntoASliceIsSeenByTheWhole) {
  Pt2 p;
  p.input("x", {2, 3}).node("aten.clone.default", "self=%x", {"base"});
  p.node("aten.slice.Tensor", "self=%base dim=1 start=1 end=3", {"part"});
  p.node("aten.mul_.Tensor", "self=%part other=10", {"mul_"}).output("base").output("part").output("x");
  EXPECT_EQ(answer(p, 0), (Numbers{0, 10, 20, 3, 40, 50}));
  EXPECT_EQ(answer(p, 1), (Numbers{10, 20, 40, 50}));
  EXPECT_EQ(answer(p, 2), (Numbers{0, 1, 2, 3, 4, 5})) << "a clone is not what it is a clone of";
}
TEST(TorchWrites, OtherViewsAreTakenAnew) {
  Pt2 p;
  p.input("x", {2, 3}).node("aten.transpose.int", "self=%x dim0=0 dim1=1", {"turned"});
  p.node("aten.select.int", "self=%x dim=0 index=1", {"row"});
  p.node("aten.fill_.Scalar", "self=%row value=7", {"fill_"}).output("turned");
  EXPECT_EQ(answer(p), (Numbers{0, 7, 1, 7, 2, 7}));
}
TEST(TorchWrites, ViewsOfViewsArePutBackStepByStep) {
  Pt2 p;
  p.input("x", {2, 4}).node("aten.permute.default", "self=%x dims=[1,0]", {"turned"});
  p.node("aten.view.default", "self=%x size=[2,2,2]", {"deep"});
  p.node("aten.select.int", "self=%deep dim=2 index=0", {"even"});
  p.node("aten.narrow.default", "self=%even dim=1 start=1 length=1", {"one"});
  p.node("aten.neg_.default", "self=%one", {"neg_"}).output("turned");
  EXPECT_EQ(answer(p), (Numbers{0, 4, 1, 5, -2, -6, 3, 7}));
}
TEST(TorchWrites, StepsAndPartsArePutBack) {
  Pt2 p;
  p.input("x", {6}).node("aten.slice.Tensor", "self=%x dim=0 start=1 end=6 step=2", {"odd"});
  p.node("aten.zero_.default", "self=%odd", {"zero_"});
  p.node("aten.split.Tensor", "self=%x split_size=4 dim=0", {"front", "back"});
  p.node("aten.add_.Tensor", "self=%back other=100", {"add_"}).output("x");
  EXPECT_EQ(answer(p), (Numbers{0, 0, 2, 0, 104, 100}));
}
TEST(TorchWrites, AnExpandedViewCannotBeWritten) {
  Pt2 p;
  p.input("x", {1, 3}).node("aten.expand.default", "self=%x size=[2,3]", {"wide"}, "a");
  p.node("aten.relu_.default", "self=%wide", {"relu_"}, "b").output("relu_");
  EXPECT_EQ(read(p),
            "b/relu_: writes into the view that a/expand (aten.expand.default) gives, which is not supported; in "
            "Python: save "
            "after program = program.run_decompositions()");
}
TEST(TorchWrites, WhatMayBeACopyIsNotReadBehindAWrite) {
  Pt2 p;
  p.input("x", {2, 3})
      .node("aten.contiguous.default", "self=%x", {"same"})
      .node("aten.relu_.default", "self=%same", {"relu_"});
  const std::string before = read(Pt2(p).output("relu_"));
  EXPECT_EQ(before, "output0: f32[2x3] = relu(x)\n");
  EXPECT_EQ(read(p.output("x")).substr(0, 70),
            "an output: reads \"x\" after a write into what may be a part of it; in P");
}
/// "x:f32[2] m.sum:f32[2]"
std::string inputs_and_outputs(const Graph& graph) {
  std::string text;
  for (const auto* list : {&graph.inputs, &graph.outputs})
    for (const ValueId id : *list) text += graph.value(id).name + ":" + to_string(graph.value(id).type) + " ";
  return text;
}
TEST(TorchWrites, StateIsAnInputAndAnOutput) {
  Pt2 training, core;
  training.weight("sum", numbers({2}, 7), "buffer").input("x", {2});
  core = training;
  training.node("aten.add_.Tensor", "self=%sum other=%x", {"add_"}).node("aten.neg.default", "self=%sum", {"y"});
  core.node("aten.add.Tensor", "self=%sum other=%x", {"add"}).node("aten.neg.default", "self=%add", {"y"});
  training.output("y");
  core.new_state("add", "sum").output("y");
  for (const Pt2& p : {training, core}) {
    EXPECT_EQ(inputs_and_outputs(imported_pt2(p.bytes(), "m").value()),
              "x:f32[2] m.sum:f32[2] output0:f32[2] m.sum_next:f32[2] ");
    EXPECT_EQ(answer(p), (Numbers{0, -2}));
    EXPECT_EQ(answer(p, 1), (Numbers{0, 2}));
  }
}
TEST(TorchWrites, StateThatIsOnlyWrittenIsAnOutput) {
  Pt2 p;
  p.weight("last", numbers({2}), "buffer").input("x", {2}).node("aten.neg.default", "self=%x", {"y"});
  p.new_state("y", "last").output("y");
  EXPECT_EQ(inputs_and_outputs(imported_pt2(p.bytes(), "m").value()), "x:f32[2] output0:f32[2] m.last_next:f32[2] ");
}
TEST(TorchWrites, TrainingIsRefused) {
  Pt2 q;
  q.input("x", {2}).weight("num_batches_tracked", numbers({2}), "buffer");
  q.node("aten.add_.Tensor", "self=%num_batches_tracked other=1", {"add_"})
      .node("aten.relu.default", "self=%x", {"y"})
      .output("y");
  EXPECT_EQ(read(q), "m: was exported in training mode; in Python: model.eval() before torch.export.export");
}

TEST(Torch, RefusalsNameTheLineOfTheModel) {
  const std::string stack =
      "File \"/me/net.py\", line 3, in forward\n    self.l(x)\n  File \"/me/model.py\", line 12, in forward\n    x\n"
      "  File \"/usr/lib/dist-packages/torch/nn/linear.py\", line 7, in forward\n    y";
  Pt2 p;
  p.input("x", {2}).stack(stack).node("aten.view.default", "self=%x size=[3]", {"y"}).output("y");
  EXPECT_NE(read(p).find(" (line 12 of model.py)"), std::string::npos) << read(p);
  Pt2 missing;
  missing.input("x", {2}).stack(stack).node("aten.foo.default", "self=%x", {"y"}).output("y");
  EXPECT_EQ(read(missing),
            "this operator is not supported: aten.foo.default (line 12 of model.py); --define "
            "aten.foo.default=FILE.dag defines it (docs/operators/own.md)");
  Pt2 body, outer;
  body.input("a", {2}).stack(stack).node("aten.view.default", "self=%a size=[3]", {"b"}).output("b");
  outer.input("x", {2}).body("f", body).stack("File \"/me/other.py\", line 4, in forward");
  outer.node("higher_order.wrap_with_set_grad_enabled", "=false =@f =%x", {"y"}).output("y");
  EXPECT_NE(read(outer).find(" (line 12 of model.py)"), std::string::npos) << read(outer);
  EXPECT_EQ(read(outer).find("other.py"), std::string::npos) << read(outer);
  for (const char* odd : {"File \"", "File \"a", "File \"a\", line ", "line 3", "\n\n"}) {
    Pt2 strange;
    strange.input("x", {2}).stack(odd).node("aten.foo.default", "self=%x", {"y"}).output("y");
    EXPECT_EQ(read(strange).find("this operator is not supported: aten.foo.default"), 0u) << odd;
  }
}

// ---- Branches and loops.

/// A body: y = op(x).
Pt2 body_of(const std::string& op, const std::string& arguments, const Shape& shape, int type = 7) {
  Pt2 body;
  return body.input("a", shape, type).node(op, arguments, {"b"}).output("b");
}
TEST(TorchControl, BothBranchesOfACondAreComputed) {
  Pt2 p;
  p.input("x", {3}).body("yes", body_of("aten.neg.default", "self=%a", {3}));
  p.body("no", body_of("aten.add.Tensor", "self=%a other=10", {3}));
  p.node("aten.sum.default", "self=%x", {"sum"}).node("aten.gt.Scalar", "self=%sum other=100", {"pred"});
  p.node("higher_order.cond", "=%pred =@yes =@no =(%x)", {"y"}).output("y");
  EXPECT_EQ(answer(p), (Numbers{10, 11, 12}));
}
TEST(TorchControl, AWhileLoopOfKnownRoundsIsItsBodies) {
  Pt2 goes_on, body, p;
  goes_on.input("i", {}, 5).input("a", {2}).node("aten.lt.Scalar", "self=%i other=3", {"more"}).output("more");
  body.input("i", {}, 5).input("a", {2}).node("aten.add.Tensor", "self=%i other=1", {"next"});
  body.node("aten.mul.Tensor", "self=%a other=2", {"b"}).output("next").output("b");
  p.input("x", {2}).body("goes_on", goes_on).body("body", body);
  p.node("aten.full.default", "size=[] fill_value=0 dtype=:5", {"zero"});
  p.node("higher_order.while_loop", "=@goes_on =@body =(%zero,%x) =[]", {"last", "y"}).output("y").output("last");
  EXPECT_EQ(answer(p), (Numbers{0, 8}));
  EXPECT_EQ(answer(p, 1), (Numbers{3}));
}
TEST(TorchControl, AMapIsABodyARow) {
  Pt2 p;
  p.input("x", {2, 3}).body("body", body_of("aten.cumsum.default", "self=%a dim=0", {3}));
  p.node("higher_order.map_impl", "=@body =(%x) =[]", {"y"}).output("y");
  EXPECT_EQ(answer(p), (Numbers{0, 1, 3, 3, 7, 12}));
}

// ---- Weights and types.

TEST(Torch, WeightsByLengthAndDirection) {
  Pt2 p;
  p.input("x", {2, 2}).weight("v", Tensor::of<double>(DType::f32, {2, 2}, {3, 4, 0, 2}));
  p.weight("g", Tensor::of<double>(DType::f32, {2, 1}, {10, 3}));
  p.node("aten._weight_norm_interface.default", "v=%v g=%g", {"w", "norms"}).output("w").output("norms");
  EXPECT_EQ(answer(p), (Numbers{6, 8, 0, 3}));
  EXPECT_EQ(answer(p, 1), (Numbers{5, 2}));
  Pt2 q;
  q.input("x", {2}).node("aten.sub.Tensor", "self=%x other=1.5", {"y"}).node("aten.trunc.default", "self=%y", {"z"});
  EXPECT_EQ(answer(q.output("z")), (Numbers{-1, 0}));
}

TEST(Torch, QuantizedAndBackKeepsTheRangeOfPt2e) {
  Pt2 p;
  p.input("x", {4});
  p.node("quantized_decomposed.quantize_per_tensor.default",
         "input=%x scale=0.5 zero_point=1 quant_min=-2 quant_max=5 dtype=:2", {"q"});
  p.node("quantized_decomposed.dequantize_per_tensor.default",
         "input=%q scale=0.5 zero_point=1 quant_min=-2 quant_max=5 dtype=:2", {"y"});
  p.said("q", {4}, 2).output("y");
  EXPECT_EQ(answer(p), (Numbers{0, 1, 2, 2}));
}
TEST(Torch, WeightsOfBfloat16AreComputedInF32) {
  Pt2 p;
  p.input("x", {3}).half_weight("w", {1.5, -2, 256});
  p.node("aten.mul.Tensor", "self=%x other=%w", {"y"}).output("y");
  EXPECT_EQ(answer(p), (Numbers{0, -2, 512}));
}

TEST(Torch, NativeTypesKeepBfloat16) {
  Pt2 p;
  p.input("x", {3}, 13).half_weight("w", {1.5, -2, 256});
  p.node("aten.mul.Tensor", "self=%x other=%w", {"y"}).said("y", {3}, 13).output("y");
  ImportOptions options;
  options.native_types = true;
  const Graph graph = imported_pt2(p.bytes(), "m", options).value();
  const Tensor x = Tensor::of<double>(DType::bf16, {3}, {1, 2, 1.0078125});
  const Tensor y = evaluate_graph(graph, {x}).value()[graph.outputs[0].index()];
  EXPECT_EQ(to_string(y.type()), "bf16[3]");
  EXPECT_EQ(y.get(0), 1.5);
  EXPECT_EQ(y.get(2), 258);
  EXPECT_EQ(read(p),
            "m: input \"x\" is bfloat16; --native-types keeps it; in Python: export the model after model.float()");
}

/// The sum is 257, and 257 * (1 + 2^-7) = 259.008, which rounds to 260. The sum alone would round to 256, and its product to 258.
TEST(Torch, PackedBytesAreScaledBeforeTheyAreRounded) {
  Pt2 p;
  p.input("x", {1, 2}, 13).input("w", {1, 2}, 2).half_weight("s", {1.0078125});
  p.node("aten._weight_int8pack_mm.default", "self=%x mat2=%w scales=%s", {"y"}).said("y", {1, 1}, 13).output("y");
  ImportOptions options;
  options.native_types = true;
  const Graph graph = imported_pt2(p.bytes(), "m", options).value();
  const std::vector<Tensor> inputs = {Tensor::of<double>(DType::bf16, {1, 2}, {2, 1}),
                                      Tensor::of<double>(DType::i8, {1, 2}, {65, 127})};
  const Tensor y = evaluate_graph(graph, inputs).value()[graph.outputs[0].index()];
  EXPECT_EQ(to_string(y.type()), "bf16[1x1]");
  EXPECT_EQ(y.get(0), 260);
}

// ---- Refusals.

TEST(Torch, OperatorsThatAreNotReadAreListed) {
  Pt2 p;
  p.input("x", {2})
      .node("aten.unique_consecutive.default", "self=%x", {"a"})
      .node("mylib.op.default", "x=%x", {"b"})
      .output("a")
      .output("b");
  EXPECT_EQ(
      read(p),
      "these operators are not supported: aten.unique_consecutive.default (the size of its result depends on values), "
      "mylib.op.default; --define NAME=FILE.dag defines it (docs/operators/own.md)");
}
TEST(Torch, WrongArgumentsAreNamed) {
  const auto said = [](const std::string& arguments) {
    Pt2 p;
    return read(p.input("x", {2, 3}).node("aten.softmax.int", arguments, {"y"}, "s").output("y"));
  };
  EXPECT_EQ(said("self=%x"), "s/softmax: has no argument \"dim\", which aten.softmax.int needs");
  EXPECT_EQ(said("self=%x dim='a'"), "s/softmax: argument \"dim\" is a text; expected an integer");
  EXPECT_EQ(said("self=%x dim=2"), "s/softmax: axis 2 does not exist; expected -2 to 1");
  EXPECT_EQ(said("self=%x dim=1 twist=3"), "s/softmax: argument \"twist\" of aten.softmax.int is not supported");
  EXPECT_EQ(said("self=%z dim=1"), "s/softmax: reads \"z\", which nothing defines");
  EXPECT_EQ(
      said("self=%x dim=1 dtype=:9"),
      "s/softmax: argument \"dtype\" is complex32; expected float32, float64, float16, bfloat16, uint8, int8, int32, "
      "int64 or bool");
}
TEST(Torch, ArchivesOfTorchBefore28AreRead) {
  Pt2 p;
  p.input("x", {2, 3}).weight("w", numbers({3}, 1)).node("aten.mul.Tensor", "self=%x other=%w", {"y"}).output("y");
  const std::string read_new = text_of(imported_pt2(p.bytes(), "m"));
  EXPECT_EQ(read_new, "output0: f32[2x3] = mul(x, w)\n");
  EXPECT_EQ(text_of(imported_pt2(p.old_bytes(), "m")), read_new);
  EXPECT_EQ(text_of(imported_pt2(p.old_bytes(".json"), "m")), read_new);
  // Torch 2.1: a plain number of its schema, and a signature of dictionaries.
  Json program = parse_json(p.json()).value();
  Json module = program["graph_module"];
  module.set("signature", Json::object()
                              .set("inputs_to_parameters", Json::object().set("w", "m.w"))
                              .set("inputs_to_buffers", Json::object())
                              .set("user_inputs", Json::array().add("x"))
                              .set("user_outputs", Json::array().add("y"))
                              .set("buffers_to_mutate", Json::object()));
  const std::string oldest = dump(program.set("graph_module", module).set("schema_version", 1));
  const Result<Graph> graph = imported_pt2(p.old_bytes(".json", oldest), "m");
  EXPECT_EQ(text_of(graph), read_new);
  ASSERT_TRUE(graph.ok());
  const Tensor y = evaluate_graph(*graph, {numbers({2, 3})}).value()[graph->outputs[0].index()];
  EXPECT_EQ(y.get(5), 15);
}
TEST(Torch, DamagedArchivesOfTorchBefore28AreRefused) {
  Pt2 p;
  p.input("x", {2, 3}).weight("w", numbers({3})).node("aten.mul.Tensor", "self=%x other=%w", {"y"}).output("y");
  ZipWriter zip;
  ASSERT_TRUE(zip.add("serialized_exported_program.json", p.json()).ok());
  EXPECT_EQ(imported_pt2(std::move(zip).finish().value(), "old").error().message, "old: has no weight \"m.w\"");
  ZipWriter damaged;
  ASSERT_TRUE(damaged.add("serialized_exported_program.json", p.json()).ok());
  ASSERT_TRUE(damaged.add("serialized_state_dict.pt", "no archive").ok());
  const std::string message = imported_pt2(std::move(damaged).finish().value(), "old").error().message;
  EXPECT_EQ(message.substr(0, 45), "old: member \"serialized_state_dict.pt\": not a");
}
TEST(Torch, DamagedWeightsAreRefused) {
  Pt2 p;
  p.input("x", {2, 3}).weight("w", numbers({2, 3})).node("aten.add.Tensor", "self=%x other=%w", {"y"}).output("y");
  ZipWriter zip;
  for (const auto& [name, content] : {std::pair<std::string, std::string>{"m/archive_format", "pt2"},
                                      {"m/models/model.json", p.json()},
                                      {"m/data/weights/model_weights_config.json", p.config()},
                                      {"m/data/weights/weight_0", std::string(20, 'x')}})
    ASSERT_TRUE(zip.add(name, content).ok());
  EXPECT_EQ(imported_pt2(std::move(zip).finish().value(), "m").error().message,
            "m: \"m.w\" reaches beyond its storage of 20 bytes");
}
TEST(Torch, GarbageIsASentence) {
  Pt2 p;
  p.input("x", {2, 3}).weight("w", numbers({2, 3})).node("aten.add_.Tensor", "self=%x other=%w", {"y"});
  p.node("aten.view.default", "self=%y size=[3,2]", {"z"}).output("z");
  const std::string whole = p.json();
  Rng rng(3);
  const auto at = [&](const std::string& text) {
    return static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(text.size()) - 1));
  };
  int read_count = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = whole;
    for (std::int64_t k = rng.between(1, 4); k > 0; --k) {
      if (rng.between(0, 1) == 0) {
        damaged[at(damaged)] = "0123456789{}[]\",:-.xyew"[rng.between(0, 22)];
      } else {
        damaged.erase(at(damaged), static_cast<std::size_t>(rng.between(1, 6)));
      }
    }
    ZipWriter zip;
    ASSERT_TRUE(zip.add("m/archive_format", "pt2").ok());
    ASSERT_TRUE(zip.add("m/models/model.json", damaged).ok());
    ASSERT_TRUE(zip.add("m/data/weights/model_weights_config.json", p.config()).ok());
    ASSERT_TRUE(zip.add("m/data/weights/weight_0", p.storages()[0]).ok());
    const auto graph = imported_pt2(std::move(zip).finish().value(), "m");
    read_count += graph.ok() ? 1 : 0;
    if (!graph.ok()) {
      ASSERT_FALSE(graph.error().message.empty());
      ASSERT_EQ(graph.error().message.find('\n'), std::string::npos);
    }
  }
  EXPECT_GT(read_count, 0) << "some damage is harmless";
}

// ---- Files of torch itself, with the answers of torch.

/// The largest error of a file's outputs, as a part of the largest magnitude, or the error.
std::string compare_with_torch(const std::filesystem::path& file, const std::filesystem::path& reference) {
  const auto graph = imported_pt2_file(file);
  if (!graph.ok()) return graph.error().message;
  const auto tensors = parse_npz(read_file(reference).value(), reference);
  if (!tensors.ok()) return tensors.error().message;
  std::map<std::string, Tensor> named;
  for (const NamedTensor& each : *tensors) named[each.name] = each.tensor;
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < graph->inputs.size(); ++i) inputs.push_back(named["in" + std::to_string(i)]);
  const auto values = evaluate_graph(*graph, inputs);
  if (!values.ok()) return values.error().message;
  for (std::size_t i = 0; i < graph->outputs.size(); ++i) {
    const double error = compare((*values)[graph->outputs[i].index()], named["out" + std::to_string(i)]).relative;
    if (!(error < 1e-4)) return "output " + std::to_string(i) + " is off by " + std::to_string(error);
  }
  return "";
}
int check_folder(const std::filesystem::path& folder) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".pt2") continue;
    std::string name = entry.path().stem();
    if (name.ends_with("_core")) name.resize(name.size() - 5);
    const std::filesystem::path reference = folder / (name + ".npz");
    if (!std::filesystem::exists(reference)) {
      EXPECT_TRUE(imported_pt2_file(entry.path()).ok()) << entry.path();
      continue;
    }
    EXPECT_EQ(compare_with_torch(entry.path(), reference), "") << entry.path();
    ++count;
  }
  return count;
}

TEST(TorchFiles, AnswerAsTorchDoes) { EXPECT_GE(check_folder(checkout_path("tests/models/torch")), 20); }
TEST(TorchFiles, OfAFolderThatIsGivenAnswerAsTorchDoes) {
  const char* folder = std::getenv("WHET_FRONTENDS");
  if (folder == nullptr) GTEST_SKIP() << "WHET_FRONTENDS names no folder with model files of other frameworks";
  EXPECT_GT(check_folder(std::filesystem::path(folder) / "pt2"), 0);
}

}  // namespace torch_test
}  // namespace whet::torch
