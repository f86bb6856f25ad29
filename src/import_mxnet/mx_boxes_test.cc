#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/rng.h"
#include "import_mxnet/testing/symbol_writer.h"
#include "ops/evaluate_graph.h"

/// Detectors and sequences of MXNet, held against the examples of its documentation and plain loops.
namespace whet::mxnet {
namespace mx_boxes_test {

using Numbers = std::vector<double>;
using Attributes = SymbolWriter::Attributes;

struct Given {
  std::string name;
  Shape shape;
  Numbers values;
};
/// The numbers of one operator's result, or the error.
std::pair<Numbers, std::string> run(const std::string& op, const std::vector<Given>& given,
                                    const Attributes& attributes) {
  SymbolWriter s;
  std::vector<int> inputs;
  ImportOptions options;
  for (const Given& each : given) {
    inputs.push_back(s.null(each.name));
    options.shapes[each.name] = each.shape;
  }
  const auto graph = imported(s.json({s.node(op, "y", inputs, attributes)}), "m", options);
  if (!graph.ok()) return {{}, graph.error().message};
  std::vector<Tensor> tensors;
  for (const ValueId id : graph->inputs) {
    const auto each =
        std::find_if(given.begin(), given.end(), [&](const Given& g) { return g.name == graph->value(id).name; });
    tensors.push_back(Tensor::of<double>(DType::f32, each->shape, each->values));
  }
  const auto values = evaluate_graph(*graph, tensors);
  const Tensor& y = (*values)[graph->outputs[0].index()];
  Numbers numbers;
  for (std::int64_t i = 0; i < y.size(); ++i) numbers.push_back(y.get(i));
  return {numbers, ""};
}
void expect_near(const std::pair<Numbers, std::string>& found, const Numbers& wanted) {
  EXPECT_EQ(found.second, "");
  ASSERT_EQ(found.first.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found.first[i], wanted[i], 1e-4) << i;
}
Numbers random_numbers(Rng& rng, std::size_t count, double low, double high) {
  Numbers numbers;
  for (std::size_t i = 0; i < count; ++i)
    numbers.push_back(static_cast<double>(static_cast<float>(rng.uniform(low, high))));
  return numbers;
}

using Row = std::vector<double>;
double common_part(const double* a, const double* b) {
  double both = 1, area_a = 1, area_b = 1;
  for (int d = 0; d < 2; ++d) {
    both *= std::max(std::min(a[d + 2], b[d + 2]) - std::max(a[d], b[d]), 0.0);
    area_a *= a[d + 2] - a[d];
    area_b *= b[d + 2] - b[d];
  }
  return both / (area_a + area_b - both);
}

TEST(BoxNms, IsThatOfTheDocumentation) {
  const Numbers boxes = {0, 0.5, 0.1, 0.1, 0.2,  0.2,  1, 0.4, 0.1, 0.1, 0.2, 0.2,
                         0, 0.3, 0.1, 0.1, 0.14, 0.14, 2, 0.6, 0.5, 0.5, 0.7, 0.8};
  const Attributes all = {{"overlap_thresh", "0.1"}, {"coord_start", "2"}, {"score_index", "1"}, {"id_index", "0"}};
  Attributes forced = all;
  forced.emplace_back("force_suppress", "True");
  Numbers wanted = {2, 0.6, 0.5, 0.5, 0.7, 0.8, 0, 0.5, 0.1, 0.1, 0.2, 0.2};
  wanted.resize(24, -1);
  expect_near(run("_contrib_box_nms", {{"x", {4, 6}, boxes}}, forced), wanted);
  // Boxes of different classes do not hide each other.
  const Numbers second = {1, 0.4, 0.1, 0.1, 0.2, 0.2};
  std::copy(second.begin(), second.end(), wanted.begin() + 12);
  expect_near(run("_contrib_box_nms", {{"x", {4, 6}, boxes}}, all), wanted);
}
TEST(BoxNms, OfRandomBoxesIsThatOfPlainLoops) {
  Rng rng(8);
  constexpr std::size_t kBoxes = 9, kImages = 2, kMost = 6;
  Numbers boxes, wanted;
  for (std::size_t image = 0; image < kImages; ++image) {
    std::vector<Row> rows;
    for (std::size_t i = 0; i < kBoxes; ++i) {
      const Numbers n = random_numbers(rng, 5, 0, 1);
      // score, class, centre and size
      rows.push_back({n[0], double(rng.below(3)), n[1], n[2], 0.2 + n[3] / 2, 0.2 + n[4] / 2});
      for (double& v : rows.back()) v = static_cast<double>(static_cast<float>(v));
      boxes.insert(boxes.end(), rows.back().begin(), rows.back().end());
    }
    std::vector<Row> left;
    std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a[0] > b[0]; });
    std::erase_if(rows, [](const Row& row) { return row[0] <= 0.15 || row[1] == 0; });
    rows.resize(std::min(rows.size(), kMost));
    for (const Row& row : rows) {
      const Row corners = {
          row[0], row[1], row[2] - row[4] / 2, row[3] - row[5] / 2, row[2] + row[4] / 2, row[3] + row[5] / 2};
      const bool hidden = std::any_of(left.begin(), left.end(), [&](const Row& other) {
        return other[1] == row[1] && common_part(&other[2], &corners[2]) > 0.2;
      });
      if (!hidden) left.push_back(corners);
    }
    for (const Row& row : left) wanted.insert(wanted.end(), row.begin(), row.end());
    wanted.resize((image + 1) * kBoxes * 6, -1);
  }
  expect_near(run("_contrib_box_nms", {{"x", {kImages, kBoxes, 6}, boxes}},
                  {{"overlap_thresh", "0.2"},
                   {"valid_thresh", "0.15"},
                   {"topk", std::to_string(kMost)},
                   {"score_index", "0"},
                   {"id_index", "1"},
                   {"background_id", "0"},
                   {"in_format", "center"},
                   {"out_format", "corner"}}),
              wanted);
}
TEST(BoxNms, OfColumnsThatThereAreNotIsRefused) {
  EXPECT_EQ(run("_contrib_box_nms", {{"x", {4, 5}, {}}}, {}).second,
            "y (_contrib_box_nms): has boxes in columns from 2, scores in 1 and classes in -1 of 5");
}

