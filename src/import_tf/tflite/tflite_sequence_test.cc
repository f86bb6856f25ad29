#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "import_tf/tflite/testing/answers.h"
#include "import_tf/tflite/testing/flat_writer.h"
#include "ops/evaluate_graph.h"

/// Sequences of both ways, images in space, and what is chosen by values, held against plain loops.
namespace whet::tflite {
namespace tflite_sequence_test {

void expect_near(const Numbers& found, const Numbers& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-5) << i;
}
std::vector<float> random_floats(Rng& rng, std::size_t count) {
  std::vector<float> numbers;
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(static_cast<float>(rng.uniform(-1, 1)));
  return numbers;
}
Numbers doubles(const std::vector<float>& numbers) { return {numbers.begin(), numbers.end()}; }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

constexpr std::size_t kSteps = 3, kUnits = 2, kFeatures = 2;

/// Weights of one way: of each gate i f c o.
struct Way {
  std::vector<std::vector<float>> inputs, states, biases;
  double state_steps = 0, cell_steps = 0;  ///< what they are held in between steps; 0: floats
  static double held(double x, double steps) { return steps == 0 ? x : std::nearbyint(x / steps) * steps; }
  explicit Way(Rng& rng) {
    for (int gate = 0; gate < 4; ++gate) {
      inputs.push_back(random_floats(rng, kUnits * kFeatures));
      states.push_back(random_floats(rng, kUnits * kUnits));
      biases.push_back(random_floats(rng, kUnits));
    }
  }
  /// The states of all steps of x [steps, features], in the order of the steps.
  std::vector<Numbers> run(const Numbers& x, bool backwards) const {
    Numbers state(kUnits, 0), cell(kUnits, 0);
    std::vector<Numbers> rows(kSteps);
    for (std::size_t k = 0; k < kSteps; ++k) {
      const std::size_t step = backwards ? kSteps - 1 - k : k;
      Numbers next(kUnits);
      for (std::size_t u = 0; u < kUnits; ++u) {
        double gates[4];
        for (std::size_t g = 0; g < 4; ++g) {
          gates[g] = double(biases[g][u]);
          for (std::size_t i = 0; i < kFeatures; ++i)
            gates[g] += double(inputs[g][u * kFeatures + i]) * x[step * kFeatures + i];
          for (std::size_t i = 0; i < kUnits; ++i) gates[g] += double(states[g][u * kUnits + i]) * state[i];
        }
        cell[u] = held(sigmoid(gates[1]) * cell[u] + sigmoid(gates[0]) * std::tanh(gates[2]), cell_steps);
        next[u] = held(sigmoid(gates[3]) * std::tanh(cell[u]), state_steps);
      }
      state = next;
      rows[step] = state;
    }
    return rows;
  }
};

TEST(Integers, OfAnLstmAreHeldBetweenSteps) {
  constexpr double kScale = 1.0 / 64, kState = 1.0 / 128, kCell = 1.0 / 2048;
  constexpr std::int64_t kZero = 3, kStateZero = -5;
  Rng rng(6);
  const auto integers = [&](std::size_t count, std::int64_t most) {
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < count; ++i) numbers.push_back(rng.between(-most, most));
    return numbers;
  };
  ModelWriter m;
  const int data = m.tensor("x", {kSteps, 1, kFeatures}, 9);
  m.quantize(data, {kScale}, {kZero});
  std::vector<std::int32_t> inputs(24, -1);
  inputs[0] = data;
  Way way(rng);
  for (std::size_t g = 0; g < 4; ++g) {
    const auto add = [&](std::size_t place, std::vector<float>& meant, double scale, std::int64_t most) {
      const std::vector<std::int64_t> numbers = integers(meant.size(), most);
      const std::string name = std::to_string(place + g);
      const bool is_bias = most > 127;
      inputs[place + g] = is_bias ? m.constant<std::int32_t>(name, {2}, 2, {numbers.begin(), numbers.end()})
                                  : m.constant<std::int8_t>(name, {2, 2}, 9, {numbers.begin(), numbers.end()});
      m.quantize(inputs[place + g], {static_cast<float>(scale)}, {0});
      for (std::size_t i = 0; i < meant.size(); ++i) meant[i] = static_cast<float>(double(numbers[i]) * scale);
    };
    add(1, way.inputs[g], kScale, 127);
    add(5, way.states[g], kScale, 127);
    add(12, way.biases[g], kScale * kScale, 4096);
  }
  inputs[18] = m.tensor("h", {1, 2}, 9), inputs[19] = m.tensor("c", {1, 2}, 7);
  m.quantize(inputs[18], {kState}, {kStateZero});
  m.quantize(inputs[19], {kCell}, {0});
  for (const std::size_t i : {18, 19}) m.info(inputs[i]).number<std::uint8_t>(5, 1);
  const int y = m.tensor("y", {kSteps, 1, kUnits}, 9);
  m.quantize(y, {kState}, {kStateZero});
  m.operation(44, inputs, {y}, FlatRecord().number<std::int8_t>(0, 4).number<std::uint8_t>(3, 1));
  Numbers given, x;
  for (const std::int64_t number : integers(kSteps * kFeatures, 120)) {
    given.push_back(double(number));
    x.push_back(double(number - kZero) * kScale);
  }
  way.state_steps = kState, way.cell_steps = kCell;
  Numbers wanted;
  for (const Numbers& row : way.run(x, false))
    for (const double h : row) wanted.push_back(h / kState + kStateZero);
  const auto found = answers(m.bytes({data}, {y}), {given});
  ASSERT_EQ(found.size(), 1U);
  expect_near(found[0], wanted);
}
TEST(BothWays, OfAnLstmAreThoseOfPlainLoops) {
  Rng rng(5);
  const Way ways[] = {Way(rng), Way(rng)};
  const Numbers x = doubles(random_floats(rng, kSteps * kFeatures));
  for (const bool merged : {true, false}) {
    ModelWriter m;
    const int data = m.tensor("x", {3, 1, 2});
    std::vector<std::int32_t> inputs(48, -1);
    inputs[0] = data;
    for (std::size_t w = 0; w < 2; ++w)
      for (std::size_t g = 0; g < 4; ++g) {
        const std::string name = std::to_string(w) + std::to_string(g);
        inputs[17 * w + 1 + g] = m.constant<float>("i" + name, {2, 2}, 0, ways[w].inputs[g]);
        inputs[17 * w + 5 + g] = m.constant<float>("s" + name, {2, 2}, 0, ways[w].states[g]);
        inputs[17 * w + 12 + g] = m.constant<float>("b" + name, {2}, 0, ways[w].biases[g]);
      }
    for (std::size_t i = 35; i < 39; ++i) {
      inputs[i] = m.tensor("state" + std::to_string(i), {1, 2});
      m.info(inputs[i]).number<std::uint8_t>(5, 1);
    }
    std::vector<int> outputs = {m.tensor("y", {3, 1, merged ? 4 : 2})};
    if (!merged) outputs.push_back(m.tensor("z", {3, 1, 2}));
    FlatRecord options;
    options.number<std::int8_t>(0, 4).number<std::uint8_t>(3, merged ? 1 : 0).number<std::uint8_t>(4, 1);
    m.operation(52, inputs, outputs, options);
    const auto found = answers(m.bytes({data}, outputs), {x});
    const auto forth = ways[0].run(x, false), back = ways[1].run(x, true);
    Numbers both, first, second;
    for (std::size_t k = 0; k < kSteps; ++k) {
      for (const Numbers* row : {&forth[k], &back[k]}) both.insert(both.end(), row->begin(), row->end());
      first.insert(first.end(), forth[k].begin(), forth[k].end());
      second.insert(second.end(), back[k].begin(), back[k].end());
    }
    ASSERT_EQ(found.size(), merged ? 1U : 2U);
    expect_near(found[0], merged ? both : first);
    if (!merged) expect_near(found[1], second);
  }
}
TEST(BothWays, OfASimpleCellAreThoseOfPlainLoops) {
  // One unit: y = relu(w x + v y + b), batch first.
  ModelWriter m;
  const int x = m.tensor("x", {1, 3, 1});
  std::vector<std::int32_t> inputs = {x};
  for (const float sign : {1.0F, -1.0F}) {
    const std::string name = sign > 0 ? "f" : "b";
    inputs.push_back(m.constant<float>("w" + name, {1, 1}, 0, {sign}));
    inputs.push_back(m.constant<float>("v" + name, {1, 1}, 0, {0.5F}));
    inputs.push_back(m.constant<float>("c" + name, {1}, 0, {0.25F}));
    inputs.push_back(m.tensor("h" + name, {1, 1}));
    m.info(inputs.back()).number<std::uint8_t>(5, 1);
  }
  inputs.resize(12, -1);
  const int y = m.tensor("y", {1, 3, 2});
  m.operation(46, inputs, {y},
              FlatRecord().number<std::uint8_t>(0, 0).number<std::int8_t>(1, 1).number<std::uint8_t>(2, 1));
  // Forth: 1.25, 0.625 - 2 + 0.25 < 0, 3.25; back: from -3 + 0.25 < 0, 2.25, -1 + 1.125 + 0.25.
  EXPECT_EQ(answers(m.bytes({x}, {y}), {{1, -2, 3}}).at(0), (Numbers{1.25, 0.375, 0, 2.25, 3.25, 0}));
}

