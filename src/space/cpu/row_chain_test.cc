#include "space/cpu/row_chain.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/testing/random_cases.h"
#include "lower/testing/arguments.h"
#include "lower/testing/verify_passes.h"
#include "program/interpret.h"

namespace whet {
namespace row_chain_test {

Target avx2(int threads = 2) { return *parse_target(fmt::format("cpu -mcpu=haswell -threads={}", threads)); }

/// A picture of size x size pixels of `channels`, `padded` by one on each side; its name is p.
std::string padded(const std::string& name, const std::string& of, int size, int channels, const char* outside = "0f") {
  return fmt::format(
      "{0}(n, y, x, c) = select((y >= 1) && (y < {3}) && (x >= 1) && (x < {3}), {1}[n, (y - 1), (x - 1), c], {5}) for "
      "n "
      "in 1, y in {4}, x in {4}, c in {2}  # pad\n",
      name, of, channels, size + 1, size + 2, outside);
}
std::string relu(const std::string& name, const std::string& of, int size, int channels) {
  return fmt::format(
      "{0}(n, y, x, c) = max({1}[n, y, x, c], 0f) for n in 1, y in {2}, x in {2}, c in {3}  # elementwise\n", name, of,
      size, channels);
}
std::string pointwise(const std::string& name, const std::string& of, const std::string& weights, int size, int in,
                      int out) {
  return fmt::format(
      "{0}(n, y, x, o) += ({1}[n, y, x, c]*{2}[c, o]) for n in 1, y in {3}, x in {3}, o in {5}, c in {4}  # conv "
      "n:batch "
      "y:row x:column o:out_channel c:in_channel\n",
      name, of, weights, size, in, out);
}
std::string depthwise(const std::string& name, const std::string& of, const std::string& weights, int size, int stride,
                      int channels) {
  return fmt::format(
      "{0}(n, y, x, c) += ({1}[n, ((y*{5}) + i), ((x*{5}) + j), c]*{2}[i, j, c]) for n in 1, y in {3}, x in {3}, c in "
      "{4}, "
      "i in 3, j in 3  # depthwise n:batch y:row x:column c:channel i:tap j:tap\n",
      name, of, weights, size, channels, stride);
}
std::string convolution(const std::string& name, const std::string& of, const std::string& weights, int size, int in,
                        int out) {
  return fmt::format(
      "{0}(n, y, x, o) += ({1}[n, (y + i), (x + j), c]*{2}[i, j, c, o]) for n in 1, y in {3}, x in {3}, o in {5}, i in "
      "3, "
      "j in 3, c in {4}  # conv n:batch y:row x:column o:out_channel i:tap j:tap c:in_channel\n",
      name, of, weights, size, in, out);
}
std::string pool(const std::string& name, const std::string& of, int size, int stride, int channels) {
  return fmt::format(
      "{0}(n, y, x, c) max= {1}[n, ((y*{4}) + i), ((x*{4}) + j), c] for n in 1, y in {2}, x in {2}, c in {3}, i in 3, "
      "j in "
      "3  # pool n:batch y:row x:column c:channel i:tap j:tap\n",
      name, of, size, channels, stride);
}
std::string input(const std::string& name, const std::string& shape, bool constant = false) {
  return fmt::format("{} = PLACEHOLDER [{}]{}\n", name, shape, constant ? " const" : "");
}
std::string picture(int size, int channels) { return input("in", fmt::format("1, {0}, {0}, {1}", size, channels)); }

/// A depthwise convolution inside of a pointwise one.
std::string depthwise_inside(int size, int stride, int channels, int out) {
  const int small = (size + stride - 1) / stride;
  return picture(size, channels) + input("wd", fmt::format("3, 3, {}", channels), true) +
         input("wp", fmt::format("{}, {}", channels, out), true) + padded("p", "in", size, channels) +
         depthwise("d", "p", "wd", small, stride, channels) + relu("r", "d", small, channels) +
         pointwise("c", "r", "wp", small, channels, out) + relu("out", "c", small, out) + "return out\n";
}
/// A pointwise convolution inside of a depthwise one.
std::string pointwise_inside(int size, int stride, int in, int channels) {
  const int small = (size + stride - 1) / stride;
  return picture(size, in) + input("we", fmt::format("{}, {}", in, channels), true) +
         input("wd", fmt::format("3, 3, {}", channels), true) + pointwise("e", "in", "we", size, in, channels) +
         relu("er", "e", size, channels) + padded("p", "er", size, channels) +
         depthwise("d", "p", "wd", small, stride, channels) + relu("out", "d", small, channels) + "return out\n";
}
/// An inverted bottleneck.
std::string bottleneck(int size, int stride, int in, int middle, int out) {
  const int small = (size + stride - 1) / stride;
  return picture(size, in) + input("we", fmt::format("{}, {}", in, middle), true) +
         input("wd", fmt::format("3, 3, {}", middle), true) + input("wp", fmt::format("{}, {}", middle, out), true) +
         pointwise("e", "in", "we", size, in, middle) + relu("er", "e", size, middle) +
         padded("p", "er", size, middle) + depthwise("d", "p", "wd", small, stride, middle) +
         relu("r", "d", small, middle) + pointwise("c", "r", "wp", small, middle, out) + "return c\n";
}
std::string two_convolutions(int size, int in, int middle, int out) {
  return picture(size, in) + input("wa", fmt::format("3, 3, {}, {}", in, middle), true) +
         input("wp", fmt::format("{}, {}", middle, out), true) + padded("p", "in", size, in) +
         convolution("a", "p", "wa", size, in, middle) + relu("r", "a", size, middle) +
         pointwise("c", "r", "wp", size, middle, out) + "return c\n";
}
std::string pool_behind(int size, int in, int out) {
  return picture(size + 2, in) + input("wa", fmt::format("3, 3, {}, {}", in, out), true) +
         convolution("a", "in", "wa", size, in, out) + relu("r", "a", size, out) +
         padded("q", "r", size, out, "-1000f") + pool("m", "q", (size + 1) / 2, 2, out) + "return m\n";
}
/// A pointwise convolution behind a pool.
std::string pool_inside(int size, int channels, int out) {
  return picture(size, channels) + input("wp", fmt::format("{}, {}", channels, out), true) +
         padded("q", "in", size, channels, "-1000f") + pool("m", "q", size, 1, channels) +
         pointwise("c", "m", "wp", size, channels, out) + relu("out", "c", size, out) + "return out\n";
}
/// A convolution, a pool, a pointwise convolution.
std::string pool_between(int size, int in, int middle, int out) {
  const int small = (size - 3) / 2 + 1;
  return picture(size + 2, in) + input("wa", fmt::format("3, 3, {}, {}", in, middle), true) +
         input("wp", fmt::format("{}, {}", middle, out), true) + convolution("a", "in", "wa", size, in, middle) +
         relu("r", "a", size, middle) + pool("m", "r", small, 2, middle) +
         pointwise("c", "m", "wp", small, middle, out) + "return c\n";
}
/// A padded depthwise convolution behind a padded one.
std::string padded_twice(int size, int stride, int in, int channels) {
  return picture(size, in) + input("wa", fmt::format("3, 3, {}, {}", in, channels), true) +
         input("wd", fmt::format("3, 3, {}", channels), true) + padded("p", "in", size, in) +
         convolution("a", "p", "wa", size, in, channels) + relu("r", "a", size, channels) +
         padded("q", "r", size, channels) + depthwise("d", "q", "wd", (size + stride - 1) / stride, stride, channels) +
         relu("out", "d", (size + stride - 1) / stride, channels) + "return out\n";
}
/// A network's beginning: three channels of a picture in the file's order, a convolution of stride 2, a depthwise one, a pointwise one.
std::string beginning(int size, int channels, int out) {
  const int half = size / 2;
  return input("in", fmt::format("1, 3, {0}, {0}", size)) + input("wa", fmt::format("3, 3, 3, {}", channels), true) +
         input("wd", fmt::format("3, 3, {}", channels), true) +
         input("wp", fmt::format("{}, {}", channels, out), true) +
         fmt::format("t(n, y, x, c) = in[n, c, y, x] for n in 1, y in {0}, x in {0}, c in 3  # injective\n", size) +
         padded("p", "t", size, 3) +
         fmt::format(
             "a(n, y, x, o) += (p[n, ((y*2) + i), ((x*2) + j), c]*wa[i, j, c, o]) for n in 1, y in {0}, x in {0}, o "
             "in {1}, i in 3, j in 3, c in 3  # conv n:batch y:row x:column o:out_channel i:tap j:tap c:in_channel\n",
             half, channels) +
         relu("r", "a", half, channels) + padded("q", "r", half, channels) +
         depthwise("d", "q", "wd", half, 1, channels) + relu("s", "d", half, channels) +
         pointwise("c", "s", "wp", half, channels, out) + "return c\n";
}

ComputeDag dag_of(const std::string& text) {
  const auto dag = parse_dag(text);
  EXPECT_TRUE(dag.ok()) << dag.error().message << "\n" << text;
  return dag.ok() ? *dag : ComputeDag();
}

/// The largest difference of an interpreted schedule from the definition.
Result<double> difference(const ComputeDag& dag, const LoopTree& tree, const Target& target, std::uint64_t seed) {
  WHET_TRY(const Lowered lowered, lower(tree, target, {}, testing::verify_pass));
  Rng rng(seed);
  std::vector<Tensor> inputs;
  for (const Op& op : dag.ops)
    if (op.is_placeholder()) inputs.push_back(Tensor::random({op.dtype, op.shape}, rng));
  WHET_TRY(std::vector<Tensor> arguments, testing::arguments_of(lowered, dag, inputs));
  InterpretOptions options;
  options.workers = target.threads;
  WHET_RETURN_IF_ERROR(interpret(lowered.program, arguments, options));
  return testing::worst_output(lowered, dag, inputs, arguments);
}

const std::vector<std::string>& chains() {
  static const std::vector<std::string> kChains = {
      depthwise_inside(7, 1, 16, 24), depthwise_inside(9, 2, 24, 16), bottleneck(7, 1, 8, 16, 8),
      bottleneck(8, 2, 8, 24, 16),    two_convolutions(7, 8, 16, 24), pool_behind(9, 4, 16),
      pointwise_inside(7, 1, 8, 40),  pointwise_inside(8, 2, 4, 48),  pool_inside(7, 24, 16),
      pool_between(9, 4, 16, 8),      padded_twice(7, 1, 4, 16),      padded_twice(8, 2, 4, 24),
      beginning(16, 16, 8),
  };
  return kChains;
}

TEST(RowChain, IsASketchOfEveryChain) {
  for (const std::string& text : chains())
    for (int threads : {1, 2, 3}) EXPECT_TRUE(row_chain_sketch(dag_of(text), avx2(threads)).has_value()) << text;
}

TEST(RowChain, ComputesTheRightAnswers) {
  constexpr int kSamples = testing::kSanitized ? 2 : 8;
  int lowered = 0;
  for (const std::string& text : chains()) {
    const ComputeDag dag = dag_of(text);
    const auto sketch = row_chain_sketch(dag, avx2());
    ASSERT_TRUE(sketch.has_value()) << text;
    const DesignSpace space(dag, {*sketch});
    Rng rng(3);
    for (int i = 0; i < kSamples; ++i) {
      const Candidate candidate = i == 0 ? space.default_candidate() : space.sample(rng);
      const auto scheduled = space.schedule(candidate);
      ASSERT_TRUE(scheduled.ok()) << to_json(candidate) << ": " << scheduled.error().message << "\n" << text;
      const auto worst = difference(dag, scheduled->tree, avx2(), static_cast<std::uint64_t>(i));
      ASSERT_TRUE(worst.ok()) << to_json(candidate) << ": " << worst.error().message << "\n"
                              << to_text(scheduled->tree);
      EXPECT_LT(*worst, 1e-4) << to_json(candidate) << "\n" << to_text(scheduled->tree);
      ++lowered;
    }
  }
  EXPECT_EQ(lowered, kSamples * static_cast<int>(chains().size()));
}

TEST(RowChain, KeepsRowsThatTheNextBlockReads) {
  const ComputeDag dag = dag_of(bottleneck(8, 1, 8, 16, 8));
  const DesignSpace space(dag, {*row_chain_sketch(dag, avx2())});
  Candidate candidate = space.default_candidate();
  candidate.choices["rows"] = {1}, candidate.choices["block"] = {4};
  const auto scheduled = space.schedule(candidate);
  ASSERT_TRUE(scheduled.ok()) << scheduled.error().message;
  const std::string text = to_text(scheduled->tree);
  EXPECT_NE(text.find("er rolled along y.1\n"), std::string::npos) << text;
  // What is read once is not kept.
  EXPECT_EQ(text.find("r rolled along", text.find("er rolled") + 2), std::string::npos) << text;
}

/// The largest difference of the schedules with these groups and blocks; how many there were.
int check_groups(const std::string& text, const std::vector<std::int64_t>& groups,
                 const std::vector<std::int64_t>& blocks) {
  const ComputeDag dag = dag_of(text);
  const DesignSpace space(dag, {*row_chain_sketch(dag, avx2())});
  int checked = 0;
  for (const std::int64_t group : groups)
    for (const std::int64_t block : blocks) {
      Candidate candidate = space.default_candidate();
      for (const char* tile : {"oc", "oc0", "oc1"})
        if (candidate.choices.contains(tile)) candidate.choices[tile] = {8};
      candidate.choices["group"] = {group}, candidate.choices["block"] = {block}, candidate.choices["rows"] = {1};
      if (!space.contains(candidate).ok()) continue;
      const auto scheduled = space.schedule(candidate);
      EXPECT_TRUE(scheduled.ok()) << scheduled.error().message << to_json(candidate);
      if (!scheduled.ok()) continue;
      const auto worst = difference(dag, scheduled->tree, avx2(), 5);
      EXPECT_TRUE(worst.ok() && *worst < 1e-4) << (worst.ok() ? std::to_string(*worst) : worst.error().message) << "\n"
                                               << to_text(scheduled->tree);
      ++checked;
    }
  return checked;
}

TEST(RowChain, GoesThroughGroupsOfChannels) {
  // 72 channels are 9 groups, or 5 of which the last begins at 56.
  EXPECT_EQ(check_groups(pointwise_inside(8, 1, 8, 72), {8, 16}, {4, 8}), 4);
}
TEST(RowChain, AddsUpGroupsOfChannels) {
  EXPECT_EQ(check_groups(bottleneck(8, 1, 8, 32, 16), {8, 16}, {2, 4}), 4);
  EXPECT_EQ(check_groups(bottleneck(8, 2, 8, 32, 16), {8, 16}, {2}), 2);
  EXPECT_EQ(check_groups(depthwise_inside(8, 1, 32, 16), {8, 16}, {4}), 2);
}
TEST(RowChain, GoesThroughGroupsOfPaddedRowsOfPaddedRows) {
  EXPECT_EQ(check_groups(beginning(16, 32, 16), {8, 16}, {2, 4}), 4);
  EXPECT_EQ(check_groups(padded_twice(8, 1, 4, 32), {8, 16}, {2, 4}), 4);
}
TEST(RowChain, UnrollsTheThreeChannelsOfAPicture) {
  const DesignSpace space(dag_of(beginning(16, 32, 16)), {*row_chain_sketch(dag_of(beginning(16, 32, 16)), avx2())});
  EXPECT_EQ(space.default_candidate().choices.at("ic0"), Choice{3});
}
TEST(RowChain, AddsUpNoRowTwice) {
  // Of 7 rows in blocks of 4, two workers would add up the fourth one.
  EXPECT_EQ(check_groups(bottleneck(7, 1, 8, 32, 16), {8}, {4}), 0);
  EXPECT_EQ(check_groups(bottleneck(7, 1, 8, 32, 16), {8}, {1}), 1);
}

TEST(RowChain, IsForNothingElse) {
  const std::string one =
      picture(8, 8) + input("wp", "8, 16", true) + pointwise("c", "in", "wp", 8, 8, 16) + "return c\n";
  EXPECT_FALSE(row_chain_sketch(dag_of(one), avx2()).has_value());
  // The second one reads nothing of the first.
  const std::string beside = picture(8, 8) + input("wa", "8, 16", true) + input("wb", "8, 16", true) +
                             pointwise("a", "in", "wa", 8, 8, 16) + pointwise("b", "in", "wb", 8, 8, 16) +
                             "out(n, y, x, c) = (a[n, y, x, c] + b[n, y, x, c]) for n in 1, y in 8, x in 8, c in 16  # "
                             "elementwise\nreturn out\n";
  EXPECT_FALSE(row_chain_sketch(dag_of(beside), avx2()).has_value());
}

}  // namespace row_chain_test
}  // namespace whet
