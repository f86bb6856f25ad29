#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "base/rng.h"
#include "import_onnx/import_onnx.h"
#include "import_onnx/testing/one_node.h"
#include "ops/evaluate_graph.h"

/// Results whose number depends on values: padded tensors, and the numbers beside them.
namespace whet {
namespace counted_test {

OnnxNode node(std::vector<std::string> outputs, const char* op, std::vector<std::string> inputs,
              Attributes attributes = {}) {
  return {outputs[0], op, "", std::move(inputs), outputs, std::move(attributes), {}, ""};
}

/// Inputs a, b, ... and nodes; the outputs are all that is called y, y1, ...
OnnxModel model_of(const std::vector<In>& inputs, std::vector<OnnxNode> nodes) {
  OnnxModel model = one_node("", 18, inputs, {});
  model.nodes = std::move(nodes);
  model.outputs.clear();
  for (const OnnxNode& each : model.nodes) {
    for (const std::string& name : each.outputs)
      if (name.starts_with("y")) model.outputs.push_back(name);
  }
  return model;
}

/// "y: f32[2] {1, 2}" for each output, one a line, or the error.
std::string answers(const std::vector<In>& inputs, std::vector<OnnxNode> nodes) {
  const Result<Graph> graph = import_onnx(model_of(inputs, std::move(nodes)), {});
  if (!graph.ok()) return graph.error().message;
  std::vector<Tensor> given;
  for (const In& in : inputs) {
    if (in.is_fed) given.push_back(*in.value);
  }
  const std::vector<Tensor> values = evaluate_graph(*graph, given).value();
  std::string text;
  for (const ValueId id : graph->outputs)
    text += (text.empty() ? "" : "\n") + graph->value(id).name + ": " + values_text(values[id.index()]);
  return text;
}

TEST(NonZero, GivesPlacesAndTheirNumber) {
  EXPECT_EQ(answers({f32_fed({2, 3}, {0, 5, 0, -1, 0, 2})}, {node({"y"}, "NonZero", {"a"})}),
            "y: i64[2x6] {0, 1, 1, -1, -1, -1, 1, 0, 2, -1, -1, -1}\ny_count: i64[scalar] {3}");
  EXPECT_EQ(answers({f32_fed({2}, {0, 0})}, {node({"y"}, "NonZero", {"a"})}),
            "y: i64[1x2] {-1, -1}\ny_count: i64[scalar] {0}");
  EXPECT_EQ(answers({f32_fed({}, {1})}, {node({"y"}, "NonZero", {"a"})}),
            "y: the input is f32[scalar]; expected one dimension or more");
}
TEST(NonZero, OfMillionsOfElementsIsRefusedByTheirNumber) {
  EXPECT_EQ(import_onnx(one_node("NonZero", 18, {f32({2048, 2048})}, {}), {}).error().message,
            "n: finds the places of what is not zero among 4194304 elements; at most 1048576 are supported");
}
TEST(NonZero, FindsAsManyAsThereAreInAnyMask) {
  Rng rng(3);
  for (const std::int64_t n : {1, 2, 3, 7, 8, 9, 31, 100}) {
    Tensor mask(DType::boolean, {n});
    std::string places;
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      mask.set_integer(i, rng.below(2) == 0 ? 1 : 0);
      if (mask.integer(i) == 0) continue;
      places += (places.empty() ? "" : ", ") + std::to_string(i);
      ++count;
    }
    for (std::int64_t i = count; i < n; ++i) places += places.empty() ? "-1" : ", -1";
    EXPECT_EQ(
        answers({fed(mask)}, {node({"y"}, "NonZero", {"a"})}),
        "y: i64[1x" + std::to_string(n) + "] {" + places + "}\ny_count: i64[scalar] {" + std::to_string(count) + "}");
  }
}

TEST(Unique, GivesValuesPlacesAndCountsPaddedToTheNumberOfElements) {
  const std::vector<In> x = {f32_fed({5}, {2, 1, 1, 3, 2})};
  EXPECT_EQ(answers(x, {node({"y", "y1", "y2", "y3"}, "Unique", {"a"})}),
            "y: f32[5] {1, 2, 3, 2, 2}\ny1: i64[5] {1, 0, 3, 0, 0}\ny2: i64[5] {1, 0, 0, 2, 1}\n"
            "y3: i64[5] {2, 2, 1, 0, 0}\ny_count: i64[scalar] {3}");
  EXPECT_EQ(answers(x, {node({"y", "y1", "y2", "y3"}, "Unique", {"a"}, {set("sorted", 0)})}),
            "y: f32[5] {2, 1, 3, 2, 2}\ny1: i64[5] {0, 1, 3, 0, 0}\ny2: i64[5] {0, 1, 1, 2, 0}\n"
            "y3: i64[5] {2, 2, 1, 0, 0}\ny_count: i64[scalar] {3}");
  EXPECT_EQ(answers({f32_fed({2, 2}, {4, 4, 4, 4})}, {node({"y"}, "Unique", {"a"})}),
            "y: f32[4] {4, 4, 4, 4}\ny_count: i64[scalar] {1}");
}
/// a has two places that are not zero, of which z is the list; b, c and d are {1}, {-1} and 0, e, f, g and h {0}, {0, 1}, 1 and {2, 2}.
std::string of_two_places(std::vector<OnnxNode> nodes) {
  nodes.insert(nodes.begin(), {node({"z2"}, "NonZero", {"a"}), node({"z"}, "Squeeze", {"z2", "e"})});
  return answers(
      {f32_fed({4}, {0, 3, 3, 0}), f32_fed({1}, {1}), ints({-1}), Tensor::of<std::int64_t>(DType::i64, {}, {0}),
       ints({0}), ints({0, 1}), Tensor::of<std::int64_t>(DType::i64, {}, {1}), ints({2, 2})},
      std::move(nodes));
}
const OnnxNode shape_of_z = node({"s"}, "Shape", {"z"}),
               sum_of_r = node({"y"}, "ReduceSum", {"r"}, {set("keepdims", 0)});

TEST(NumbersOfResults, AreWhatShapesHold) {
  EXPECT_EQ(of_two_places({node({"y"}, "Shape", {"z"})}), "y: i64[1] {2}");
  EXPECT_EQ(of_two_places({node({"y"}, "Shape", {"z2"})}), "y: i64[2] {1, 2}");
  EXPECT_EQ(of_two_places({node({"y"}, "Size", {"z2"})}), "y: i64[scalar] {2}");
  EXPECT_EQ(of_two_places({shape_of_z, node({"w"}, "Greater", {"s", "e"}), node({"y"}, "Where", {"w", "b", "a"})}),
            "y: f32[4] {1, 1, 1, 1}");
}
TEST(NumbersOfResults, AreSizes) {
  EXPECT_EQ(of_two_places({shape_of_z, node({"r"}, "Expand", {"b", "s"}), sum_of_r}), "y: f32[scalar] {2}");
  EXPECT_EQ(
      of_two_places({shape_of_z, node({"o"}, "ConstantOfShape", {"s"}), node({"r"}, "Add", {"o", "b"}), sum_of_r}),
      "y: f32[scalar] {2}");
  EXPECT_EQ(of_two_places({shape_of_z, node({"n"}, "Squeeze", {"s"}), node({"r"}, "Range", {"d", "n", "g"}), sum_of_r}),
            "y: i64[scalar] {1}");
  EXPECT_EQ(of_two_places({shape_of_z, node({"r"}, "Slice", {"a", "e", "s"}), sum_of_r}), "y: f32[scalar] {3}");
  EXPECT_EQ(of_two_places({shape_of_z, node({"r"}, "Reshape", {"z", "s"}), sum_of_r}), "y: i64[scalar] {3}");
  EXPECT_EQ(of_two_places({node({"r"}, "Reshape", {"z", "c"}), sum_of_r}), "y: i64[scalar] {3}");
}
TEST(NumbersOfResults, ThatTheShapeOfOthersWouldHideAreRefused) {
  EXPECT_EQ(
      of_two_places({node({"y"}, "Reshape", {"z", "h"})}),
      "y: its shape 2x2 would mix results with padding: values decide how many entries of dimension 0 of i64[4] are "
      "results; expected -1 or their number in its place; what comes before can be read: --until z");
  EXPECT_EQ(of_two_places({shape_of_z, node({"y"}, "Tile", {"a", "s"})}),
            "y: its list of repeats is computed from a number of results, which depends on values; expected one that "
            "is known "
            "while importing; what comes before can be read: --until s");
  EXPECT_EQ(of_two_places({shape_of_z, node({"y"}, "Reshape", {"a", "s"})}),
            "y: its shape is decided by values, and f32[4] has no dimension of as many results; what comes before can "
            "be read: "
            "--until s");
}

TEST(Unique, OfAListThatValuesEndKnowsNoPadding) {
  const OnnxNode found = node({"z"}, "NonZero", {"a"}), unique = node({"y", "y1", "y2", "y3"}, "Unique", {"z"});
  EXPECT_EQ(answers({f32_fed({4}, {0, 3, 3, 0})}, {found, unique}),
            "y: i64[4] {1, 2, 1, 1}\ny1: i64[4] {0, 1, 0, 0}\ny2: i64[4] {0, 1, 0, 0}\ny3: i64[4] {1, 1, 0, 0}\n"
            "y_count: i64[scalar] {2}\ny2_count: i64[scalar] {2}");
  // Rows of two places: the first two rows are results.
  const OnnxNode rows = node({"t"}, "Transpose", {"z"});
  EXPECT_EQ(answers({f32_fed({2, 2}, {0, 3, 3, 0})}, {found, rows, node({"y", "", "", "y3"}, "Unique", {"t"})}),
            "y: i64[8] {0, 1, 0, 0, 0, 0, 0, 0}\ny3: i64[8] {2, 2, 0, 0, 0, 0, 0, 0}\ny_count: i64[scalar] {2}");
  EXPECT_EQ(answers({f32_fed({2, 2}, {0, 3, 3, 0})}, {found, node({"y"}, "Unique", {"z"})}),
            "y: finds the different ones of i64[2x4], where values decide how many entries of each row are results; "
            "expected a "
            "list or whole rows; what comes before can be read: --until z");
}
TEST(Unique, GivesEachNanAValueOfItsOwnBehindAllNumbers) {
  const double nan = std::nan("");
  const std::vector<In> x = {f32_fed({4}, {5, nan, 2, nan})};
  EXPECT_EQ(answers(x, {node({"y", "y1", "y2", "y3"}, "Unique", {"a"})}),
            "y: f32[4] {2, 5, nan, nan}\ny1: i64[4] {2, 0, 1, 3}\ny2: i64[4] {1, 2, 0, 3}\ny3: i64[4] {1, 1, 1, 1}\n"
            "y_count: i64[scalar] {4}");
  EXPECT_EQ(answers(x, {node({"y", "y1", "y2", "y3"}, "Unique", {"a"}, {set("sorted", 0)})}),
            "y: f32[4] {5, nan, 2, nan}\ny1: i64[4] {0, 1, 2, 3}\ny2: i64[4] {0, 1, 2, 3}\ny3: i64[4] {1, 1, 1, 1}\n"
            "y_count: i64[scalar] {4}");
}
TEST(Unique, OfRowsOrOfVeryManyIsRefused) {
  EXPECT_EQ(answers({f32_fed({2, 2}, {1, 2, 3, 4})}, {node({"y"}, "Unique", {"a"}, {set("axis", 0)})}),
            "y: finds the different parts of f32[2x2] along axis 0; only elements are supported");
  EXPECT_EQ(import_onnx(one_node("Unique", 18, {f32({5000})}, {}), {}).error().message,
            "n: finds the different ones of 5000 elements; 1 to 4096 are supported");
}
TEST(MaxRoiPool, GivesTheLargestPixelOfEachCell) {
  std::vector<double> image(48);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = double(i);
  EXPECT_EQ(answers({f32_fed({1, 1, 8, 6}, image), f32_fed({1, 5}, {0, 0, 0, 4, 4})},
                    {node({"y"}, "MaxRoiPool", {"a", "b"}, {set("pooled_shape", Ints{2, 2})})}),
            "y: f32[1x1x2x2] {14, 16, 26, 28}");
}
TEST(MaxRoiPool, RoundsHalvesBelowZeroDown) {
  std::vector<double> image(16);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = double(i);
  EXPECT_EQ(
      answers({f32_fed({1, 1, 4, 4}, image), f32_fed({1, 5}, {0, -8, -8, 32, 32})},
              {node({"y"}, "MaxRoiPool", {"a", "b"}, {set("pooled_shape", Ints{2, 2}), set("spatial_scale", 0.0625)})}),
      "y: f32[1x1x2x2] {0, 2, 8, 10}");
}
TEST(MaxRoiPool, OfPixelsThatAreAllMinusInfinityIsThat) {
  const double never = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(answers({f32_fed({1, 1, 1, 2}, {never, never}), f32_fed({2, 5}, {0, 0, 0, 1, 0, 0, 9, 0, 9, 0})},
                    {node({"y"}, "MaxRoiPool", {"a", "b"}, {set("pooled_shape", Ints{1, 1})})}),
            "y: f32[2x1x1x1] {-inf, 0}");
}

TEST(Compress, ByAConditionThatIsComputedKeepsTheRowsInFront) {
  const In rows = f32_fed({3, 2}, {1, 2, 3, 4, 5, 6}), limits = f32_fed({3}, {-1, 2, 3});
  const OnnxNode above = node({"m"}, "Greater", {"b", "c"});
  EXPECT_EQ(answers({rows, limits, scalar(0)}, {above, node({"y"}, "Compress", {"a", "m"}, {set("axis", 0)})}),
            "y: f32[3x2] {3, 4, 5, 6, 5, 6}\ny_count: i64[scalar] {2}");
}

using Box = std::array<double, 4>;

double common_part(const Box& a, const Box& b) {
  const double h = std::max(0.0, std::min(a[2], b[2]) - std::max(a[0], b[0]));
  const double w = std::max(0.0, std::min(a[3], b[3]) - std::max(a[1], b[1]));
  const double areas = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]);
  return h * w / (areas - h * w);
}

