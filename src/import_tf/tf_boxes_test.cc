#include <gtest/gtest.h>

#include <cmath>

#include "import_tf/testing/graph_writer.h"
#include "ops/evaluate_graph.h"

/// What is chosen by values.
namespace whet::tensorflow {
namespace tf_boxes_test {

/// "name f32[2]: 1 2" for each output, one a line, or the error.
std::string answers(const GraphWriter& g, const std::vector<Tensor>& given) {
  const Result<Graph> graph = imported(g.bytes(), "m");
  if (!graph.ok()) return graph.error().message;
  const std::vector<Tensor> values = evaluate_graph(*graph, given).value();
  std::string text;
  for (const ValueId id : graph->outputs) {
    const Tensor& y = values[id.index()];
    text += graph->value(id).name + " " + to_string(y.type()) + ":";
    for (std::int64_t i = 0; i < y.size(); ++i) text += " " + std::to_string(std::lround(100 * y.get(i)));
    text += "\n";
  }
  return text;
}
Tensor floats(const Shape& shape, const std::vector<double>& values) { return Tensor::of(DType::f32, shape, values); }
Tensor number(DType dtype, double value) { return Tensor::of<double>(dtype, {}, {value}); }

const Tensor kBoxes = floats({3, 4}, {0, 0, 2, 2, 0, 0, 1, 2, 9, 9, 7, 7}), kScores = floats({3}, {0.5, 0.25, 0.75});

GraphWriter chooser(const std::string& op, double overlap, const Message* flag = nullptr) {
  GraphWriter g;
  g.input("boxes", {3, 4}).input("scores", {3}).constant("most", number(DType::i32, 4));
  g.constant("overlap", number(DType::f32, overlap)).constant("least", number(DType::f32, 0));
  Attributes attributes;
  if (flag != nullptr) attributes.push_back({"pad_to_max_output_size", *flag});
  return g.node("y", op, {"boxes", "scores", "most", "overlap", "least"}, attributes);
}

TEST(TensorFlowBoxes, ThatOverlapByTheLimitStay) {
  EXPECT_EQ(answers(chooser("NonMaxSuppressionV3", 0.5), {kBoxes, kScores}),
            "y i32[3]: 200 0 100\ny_count i64[scalar]: 300\n");
  EXPECT_EQ(answers(chooser("NonMaxSuppressionV3", 0.4), {kBoxes, kScores}),
            "y i32[3]: 200 0 0\ny_count i64[scalar]: 200\n");
}
TEST(TensorFlowBoxes, OfTheFirstVersionHaveTheLimitAsAnAttribute) {
  GraphWriter g;
  g.input("boxes", {3, 4}).input("scores", {3}).constant("most", number(DType::i32, 4));
  g.node("y", "NonMaxSuppression", {"boxes", "scores", "most"}, {{"iou_threshold", of_real(0.4F)}});
  EXPECT_EQ(answers(g, {kBoxes, kScores}), "y i32[3]: 200 0 0\ny_count i64[scalar]: 200\n");
}
TEST(TensorFlowBoxes, AreFilledUpWhereTheFileAsksForIt) {
  const Message yes = of_flag(true);
  GraphWriter g = chooser("NonMaxSuppressionV4", 0.4, &yes);
  EXPECT_EQ(answers(g.node("n", "Identity", {"y:1"}).node("p", "Identity", {"y"}), {kBoxes, kScores}),
            "n i32[scalar]: 200\np i32[4]: 200 0 0 0\n");
}
TEST(TensorFlowBoxes, PlacesWhereAMaskHolds) {
  GraphWriter g;
  g.input("x", {2, 2}).node("y", "Where", {"x"});
  EXPECT_EQ(answers(g, {floats({2, 2}, {0, 1, 0, 2})}),
            "y i64[4x2]: 0 100 100 100 -100 -100 -100 -100\ny_count i64[scalar]: 200\n");
  GraphWriter known;
  known.constant("x", floats({2, 2}, {0, 1, 0, 2})).node("y", "Where", {"x"});
  EXPECT_EQ(answers(known, {}), "y i64[2x2]: 0 100 100 100\n");
}

}  // namespace tf_boxes_test
}  // namespace whet::tensorflow
