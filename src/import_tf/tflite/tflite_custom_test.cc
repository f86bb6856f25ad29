#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/rng.h"
#include "import_tf/tflite/flex.h"
#include "import_tf/tflite/testing/answers.h"
#include "import_tf/tflite/testing/flat_writer.h"
#include "import_tf/tflite/testing/flex_writer.h"
#include "ops/evaluate_graph.h"

/// Custom operators with options in FlexBuffers, held against plain loops.
namespace whet::tflite {
namespace tflite_custom_test {

void expect_near(const Numbers& found, const Numbers& wanted, const char* what) {
  ASSERT_EQ(found.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-4) << what << " " << i;
}
Numbers random_numbers(Rng& rng, std::size_t count, double low, double high) {
  Numbers numbers;
  for (std::size_t i = 0; i < count; ++i)
    numbers.push_back(static_cast<double>(static_cast<float>(low + (high - low) * rng.uniform())));
  return numbers;
}

TEST(FlexBuffers, HoldNumbersListsAndTextsOfFourAndEightBytes) {
  for (const std::size_t width : {4U, 8U}) {
    const auto bytes =
        FlexWriter(width).integer("n", -7).real("x", 0.25F).text("mode", "bilinear").list("list", {3, 1, 4}).bytes();
    const auto map = FlexMap::read(std::string(bytes.begin(), bytes.end()));
    ASSERT_TRUE(map) << width;
    EXPECT_EQ(map->number("n"), -7);
    EXPECT_EQ(map->number("x"), 0.25);
    EXPECT_EQ(map->text("mode"), "bilinear");
    EXPECT_EQ(map->numbers("list"), (std::vector<double>{3, 1, 4}));
    EXPECT_FALSE(map->number("list"));
    EXPECT_FALSE(map->has("other"));
  }
}
TEST(FlexBuffers, ThatAreWrittenByOthersAreRead) {
  // {a: 1, b: [1.5, 2], c: true, d: "bilinear", e: [3, 1000], f: 0.5}, written by flatbuffers 25.9 for JavaScript.
  const std::string digits =
      "61006200020000000000c03f020000000e04630064000862696c696e65617200"
      "65000300e803660006292819180d080007000000010000000600000001000000"
      "3800000001000000310000002a0000000000003f042a6814410e1e2601";
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  const auto map = FlexMap::read(bytes);
  ASSERT_TRUE(map);
  EXPECT_EQ(map->number("a"), 1);
  EXPECT_EQ(map->numbers("b"), (std::vector<double>{1.5, 2}));
  EXPECT_EQ(map->number("c"), 1);
  EXPECT_EQ(map->text("d"), "bilinear");
  EXPECT_EQ(map->numbers("e"), (std::vector<double>{3, 1000}));
  EXPECT_EQ(map->number("f"), 0.5);
}
/// A map of `entries` lists, all of which are the same `numbers` of 4 bytes.
std::string repeated(std::uint32_t entries, std::uint32_t numbers) {
  std::string bytes;
  const auto put = [&](std::size_t value) {
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i));
  };
  put(numbers);
  const std::size_t list = bytes.size();
  for (std::uint32_t i = 0; i < numbers; ++i) put(i);
  std::vector<std::size_t> keys;
  for (std::uint32_t i = 0; i < entries; ++i) {
    keys.push_back(bytes.size());
    bytes += std::to_string(i) + '\0';
  }
  bytes.resize((bytes.size() + 3) / 4 * 4);
  put(entries);
  const std::size_t key_list = bytes.size();
  for (const std::size_t key : keys) put(bytes.size() - key);
  put(bytes.size() - key_list), put(4), put(entries);
  const std::size_t map = bytes.size();
  for (std::uint32_t i = 0; i < entries; ++i) put(bytes.size() - list);
  bytes += std::string(entries, static_cast<char>(11 << 2 | 2));
  put(bytes.size() - map);
  return bytes + static_cast<char>(9 << 2 | 2) + '\4';
}
TEST(FlexBuffers, ThatRepeatAListWithoutEndAreNothing) {
  const auto few = FlexMap::read(repeated(3, 5));
  ASSERT_TRUE(few);
  EXPECT_EQ(few->numbers("2"), (std::vector<double>{0, 1, 2, 3, 4}));
  EXPECT_FALSE(FlexMap::read(repeated(100, 1000)));
}
TEST(FlexBuffers, ThatAreDamagedAreNothingOrAnotherMap) {
  const auto whole = FlexWriter().integer("n", 7).text("mode", "bilinear").list("list", {3, 1, 4}).bytes();
  const std::string bytes(whole.begin(), whole.end());
  EXPECT_FALSE(FlexMap::read(""));
  Rng rng(5);
  int read_count = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = bytes.substr(static_cast<std::size_t>(rng.below(3) == 0 ? rng.between(0, 20) : 0));
    for (std::int64_t k = rng.between(1, 3); k > 0; --k)
      damaged[static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(damaged.size()) - 1))] =
          static_cast<char>(rng.between(0, 255));
    read_count += FlexMap::read(damaged) ? 1 : 0;
  }
  EXPECT_GT(read_count, 0) << "some damage is harmless";
}