/// The standard's definition, for corners in order.
std::vector<std::int64_t> chosen(const Tensor& boxes, const Tensor& scores, std::int64_t most, double overlap,
                                 double least) {
  std::vector<std::int64_t> rows;
  const std::int64_t images = scores.shape()[0], classes = scores.shape()[1], n = scores.shape()[2];
  for (std::int64_t i = 0; i < images * classes; ++i) {
    const auto box = [&](std::int64_t k) {
      Box b;
      for (std::int64_t j = 0; j < 4; ++j) b[static_cast<std::size_t>(j)] = boxes.get((i / classes * n + k) * 4 + j);
      return b;
    };
    std::vector<std::int64_t> order, taken;
    for (std::int64_t k = 0; k < n; ++k)
      if (scores.get(i * n + k) > least) order.push_back(k);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return scores.get(i * n + a) > scores.get(i * n + b); });
    for (const std::int64_t k : order) {
      const auto overlaps = [&](std::int64_t other) { return common_part(box(k), box(other)) > overlap; };
      if (static_cast<std::int64_t>(taken.size()) == most || std::any_of(taken.begin(), taken.end(), overlaps))
        continue;
      taken.push_back(k);
      rows.insert(rows.end(), {i / classes, i % classes, k});
    }
  }
  return rows;
}