TEST(BoxNms, OfNoBoxesIsItsInput) {
  const Numbers boxes = {0, 0.25, 1, 1, 2, 2, 1, 0.5, 1, 1, 2, 2};
  expect_near(run("_contrib_box_nms", {{"x", {2, 6}, boxes}}, {{"topk", "0"}, {"out_format", "center"}}), boxes);
}
TEST(BoxNms, KeepsTheFormOfBoxesThatBeginBelowZero) {
  const Numbers boxes = {0, 0.5, -1, 1, 3, 2, 1, 0.25, 1, 1, 5, 2};
  expect_near(run("_contrib_box_nms", {{"x", {2, 6}, boxes}}, {{"out_format", "center"}, {"id_index", "0"}}),
              {0, 0.5, -1, 1, 3, 2, 1, 0.25, 3, 1.5, 4, 1});
}

TEST(MultiBox, PriorsHaveBothStepsOrThoseOfTheImage) {
  const Numbers wanted = {0.125, 0.25, 0.375, 0.75, 0.625, 0.25, 0.875, 0.75};
  const Given image{"x", {1, 3, 1, 2}, Numbers(6)};
  expect_near(run("_contrib_MultiBoxPrior", {image}, {{"sizes", "(0.5,)"}, {"steps", "(0.25, -1)"}}), wanted);
  EXPECT_EQ(
      run("_contrib_MultiBoxPrior", {image}, {{"sizes", "(0.5,)"}, {"offsets", "(0.5, 1.5)"}}).second,
      "y (_contrib_MultiBoxPrior): makes boxes of 1 sizes and 1 ratios for f32[1x3x1x2]; expected an image, two steps, "
      "and two offsets of 0 to 1");
}
TEST(MultiBox, PriorsHaveSizesAndThenRatios) {
  // One pixel: sizes 0.5 and 0.25, and of the first also the ratio 4.
  expect_near(
      run("_contrib_MultiBoxPrior", {{"x", {1, 1, 1, 1}, {0}}}, {{"sizes", "(0.5, 0.25)"}, {"ratios", "(1, 4)"}}),
      {0.25, 0.25, 0.75, 0.75, 0.375, 0.375, 0.625, 0.625, 0, 0.375, 1, 0.625});
  // Two columns: a box is as high in pixels as it is wide.
  expect_near(run("_contrib_MultiBoxPrior", {{"x", {1, 3, 1, 2}, Numbers(6)}}, {{"sizes", "(0.5,)"}, {"clip", "True"}}),
              {0.125, 0.25, 0.375, 0.75, 0.625, 0.25, 0.875, 0.75});
}
TEST(MultiBox, DetectionsAreThoseOfPlainLoops) {
  Rng rng(3);
  constexpr std::size_t kBoxes = 8, kClasses = 2;
  Numbers anchors;
  for (std::size_t i = 0; i < kBoxes; ++i) {
    const Numbers at = random_numbers(rng, 2, 0, 0.6);
    for (const double v : {at[0], at[1], at[0] + 0.4, at[1] + 0.3}) anchors.push_back(double(float(v)));
  }
  const Numbers scores = random_numbers(rng, (kClasses + 1) * kBoxes, 0, 1),
                moves = random_numbers(rng, 4 * kBoxes, -1, 1);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < kBoxes; ++i) {
    const bool second = scores[2 * kBoxes + i] > scores[kBoxes + i];
    const double score = scores[(second ? 2 : 1) * kBoxes + i];
    Row row = {second ? 1.0 : 0.0, score, 0, 0, 0, 0};
    for (std::size_t d = 0; d < 2; ++d) {
      const double low = anchors[4 * i + d], size = anchors[4 * i + 2 + d] - low;
      const double centre = moves[4 * i + d] * 0.1 * size + low + size / 2,
                   half = std::exp(moves[4 * i + 2 + d] * 0.2) * size / 2;
      row[2 + d] = std::clamp(centre - half, 0.0, 1.0);
      row[4 + d] = std::clamp(centre + half, 0.0, 1.0);
    }
    if (score >= 0.3) rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a[1] > b[1]; });
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = i + 1; j < rows.size() && rows[i][0] >= 0; ++j)
      if (rows[j][0] == rows[i][0] && common_part(&rows[i][2], &rows[j][2]) >= 0.3) rows[j][0] = -1;
  Numbers wanted;
  for (const Row& row : rows) wanted.insert(wanted.end(), row.begin(), row.end());
  wanted.resize(kBoxes * 6, -1);
  expect_near(run("_contrib_MultiBoxDetection",
                  {{"scores", {1, kClasses + 1, kBoxes}, scores},
                   {"moves", {1, 4 * kBoxes}, moves},
                   {"anchors", {1, kBoxes, 4}, anchors}},
                  {{"threshold", "0.3"}, {"nms_threshold", "0.3"}}),
              wanted);
}