// ---- Detections.

struct Detector {
  std::int64_t boxes = 12, classes = 3, most = 5, each = 2, of_class = 3;
  bool regular = false, background = true;
  double least = 0.3, overlap = 0.4;
};
Numbers anchors_of(const Detector& d) {
  Rng rng(9);
  Numbers anchors = random_numbers(rng, static_cast<std::size_t>(4 * d.boxes), 0.3, 0.7);
  return anchors;
}
std::string detector(const Detector& d) {
  ModelWriter m;
  const auto n = static_cast<std::int32_t>(d.boxes), c = static_cast<std::int32_t>(d.classes + (d.background ? 1 : 0));
  const int boxes = m.tensor("boxes", {1, n, 4}), scores = m.tensor("scores", {1, n, c});
  const Numbers anchors = anchors_of(d);
  const int anchor = m.constant<float>("anchors", {n, 4}, 0, std::vector<float>(anchors.begin(), anchors.end()));
  const int listed = m.tensor("listed", {}), numbers = m.tensor("numbers", {}), best = m.tensor("best", {}),
            count = m.tensor("count", {});
  FlexWriter options;
  options.integer("max_detections", d.most)
      .integer("max_classes_per_detection", d.each)
      .integer("num_classes", d.classes);
  options.integer("detections_per_class", d.of_class).integer("use_regular_nms", d.regular ? 1 : 0);
  options.real("nms_score_threshold", static_cast<float>(d.least))
      .real("nms_iou_threshold", static_cast<float>(d.overlap));
  options.real("y_scale", 10).real("x_scale", 10).real("h_scale", 5).real("w_scale", 5);
  m.custom("TFLite_Detection_PostProcess", {boxes, scores, anchor}, {listed, numbers, best, count}, options.bytes());
  return m.bytes({boxes, scores}, {listed, numbers, best, count});
}