/// Boxes [N, n, 4] with corners in order, many of which overlap.
Tensor some_boxes(Rng& rng, std::int64_t images, std::int64_t n) {
  Tensor boxes(DType::f32, {images, n, 4});
  for (std::int64_t k = 0; k < images * n; ++k) {
    for (std::int64_t j = 0; j < 2; ++j) {
      const double low = rng.uniform(), size = 0.1 + 0.4 * rng.uniform();
      boxes.set(4 * k + j, low), boxes.set(4 * k + j + 2, low + size);
    }
  }
  return boxes;
}

TEST(NonMaxSuppression, ChoosesAsByTheDefinition) {
  Rng rng(7);
  for (const std::int64_t most : {1, 3, 50}) {
    const Tensor boxes = some_boxes(rng, 2, 20), scores = Tensor::random({DType::f32, {2, 3, 20}}, rng, 0, 1);
    const std::vector<std::int64_t> want = chosen(boxes, scores, most, double(0.3F), double(0.4F));
    const auto rows = static_cast<std::int64_t>(want.size()) / 3, all = 2 * 3 * std::min<std::int64_t>(most, 20);
    ASSERT_LT(rows, all + 1);
    Tensor padded(DType::i64, {all, 3});
    for (std::int64_t i = 0; i < padded.size(); ++i)
      padded.set_integer(i, i < 3 * rows ? want[static_cast<std::size_t>(i)] : -1);
    EXPECT_EQ(answers({fed(boxes), fed(scores), ints({most}), floats({0.3}), floats({0.4})},
                      {node({"y"}, "NonMaxSuppression", {"a", "b", "c", "d", "e"})}),
              "y: " + values_text(padded) + "\ny_count: i64[scalar] {" + std::to_string(rows) + "}");
  }
}
TEST(NonMaxSuppression, RefusesWhatItCannotUnroll) {
  const auto said = [](const std::vector<In>& inputs) {
    return answers(inputs, {node({"y"}, "NonMaxSuppression", {"a", "b", "c"})});
  };
  EXPECT_EQ(said({f32({1, 9000, 4}), f32({1, 1, 9000}), ints({5000})}),
            "y: takes up to 5000 boxes one after the other; at most 4096 are supported");
  EXPECT_EQ(
      said({f32({1, 3, 4}), f32({1, 2, 5}), ints({5})}),
      "y: chooses among boxes f32[1x3x4] by scores f32[1x2x5]; expected floats [N, boxes, 4] and [N, classes, boxes]");
  EXPECT_EQ(said({f32({3, 4}), f32({3}), ints({5})}),
            "y: chooses among boxes f32[3x4] by scores f32[3]; expected [N, boxes, 4] and [N, classes, boxes]");
  EXPECT_EQ(said({f32({1, 3, 4}), f32({1, 1, 3}), i64({1})}),
            "y: its number of boxes of a class is computed from the values of input \"c\"; give its value (--input "
            "c=FILE.npy)");
  EXPECT_EQ(said({f32({1, 3, 4}), f32({1, 1, 3})}), "y: reads \"c\", which nothing defines");
}