TEST(Regions, ArePooledAsInTheDocumentation) {
  Numbers image(48);
  std::iota(image.begin(), image.end(), 0);
  const std::vector<Given> given = {{"x", {1, 1, 8, 6}, image}, {"rois", {1, 5}, {0, 0, 0, 4, 4}}};
  expect_near(run("ROIPooling", given, {{"pooled_size", "(2, 2)"}, {"spatial_scale", "1.0"}}), {14, 16, 26, 28});
  expect_near(run("ROIPooling", given, {{"pooled_size", "(2, 2)"}, {"spatial_scale", "0.7"}}), {7, 9, 19, 21});
}
TEST(Regions, OfSeveralImagesArePooledFromTheirOwn) {
  const std::vector<Given> given = {{"x", {2, 1, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}},
                                    {"rois", {3, 5}, {1, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 9, 9, 12, 12}}};
  expect_near(run("ROIPooling", given, {{"pooled_size", "(1, 1)"}}), {8, 4, 0});
}
TEST(Regions, AreAligned) {
  // The mean of a gradient is the gradient in the middle.
  const std::vector<Given> given = {{"x", {1, 1, 4, 4}, {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33}},
                                    {"rois", {1, 5}, {0, 1, 1, 3, 2}}};
  expect_near(run("_contrib_ROIAlign", given, {{"pooled_size", "(1, 1)"}, {"sample_ratio", "2"}}), {17});
  expect_near(run("_contrib_ROIAlign", given, {{"pooled_size", "(1, 1)"}}), {17});
}