TEST(Bits, AreCombinedAndMoved) {
  ModelWriter m;
  const int x = m.tensor("x", {3}, 9), by = m.tensor("by", {3}, 9), y = m.tensor("y", {3}, 9),
            z = m.tensor("z", {3}, 9);
  m.operation(160, {x, by}, {y});
  m.operation(161, {x, by}, {z});
  const auto found = answers(m.bytes({x, by}, {y, z}), {{12, -7, -128}, {5, 1, 9}});
  EXPECT_EQ(found.at(0), (Numbers{9, -8, -119}));
  EXPECT_EQ(found.at(1), (Numbers{0, -4, -1}));
}
TEST(Buckets, BeginAtTheirBounds) {
  ModelWriter m;
  const int x = m.tensor("x", {2, 2}), y = m.tensor("y", {2, 2}, 2);
  m.operation(147, {x}, {y}, FlatRecord().numbers<float>(0, {0, 10, 100}));
  EXPECT_EQ(answers(m.bytes({x}, {y}), {{-5, 10, 99, 1000}}).at(0), (Numbers{0, 2, 2, 3}));
}

TEST(Space, ConvolutionsAreThoseOfPlainLoops) {
  Rng rng(2);
  constexpr std::int64_t kDepth = 3, kRows = 4, kColumns = 3, kIn = 2, kOut = 3;
  const std::vector<float> weights = random_floats(rng, 2 * 3 * 1 * kIn * kOut), bias = random_floats(rng, kOut);
  const Numbers x = doubles(random_floats(rng, kDepth * kRows * kColumns * kIn));
  ModelWriter m;
  const int data = m.tensor("x", {1, 3, 4, 3, 2}), w = m.constant<float>("w", {2, 3, 1, 2, 3}, 0, weights),
            b = m.constant<float>("b", {3}, 0, bias), y = m.tensor("y", {1, 3, 2, 3, 3});
  m.operation(
      132, {data, w, b}, {y},
      FlatRecord().number<std::int8_t>(0, 0).number<std::int32_t>(1, 1).number<std::int32_t>(2, 1).number<std::int32_t>(
          3, 2));
  Numbers wanted;
  for (std::int64_t d = 0; d < 3; ++d)
    for (std::int64_t r = 0; r < 2; ++r)
      for (std::int64_t c = 0; c < 3; ++c)
        for (std::int64_t o = 0; o < kOut; ++o) {
          double sum = double(bias[static_cast<std::size_t>(o)]);
          for (std::int64_t i = 0; i < 2; ++i)
            for (std::int64_t j = 0; j < 3; ++j) {
              // SAME: one plane behind, and of four rows by steps of two one behind.
              const std::int64_t z = d + i, row = 2 * r + j;
              if (z >= kDepth || row >= kRows) continue;
              for (std::int64_t k = 0; k < kIn; ++k)
                sum += x[static_cast<std::size_t>(((z * kRows + row) * kColumns + c) * kIn + k)] *
                       double(weights[static_cast<std::size_t>(((i * 3 + j) * kIn + k) * kOut + o)]);
            }
          wanted.push_back(sum);
        }
  expect_near(answers(m.bytes({data}, {y}), {x}).at(0), wanted);
}
TEST(Pools, OfSquaresAreRootsOfTheirMeans) {
  ModelWriter m;
  const int x = m.tensor("x", {1, 2, 3, 1}), y = m.tensor("y", {1, 2, 3, 1});
  m.operation(12, {x}, {y},
              FlatRecord()
                  .number<std::int8_t>(0, 0)
                  .number<std::int32_t>(1, 1)
                  .number<std::int32_t>(2, 1)
                  .number<std::int32_t>(3, 2)
                  .number<std::int32_t>(4, 2));
  // Windows at the edge have fewer pixels.
  const auto root = [](const Numbers& pixels) {
    double sum = 0;
    for (const double pixel : pixels) sum += pixel * pixel;
    return std::sqrt(sum / double(pixels.size()));
  };
  expect_near(answers(m.bytes({x}, {y}), {{1, 2, 3, 4, 5, 6}}).at(0),
              {root({1, 2, 4, 5}), root({2, 3, 5, 6}), root({3, 6}), root({4, 5}), root({5, 6}), 6});
}
TEST(Chosen, PlacesAndDifferentElementsArePadded) {
  ModelWriter m;
  const int x = m.tensor("x", {5}, 2), y = m.tensor("y", {}, 2), places = m.tensor("places", {5}, 2),
            z = m.tensor("z", {}, 4);
  m.operation(103, {x}, {y, places});
  m.operation(109, {x}, {z});
  const auto found = answers(m.bytes({x}, {y, places, z}), {{7, 0, 7, 3, 0}});
  ASSERT_EQ(found.size(), 5U);  // and two numbers
  EXPECT_EQ(Numbers(found[0].begin(), found[0].begin() + 3), (Numbers{7, 0, 3}));
  EXPECT_EQ(found[1], (Numbers{0, 1, 0, 2, 1}));
  EXPECT_EQ(found[2], (Numbers{0, 2, 3, -1, -1}));
  EXPECT_EQ(found[3], (Numbers{3}));
  EXPECT_EQ(found[4], (Numbers{3}));
}

}  // namespace tflite_sequence_test
}  // namespace whet::tflite