/// The places of what is above 0 in a: "p" [n], of which values decide how many there are.
std::vector<OnnxNode> above_zero(std::vector<OnnxNode> then) {
  std::vector<OnnxNode> nodes = {node({"m"}, "Relu", {"a"}), node({"n"}, "NonZero", {"m"}),
                                 node({"p"}, "Squeeze", {"n", "zero"})};
  nodes.insert(nodes.end(), then.begin(), then.end());
  return nodes;
}
std::string above(std::vector<OnnxNode> then) {
  OnnxModel model = model_of({f32_fed({5}, {3, -1, 7, -2, 5})}, above_zero(std::move(then)));
  const auto list = [](const Ints& values) { return *ints(values).value; };
  model.initializers = {
      {"zero", list({0})}, {"one", list({1})}, {"two", list({2})}, {"last", list({-1})}, {"axis", list({0})}};
  const Result<Graph> graph = import_onnx(model, {});
  if (!graph.ok()) return graph.error().message;
  const std::vector<Tensor> values =
      evaluate_graph(*graph, {Tensor::of<double>(DType::f32, {5}, {3, -1, 7, -2, 5})}).value();
  std::string text;
  for (const ValueId id : graph->outputs)
    text += (text.empty() ? "" : "\n") + graph->value(id).name + ": " + values_text(values[id.index()]);
  return text;
}

