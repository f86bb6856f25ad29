#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/rng.h"
#include "import_tf/testing/graph_writer.h"
#include "ops/evaluate_graph.h"

/// What frozen graphs have, of TensorFlow 1 and of detectors, held against plain loops.
namespace whet::tensorflow {
namespace tf_frozen_test {

using Numbers = std::vector<double>;

std::string error_of(const GraphWriter& g, const ImportOptions& options = {}) {
  const Result<Graph> graph = imported(g.bytes(), "m", options);
  return graph.ok() ? "" : graph.error().message;
}
std::vector<Numbers> answers(const GraphWriter& g, const std::vector<Tensor>& given,
                             const ImportOptions& options = {}) {
  const Result<Graph> graph = imported(g.bytes(), "m", options);
  if (!graph.ok()) {
    ADD_FAILURE() << graph.error().message;
    return {};
  }
  const std::vector<Tensor> values = evaluate_graph(*graph, given).value();
  std::vector<Numbers> found;
  for (const ValueId id : graph->outputs) {
    const Tensor& y = values[id.index()];
    found.emplace_back();
    for (std::int64_t i = 0; i < y.size(); ++i) found.back().push_back(y.get(i));
  }
  return found;
}
void expect_near(const Numbers& found, const Numbers& wanted, const char* what) {
  ASSERT_EQ(found.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-4) << what << " " << i;
}
Tensor floats(const Shape& shape, const Numbers& values) { return Tensor::of<double>(DType::f32, shape, values); }
Tensor scalar(DType dtype, double value) { return Tensor::of<double>(dtype, {}, {value}); }
Numbers random_numbers(Rng& rng, std::int64_t count, double low, double high) {
  Numbers numbers;
  for (std::int64_t i = 0; i < count; ++i)
    numbers.push_back(static_cast<double>(static_cast<float>(rng.uniform(low, high))));
  return numbers;
}

// ---- Branches of TensorFlow 1.

/// x + 1 where "train" holds, else -x, which is squared.
GraphWriter branch() {
  GraphWriter g;
  g.input("x", {2}).input("train", {}, DType::boolean).constant("one", scalar(DType::f32, 1));
  g.node("s", "Switch", {"x", "train"}).node("yes", "AddV2", {"s:1", "one"}).node("no", "Neg", {"s"});
  return g.node("twice", "Mul", {"no", "no"}).node("y", "Merge", {"twice", "yes"});
}
ImportOptions with_train(bool value) {
  ImportOptions options;
  options.values["train"] = Tensor::of<std::int64_t>(DType::boolean, {}, {value ? 1 : 0});
  return options;
}

TEST(OldBranches, TakeTheSideThatTheConditionSays) {
  EXPECT_EQ(answers(branch(), {floats({2}, {3, -2})}, with_train(true)).at(0), (Numbers{4, -1}));
  EXPECT_EQ(answers(branch(), {floats({2}, {3, -2})}, with_train(false)).at(0), (Numbers{9, 4}));
}
TEST(OldBranches, OfAConditionThatIsComputedAskForItsValue) {
  const std::string said = error_of(branch());
  EXPECT_NE(said.find("its condition is computed from the values of input \"train\""), std::string::npos) << said;
  EXPECT_NE(said.find("--input train=FILE.npy"), std::string::npos) << said;
}
TEST(OldBranches, SayWhichOfTheirOperandsIsThere) {
  GraphWriter g = branch();
  g.node("number", "Identity", {"y:1"}).node("z", "Identity", {"y"});
  EXPECT_EQ(answers(g, {floats({2}, {3, -2})}, with_train(true)), (std::vector<Numbers>{{1}, {4, -1}}));
}
TEST(OldBranches, HaveConstantsThatHangOnThemByControlEdges) {
  const auto number = [](double value) {
    return Attributes{{"dtype", of_type(DType::f32)}, {"value", of_tensor(scalar(DType::f32, value))}};
  };
  GraphWriter g;
  g.input("x", {2}).input("train", {}, DType::boolean);
  g.node("s", "Switch", {"train", "train"}).node("yes", "Identity", {"s:1"}).node("no", "Identity", {"s"});
  g.node("a", "Const", {"^yes"}, number(10)).node("other", "Const", {"^no"}, number(5));
  g.node("b", "Const", {"^other"}, number(20)).node("m", "Merge", {"b", "a"}).node("y", "AddV2", {"x", "m"});
  EXPECT_EQ(answers(g, {floats({2}, {3, -2})}, with_train(true)), (std::vector<Numbers>{{13, 8}}));
  EXPECT_EQ(answers(g, {floats({2}, {3, -2})}, with_train(false)), (std::vector<Numbers>{{23, 18}}));
}
TEST(OldBranches, ThatAreNotTakenAreNoOutputs) {
  GraphWriter g;
  g.input("x", {2}).constant("no", scalar(DType::boolean, 0)).node("s", "Switch", {"x", "no"});
  EXPECT_EQ(error_of(g.node("y", "Neg", {"s:1"})), "output \"y\" is an optional value that is not there");
}

// ---- Normalizations.

TEST(FrozenNorms, OfRowsAreTheLayerNormalizationOfKeras) {
  // Two rows of three numbers, as one image with two channels.
  GraphWriter g;
  g.input("x", {1, 2, 3, 1}).constant("scale", floats({2}, {1, 1})).constant("shift", floats({2}, {0, 0}));
  g.constant("none", floats({0}, {}));
  g.node("y", "FusedBatchNormV3", {"x", "scale", "shift", "none", "none"},
         {{"is_training", of_flag(true)}, {"epsilon", of_real(0)}, {"data_format", of_text("NCHW")}});
  const double a = std::sqrt(1.5);
  expect_near(answers(g, {floats({1, 2, 3, 1}, {1, 2, 3, 30, 10, 20})}).at(0), {-a, 0, a, a, -a, 0}, "y");
}
TEST(FrozenNorms, OfTheFirstKindScaleOnlyWhereTheySaySo) {
  for (const bool scaled : {true, false}) {
    GraphWriter g;
    g.input("x", {1, 1, 1, 2}).constant("mean", floats({2}, {1, 2})).constant("variance", floats({2}, {4, 1}));
    g.constant("shift", floats({2}, {0.5, 0})).constant("scale", floats({2}, {3, 5}));
    g.node("y", "BatchNormWithGlobalNormalization", {"x", "mean", "variance", "shift", "scale"},
           {{"variance_epsilon", of_real(0)}, {"scale_after_normalization", of_flag(scaled)}});
    expect_near(answers(g, {floats({1, 1, 1, 2}, {5, 3})}).at(0), scaled ? Numbers{6.5, 5} : Numbers{2.5, 1}, "y");
  }
}

// ---- Windows and moves.

TEST(Patches, AreThePixelsOfEachWindowRowByRow) {
  Rng rng(4);
  constexpr std::int64_t kRows = 5, kColumns = 4, kChannels = 2;
  const Numbers x = random_numbers(rng, kRows * kColumns * kChannels, -1, 1);
  for (const bool same : {true, false}) {
    GraphWriter g;
    g.input("x", {1, kRows, kColumns, kChannels});
    g.node("y", "ExtractImagePatches", {"x"},
           {{"ksizes", of_integers({1, 2, 3, 1})},
            {"strides", of_integers({1, 2, 1, 1})},
            {"rates", of_integers({1, 2, 1, 1})},
            {"padding", of_text(same ? "SAME" : "VALID")}});
    Numbers wanted;
    const std::int64_t rows = same ? 3 : 2, columns = same ? 4 : 2, above = same ? 1 : 0, left = same ? 1 : 0;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c)
        for (std::int64_t i = 0; i < 2; ++i)
          for (std::int64_t j = 0; j < 3; ++j)
            for (std::int64_t k = 0; k < kChannels; ++k) {
              const std::int64_t y = 2 * r + 2 * i - above, z = c + j - left;
              const bool inside = y >= 0 && y < kRows && z >= 0 && z < kColumns;
              wanted.push_back(inside ? x[static_cast<std::size_t>((y * kColumns + z) * kChannels + k)] : 0);
            }
    expect_near(answers(g, {floats({1, kRows, kColumns, kChannels}, x)}).at(0), wanted, same ? "same" : "valid");
  }
}
TEST(Rolls, MoveElementsAround) {
  GraphWriter g;
  g.input("x", {2, 3}).integers("shift", {1, -1}).integers("axis", {0, -1}).node("y", "Roll", {"x", "shift", "axis"});
  EXPECT_EQ(answers(g, {floats({2, 3}, {1, 2, 3, 4, 5, 6})}).at(0), (Numbers{5, 6, 4, 2, 3, 1}));
}
TEST(Norms, AreRootsOfSumsOfSquares) {
  GraphWriter g;
  g.input("x", {2, 2}).integers("axis", {1}).node("y", "EuclideanNorm", {"x", "axis"});
  expect_near(answers(g, {floats({2, 2}, {3, 4, 0, 2})}).at(0), {5, 2}, "y");
}

TEST(Spectra, OfRowsAreThoseOfPlainSums) {
  Rng rng(3);
  constexpr std::int64_t kLength = 6, kGiven = 5;
  const Numbers x = random_numbers(rng, 2 * kGiven, -1, 1);
  GraphWriter g;
  g.input("x", {2, kGiven}).integers("length", {kLength}).node("spectrum", "RFFT", {"x", "length"});
  g.node("a", "ComplexAbs", {"spectrum"}).node("b", "Angle", {"spectrum"});
  g.node("c", "Real", {"spectrum"}).node("d", "Imag", {"spectrum"});
  std::vector<Numbers> wanted(4);
  for (std::int64_t row = 0; row < 2; ++row)
    for (std::int64_t k = 0; k <= kLength / 2; ++k) {
      double real = 0, imaginary = 0;
      for (std::int64_t n = 0; n < kGiven; ++n) {
        const double turn = 2 * std::acos(-1.0) * double(k * n) / double(kLength), v = x[std::size_t(row * kGiven + n)];
        real += v * std::cos(turn);
        imaginary -= v * std::sin(turn);
      }
      wanted[0].push_back(std::hypot(real, imaginary));
      wanted[1].push_back(std::atan2(imaginary, real));
      wanted[2].push_back(real);
      wanted[3].push_back(imaginary);
    }
  const auto found = answers(g, {floats({2, kGiven}, x)});
  ASSERT_EQ(found.size(), 4U);
  for (const std::size_t i : {0, 2, 3}) expect_near(found[i], wanted[i], "part");
  // Those of a real number are 0 or half a turn, either way.
  for (std::size_t i = 0; i < wanted[1].size(); ++i) EXPECT_NEAR(std::cos(found[1][i]), std::cos(wanted[1][i]), 1e-4);
  GraphWriter wrong;
  wrong.input("x", {2}).node("y", "ComplexAbs", {"x"});
  EXPECT_EQ(error_of(wrong), "y (ComplexAbs): the input is f32[2]; expected complex numbers of an RFFT");
}

// ---- Bits, and numbers that are counted.

Tensor whole_numbers(DType dtype, const std::vector<std::int64_t>& values) {
  return Tensor::of<std::int64_t>(dtype, {static_cast<std::int64_t>(values.size())}, values);
}
TEST(Bits, AreCombinedAndMoved) {
  const std::vector<std::int64_t> x = {12, -7, 2147483647, -2147483647 - 1}, by = {10, 3, 1, 35};
  const auto found = [&](const char* op) {
    GraphWriter g;
    g.input("x", {4}, DType::i32).input("by", {4}, DType::i32).node("y", op, {"x", "by"});
    return answers(g, {whole_numbers(DType::i32, x), whole_numbers(DType::i32, by)}).at(0);
  };
  EXPECT_EQ(found("BitwiseAnd"), (Numbers{8, 1, 1, 0}));
  EXPECT_EQ(found("BitwiseOr"), (Numbers{14, -5, 2147483647, -2147483613}));
  EXPECT_EQ(found("BitwiseXor"), (Numbers{6, -6, 2147483646, -2147483613}));
  EXPECT_EQ(found("LeftShift"), (Numbers{12288, -56, -2, 0}));
  EXPECT_EQ(found("RightShift"), (Numbers{0, -1, 1073741823, -1})) << "the sign moves in";
  GraphWriter g;
  g.input("x", {2}, DType::i8).node("y", "Invert", {"x"});
  EXPECT_EQ(answers(g, {whole_numbers(DType::i8, {0, -5})}).at(0), (Numbers{-1, 4}));
}
TEST(Counts, OfNumbersAreThoseOfEachRow) {
  const Tensor rows = whole_numbers(DType::i32, {0, 2, 2, 9, 1, 1}).reshaped({2, 3});
  const auto found = [&](const Numbers& weights, bool binary, bool flat) {
    GraphWriter g;
    g.input("x", {2, 3}, DType::i32).integers("size", {3});
    g.constant("w", weights.empty() ? Tensor(DType::f32, {0}) : floats({2, 3}, weights));
    g.node("y", flat ? "Bincount" : "DenseBincount", {"x", "size", "w"}, {{"binary_output", of_flag(binary)}});
    return answers(g, {rows}).at(0);
  };
  EXPECT_EQ(found({}, false, false), (Numbers{1, 0, 2, 0, 2, 0})) << "9 is beyond the bins";
  EXPECT_EQ(found({}, true, false), (Numbers{1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(found({}, false, true), (Numbers{1, 2, 2}));
  EXPECT_EQ(found({0.5, 1, 2, 4, 8, 16}, false, false), (Numbers{0.5, 0, 3, 0, 24, 0}));
}
TEST(Buckets, BeginAtTheirBounds) {
  GraphWriter g;
  g.input("x", {5}).node("y", "Bucketize", {"x"}, {{"boundaries", of_reals({-1, 0, 2.5})}});
  EXPECT_EQ(answers(g, {floats({5}, {-2, -1, 0.5, 2.5, 9})}).at(0), (Numbers{0, 1, 2, 3, 3}));
}
TEST(Gathers, InBatchesMayBeOfAnyAxisBehindThem) {
  GraphWriter g;  // x[b, i, p[b, j]]
  g.input("x", {2, 2, 3}).input("p", {2, 2}, DType::i32).constant("axis", scalar(DType::i32, 2));
  g.node("y", "GatherV2", {"x", "p", "axis"}, {{"batch_dims", of_integer(1)}});
  const Tensor places = whole_numbers(DType::i32, {2, 0, 1, 1}).reshaped({2, 2});
  EXPECT_EQ(answers(g, {floats({2, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), places}).at(0),
            (Numbers{2, 0, 5, 3, 7, 7, 10, 10}));
}

// ---- Detectors.

TEST(Crops, AreResizedAndFilledOutside) {
  Rng rng(6);
  constexpr std::int64_t kImages = 2, kRows = 4, kColumns = 5, kBoxes = 3, kHeight = 3, kWidth = 2;
  const Numbers x = random_numbers(rng, kImages * kRows * kColumns, -1, 1);
  const Numbers boxes = {0.1, 0.2, 0.9, 0.8, -0.3, 0, 0.5, 1.2, 0.9, 0.5, 0.2, 0.1};
  const std::vector<std::int64_t> owners = {1, 0, 1};
  GraphWriter g;
  g.input("x", {kImages, kRows, kColumns, 1}).input("boxes", {kBoxes, 4});
  g.integers("owners", owners).integers("size", {kHeight, kWidth});
  g.node("y", "CropAndResize", {"x", "boxes", "owners", "size"}, {{"extrapolation_value", of_real(7)}});
  Numbers wanted;
  for (std::size_t b = 0; b < kBoxes; ++b)
    for (std::int64_t r = 0; r < kHeight; ++r)
      for (std::int64_t c = 0; c < kWidth; ++c) {
        const double down =
            boxes[4 * b] * (kRows - 1) + double(r) * (boxes[4 * b + 2] - boxes[4 * b]) * (kRows - 1) / (kHeight - 1);
        const double across = boxes[4 * b + 1] * (kColumns - 1) +
                              double(c) * (boxes[4 * b + 3] - boxes[4 * b + 1]) * (kColumns - 1) / (kWidth - 1);
        const auto pixel = [&](double i, double j) {
          const auto row = std::min(static_cast<std::int64_t>(i), kRows - 1),
                     column = std::min(static_cast<std::int64_t>(j), kColumns - 1);
          return x[static_cast<std::size_t>((owners[b] * kRows + row) * kColumns + column)];
        };
        const bool outside = down < 0 || down > kRows - 1 || across < 0 || across > kColumns - 1;
        const double i = std::floor(down), j = std::floor(across), v = down - i, u = across - j;
        wanted.push_back(outside ? 7
                                 : (1 - v) * ((1 - u) * pixel(i, j) + u * pixel(i, j + 1)) +
                                       v * ((1 - u) * pixel(i + 1, j) + u * pixel(i + 1, j + 1)));
      }
  expect_near(answers(g, {floats({kImages, kRows, kColumns, 1}, x), floats({kBoxes, 4}, boxes)}).at(0), wanted, "y");
}

TEST(Crops, LeaveTheImageWhereTheSumsOfTensorFlowDo) {
  const auto low = static_cast<float>(0.04996249079704285);
  GraphWriter g;
  g.input("x", {1, 8, 1, 1}).input("boxes", {1, 4}).integers("owners", {0}).integers("size", {4, 1});
  g.node("y", "CropAndResize", {"x", "boxes", "owners", "size"}, {{"extrapolation_value", of_real(100)}});
  Numbers wanted;
  const float distance = (1 - low) * 7 / 3, start = low * 7;
  for (int i = 0; i < 4; ++i) {
    const float step = static_cast<float>(i) * distance, at = start + step;
    wanted.push_back(at > 7 ? 100 : double(at));  // each row's pixel is its number
  }
  const Tensor image = floats({1, 8, 1, 1}, {0, 1, 2, 3, 4, 5, 6, 7});
  expect_near(answers(g, {image, floats({1, 4}, {double(low), 0, 1, 0})}).at(0), wanted, "y");
}
TEST(Crops, OfAnImageThatThereIsNotAreRefused) {
  GraphWriter g;
  g.input("x", {2, 8, 1, 1}).input("boxes", {1, 4}).integers("owners", {2}).integers("size", {4, 1});
  const std::string said = error_of(g.node("y", "CropAndResize", {"x", "boxes", "owners", "size"}));
  EXPECT_EQ(said, "y (CropAndResize): a region is of image 2 of 2");
}

double common_part(const double* a, const double* b) {
  double both = 1, area_a = 1, area_b = 1;
  for (int d = 0; d < 2; ++d) {
    both *= std::max(std::min(a[d + 2], b[d + 2]) - std::max(a[d], b[d]), 0.0);
    area_a *= a[d + 2] - a[d];
    area_b *= b[d + 2] - b[d];
  }
  return both / (area_a + area_b - both);
}
struct Combined {
  std::int64_t images = 2, boxes = 7, classes = 3, own = 1, of_class = 3, total = 5;
  bool clip = true, per_class = false;
  double overlap = 0.3, least = 0.25;
};
/// Boxes, scores, classes and their number by the operator's description.
std::vector<Numbers> plainly_combined(const Combined& d, const Numbers& boxes, const Numbers& scores) {
  std::vector<Numbers> wanted(4);
  const std::int64_t rows = d.per_class ? std::min(d.total, d.of_class * d.classes) : d.total;
  for (std::int64_t image = 0; image < d.images; ++image) {
    struct Found {
      const double* box;
      double number, score;
    };
    std::vector<Found> found;
    for (std::int64_t c = 0; c < d.classes; ++c) {
      std::vector<Found> all, kept;
      for (std::int64_t i = 0; i < d.boxes; ++i) {
        const std::int64_t at = image * d.boxes + i;
        all.push_back({&boxes[static_cast<std::size_t>((at * d.own + (d.own > 1 ? c : 0)) * 4)], double(c),
                       scores[static_cast<std::size_t>(at * d.classes + c)]});
      }
      const auto better = [](const Found& a, const Found& b) { return a.score > b.score; };
      std::stable_sort(all.begin(), all.end(), better);
      for (const Found& f : all) {
        const bool hidden = std::any_of(kept.begin(), kept.end(),
                                        [&](const Found& k) { return common_part(k.box, f.box) > d.overlap; });
        if (!hidden && f.score > d.least && static_cast<std::int64_t>(kept.size()) < d.of_class) kept.push_back(f);
      }
      found.insert(found.end(), kept.begin(), kept.end());
    }
    std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.score > b.score; });
    found.resize(std::min<std::size_t>(found.size(), static_cast<std::size_t>(rows)));
    for (const Found& f : found) {
      for (std::size_t k = 0; k < 4; ++k) wanted[0].push_back(d.clip ? std::clamp(f.box[k], 0.0, 1.0) : f.box[k]);
      wanted[1].push_back(f.score);
      wanted[2].push_back(f.number);
    }
    const auto until = static_cast<std::size_t>((image + 1) * rows);
    wanted[0].resize(4 * until, 0), wanted[1].resize(until, 0), wanted[2].resize(until, 0);
    wanted[3].push_back(double(found.size()));
  }
  return wanted;
}
void expect_combined(const Combined& d, std::uint64_t seed) {
  Rng rng(seed);
  Numbers boxes;
  for (std::int64_t i = 0; i < d.images * d.boxes * d.own; ++i) {
    const Numbers n = random_numbers(rng, 4, 0.1, 0.6);
    for (const double v : {n[0] - 0.3, n[1], n[0] + n[2], n[1] + n[3]}) boxes.push_back(double(float(v)));
  }
  const Numbers scores = random_numbers(rng, d.images * d.boxes * d.classes, 0, 1);
  GraphWriter g;
  g.input("boxes", {d.images, d.boxes, d.own, 4}).input("scores", {d.images, d.boxes, d.classes});
  g.constant("of_class", scalar(DType::i32, double(d.of_class))).constant("total", scalar(DType::i32, double(d.total)));
  g.constant("overlap", scalar(DType::f32, d.overlap)).constant("least", scalar(DType::f32, d.least));
  g.node("y", "CombinedNonMaxSuppression", {"boxes", "scores", "of_class", "total", "overlap", "least"},
         {{"clip_boxes", of_flag(d.clip)}, {"pad_per_class", of_flag(d.per_class)}});
  for (const char* each : {"y", "y:1", "y:2", "y:3"})
    g.node(std::string("out_") + each[std::string_view(each).size() - 1], "Identity", {each});
  const auto found =
      answers(g, {floats({d.images, d.boxes, d.own, 4}, boxes), floats({d.images, d.boxes, d.classes}, scores)});
  const auto wanted = plainly_combined(d, boxes, scores);
  ASSERT_EQ(found.size(), 4U);
  // Outputs are in the order of the nodes: boxes, scores, classes, number.
  constexpr const char* kNames[] = {"boxes", "scores", "classes", "number"};
  for (std::size_t i = 0; i < 4; ++i) expect_near(found[i], wanted[i], kNames[i]);
}
TEST(CombinedSuppression, GivesBoxesWithTheCornersInTheOrderOfTheFile) {
  GraphWriter g;
  g.input("boxes", {1, 2, 1, 4}).input("scores", {1, 2, 1});
  g.constant("of_class", scalar(DType::i32, 2)).constant("total", scalar(DType::i32, 2));
  g.constant("overlap", scalar(DType::f32, 0.5)).constant("least", scalar(DType::f32, 0));
  g.node("y", "CombinedNonMaxSuppression", {"boxes", "scores", "of_class", "total", "overlap", "least"});
  g.node("out", "Identity", {"y"});
  // The second is the first with its corners exchanged: it goes.
  const Tensor boxes = floats({1, 2, 1, 4}, {0.75, 0.5, 0.25, 0, 0.25, 0, 0.75, 0.5}),
               scores = floats({1, 2, 1}, {0.75, 0.5});
  EXPECT_EQ(answers(g, {boxes, scores}).at(0), (Numbers{0.75, 0.5, 0.25, 0, 0, 0, 0, 0}));
}
TEST(CombinedSuppression, TakesNoMoreStepsThanBoxesAreAskedFor) {
  GraphWriter g;
  g.input("boxes", {1, 64, 1, 4}).input("scores", {1, 64, 1});
  g.constant("of_class", scalar(DType::i32, 64)).constant("total", scalar(DType::i32, 2));
  g.constant("overlap", scalar(DType::f32, 0.5)).constant("least", scalar(DType::f32, 0));
  g.node("y", "CombinedNonMaxSuppression", {"boxes", "scores", "of_class", "total", "overlap", "least"});
  const Result<Graph> graph = imported(g.node("out", "Identity", {"y"}).bytes(), "m");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto steps = std::count_if(graph->nodes.begin(), graph->nodes.end(),
                                   [](const Node& node) { return std::holds_alternative<ArgReduceOperator>(node.op); });
  EXPECT_EQ(steps, 2);
}
TEST(CombinedSuppression, IsThatOfPlainLoops) {
  expect_combined({}, 1);
  expect_combined({.own = 3, .clip = false}, 2);
  expect_combined({.of_class = 1, .total = 9, .per_class = true}, 3);
  expect_combined({.images = 1, .boxes = 2, .classes = 1, .total = 6}, 4);
}

}  // namespace tf_frozen_test
}  // namespace whet::tensorflow