struct Box {
  double low[2], high[2];
};
double common_part(const Box& a, const Box& b) {
  double both = 1, area_a = 1, area_b = 1;
  for (int d = 0; d < 2; ++d) {
    both *= std::max(std::min(a.high[d], b.high[d]) - std::max(a.low[d], b.low[d]), 0.0);
    area_a *= a.high[d] - a.low[d];
    area_b *= b.high[d] - b.low[d];
  }
  return both / (area_a + area_b - both);
}
std::vector<Box> boxes_of(const Detector& d, const Numbers& encoded) {
  const Numbers anchors = anchors_of(d);
  std::vector<Box> boxes(static_cast<std::size_t>(d.boxes));
  for (std::size_t i = 0; i < boxes.size(); ++i)
    for (std::size_t k = 0; k < 2; ++k) {
      const double size = anchors[4 * i + 2 + k], centre = encoded[4 * i + k] / 10 * size + anchors[4 * i + k];
      const double half = std::exp(encoded[4 * i + 2 + k] / 5) * size / 2;
      boxes[i].low[k] = centre - half;
      boxes[i].high[k] = centre + half;
    }
  return boxes;
}
/// The boxes that are left of one list of scores, the best first.
std::vector<std::size_t> suppressed(const Detector& d, const std::vector<Box>& boxes, const Numbers& scores,
                                    std::int64_t most) {
  std::vector<std::size_t> order(scores.size()), kept;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  for (const std::size_t i : order) {
    const bool hidden = std::any_of(kept.begin(), kept.end(),
                                    [&](std::size_t k) { return common_part(boxes[k], boxes[i]) > d.overlap; });
    if (!hidden && scores[i] >= d.least && static_cast<std::int64_t>(kept.size()) < most) kept.push_back(i);
  }
  return kept;
}
/// Boxes, classes, scores and their number by the operator's description.
std::vector<Numbers> plainly_detected(const Detector& d, const Numbers& encoded, const Numbers& scores) {
  const std::vector<Box> boxes = boxes_of(d, encoded);
  const auto classes = static_cast<std::size_t>(d.classes), columns = classes + (d.background ? 1 : 0);
  const auto score = [&](std::size_t box, std::size_t c) { return scores[box * columns + columns - classes + c]; };
  struct Found {
    std::size_t box, number;
    double score;
  };
  std::vector<Found> found;
  std::size_t rows = static_cast<std::size_t>(d.most), count = 0;
  if (d.regular) {
    for (std::size_t c = 0; c < classes; ++c) {
      Numbers own;
      for (std::size_t i = 0; i < boxes.size(); ++i) own.push_back(score(i, c));
      for (const std::size_t i : suppressed(d, boxes, own, d.of_class)) found.push_back({i, c, own[i]});
    }
    std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.score > b.score; });
    found.resize(std::min(found.size(), rows));
    count = found.size();
  } else {
    Numbers top;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      top.push_back(score(i, 0));
      for (std::size_t c = 1; c < classes; ++c) top.back() = std::max(top.back(), score(i, c));
    }
    for (const std::size_t i : suppressed(d, boxes, top, d.most)) {
      std::vector<std::size_t> order(classes);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return score(i, a) > score(i, b); });
      for (std::size_t k = 0; k < static_cast<std::size_t>(d.each); ++k)
        found.push_back({i, order[k], score(i, order[k])});
      ++count;
    }
  }
  rows *= static_cast<std::size_t>(d.each);
  std::vector<Numbers> wanted(4);
  for (const Found& f : found) {
    const Box& box = boxes[f.box];
    wanted[0].insert(wanted[0].end(), {box.low[0], box.low[1], box.high[0], box.high[1]});
    wanted[1].push_back(static_cast<double>(f.number));
    wanted[2].push_back(f.score);
  }
  wanted[0].resize(4 * rows, 0);
  wanted[1].resize(rows, 0);
  wanted[2].resize(rows, 0);
  wanted[3] = {static_cast<double>(count)};
  return wanted;
}
void expect_detected(const Detector& d, std::uint64_t seed) {
  Rng rng(seed);
  const std::size_t columns = static_cast<std::size_t>(d.classes) + (d.background ? 1 : 0);
  const Numbers encoded = random_numbers(rng, static_cast<std::size_t>(4 * d.boxes), -3, 3);
  Numbers scores = random_numbers(rng, static_cast<std::size_t>(d.boxes) * columns, 0, 1);
  scores.back() = static_cast<double>(static_cast<float>(d.least));  // which is enough
  const std::vector<Numbers> found = answers(detector(d), {encoded, scores}),
                             wanted = plainly_detected(d, encoded, scores);
  ASSERT_EQ(found.size(), 4U);
  constexpr const char* kNames[] = {"boxes", "classes", "scores", "count"};
  for (std::size_t i = 0; i < 4; ++i) expect_near(found[i], wanted[i], kNames[i]);
}

TEST(Detections, ByTheBestClassOfEachBoxAreThoseOfPlainLoops) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) expect_detected({}, seed);
  expect_detected({.classes = 2, .most = 9, .each = 2, .background = false, .overlap = 0.1}, 5);
}
TEST(Detections, OfEachClassAreThoseOfPlainLoops) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) expect_detected({.each = 1, .regular = true}, seed);
  expect_detected({.boxes = 4, .classes = 2, .most = 20, .each = 1, .of_class = 9, .regular = true}, 5);
}
TEST(Detections, OfEachClassHaveRowsForTheClassesOfEachBox) { expect_detected({.each = 3, .regular = true}, 6); }
TEST(Detections, WithALimitOfOverlapThatHidesAllOrNothingAreRefused) {
  for (const double limit : {0.0, 1.5})
    EXPECT_NE(said(detector({.overlap = limit})).find("its option \"nms_iou_threshold\" is"), std::string::npos);
}
TEST(Detections, WithoutOptionsAreRefused) {
  ModelWriter m;
  const int boxes = m.tensor("boxes", {1, 2, 4}), scores = m.tensor("scores", {1, 2, 1}),
            anchors = m.tensor("a", {2, 4});
  const int y = m.tensor("y", {});
  ModelWriter other = m;
  m.custom("TFLite_Detection_PostProcess", {boxes, scores, anchors}, {y}, {1, 2, 3});
  EXPECT_EQ(said(m.bytes({boxes, scores, anchors}, {y})),
            "y (TFLite_Detection_PostProcess): has 3 bytes of options, which are no FlexBuffers map");
  other.custom("TFLite_Detection_PostProcess", {boxes, scores, anchors}, {y},
               FlexWriter().integer("max_detections", 0).bytes());
  EXPECT_EQ(said(other.bytes({boxes, scores, anchors}, {y})),
            "y (TFLite_Detection_PostProcess): its option \"max_detections\" is 0.000000; expected 1 to 4096");
}

