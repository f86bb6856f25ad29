#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include "base/rng.h"
#include "base/testing/checkout.h"
#include "base/testing/random_cases.h"
#include "import_torch/pickle.h"
#include "import_torch/script_parse.h"
#include "import_torch/testing/script.h"
#include "ops/evaluate_graph.h"
#include "tensor/compare.h"
#include "tensor_files/file.h"
#include "tensor_files/zip.h"

namespace whet::torch {
namespace torchscript_test {

using Numbers = std::vector<double>;

ImportOptions shapes(const std::map<std::string, Shape>& given) {
  ImportOptions options;
  options.shapes = given;
  return options;
}
std::string said(const Script& script, const ImportOptions& options = shapes({{"x", {2, 3}}})) {
  const auto graph = imported_script(script.bytes(), "m", options);
  return graph.ok() ? "" : graph.error().message;
}
/// The first output where inputs count 0, 1, 2, ...
Numbers answer(const Script& script, const ImportOptions& options = shapes({{"x", {2, 3}}})) {
  const auto graph = imported_script(script.bytes(), "m", options);
  if (!graph.ok()) {
    ADD_FAILURE() << graph.error().message;
    return {};
  }
  std::vector<Tensor> inputs;
  for (const ValueId input : graph->inputs) {
    Tensor tensor(graph->value(input).type.dtype, graph->value(input).type.shape);
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, static_cast<double>(i));
    inputs.push_back(tensor);
  }
  const Tensor y = evaluate_graph(*graph, inputs).value()[graph->outputs[0].index()];
  Numbers values;
  for (std::int64_t i = 0; i < y.size(); ++i) values.push_back(y.get(i));
  return values;
}

// ---- The language.

TEST(TorchScript, OperatorsAreThoseOfTheTable) {
  EXPECT_EQ(answer({"x: Tensor", "_0 = torch.add(x, 1, alpha=2)\nreturn torch.sum(_0, [-1])"}), (Numbers{9, 18}));
  EXPECT_EQ(answer({"x: Tensor", "a, b = torch.max(x, 1)\nreturn a"}), (Numbers{2, 5}));
  EXPECT_EQ(answer({"x: Tensor", "a, b, = torch.split(x, 1)\nreturn torch.sub(b, a)"}), (Numbers{3, 3, 3}));
}
TEST(TorchScript, TensorsAreTakenApartIntoTheirRows) {
  EXPECT_EQ(answer({"x: Tensor", "a, b, = x\nreturn torch.sub(b, a)"}), (Numbers{3, 3, 3}));
  EXPECT_EQ(answer({"x: Tensor",
                    "y = torch.zeros([2])\nfor i in range(torch.len(x)):\n  a, b, c, = torch.select(x, 0, i)\n"
                    "  y0 = torch.add(y, torch.stack([a, torch.mul(b, c)]))\n  y = y0\nreturn y"}),
            (Numbers{3, 22}));
  EXPECT_EQ(said({"x: Tensor", "a, b, c, = x\nreturn a"}), "m: line 6 of forward: takes a list of 2 apart into 3");
}
TEST(TorchScript, CountsOfAnyNumberAreRefused) {
  const std::string counts = "n = torch.reshape(torch.to(x, 4), [-1])\nb = torch.bincount(n, None, 3)\n";
  for (const char* result : {"b", "torch.slice(b, 0, 0, torch.size(b, 0))", "torch.slice(b, 0, -2, 3)"}) {
    EXPECT_NE(said({"x: Tensor", counts + "return " + result}).find("the size of its result depends on values"),
              std::string::npos);
  }
}
TEST(TorchScript, SpectraHaveSizesAndAreComplex) {
  EXPECT_EQ(answer({"x: Tensor",
                    "s = torch.stft(x, 2, 1, None, None, False, True, True)\n"
                    "_0 = torch.reshape(s, [torch.size(s, 0), -1])\n"
                    "if torch.is_complex(_0):\n  y = torch.abs(_0)\nelse:\n  y = x\nreturn y"}),
            (Numbers{1, 3, 1, 1, 7, 9, 1, 1}));
}
TEST(TorchScript, RealNumbersBesideComplexOnesHaveNoImaginaryPart) {
  const ImportOptions options = shapes({{"x", {1, 2}}});
  EXPECT_EQ(answer({"x: Tensor", "z = torch.view_as_complex(x)\nreturn torch.view_as_real(torch.add(z, 5))"}, options),
            (Numbers{5, 1}));
  EXPECT_EQ(answer({"x: Tensor",
                    "z = torch.view_as_complex(x)\nn = torch.sum(x, [1])\n"
                    "return torch.view_as_real(torch.add(z, n))"},
                   options),
            (Numbers{1, 1}));
}
TEST(TorchScript, ComplexNumbersAreNoFloats) {
  const auto type = [](const std::string& parts) {
    const Script script("x: Tensor", "a = torch.to(x, " + parts +
                                         ")\nz = torch.view_as_complex(torch.reshape(a, [1, 3, 2]))\n"
                                         "n = ops.prim.dtype(z)\n"
                                         "if torch.is_floating_point(z):\n  y = 100\nelse:\n  y = 0\n"
                                         "return torch.add(torch.mul(torch.real(z), 0), torch.add(n, y))");
    return answer(script).at(0);
  };
  EXPECT_EQ(type("5"), 8);  // of f16
  EXPECT_EQ(type("6"), 9);
  EXPECT_EQ(type("7"), 10);
  EXPECT_EQ(answer({"x: Tensor",
                    "if torch.is_floating_point(x):\n  y = torch.neg(x)\nelse:\n  y = x\n"
                    "return torch.mul(y, ops.prim.dtype(x))"}),
            (Numbers{0, -6, -12, -18, -24, -30}));
}
TEST(TorchScript, SeveralResultsAreTakenApart) {
  EXPECT_EQ(answer({"x: Tensor", "a, b = torch.aminmax(x, dim=1)\nreturn torch.sub(b, a)"}), (Numbers{2, 2}));
  // Scores of zeros: the mean of all values.
  Script script("x: Tensor",
                "y = torch.reshape(x, [1, 6, 1])\n"
                "a, b = torch._native_multi_head_attention(y, y, y, 1, 1, CONSTANTS.c0, CONSTANTS.c1, CONSTANTS.c2, "
                "CONSTANTS.c3, None, False)\nreturn a");
  script.constant(Tensor::of<double>(DType::f32, {3, 1}, {0, 0, 1}));
  script.constant(Tensor(DType::f32, {3})).constant(Tensor::of<double>(DType::f32, {1, 1}, {1}));
  EXPECT_EQ(answer(script.constant(Tensor(DType::f32, {1}))), (Numbers(6, 2.5)));
}
TEST(TorchScript, AttributesAndConstantsAreWeights) {
  Script script("x: Tensor", "w = self.w\nreturn torch.add(torch.mul(x, w), CONSTANTS.c0)");
  script.attribute("w", Tensor::of<double>(DType::f32, {3}, {1, 10, 100}));
  script.constant(Tensor::of<double>(DType::f32, {}, {0.5}));
  EXPECT_EQ(answer(script), (Numbers{0.5, 10.5, 200.5, 3.5, 40.5, 500.5}));
}
TEST(TorchScript, SizesAreNumbers) {
  EXPECT_EQ(answer({"x: Tensor",
                    "n = ops.prim.NumToTensor(torch.size(x, 1))\n"
                    "m = int(torch.mul(n, torch.size(x, 0)))\n"
                    "return torch.reshape(x, [torch.floordiv(m, 2), -1])"})
                .size(),
            6u);
}
TEST(TorchScript, KnownConditionsAndLoopsVanish) {
  Script script("x: Tensor,\n    twice: bool=True",
                "n = self.n\ny = x\n"
                "if torch.gt(n, 2):\n  y0 = torch.add(y, 1)\nelse:\n  ops.prim.RaiseException(\"no\")\n"
                "z = y0\nfor i in range(n):\n  z0 = torch.mul(z, float(torch.add(i, 1)))\n  z = z0\n"
                "i = 0\nwhile torch.lt(i, 2):\n  i = torch.add(i, 1)\n  z = torch.add(z, 1)\n"
                "if twice:\n  z1 = torch.mul(z, 2)\nelse:\n  z1 = z\nreturn z1");
  script.attribute("n", 3);
  EXPECT_EQ(answer(script), (Numbers{16, 28, 40, 52, 64, 76}));
}
TEST(TorchScript, BothBranchesOfAnUnknownConditionAreComputed) {
  const std::string body =
      "if bool(torch.gt(torch.sum(x), 3)):\n  y = torch.neg(x)\nelse:\n  y = torch.add(x, 1)\nreturn y";
  EXPECT_EQ(answer({"x: Tensor", body}), (Numbers{0, -1, -2, -3, -4, -5}));
  EXPECT_EQ(
      said({"x: Tensor", "if bool(torch.sum(x)):\n  n = 1\nelse:\n  n = 2\nreturn torch.mul(x, n)"}),
      "m: line 6 of forward: its condition depends on values, and \"n\" differs between its branches (an integer, an "
      "integer); only tensors can be chosen while the network runs");
}
TEST(TorchScript, ListsAndDictionariesAreKnown) {
  EXPECT_EQ(answer({"x: Tensor",
                    "l = annotate(List[Tensor], [])\n_0 = torch.append(l, x)\n_1 = torch.append(l, torch.neg(x))\n"
                    "d = {\"a\": torch.len(l), \"b\": 7}\n"
                    "return torch.mul(torch.cat(l, 0), d[\"a\"])"}),
            (Numbers{0, 2, 4, 6, 8, 10, 0, -2, -4, -6, -8, -10}));
}
TEST(TorchScript, DictionariesAreMadeByAFunction) {
  EXPECT_EQ(answer({"x: Tensor",
                    "a = torch.dict()\n"
                    "b = torch._set_item(a, \"out\", torch.neg(x))\n"
                    "if torch.__contains__(a, \"aux\"):\n  c = torch._set_item(a, \"out\", x)\nelse:\n  pass\n"
                    "return a[\"out\"]"}),
            (Numbers{0, -1, -2, -3, -4, -5}));
}
TEST(TorchScript, NumbersAndTextsAreKnown) {
  EXPECT_EQ(answer({"x: Tensor",
                    "n = torch.sum([1, 2, 3])\nm = ops.prim.max([torch.neg(7), torch.remainder(-7, 4)])\n"
                    "if torch.eq(torch.find(\"relu\", \"el\"), 1):\n  k = torch.len(\"four\")\nelse:\n  k = 0\n"
                    "if isinstance(n, int):\n  j = torch.floordiv(-7, 2)\nelse:\n  j = 0\n"
                    "return torch.mul(x, torch.add(torch.add(n, m), torch.add(k, j)))"}),
            (Numbers{0, 7, 14, 21, 28, 35}));
}
TEST(TorchScript, TextsOfNumbersAreKeys) {
  EXPECT_EQ(answer({"x: Tensor",
                    "d = annotate(Dict[str, Tensor], {})\n"
                    "for i in range(2):\n  _0 = torch._set_item(d, torch.format(\"level{}\", i), torch.mul(x, i))\n"
                    "  _1 = torch._set_item(d, str(i), torch.add(x, i))\n"
                    "return torch.add(torch.add(d[\"level0\"], d[\"level1\"]), d[\"0\"])"}),
            (Numbers{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(said({"x: Tensor", "ops.prim.RaiseException(torch.percentFormat(\"%d of %s, {}\", 3, 1.))\nreturn x"}),
            "m: line 6 of forward: raises an exception: 3 of 1.0, {}");
}
TEST(TorchScript, LargeIntegersAreComparedExactly) {
  EXPECT_EQ(answer({"x: Tensor",
                    "if torch.lt(9223372036854775806, 9223372036854775807):\n  y = torch.neg(x)\nelse:\n  y = x\n"
                    "if torch.eq(9223372036854775806, 9223372036854775807):\n  z = x\nelse:\n  z = y\nreturn z"}),
            (Numbers{0, -1, -2, -3, -4, -5}));
}
TEST(TorchScript, TensorsOfNumbersHaveTheTypeThatIsUsual) {
  const auto type = [](const std::string& made) {
    const auto graph =
        imported_script(Script("x: Tensor", "return torch.add(torch.mul(x, 0), " + made + ")").bytes(), "m", [] {
          ImportOptions options = shapes({{"x", {1}}});
          options.values["x"] = Tensor(DType::i64, {1});
          return options;
        }());
    return graph.ok() ? to_string(graph->value(graph->outputs[0]).type) : graph.error().message;
  };
  EXPECT_EQ(type("torch.tensor([3])"), "i64[1]");
  EXPECT_EQ(type("torch.scalar_tensor(3)"), "f32[1]");
  EXPECT_EQ(type("torch.as_tensor(x, dtype=6)"), "f32[1]");
}
TEST(TorchScript, FunctionsAndTuplesWithNamesAreFollowed) {
  Script script("x: Tensor",
                "_0 = __torch__.twice\np = __torch__.Pair(_0(x, ), x)\nreturn torch.add(p.first, p.second)");
  script.behind("class Pair(NamedTuple):\n  first : Tensor\n  second : Tensor\n");
  script.behind("def twice(x: Tensor,\n    by: float=2.) -> Tensor:\n  return torch.mul(x, by)\n");
  EXPECT_EQ(answer(script), (Numbers{0, 3, 6, 9, 12, 15}));
}
TEST(TorchScript, WritesAreSeenByTheWhole) {
  EXPECT_EQ(answer({"x: Tensor", "y = torch.clone(x)\n_0 = torch.mul_(torch.select(y, 0, 1), 10)\nreturn y"}),
            (Numbers{0, 1, 2, 30, 40, 50}));
}
TEST(TorchScript, OutputsHaveNames) {
  const auto names = [](const std::string& given) {
    const auto graph = imported_script(Script("x: Tensor", "return " + given).bytes(), "m", shapes({{"x", {2}}}));
    if (!graph.ok()) return graph.error().message;
    std::string text;
    for (const ValueId output : graph->outputs) text += graph->value(output).name + " ";
    return text;
  };
  EXPECT_EQ(names("torch.relu(x)"), "output0 ");
  EXPECT_EQ(names("(torch.relu(x), torch.neg(x))"), "output0 output1 ");
  EXPECT_EQ(names("{\"out\": torch.relu(x), \"aux\": torch.neg(x)}"), "out aux ");
}

// ---- Inputs.

TEST(TorchScript, SizesOfInputsAreGiven) {
  const Script script("x: Tensor", "return torch.relu(x)");
  EXPECT_EQ(said(script, {}), "input \"x\" has no shape in the file; give it with --shape x=1x3x224x224");
  EXPECT_EQ(
      said({"x: List[Tensor]", "return x[0]"}),
      "m: argument \"x\" of forward is List[Tensor]; only tensors, tuples of them, and arguments with a default are "
      "supported");
}
TEST(TorchScript, WhatCountsPlacesIsAnInteger) {
  Script script("x: Tensor", "return torch.embedding(self.w, torch.reshape(x, [-1]))");
  script.attribute("w", Tensor::of<double>(DType::f32, {3, 1}, {5, 6, 7}));
  EXPECT_EQ(answer(script, shapes({{"x", {1, 3}}})), (Numbers{5, 6, 7}));
  // Rows that x counts are sorted already.
  Script sorted("x: Tensor,\n    order: Tensor",
                "return torch.searchsorted(x, torch.mul(x, 2), out_int32=False, right=False, side=None, sorter=order)");
  EXPECT_EQ(answer(sorted, shapes({{"x", {3}}, {"order", {3}}})), (Numbers{0, 2, 3}));
}
TEST(TorchScript, ValuesThatDecideAreFolded) {
  ImportOptions options = shapes({{"x", {2, 3}}, {"n", {}}});
  const Script script("x: Tensor,\n    n: Tensor", "return torch.narrow(x, 1, 0, int(n))");
  EXPECT_EQ(said(script, options),
            "n: its value for int() is computed from the values of input \"n\"; give its value (--input n=FILE.npy)");
  options.values["n"] = Tensor::of<double>(DType::i64, {}, {2});
  EXPECT_EQ(answer(script, options), (Numbers{0, 1, 3, 4}));
}

// ---- Refusals.

TEST(TorchScript, OperatorsThatAreNotReadAreNamed) {
  Script script("x: Tensor", "y = torch.relu(x)\nreturn torch.bernoulli(y)");
  EXPECT_EQ(said(script),
            "this operator is not supported: aten.bernoulli.default (it draws random numbers); what comes "
            "before can be read: --until relu; --define aten.bernoulli.default=FILE.dag defines it "
            "(docs/operators/own.md)");
  ImportOptions options = shapes({{"x", {2, 3}}});
  options.until = {"relu"};
  EXPECT_EQ(said(script, options), "");
}
TEST(TorchScript, MistakesAreSentencesWithALine) {
  EXPECT_EQ(said({"x: Tensor", "return torch.relu(y)"}),
            "m: line 6 of forward: reads the name \"y\", which nothing before it defines");
  EXPECT_EQ(said({"x: Tensor", "return (x).foo()"}), "m: line 6 of forward: calls the method \"foo\" of a tensor");
  EXPECT_EQ(said({"x: Tensor", "return __torch__.gone(x)"}),
            "m: line 6 of forward: calls \"__torch__.gone\", which the file does not have");
  EXPECT_EQ(said({"x: Tensor", "return torch.softmax(x, 5)"}), "softmax: axis 5 does not exist; expected -2 to 1");
  EXPECT_EQ(said({"x: Tensor", "if x:\n  y = 1\nelse:\n  y = 2\nreturn y"}),
            "m: line 6 of forward: its condition is f32[2x3]; expected one element");
  EXPECT_EQ(said({"x: Tensor", "while True:\n  y = 1\nreturn x"}),
            "m: line 7 of forward: its loop does not end within 4096 rounds");
  EXPECT_EQ(said({"x: Tensor", "return (self).forward(x, )"}),
            "m: line 6 of forward: calls and expressions are nested more than 400 deep");
  EXPECT_EQ(said({"x: Tensor", "l = [0]\nfor i in range(4000):\n  l = torch.mul(l, 2)\nreturn x"}),
            "m: line 8 of forward: makes a list of more than 65536 values");
  EXPECT_EQ(said({"x: Tensor", "with x:\n  return x"}),
            "m: code/__torch__.py: line 6: found \"with\"; expected an assignment, if, for, while or return");
  EXPECT_EQ(said({"x: Tensor", "ops.prim.RaiseException(\"only pictures\")\nreturn x"}),
            "m: line 6 of forward: raises an exception: only pictures");
}
TEST(TorchScript, ListsAreBounded) {
  if (testing::kSanitized) GTEST_SKIP() << "twelve million values take most of a minute there";
  EXPECT_EQ(said({"x: Tensor", "l = torch.mul([0], 60000)\nfor i in range(4000):\n  m = torch.list(l)\nreturn x"}),
            "m: line 8 of forward: makes lists of more than 4194304 values");
  EXPECT_EQ(said({"x: Tensor",
                  "l = torch.mul([0], 60000)\nfor i in range(4000):\n  m = annotate(List[int], [])\n"
                  "  _0 = torch.extend(m, l)\nreturn x"}),
            "m: line 8 of forward: makes lists of more than 4194304 values");
  EXPECT_EQ(said({"x: Tensor", "l = torch.mul([torch.mul([x], 60000)], 60000)\nreturn torch.cat(l)"}),
            "m: line 7 of forward: makes lists of more than 4194304 values");
}
/// "x w > output0 w_next"
std::string inputs_and_outputs(const Script& script, const ImportOptions& options) {
  const auto graph = imported_script(script.bytes(), "m", options);
  if (!graph.ok()) return graph.error().message;
  std::string text;
  for (const ValueId id : graph->inputs) text += graph->value(id).name + " ";
  text += ">";
  for (const ValueId id : graph->outputs) text += " " + graph->value(id).name;
  return text;
}
TEST(TorchScript, StateIsAnInputAndAnOutput) {
  Script written("x: Tensor", "w = self.w\n_0 = torch.add_(w, 1)\nreturn torch.add(x, w)");
  written.attribute("w", Tensor(DType::f32, {3}));
  ImportOptions options = shapes({{"x", {2, 3}}});
  EXPECT_EQ(inputs_and_outputs(written, options), "x w > output0 w_next");
  EXPECT_EQ(answer(written), (Numbers{1, 3, 5, 4, 6, 8}));
  options.values["w"] = Tensor(DType::f32, {3});
  EXPECT_EQ(inputs_and_outputs(written, options), "x w > output0 w_next");
  options.shapes["v"] = {3};
  EXPECT_EQ(inputs_and_outputs(written, options)
                .find("--shape v=3: the model has no such input; its inputs are \"x\", \"w\""),
            0u);
  Script assigned("x: Tensor", "h = self.h\ng = torch.add(h, x)\nself.h = g\nreturn torch.neg(g)");
  assigned.attribute("h", Tensor(DType::f32, {2, 3}));
  EXPECT_EQ(inputs_and_outputs(assigned, shapes({{"x", {2, 3}}})), "x h > output0 h_next");
  EXPECT_EQ(answer(assigned), (Numbers{-0.0, -2, -4, -6, -8, -10}));
}
TEST(TorchScript, OtherStateIsRefused) {
  Script counter("x: Tensor", "n = self.n\nself.n = torch.add(n, 1)\nreturn torch.mul(x, n)");
  counter.attribute("n", 3);
  EXPECT_EQ(said(counter), "m: line 8 of forward: keeps state from call to call: it assigns to its attribute \"n\"");
}
TEST(TorchScript, APickleCallsNothing) {
  const auto said_of = [](const std::string& bytes) {
    const auto pickle = parse_pickle(bytes, "p");
    return pickle.ok() ? "" : pickle.error().message;
  };
  EXPECT_EQ(said_of(PickleWriter().global("os", "system").raw("(").text("ls").raw("tR").bytes()),
            "p: calls \"os.system\", which no model needs; whet runs nothing that a pickle calls, at byte 23");
  EXPECT_EQ(
      said_of(PickleWriter().global("subprocess", "Popen").raw(")\x81").bytes()),
      "p: holds an object of the class \"subprocess.Popen\", which is none of TorchScript's; whet runs nothing of "
      "Python, at byte 22");
  EXPECT_EQ(said_of("\x80\x02i"), "p: has the pickle opcode 105, which torch does not write, at byte 3");
  EXPECT_EQ(said_of("\x80\x02X\xff\xff\xff\x7f"), "p: ends within its pickle, at byte 7");
  EXPECT_EQ(said_of("\x80\x02]q"), "p: ends within its pickle, at byte 4");
  EXPECT_EQ(said_of(std::string("\x80\x02h\x05.", 5)), "p: reads a value that it did not keep, at byte 4");
}
/// What is written once is called, or made an object of, a million times.
TEST(TorchScript, APickleDoesNotGrowWithoutEnd) {
  const auto said_of = [](std::string bytes, const std::string& again) {
    for (int i = 0; i < 400000; ++i) bytes += again;
    const auto pickle = parse_pickle(bytes + ".", "p");
    return pickle.ok() ? "" : pickle.error().message.substr(0, 46);
  };
  const std::string many(100000, 'N');
  EXPECT_EQ(said_of("\x80\x02(" + many + "tq" + std::string(1, '\0') + "0ctorch\ndevice\nq\x01" + "0",
                    std::string("h\x01h\0R0", 6)),
            "p: holds more than 256 MiB beside its tensors,");
  EXPECT_EQ(said_of("\x80\x02" + std::string("c__torch__\n") + many + "\nq" + std::string(1, '\0') + "0",
                    std::string("h\0)\x81"
                                "0",
                                5)),
            "p: holds more than 256 MiB beside its tensors,");
}
TEST(TorchScript, GarbageIsASentence) {
  Script script("x: Tensor,\n    flag: bool=False",
                "w = self.w\n_0 = [torch.size(x, 0), 3]\ny = torch.reshape(torch.mul(x, w), _0)\n"
                "for i in range(3):\n  y = torch.add_(y, float(i))\nif flag:\n  z = y\nelse:\n  z = torch.relu(y)\n"
                "return (z, torch.sum(z, [-1]))");
  script.attribute("w", Tensor::of<double>(DType::f32, {3}, {1, 2, 3}));
  const std::string source = script.source(), modules = script.modules();
  Rng rng(5);
  int read = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string code = source, pickle = modules;
    std::string& damaged = round % 2 == 0 ? code : pickle;
    for (std::int64_t k = rng.between(1, 3); k > 0; --k) {
      const auto at = static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(damaged.size()) - 1));
      if (rng.between(0, 1) == 0) {
        damaged[at] =
            round % 2 == 0 ? "0123456789()[]\",:=.xyw \n"[rng.between(0, 23)] : static_cast<char>(rng.between(0, 255));
      } else {
        damaged.erase(at, static_cast<std::size_t>(rng.between(1, 5)));
      }
    }
    ZipWriter zip;
    ASSERT_TRUE(zip.add("net/data.pkl", pickle).ok() && zip.add("net/code/__torch__.py", code).ok() &&
                zip.add("net/constants.pkl", "\x80\x02).").ok() && zip.add("net/data/0", std::string(12, 'w')).ok());
    const auto graph = imported_script(std::move(zip).finish().value(), "m", shapes({{"x", {2, 3}}}));
    read += graph.ok() ? 1 : 0;
    if (graph.ok()) continue;
    ASSERT_FALSE(graph.error().message.empty());
    ASSERT_EQ(graph.error().message.find('\n'), std::string::npos);
  }
  EXPECT_GT(read, 0) << "some damage is harmless";
}

// ---- Files of torch itself, with the answers of torch.

std::vector<Tensor> outputs_of(const Graph& graph, const std::vector<Tensor>& inputs) {
  const auto values = evaluate_graph(graph, inputs).value();
  std::vector<Tensor> outputs;
  for (const ValueId output : graph.outputs) outputs.push_back(values[output.index()]);
  return outputs;
}
/// The largest error of a file's outputs, as a part of the largest magnitude, or the error. Inputs of a reference are called in0, in1, ...
/// or as the arguments of forward; those give their sizes too.
std::string compare_with_torch(const std::filesystem::path& file, const std::filesystem::path& reference) {
  const auto tensors = parse_npz(read_file(reference).value(), reference);
  if (!tensors.ok()) return tensors.error().message;
  std::map<std::string, Tensor> named;
  ImportOptions options;
  for (const NamedTensor& each : *tensors) {
    named[each.name] = each.tensor;
    const bool numbered = each.name.starts_with("in") && each.name.size() == 3;
    if (!numbered && !each.name.starts_with("out")) options.shapes[each.name] = each.tensor.shape();
  }
  const auto graph = imported_script_file(file, options);
  if (!graph.ok()) return graph.error().message;
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < graph->inputs.size(); ++i) {
    const Value& input = graph->value(graph->inputs[i]);
    inputs.push_back(named[named.contains(input.name) ? input.name : "in" + std::to_string(i)]);
    if (inputs.back().type() != input.type) return "input " + std::to_string(i) + " is " + to_string(input.type);
  }
  const std::vector<Tensor> outputs = outputs_of(*graph, inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& want = named["out" + std::to_string(i)];
    if (outputs[i].type() != want.type()) return "output " + std::to_string(i) + " is " + to_string(outputs[i].type());
    const double error = compare(outputs[i], want).relative;
    if (!(error < 1e-4)) return "output " + std::to_string(i) + " is off by " + std::to_string(error);
  }
  return "";
}
/// How many files of a folder have answers of torch, and are compared with them.
int check_folder(const std::filesystem::path& folder) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::filesystem::path reference = entry.path();
    reference.replace_extension(".npz");
    if (entry.path().extension() != ".pt" || !std::filesystem::exists(reference)) continue;
    EXPECT_EQ(compare_with_torch(entry.path(), reference), "") << entry.path();
    ++count;
  }
  return count;
}