TEST(Attention, OfInterleavedQueriesKeysAndValuesIsThatOfPlainLoops) {
  Rng rng(7);
  constexpr std::size_t kSteps = 3, kBatch = 2, kHeads = 2, kSize = 2, kRow = kHeads * 3 * kSize;
  const Numbers x = random_numbers(rng, kSteps * kBatch * kRow, -1, 1);
  const auto at = [&](std::size_t step, std::size_t n, std::size_t head, std::size_t part, std::size_t i) {
    return x[(step * kBatch + n) * kRow + head * 3 * kSize + part * kSize + i];
  };
  Numbers scores, sums(kSteps * kBatch * kHeads * kSize);
  const Numbers weights = random_numbers(rng, kBatch * kHeads * kSteps * kSteps, 0, 1);
  for (std::size_t n = 0; n < kBatch; ++n)
    for (std::size_t h = 0; h < kHeads; ++h)
      for (std::size_t q = 0; q < kSteps; ++q)
        for (std::size_t k = 0; k < kSteps; ++k) {
          double sum = 0;
          for (std::size_t i = 0; i < kSize; ++i) sum += at(q, n, h, 0, i) * at(k, n, h, 1, i);
          scores.push_back(sum / std::sqrt(double(kSize)));
          for (std::size_t i = 0; i < kSize; ++i)
            sums[(q * kBatch + n) * kHeads * kSize + h * kSize + i] +=
                weights[((n * kHeads + h) * kSteps + q) * kSteps + k] * at(k, n, h, 2, i);
        }
  const Given all{"x", {kSteps, kBatch, kRow}, x};
  expect_near(run("_contrib_interleaved_matmul_selfatt_qk", {all}, {{"heads", "2"}}), scores);
  expect_near(run("_contrib_interleaved_matmul_selfatt_valatt",
                  {all, {"w", {kBatch * kHeads, kSteps, kSteps}, weights}}, {{"heads", "2"}}),
              sums);
}

TEST(Attention, OfMoreHeadsThanNumbersIsRefused) {
  const auto [values, message] =
      run("_contrib_interleaved_matmul_selfatt_qk", {{"x", {1, 1, 6}, Numbers(6)}}, {{"heads", "6148914691236517205"}});
  EXPECT_NE(message.find("of 6148914691236517205 heads; expected steps, a batch"), std::string::npos) << message;
}

TEST(Sequences, EndAndTurnByTheirLengths) {
  const Given x{"x", {3, 2, 1}, {1, 2, 3, 4, 5, 6}}, lengths{"n", {2}, {2, 3}};
  const Attributes by = {{"use_sequence_length", "True"}};
  expect_near(run("SequenceLast", {x, lengths}, by), {3, 6});
  expect_near(run("SequenceLast", {x}, {}), {5, 6});
  expect_near(run("SequenceReverse", {x, lengths}, by), {3, 6, 1, 4, 5, 2});
  expect_near(run("SequenceReverse", {x}, {}), {5, 6, 3, 4, 1, 2});
}
TEST(Sequences, OfGluonBeginWithZerosOfAnyBatch) {
  const auto answer_of = [](const char* shape) {
    SymbolWriter s;
    const int data = s.null("data"), weights = s.null("w"), biases = s.null("b");
    const int all = s.node("_rnn_param_concat", "all", {weights, biases}, {{"dim", "0"}, {"num_args", "2"}});
    const int zeros = s.node("_zeros", "zeros", {}, {{"shape", shape}});
    const int y =
        s.node("RNN", "y", {data, all, zeros}, {{"mode", "rnn_tanh"}, {"state_size", "2"}, {"num_layers", "1"}});
    ImportOptions options;
    options.shapes = {{"data", {2, 3, 1}}, {"w", {6}}, {"b", {4}}};
    const auto graph = imported(s.json({y}), "m", options);
    if (!graph.ok()) return graph.error().message;
    std::vector<Tensor> given;
    for (const ValueId id : graph->inputs) {
      Tensor tensor(graph->value(id).type.dtype, graph->value(id).type.shape);
      for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, 0.125 * double(i) - 0.25);
      given.push_back(tensor);
    }
    const auto values = evaluate_graph(*graph, given);
    const Tensor& result = (*values)[graph->outputs[0].index()];
    std::string text;
    for (std::int64_t i = 0; i < result.size(); ++i) text += std::to_string(result.get(i)) + " ";
    return text;
  };
  EXPECT_EQ(answer_of("(1, 0, 2)"), answer_of("(1, 3, 2)"));
}

TEST(Grids, OfTheIdentityGiveTheImage) {
  const Given x{"x", {1, 1, 2, 2}, {1, 2, 3, 4}}, matrix{"m", {1, 6}, {1, 0, 0, 0, 1, 0}};
  const Attributes size = {{"target_shape", "(2, 2)"}, {"transform_type", "affine"}, {"sampler_type", "bilinear"}};
  expect_near(run("SpatialTransformer", {x, matrix}, size), {1, 2, 3, 4});
  expect_near(run("GridGenerator", {matrix}, size), {-1, 1, -1, 1, -1, -1, 1, 1});
  const Given middle{"g", {1, 2, 1, 1}, {0, 0}};
  expect_near(run("BilinearSampler", {x, middle}, {}), {2.5});
}