// ---- Faces.

using Matrix = std::array<std::array<double, 3>, 3>;
Matrix times(const Matrix& a, const Matrix& b) {
  Matrix c{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      for (std::size_t k = 0; k < 3; ++k) c[i][j] += a[i][k] * b[k][j];
  return c;
}
/// The least and the largest of the chosen landmarks, turned.
struct Extent {
  double low[2] = {1e9, 1e9}, high[2] = {-1e9, -1e9};
};
Extent extent_of(const Numbers& marks, const std::vector<std::int64_t>& subset, double angle) {
  Extent e;
  for (const std::int64_t i : subset) {
    const double x = marks[static_cast<std::size_t>(3 * i)], y = marks[static_cast<std::size_t>(3 * i + 1)];
    const double turned[2] = {x * std::cos(angle) - y * std::sin(angle), x * std::sin(angle) + y * std::cos(angle)};
    for (int d = 0; d < 2; ++d) {
      e.low[d] = std::min(e.low[d], turned[d]);
      e.high[d] = std::max(e.high[d], turned[d]);
    }
  }
  return e;
}
Numbers as_four_by_four(const Matrix& m) {
  return {m[0][0], m[0][1], 0, m[0][2], m[1][0], m[1][1], 0, m[1][2], 0, 0, 1, 0, 0, 0, 0, 1};
}

TEST(Faces, FirstMatricesOfLandmarksAreProductsOfFour) {
  Rng rng(4);
  const Numbers marks = random_numbers(rng, 18, 20, 180);
  ModelWriter m;
  const int x = m.tensor("x", {1, 1, 1, 18}), y = m.tensor("y", {1, 4, 4});
  FlexWriter options;
  options.integer("dimensions", 3).integer("landmarks_range", 192).real("bbox_size_multiplier", 1.5F);
  options.integer("left_rotation_idx", 0).integer("right_rotation_idx", 3).list("subset", {0, 2, 4, 5, 1});
  options.list("input_hw", {96, 64}).list("output_hw", {16, 32});
  m.custom("Landmarks2TransformMatrix", {x}, {y}, options.bytes());
  const double angle = -std::atan((marks[10] - marks[1]) / (marks[9] - marks[0]));
  const Extent e = extent_of(marks, {0, 2, 4, 5, 1}, angle);
  const double middle[2] = {(e.low[0] + e.high[0]) / 2, (e.low[1] + e.high[1]) / 2}, c = std::cos(angle),
               s = std::sin(angle);
  const Matrix relative = {{{2.0 / 31, 0, -1}, {0, 2.0 / 15, -1}, {0, 0, 1}}};
  const Matrix scale = {
      {{(e.high[0] - e.low[0]) * 1.5 / 192, 0, 0}, {0, (e.high[1] - e.low[1]) * 1.5 / 192, 0}, {0, 0, 1}}};
  const Matrix turn = {{{c, s, (middle[0] * c + middle[1] * s) / 192 * 2 - 1},
                        {-s, c, (-middle[0] * s + middle[1] * c) / 192 * 2 - 1},
                        {0, 0, 1}}};
  const Matrix absolute = {{{63 / 2.0, 0, 63 / 2.0}, {0, 95 / 2.0, 95 / 2.0}, {0, 0, 1}}};
  expect_near(answers(m.bytes({x}, {y}), {marks}).at(0),
              as_four_by_four(times(times(absolute, turn), times(scale, relative))), "matrix");
}
TEST(Faces, SecondMatricesOfLandmarksAreProductsOfFour) {
  Rng rng(6);
  const Numbers marks = random_numbers(rng, 15, -3, 9);
  ModelWriter m;
  const int x = m.tensor("x", {1, 5, 3}), y = m.tensor("y", {1, 4, 4});
  FlexWriter options(8);
  options.list("subset_idxs", {4, 1, 2, 3}).integer("left_rotation_idx", 2).integer("right_rotation_idx", 1);
  options.real("target_rotation_radians", 0.5F).integer("output_height", 8).integer("output_width", 12);
  options.real("scale_x", 1.25F).real("scale_y", 0.75F);
  m.custom("Landmarks2TransformMatrix", {x}, {y}, options.bytes());
  const double angle = 0.5 - std::atan2(marks[4] - marks[7], marks[3] - marks[6]);
  const Extent e = extent_of(marks, {4, 1, 2, 3}, angle);
  const double middle[2] = {(e.low[0] + e.high[0]) / 2, (e.low[1] + e.high[1]) / 2}, c = std::cos(angle),
               s = std::sin(angle);
  const Matrix shift = {{{1, 0, middle[0] * c + middle[1] * s}, {0, 1, -middle[0] * s + middle[1] * c}, {0, 0, 1}}};
  const Matrix turn = {{{c, s, 0}, {-s, c, 0}, {0, 0, 1}}};
  const Matrix scale = {
      {{1.25 * (e.high[0] - e.low[0]) / 12, 0, 0}, {0, 0.75 * (e.high[1] - e.low[1]) / 8, 0}, {0, 0, 1}}};
  const Matrix back = {{{1, 0, -6}, {0, 1, -4}, {0, 0, 1}}};
  expect_near(answers(m.bytes({x}, {y}), {marks}).at(0), as_four_by_four(times(times(shift, turn), times(scale, back))),
              "matrix");
}

const Numbers kMatrix = {0.5, 0.25, 9, 1.5, -0.25, 0.75, 9, 2, 0, 0, 1, 0, 0, 0, 0, 1};

TEST(Faces, LandmarksAreMovedInTheirPlane) {
  ModelWriter second;
  int x = second.tensor("x", {1, 2, 3}), matrix = second.tensor("m", {1, 4, 4}), y = second.tensor("y", {1, 2, 3});
  second.custom("TransformLandmarks", {x, matrix}, {y}, {});
  EXPECT_EQ(answers(second.bytes({x, matrix}, {y}), {{2, 4, 7, -1, 0, 8}, kMatrix}).at(0),
            (Numbers{3.5, 4.5, 7, 1, 2.25, 8}));
  ModelWriter first;
  x = first.tensor("x", {1, 1, 1, 4}), matrix = first.tensor("m", {1, 4, 4}), y = first.tensor("y", {1, 1, 1, 4});
  first.custom("TransformLandmarks", {x, matrix}, {y}, FlexWriter().integer("dimensions", 2).real("scale", 2).bytes());
  EXPECT_EQ(answers(first.bytes({x, matrix}, {y}), {{2, 4, -1, 0}, kMatrix}).at(0), (Numbers{5, 6.5, 2.5, 4.25}));
}

/// By the operator's description: between four pixels, and 0 where the place is not between the outer ones.
Numbers plainly_moved(const Numbers& image, std::int64_t h, std::int64_t w, std::int64_t rows, std::int64_t columns,
                      double corner) {
  Numbers y;
  const auto pixel = [&](std::int64_t r, std::int64_t c) {
    return r < h && c < w ? image[static_cast<std::size_t>(r * w + c)] : 0;
  };
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) {
      const double across = static_cast<double>(c) + corner, down = static_cast<double>(r) + corner;
      const double at_x = kMatrix[0] * across + kMatrix[1] * down + kMatrix[3] - corner;
      const double at_y = kMatrix[4] * across + kMatrix[5] * down + kMatrix[7] - corner;
      const bool outside =
          at_x < 0 || at_y < 0 || at_x > static_cast<double>(w - 1) || at_y > static_cast<double>(h - 1);
      const double left = std::floor(at_x), top = std::floor(at_y), u = at_x - left, v = at_y - top;
      const auto i = static_cast<std::int64_t>(top), j = static_cast<std::int64_t>(left);
      y.push_back(outside ? 0
                          : (1 - v) * ((1 - u) * pixel(i, j) + u * pixel(i, j + 1)) +
                                v * ((1 - u) * pixel(i + 1, j) + u * pixel(i + 1, j + 1)));
    }
  return y;
}

TEST(Faces, ImagesAreMovedByAMatrix) {
  Rng rng(2);
  const Numbers image = random_numbers(rng, 6 * 5, -1, 1);
  for (const bool second : {false, true}) {
    ModelWriter m;
    const int x = m.tensor("x", {1, 6, 5, 1}), matrix = m.tensor("m", {1, 4, 4}), y = m.tensor("y", {1, 4, 7, 1});
    FlexWriter options;
    if (second) {
      options.integer("output_height", 4).integer("output_width", 7);
    } else {
      options.list("output_size", {4, 7}).text("mode", "bilinear");
    }
    m.custom(second ? "TransformTensorBilinear" : "TransformTensor", {x, matrix}, {y}, options.bytes());
    expect_near(answers(m.bytes({x, matrix}, {y}), {image, kMatrix}).at(0),
                plainly_moved(image, 6, 5, 4, 7, second ? 0.5 : 0), second ? "second" : "first");
  }
}

}  // namespace tflite_custom_test
}  // namespace whet::tflite