TEST(TorchScriptFiles, AnswerAsTorchDoes) { EXPECT_GE(check_folder(checkout_path("tests/models/torch")), 15); }
TEST(TorchScriptFiles, OfAFolderThatIsGivenAnswerAsTorchDoes) {
  const char* folder = std::getenv("WHET_FRONTENDS");
  if (folder == nullptr) GTEST_SKIP() << "WHET_FRONTENDS names no folder with model files of other frameworks";
  int count = 0;
  for (const char* name : {"torchscript", "pt2"}) {
    const std::filesystem::path each = std::filesystem::path(folder) / name;
    if (std::filesystem::exists(each)) count += check_folder(each);
  }
  EXPECT_GT(count, 0);
}
/// Files of torch 1.13 without answers: relu(linear) three times, then products with 1, 2 and 3, and sums of rows; computed
/// here from the storages of the file.
std::vector<double> computed_by_hand(const std::string& file, const std::string& storages, const Tensor& x) {
  const std::string bytes = read_file(file).value();
  std::map<std::string, std::string> members;
  const std::vector<ZipMember> zipped = parse_zip(bytes, file).value();
  for (const ZipMember& member : zipped) members[member.name] = unzip(member, file).value();
  const auto number = [&](int storage, int place) {
    float value = 0;
    std::memcpy(&value, members.at(storages + std::to_string(storage)).data() + place * 4, 4);
    return static_cast<double>(value);
  };
  std::vector<double> row(8), sums;
  for (int r = 0; r < 4; ++r) {
    for (int k = 0; k < 8; ++k) row[static_cast<std::size_t>(k)] = x.get(r * 8 + k);
    for (int layer = 0; layer < 3; ++layer) {
      std::vector<double> next(8);
      for (int o = 0; o < 8; ++o) {
        double sum = number(2 * layer + 1, o);
        for (int k = 0; k < 8; ++k) sum += row[static_cast<std::size_t>(k)] * number(2 * layer, o * 8 + k);
        next[static_cast<std::size_t>(o)] = std::max(sum, 0.0);
      }
      row = next;
    }
    double sum = 0;
    for (const double value : row) sum += 6 * value;
    sums.push_back(sum);
  }
  return sums;
}
TEST(TorchScriptFiles, ScriptedAndFrozenProgramsAnswerAsComputedByHand) {
  const std::string folder = checkout_path("tests/models/torch/");
  Rng rng(2);
  const Tensor x = Tensor::random({DType::f32, {4, 8}}, rng);
  for (const auto& [name, storages] :
       {std::pair<std::string, std::string>{"scripted", "scripted/data/"}, {"frozen", "frozen/constants/"}}) {
    const auto graph = imported_script_file(folder + name + ".pt", shapes({{"x", {4, 8}}}));
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    const std::vector<Tensor> outputs = outputs_of(*graph, {x});
    ASSERT_EQ(outputs.size(), 2u);
    const std::vector<double> sums = computed_by_hand(folder + name + ".pt", storages, x);
    for (int r = 0; r < 4; ++r) EXPECT_NEAR(outputs[1].get(r), sums[static_cast<std::size_t>(r)], 1e-5) << name;
  }
}

}  // namespace torchscript_test
}  // namespace whet::torch
