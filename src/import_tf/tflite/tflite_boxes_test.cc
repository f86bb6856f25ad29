#include <gtest/gtest.h>

#include <cstring>

#include "import_tf/tflite/testing/answers.h"
#include "import_tf/tflite/testing/flat_writer.h"
#include "ops/evaluate_graph.h"

/// Operators that choose boxes or remember places.
namespace whet::tflite {
namespace tflite_boxes_test {

/// Up to six of four boxes, of which two overlap by exactly a half.
std::string chooser(int code, float sigma = 0) {
  ModelWriter m;
  const int boxes = m.tensor("boxes", {4, 4}), scores = m.tensor("scores", {4});
  const int most = m.constant<std::int32_t>("most", {}, 2, {6}), overlap = m.constant<float>("overlap", {}, 0, {0.5F});
  const int least = m.constant<float>("least", {}, 0, {0.1F}), soft = m.constant<float>("sigma", {}, 0, {sigma});
  const int places = m.tensor("places", {6}, 2), best = m.tensor("best", {6}), number = m.tensor("number", {}, 2);
  if (code == 120) {
    m.operation(code, {boxes, scores, most, overlap, least}, {places, number});
    return m.bytes({boxes, scores}, {places, number});
  }
  m.operation(code, {boxes, scores, most, overlap, least, soft}, {places, best, number});
  return m.bytes({boxes, scores}, {places, best, number});
}
// The second has half of the first; the third has its corners the other way round and is alone; the last is too bad.
const std::vector<Numbers> kGiven = {{0, 0, 2, 2, 0, 0, 1, 2, 9, 9, 7, 7, 4, 4, 5, 5}, {0.5, 0.25, 0.75, 0.0625}};

TEST(TfliteBoxes, AreChosenAndFilledUpWithZeros) {
  EXPECT_EQ(answers(chooser(120), kGiven), (std::vector<Numbers>{{2, 0, 0, 0, 0, 0}, {2}}));
  EXPECT_EQ(answers(chooser(121), kGiven), (std::vector<Numbers>{{2, 0, 0, 0, 0, 0}, {0.75, 0.5, 0, 0, 0, 0}, {2}}));
  EXPECT_NE(said(chooser(121, 0.5F)).find("has a sigma of 0.5"), std::string::npos) << said(chooser(121, 0.5F));
}

std::vector<std::uint8_t> pool_options(const std::vector<std::int32_t>& numbers) {
  std::vector<std::uint8_t> bytes(numbers.size() * 4);
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

/// 2x2 windows of 1x4x2x1, and the way back.
std::string there_and_back(const std::vector<std::int32_t>& options) {
  ModelWriter m;
  const int x = m.tensor("x", {1, 4, 2, 1}), top = m.tensor("top", {1, 2, 1, 1}),
            place = m.tensor("place", {1, 2, 1, 1});
  const int y = m.tensor("y", {1, 4, 2, 1});
  m.custom("MaxPoolingWithArgmax2D", {x}, {top, place}, pool_options(options));
  m.custom("MaxUnpooling2D", {top, place}, {y}, pool_options(options));
  return m.bytes({x}, {top, place, y});
}

TEST(MediaPipe, MaximaGoBackToTheirPlaces) {
  const auto found = answers(there_and_back({2, 2, 2, 2, 2, 0}), {{1, 3, 2, 0, 4, 5, 8, 7}});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0], (Numbers{3, 8}));
  EXPECT_EQ(found[1], (Numbers{double(1.1F), double(2.1F)}));
  EXPECT_EQ(found[2], (Numbers{0, 3, 0, 0, 0, 0, 8, 0}));
}
TEST(MediaPipe, WindowsThatOverlapAreRefused) {
  EXPECT_EQ(said(there_and_back({2, 1, 1, 2, 2, 0})),
            "top (MaxPoolingWithArgmax2D): has windows of 2 rows and 2 columns by steps of 1 and 1; windows of 1 to 64 "
            "pixels "
            "beside each other are supported");
  EXPECT_EQ(said(there_and_back({2, 2})), "top (MaxPoolingWithArgmax2D): has 8 bytes of options; expected 24 or more");
}

}  // namespace tflite_boxes_test
}  // namespace whet::tflite