TEST(CountedResults, AreComputedMovedAndTakenWithTheirPadding) {
  EXPECT_EQ(above({node({"y"}, "Gather", {"a", "p"}), node({"y1"}, "Neg", {"y"})}),
            "y: f32[5] {3, 7, 5, 5, 5}\ny1: f32[5] {-3, -7, -5, -5, -5}\ny_count: i64[scalar] {3}");
  EXPECT_EQ(above({node({"g"}, "Gather", {"a", "p"}), node({"u"}, "Unsqueeze", {"g", "one"}),
                   node({"y"}, "Concat", {"u", "u"}, {set("axis", 1)})}),
            "y: f32[5x2] {3, 3, 7, 7, 5, 5, 5, 5, 5, 5}\ny_count: i64[scalar] {3}");
}
TEST(CountedResults, OfABranchHaveItsNumber) {
  const auto places_of = [](const char* name) {
    OnnxSubgraph body;
    body.nodes.push_back(node({"z"}, "NonZero", {name}));
    body.outputs = {"z"};
    return std::make_shared<const OnnxSubgraph>(body);
  };
  OnnxNode choice = node({"y"}, "If", {"a"}, {set("then_branch", places_of("b")), set("else_branch", places_of("c"))});
  choice.captured = {"b", "c"};
  const auto chosen_by = [&](double condition) {
    return answers({fed(Tensor::of<double>(DType::boolean, {}, {condition})), f32_fed({4}, {1, 1, 1, 0}),
                    f32_fed({4}, {0, 1, 0, 0})},
                   {choice});
  };
  EXPECT_EQ(chosen_by(1), "y: i64[1x4] {0, 1, 2, -1}\ny_count: i64[scalar] {3}");
  EXPECT_EQ(chosen_by(0), "y: i64[1x4] {1, -1, -1, -1}\ny_count: i64[scalar] {1}");
}
TEST(If, OfNothingAndSomethingGivesAsManyAsItsCondition) {
  const auto body_of = [](const OnnxNode& only) {
    OnnxSubgraph body;
    body.nodes = {only};
    body.outputs = {"z"};
    return std::make_shared<const OnnxSubgraph>(body);
  };
  OnnxNode choice = node({"y"}, "If", {"a"},
                         {set("then_branch", body_of(node({"z"}, "ConstantOfShape", {"c"}))),
                          set("else_branch", body_of(node({"z"}, "Identity", {"b"})))});
  choice.captured = {"b", "c"};
  const auto chosen_by = [&](double condition) {
    return answers({fed(Tensor::of<double>(DType::boolean, {}, {condition})), f32_fed({2}, {1, 2}), ints({0})},
                   {choice});
  };
  EXPECT_EQ(chosen_by(0), "y: f32[2] {1, 2}\ny_count: i64[scalar] {2}");
  EXPECT_EQ(chosen_by(1), "y: f32[2] {1, 2}\ny_count: i64[scalar] {0}");
}
TEST(CountedResults, OfEqualElementsTheLastIsNotThePadding) {
  EXPECT_NE(above({node({"g"}, "Gather", {"a", "p"}), node({"y"}, "ArgMax", {"g"}, {set("select_last_index", 1)})})
                .find("padding"),
            std::string::npos);
}
TEST(CountedResults, OfAFirstPartAreAtMostThatMany) {
  EXPECT_EQ(above({node({"g"}, "Gather", {"a", "p"}), node({"y"}, "Slice", {"g", "zero", "two"})}),
            "y: f32[2] {3, 7}\ny_count: i64[scalar] {2}");
}
TEST(CountedResults, AreReducedAndSortedWithoutTheirPadding) {
  const OnnxNode taken = node({"g"}, "Gather", {"a", "p"});
  const auto reduced = [&](const char* op) { return above({taken, node({"y"}, op, {"g", "axis"})}); };
  EXPECT_EQ(reduced("ReduceSum"), "y: f32[1] {15}");
  EXPECT_EQ(reduced("ReduceMin"), "y: f32[1] {3}");
  EXPECT_EQ(reduced("ReduceMax"), "y: f32[1] {7}");
  EXPECT_EQ(above({taken, node({"y"}, "ArgMin", {"g"})}), "y: i64[1] {0}");
  EXPECT_EQ(above({taken, node({"y", "y1"}, "TopK", {"g", "two"})}),
            "y: f32[2] {7, 5}\ny1: i64[2] {1, 2}\ny_count: i64[scalar] {2}");
  EXPECT_EQ(above({taken, node({"d"}, "Div", {"g", "g"}), node({"s"}, "Softmax", {"d"}),
                   node({"y"}, "ReduceSum", {"s", "axis"})}),
            "y: f32[1] {1}");
}
TEST(CountedResults, StandSideBySide) {
  const OnnxNode taken = node({"g"}, "Gather", {"a", "p"});
  const auto joined = [&](const std::vector<std::string>& parts) {
    const std::string said = above({taken, node({"y"}, "Concat", parts, {set("axis", 0)})});
    return said.substr(0, said.find('\n')) + said.substr(said.rfind('\n'));
  };
  EXPECT_EQ(joined({"a", "g"}), "y: f32[10] {3, -1, 7, -2, 5, 3, 7, 5, 5, 5}\ny_count: i64[scalar] {8}");
  EXPECT_EQ(joined({"g", "a"}), "y: f32[10] {3, 7, 5, 3, -1, 7, -2, 5, 5, 5}\ny_count: i64[scalar] {8}");
  EXPECT_EQ(joined({"g", "a", "g"}),
            "y: f32[15] {3, 7, 5, 3, -1, 7, -2, 5, 3, 7, 5, 5, 5, 5, 5}\ny_count: i64[scalar] {11}");
}
/// Doubles "b" in each of "c" rounds until it is not below "a", and collects it.
OnnxNode doubling_loop() {
  auto body = std::make_shared<OnnxSubgraph>();
  body->inputs = {"i", "go", "v"};
  body->outputs = {"on", "w", "w"};
  body->nodes = {node({"w"}, "Add", {"v", "v"}), node({"on"}, "Less", {"w", "a"})};
  OnnxNode loop = node({"y", "y1"}, "Loop", {"c", "", "b"}, {set("body", std::shared_ptr<const OnnxSubgraph>(body))});
  loop.captured = {"a"};
  return loop;
}
TEST(CountedRounds, ChangeNothingBehindTheLast) {
  const auto found = [&](double limit, std::int64_t most) {
    return answers({f32_fed({}, {limit}), f32_fed({}, {3}), Tensor::of<std::int64_t>(DType::i64, {}, {most})},
                   {doubling_loop()});
  };
  EXPECT_EQ(found(10, 4), "y: f32[scalar] {12}\ny1: f32[4] {6, 12, 24, 48}\ny1_count: i64[scalar] {2}");
  EXPECT_EQ(found(1, 3), "y: f32[scalar] {6}\ny1: f32[3] {6, 12, 24}\ny1_count: i64[scalar] {1}");
  EXPECT_EQ(found(1000, 3), "y: f32[scalar] {24}\ny1: f32[3] {6, 12, 24}\ny1_count: i64[scalar] {3}");
  EXPECT_EQ(found(10, std::numeric_limits<std::int64_t>::max()),
            "y: has 9223372036854775807 rounds; at most 4096 are supported");
}
TEST(CountedResults, OfAnyNumbersStandSideBySideInAnyDimension) {
  Rng rng(5);
  for (int round = 0; round < 20; ++round) {
    const auto axis = static_cast<int>(rng.between(0, 1));
    const std::int64_t parts = rng.between(2, 4);
    std::vector<In> inputs;
    std::vector<OnnxNode> nodes;
    std::vector<std::string> names;
    std::vector<double> want;
    for (std::int64_t k = 0; k < parts; ++k) {
      const std::int64_t extent = rng.between(1, 5);
      Tensor rows(DType::f32, axis == 0 ? Shape{extent, 1} : Shape{1, extent}), mask(DType::boolean, {extent});
      for (std::int64_t i = 0; i < extent; ++i) {
        rows.set(i, static_cast<double>(10 * k + i));
        mask.set_integer(i, rng.below(2) == 0 ? 1 : 0);
        if (mask.integer(i) != 0) want.push_back(rows.get(i));
      }
      const std::string x(1, static_cast<char>('a' + 2 * k)), m(1, static_cast<char>('b' + 2 * k));
      inputs.push_back(fed(rows)), inputs.push_back(fed(mask));
      names.push_back("part" + x);
      nodes.push_back(node({names.back()}, "Compress", {x, m}, {set("axis", axis)}));
    }
    nodes.push_back(node({"y"}, "Concat", names, {set("axis", axis)}));
    const Result<Graph> graph = import_onnx(model_of(inputs, nodes), {});
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    std::vector<Tensor> given;
    for (const In& in : inputs) given.push_back(*in.value);
    const std::vector<Tensor> values = evaluate_graph(*graph, given).value();
    const Tensor &y = values[graph->outputs[0].index()], &count = values[graph->outputs[1].index()];
    ASSERT_EQ(count.integer(0), std::ssize(want));
    for (std::int64_t i = 0; i < count.integer(0); ++i) EXPECT_EQ(y.get(i), want[static_cast<std::size_t>(i)]) << round;
  }
}
TEST(CountedResults, HaveAMeanOfTheirOwn) {
  const OnnxNode taken = node({"g"}, "Gather", {"a", "p"});
  EXPECT_EQ(above({taken, node({"y"}, "ReduceMean", {"g", "axis"})}), "y: f32[1] {5}");
}
TEST(CountedResults, AreNotMixedWithTheirPadding) {
  const OnnxNode taken = node({"g"}, "Gather", {"a", "p"});
  EXPECT_EQ(above({taken, node({"y"}, "Slice", {"g", "one", "two"})}),
            "y: how many entries of \"g\" (f32[5]) are results depends on values; its slice would mix them with the "
            "padding behind them; what comes before can be read: --until g");
  EXPECT_EQ(above({taken, node({"y"}, "Slice", {"g", "last", "two"})}).substr(0, 50),
            "y: counts from the end of a dimension whose number");
  EXPECT_NE(above({taken, node({"y"}, "Gather", {"g", "one"})}).find("would mix"), std::string::npos);
}

}  // namespace counted_test
}  // namespace whet