TEST(SplitV2, CutsAtIndicesOrInEqualParts) {
  const auto part = [](const Attributes& attributes, int k) {
    SymbolWriter s;
    const int data = s.null("data"), parts = s.node("_split_v2", "parts", {data}, attributes);
    const int y = s.node("negative", "y", {SymbolWriter::result(parts, k)});
    ImportOptions options;
    options.shapes = {{"data", {2, 4}}};
    const auto graph = imported(s.json({y}), "m", options);
    if (!graph.ok()) return std::pair<Numbers, std::string>{{}, graph.error().message};
    const auto values = evaluate_graph(*graph, {Tensor::of<double>(DType::f32, {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7})});
    const Tensor& tensor = (*values)[graph->outputs[0].index()];
    Numbers numbers;
    for (std::int64_t i = 0; i < tensor.size(); ++i) numbers.push_back(tensor.get(i));
    return std::pair<Numbers, std::string>{numbers, ""};
  };
  const Attributes at = {{"indices", "(0, 1, 3)"}, {"axis", "1"}};
  expect_near(part(at, 1), {-1, -2, -5, -6});
  expect_near(part(at, 2), {-3, -7});
  expect_near(part({{"sections", "2"}, {"axis", "0"}, {"indices", "()"}, {"squeeze_axis", "True"}}, 1),
              {-4, -5, -6, -7});
  EXPECT_EQ(part({{"indices", "(0, 3, 2)"}, {"axis", "1"}}, 1).second,
            "parts (_split_v2): splits an extent of 4 at 0x3x2");
  EXPECT_EQ(part({{"sections", "3"}, {"axis", "1"}}, 1).second,
            "parts (_split_v2): splits an extent of 4 into 3 parts");
}
TEST(MixedPrecision, CastsToTheWidestType) {
  SymbolWriter s;
  const int data = s.null("data"), half = s.node("amp_cast", "half", {data}, {{"dtype", "float16"}});
  const int both = s.node("amp_multicast", "both", {half, data}, {{"num_outputs", "2"}});
  ImportOptions options;
  options.shapes = {{"data", {2}}};
  const auto graph = imported(s.json({half, both, SymbolWriter::result(both, 1)}), "m", options);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  std::string types;
  for (const ValueId id : graph->outputs) types += to_string(graph->value(id).type) + " ";
  EXPECT_EQ(types, "f16[2] f32[2] f32[2] ");
}
TEST(ModulatedDeformableConvolution, ReadsTheImageAtPlacesOfItsOwn) {
  // A kernel of one tap that reads half a row below and one column to the right, times 2 and the mask.
  const Given x{"x", {1, 1, 2, 2}, {1, 2, 3, 4}}, offsets{"o", {1, 2, 2, 2}, {0.5, 0.5, 0.5, 0.5, 1, 1, 1, 1}};
  const Given mask{"m", {1, 1, 2, 2}, {1, 1, 0.5, 1}}, w{"w", {1, 1, 1, 1}, {2}}, b{"b", {1}, {10}};
  const Attributes attributes = {{"kernel", "(1, 1)"}, {"num_filter", "1"}};
  expect_near(run("_contrib_ModulatedDeformableConvolution", {x, offsets, mask, w, b}, attributes),
              {2 * 3 + 10, 10, 0.5 * 2 * 2 + 10, 10});
  EXPECT_EQ(
      run("_contrib_ModulatedDeformableConvolution", {x, offsets, mask, w}, attributes).second,
      "y (_contrib_ModulatedDeformableConvolution): has 4 inputs; _contrib_ModulatedDeformableConvolution takes 5");
}
TEST(Elements, AreRoundedTurnedAndCounted) {
  const Given x{"x", {4}, {-1.5, 1.5, 0, 2.25}};
  expect_near(run("trunc", {x}, {}), {-1, 1, 0, 2});
  expect_near(run("round", {x}, {}), {-2, 2, 0, 2});
  // A half more would itself be rounded up.
  EXPECT_EQ(run("round", {{"x", {3}, {8388609, 0.49999997, -0.49999997}}}, {}).first, (Numbers{8388609, 0, 0}));
  expect_near(run("logical_not", {x}, {}), {0, 0, 1, 0});
  expect_near(run("degrees", {x}, {}), {-85.943669, 85.943669, 0, 128.915504});
  expect_near(run("log2", {{"x", {2}, {8, 0.5}}}, {}), {3, -1});
  expect_near(run("_contrib_arange_like", {x}, {{"start", "1"}, {"step", "2"}}), {1, 3, 5, 7});
  expect_near(run("_contrib_div_sqrt_dim", {x}, {}), {-0.75, 0.75, 0, 1.125});
}

}  // namespace mx_boxes_test
}  // namespace whet::mxnet
