#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/testing/random_cases.h"
#include "codegen/testing/answers.h"
#include "lower/testing/verify_passes.h"
#include "space/cpu/attention.h"
#include "space/cpu/author.h"
#include "space/cpu/rows.h"
#include "space/rules/derive.h"
#include "space/space.h"

namespace whet {
namespace {

ComputeDag dag(const std::string& text) { return parse_dag(text).value(); }

/// A 3x3 convolution of stride 1 with padding, bias and relu, as large as its input.
ComputeDag convolution(int batch, int rows, int columns, int in, int out, int dilation = 1) {
  const auto n = [](int value) { return std::to_string(value); };
  const std::string d = n(dilation);
  const std::string size = "n in " + n(batch) + ", oh in " + n(rows) + ", ow in " + n(columns) + ", oc in " + n(out);
  return dag("x = PLACEHOLDER [" + n(batch) + ", " + n(rows) + ", " + n(columns) + ", " + n(in) +
             "]\nw = PLACEHOLDER [3, 3, " + n(in) + ", " + n(out) + "] const\nbias = PLACEHOLDER [" + n(out) +
             "] const\npad(n, y, x_, c) = select((y >= " + d + ") && (y < " + n(rows + dilation) + ") && (x_ >= " + d +
             ") && (x_ < " + n(columns + dilation) + "), x[n, (y - " + d + "), (x_ - " + d + "), c], 0f) for n in " +
             n(batch) + ", y in " + n(rows + 2 * dilation) + ", x_ in " + n(columns + 2 * dilation) + ", c in " +
             n(in) + "  # pad n:batch y:row x_:column c:channel\nconv(n, oh, ow, oc) += (pad[n, (oh + (rh*" + d +
             ")), (ow + (rw*" + d + ")), rc]*w[rh, rw, rc, oc]) for " + size + ", rh in 3, rw in 3, rc in " + n(in) +
             "  # conv n:batch oh:row ow:column oc:out_channel rh:tap rw:tap rc:in_channel\nout(n, oh, ow, oc) = "
             "max((conv[n, oh, ow, oc] + bias[oc]), 0f) for " +
             size + "  # elementwise\nreturn out\n");
}

/// The largest errors of sampled candidates of each template, which must all be built and right; sketches that rules
/// derived are held to those of the template that computes the same way.
void expect_right(const ComputeDag& task, const std::map<std::string, double>& bounds, int samples) {
  const Evaluated want = *evaluated(task, 7);
  std::set<std::string> seen;
  for (Target target : runnable_targets()) {
    target.threads = 2;
    const DesignSpace space = make_space(task, target);
    Rng rng(3);
    std::vector<Candidate> candidates;
    for (const Sketch& sketch : space.sketches()) candidates.push_back({sketch.name, sketch.preferred});
    for (int i = 0; i < testing::random_cases(samples); ++i) candidates.push_back(space.sample(rng));
    for (const Candidate& c : candidates) {
      SCOPED_TRACE(to_json(c) + " for " + to_string(target));
      const Result<Steps> steps = space.steps(c);
      ASSERT_TRUE(steps.ok()) << steps.error().message;
      const Result<Lowered> lowered = lower(*replay(task, *steps), target, {}, testing::verify_pass);
      ASSERT_TRUE(lowered.ok()) << lowered.error().message;
      const Result<double> error = error_of(task, *lowered, target, want);
      ASSERT_TRUE(error.ok()) << error.error().message;
      const std::string kind =
          c.choices.contains("m") ? c.sketch + std::to_string(c.choices.at("m").front()) : c.sketch;
      const auto bound =
          std::find_if(bounds.begin(), bounds.end(), [&](const auto& known) { return kind.starts_with(known.first); });
      EXPECT_LT(*error, bound != bounds.end() ? bound->second : 2e-6);
      if (bounds.contains(kind)) seen.insert(kind);
    }
  }
  if (!testing::kSanitized) {
    EXPECT_EQ(seen.size(), bounds.size()) << "every kind of candidate was tried";
  }
}

const std::map<std::string, double> kBounds{{"tile+pack", 2e-6}, {"winograd2", 3e-6}, {"winograd4", 3e-5}};

TEST(Templates, ComputeConvolutionsOfWholeTiles) { expect_right(convolution(1, 8, 8, 32, 48), kBounds, 10); }
TEST(Templates, ComputeConvolutionsWithTailsOfTilesAndVectors) {
  expect_right(convolution(1, 7, 9, 24, 40), kBounds, 14);
  expect_right(convolution(2, 5, 6, 19, 33), kBounds, 14);
}

TEST(Templates, ComputeDilatedConvolutions) {
  expect_right(convolution(1, 16, 8, 24, 40, 2), kBounds, 14);
  expect_right(convolution(2, 13, 14, 19, 33, 3), kBounds, 14);
}

/// Single pixels of a batch, scaled channel by channel.
TEST(Templates, ComputeConvolutionsWithScaledWeights) {
  const auto scaled = [](int batch, int out) {
    const std::string n = std::to_string(batch), oc = std::to_string(out);
    return dag("x = PLACEHOLDER [" + n + ", 7, 9, 24]\ns = PLACEHOLDER [" + n + ", 1, 1, 24]\nw = PLACEHOLDER [24, " +
               oc + "] const\nconv(n, y, x_, oc) += (x[n, y, x_, rc]*(s[n, 0, 0, rc]*w[rc, oc])) for n in " + n +
               ", y in 7, x_ in 9, oc in " + oc +
               ", rc in 24  # conv n:batch y:row x_:column oc:out_channel rc:in_channel\nreturn conv\n");
  };
  expect_right(scaled(1, 24), {{"tile+pack", 2e-6}}, 10);
  expect_right(scaled(2, 40), {{"tile+pack", 2e-6}}, 10);
}

TEST(Templates, ComputeConvolutionsOfPicturesWithChannelsFirst) {
  expect_right(
      dag("x = PLACEHOLDER [1, 3, 18, 22]\nw = PLACEHOLDER [3, 3, 3, 40] const\n"
          "t(n, y, x_, c) = x[n, c, y, x_] for n in 1, y in 18, x_ in 22, c in 3  # injective\n"
          "pad(n, y, x_, c) = select((y >= 1) && (y < 19) && (x_ >= 1) && (x_ < 23), t[n, (y - 1), (x_ - 1), c], "
          "0f) for n in 1, y in 20, x_ in 24, c in 3  # pad n:batch y:row x_:column c:channel\n"
          "conv(n, oh, ow, oc) += (pad[n, ((oh*2) + rh), ((ow*2) + rw), rc]*w[rh, rw, rc, oc]) for n in 1, oh in "
          "9, ow in 11, oc in 40, rh in 3, rw in 3, rc in 3  # conv n:batch oh:row ow:column oc:out_channel "
          "rh:tap rw:tap rc:in_channel\nreturn conv\n"),
      {{"tile+pack", 2e-6}}, 12);
}

/// The residual has fewer channels: it is padded where it is added.
TEST(Templates, AddAPaddedResidual) {
  expect_right(
      dag("x = PLACEHOLDER [1, 8, 10, 24]\nw = PLACEHOLDER [3, 3, 24, 40] const\n"
          "q(n, y, x_, c) = select((c < 24), x[n, y, x_, c], 0f) for n in 1, y in 8, x_ in 10, c in 40  # pad\n"
          "pad(n, y, x_, c) = select((y >= 1) && (y < 9) && (x_ >= 1) && (x_ < 11), x[n, (y - 1), (x_ - 1), c], "
          "0f) for n in 1, y in 10, x_ in 12, c in 24  # pad n:batch y:row x_:column c:channel\n"
          "conv(n, oh, ow, oc) += (pad[n, (oh + rh), (ow + rw), rc]*w[rh, rw, rc, oc]) for n in 1, oh in 8, ow "
          "in 10, oc in 40, rh in 3, rw in 3, rc in 24  # conv n:batch oh:row ow:column oc:out_channel rh:tap "
          "rw:tap rc:in_channel\n"
          "out(n, oh, ow, oc) = max((conv[n, oh, ow, oc] + q[n, oh, ow, oc]), 0f) for n in 1, oh in 8, ow in "
          "10, oc in 40  # elementwise\nreturn out\n"),
      kBounds, 12);
}

TEST(Templates, ComputeConvolutionsToFewChannels) {
  expect_right(convolution(1, 8, 9, 20, 3), {{"rows", 2e-6}}, 8);
  expect_right(convolution(1, 5, 5, 37, 1), {{"rows", 2e-6}}, 8);
}
TEST(Templates, PoolFewChannels) {
  expect_right(
      dag("x = PLACEHOLDER [1, 19, 21, 3]\np(n, y, z, c) max= x[n, ((y*2) + ry), ((z*2) + rz), c] for n in 1, y in "
          "9, z in 10, c in 3, ry in 3, rz in 3  # pool\nreturn p\n"),
      {{"rows", 1e-6}}, 8);
}

/// Rows one by one: what they are divided by needs all of a row first.
ComputeDag softmax(int rows, int columns) {
  const std::string i = "i in " + std::to_string(rows), n = std::to_string(columns);
  return dag("x = PLACEHOLDER [" + std::to_string(rows) + ", " + n + "]\nm(i) max= x[i, k] for " + i + ", k in " + n +
             "  # softmax\ne(i, j) = exp((x[i, j] - m[i])) for " + i + ", j in " + n +
             "  # softmax\ns(i) += e[i, k] for " + i + ", k in " + n +
             "  # softmax\nout(i, j) = (e[i, j]*(1f/s[i])) for " + i + ", j in " + n + "  # softmax\nreturn out\n");
}

ComputeDag layer_norm(int rows, int columns) {
  const std::string i = "i in " + std::to_string(rows), n = std::to_string(columns), scale = "*0.01f";
  return dag("x = PLACEHOLDER [" + std::to_string(rows) + ", " + n + "]\ng = PLACEHOLDER [" + n +
             "] const\nb = PLACEHOLDER [" + n + "] const\nt(i) += x[i, k] for " + i + ", k in " + n +
             "  # reduce\nd(i, j) = (x[i, j] - (t[i]" + scale + ")) for " + i + ", j in " + n +
             "  # elementwise\nq(i, j) = (d[i, j]*d[i, j]) for " + i + ", j in " + n +
             "  # elementwise\nv(i) += q[i, k] for " + i + ", k in " + n + "  # reduce\nr(i) = sqrt(((v[i]" + scale +
             ") + 1e-05f)) for " + i + "  # elementwise\nout(i, j) = (((d[i, j]/r[i])*g[j]) + b[j]) for " + i +
             ", j in " + n + "  # elementwise\nreturn out\n");
}

/// A norm of each channel over the picture, channels innermost.
ComputeDag channel_norm(int batch, int pixels, int channels) {
  const std::string p = std::to_string(pixels), c = "c in " + std::to_string(channels),
                    n = "n in " + std::to_string(batch);
  return dag("x = PLACEHOLDER [" + std::to_string(batch) + ", " + p + ", " + std::to_string(channels) +
             "]\nt(n, c) += x[n, k, c] for " + n + ", " + c + ", k in " + p +
             "  # reduce\nd(n, p, c) = (x[n, p, c] - (t[n, c]*0.02f)) for " + n + ", p in " + p + ", " + c +
             "  # elementwise\nv(n, c) += (d[n, k, c]*d[n, k, c]) for " + n + ", " + c + ", k in " + p +
             "  # reduce\nr(n, c) = sqrt((v[n, c] + 0.001f)) for " + n + ", " + c +
             "  # elementwise\nout(n, p, c) = (d[n, p, c]/r[n, c]) for " + n + ", p in " + p + ", " + c +
             "  # elementwise\nreturn out\n");
}

/// The stored order of the axes a b c, read as the picture [c, a, b].
ComputeDag channels_last(int a, int b, int c) {
  const auto n = [](int value) { return std::to_string(value); };
  return dag("x = PLACEHOLDER [" + n(c) + ", " + n(a) + ", " + n(b) + "]\nt(i, j, k) = (x[k, i, j]*2f) for i in " +
             n(a) + ", j in " + n(b) + ", k in " + n(c) + "  # injective\nreturn t\n");
}

const std::map<std::string, double> kRows{{"rows", 1e-6}};

TEST(Templates, ComputeSoftmaxOfEveryLength) {
  expect_right(softmax(8, 128), kRows, 4);
  expect_right(softmax(5, 77), kRows, 4);
  expect_right(softmax(1, 1000), kRows, 4);
  expect_right(softmax(3, 2501), kRows, 4);
  expect_right(softmax(9, 7), kRows, 4);
  expect_right(softmax(4, 3), kRows, 4);
}
/// `scores` to the softmax of its rows, times v, into `result`; heads x queries x keys, keys turned by an op of their own.
struct AttentionText {
  int heads = 2, queries = 40, keys = 40, width = 32;
  std::string inputs;                ///< further ones
  std::string query = "q[h, i, c]";  ///< an element of the queries; an input or an op of `inputs`
  std::string score = "s[h, i, j]";  ///< of what the softmax reads
  bool moved = true;                 ///< the result as [queries, heads, width]

  std::string text() const {
    const std::string h = "h in " + std::to_string(heads), i = "i in " + std::to_string(queries),
                      n = std::to_string(keys), w = std::to_string(width);
    const std::string rows = h + ", " + i, elements = rows + ", j in " + n, q = std::to_string(queries);
    std::string text = "q = PLACEHOLDER [" + std::to_string(heads) + ", " + q + ", " + w + "]\nk = PLACEHOLDER [" + n +
                       ", " + std::to_string(heads) + ", " + w + "]\nv = PLACEHOLDER [" + n + ", " +
                       std::to_string(heads) + ", " + w + "]\n" + inputs + "kt(h, c, j) = k[j, h, c] for " + h +
                       ", c in " + w + ", j in " + n + "  # injective\nvt(h, j, c) = v[j, h, c] for " + h + ", j in " +
                       n + ", c in " + w + "  # injective\ns(h, i, j) += (" + query + "*kt[h, c, j]) for " + elements +
                       ", c in " + w + "  # matmul h:batch i:row j:out_channel c:in_channel\n";
    const std::string read = score == "s[h, i, j]" ? "s" : "t";
    if (read == "t") text += "t(h, i, j) = " + score + " for " + elements + "  # elementwise\n";
    text += "m(h, i) max= " + read + "[h, i, j] for " + elements + "  # softmax\ne(h, i, j) = exp((" + read +
            "[h, i, j] - m[h, i])) for " + elements + "  # softmax\nz(h, i) += e[h, i, j] for " + elements +
            "  # softmax\np(h, i, j) = (e[h, i, j]*(1f/z[h, i])) for " + elements +
            "  # softmax\ny(h, i, c) += (p[h, i, j]*vt[h, j, c]) for " + rows + ", c in " + w + ", j in " + n +
            "  # matmul h:batch i:row c:out_channel j:in_channel\n";
    if (!moved) return text + "return y\n";
    return text + "out(i, h, c) = y[h, i, c] for " + i + ", " + h + ", c in " + w + "  # injective\nreturn out\n";
  }
};

/// The template's default and samples of it, on their own: what the rules make of the same DAG is no question here.
void expect_attention_right(const AttentionText& attention, int samples) {
  const ComputeDag task = dag(attention.text());
  const Evaluated want = *evaluated(task, 7);
  for (Target target : runnable_targets()) {
    target.threads = 2;
    const std::optional<Sketch> sketch = attention_sketch(task, target);
    ASSERT_TRUE(sketch.has_value()) << to_text(task);
    const DesignSpace space(task, {*sketch});
    Rng rng(5);
    std::vector<Candidate> candidates = {space.default_candidate()};
    for (int i = 0; i < testing::random_cases(samples); ++i) candidates.push_back(space.sample(rng));
    for (const Candidate& c : candidates) {
      SCOPED_TRACE(to_json(c) + " for " + to_string(target));
      const Result<Steps> steps = space.steps(c);
      ASSERT_TRUE(steps.ok()) << steps.error().message;
      const Result<Lowered> lowered = lower(*replay(task, *steps), target, {}, testing::verify_pass);
      ASSERT_TRUE(lowered.ok()) << lowered.error().message;
      const Result<double> error = error_of(task, *lowered, target, want);
      ASSERT_TRUE(error.ok()) << error.error().message;
      EXPECT_LT(*error, 2e-6);
    }
  }
}

/// The mean of each channel, fewer channels of it, and one factor for each.
ComputeDag squeeze(int pixels, int channels, int few) {
  const std::string p = std::to_string(pixels), c = "c in " + std::to_string(channels),
                    f = "f in " + std::to_string(few);
  const std::string n = std::to_string(channels), m = std::to_string(few);
  return dag("x = PLACEHOLDER [" + p + ", " + n + "]\nw = PLACEHOLDER [" + n + ", " + m + "] const\nb = PLACEHOLDER [" +
             m + "] const\nu = PLACEHOLDER [" + m + ", " + n + "] const\ns(c) += x[k, c] for " + c + ", k in " + p +
             "  # reduce\nt(c) = (s[c]*0.02f) for " + c + "  # elementwise\ny(f) += (t[k]*w[k, f]) for " + f +
             ", k in " + n + "  # matmul f:out_channel k:in_channel\nz(f) = max((y[f] + b[f]), 0f) for " + f +
             "  # elementwise\ng(c) += (z[k]*u[k, c]) for " + c + ", k in " + m +
             "  # matmul c:out_channel k:in_channel\nh(c) = sigmoid(g[c]) for " + c + "  # elementwise\nreturn h\n");
}

TEST(Templates, SqueezeAndExcite) {
  const std::map<std::string, double> bounds{{"squeeze", 2e-6}};
  expect_right(squeeze(49, 96, 24), bounds, 4);
  expect_right(squeeze(10, 37, 5), bounds, 4);
}
TEST(Templates, ComputeAttention) { expect_attention_right({.queries = 48, .keys = 48}, 5); }
TEST(Templates, ComputeAttentionOfLengthsThatNoTileDivides) {
  expect_attention_right({.heads = 3, .queries = 49, .keys = 49}, 6);
  expect_attention_right({.heads = 1, .queries = 21, .keys = 77, .width = 64}, 6);
  expect_attention_right({.heads = 1, .queries = 17, .keys = 16, .width = 24, .moved = false}, 4);
}
TEST(Templates, ComputeAttentionWithMasksAndBiases) {
  expect_attention_right({.inputs = "bias = PLACEHOLDER [1, 40]\n", .score = "((s[h, i, j]*0.125f) + bias[0, j])"}, 3);
  expect_attention_right({.inputs = "bias = PLACEHOLDER [2, 40, 40] const\n", .score = "(s[h, i, j] + bias[h, i, j])"},
                         3);
  expect_attention_right(
      {.inputs = "mask = PLACEHOLDER [40, 40] bool const\n", .score = "select(mask[i, j], s[h, i, j], -10000f)"}, 3);
}
TEST(Templates, ComputeAttentionOfScaledQueries) {
  expect_attention_right({.inputs = "u(h, i, c) = (q[h, i, c]*0.25f) for h in 2, i in 40, c in 32  # elementwise\n",
                          .query = "u[h, i, c]"},
                         4);
}
TEST(Templates, ComputeLayerNormOfEveryLength) {
  expect_right(layer_norm(8, 256), kRows, 4);
  expect_right(layer_norm(7, 100), kRows, 4);
  expect_right(layer_norm(1, 50), kRows, 4);
  expect_right(layer_norm(2, 1023), kRows, 4);
}
TEST(Templates, ComputeNormsOverOuterAxes) {
  expect_right(channel_norm(1, 49, 64), kRows, 4);
  expect_right(channel_norm(3, 10, 37), kRows, 4);
}
TEST(Templates, ComputeReductionsOfRows) {
  for (const char* reducer : {"+=", "max=", "min="})
    for (const auto& [rows, columns] : {std::pair{7, 196}, {1, 1000}, {6, 13}, {50, 4}, {64, 64}}) {
      const std::string i = std::to_string(rows), k = std::to_string(columns);
      expect_right(dag("x = PLACEHOLDER [" + i + ", " + k + "]\ns(i) " + reducer + " x[i, k] for i in " + i +
                       ", k in " + k + "  # reduce\nreturn s\n"),
                   kRows, 3);
    }
}
TEST(Templates, TransposeWholeAndBrokenTiles) {
  expect_right(channels_last(32, 48, 64), kRows, 4);
  expect_right(channels_last(5, 37, 3), kRows, 4);
  expect_right(channels_last(3, 7, 33), kRows, 4);
  expect_right(channels_last(2, 3, 5), kRows, 4);
}
TEST(Templates, DealOutChannelsInTurn) {
  for (const auto& [rows, turns, length] : {std::tuple{6, 2, 58}, {3, 3, 16}, {5, 4, 7}, {2, 2, 300}}) {
    const std::string i = std::to_string(rows), n = std::to_string(turns * length), t = std::to_string(turns);
    expect_right(dag("x = PLACEHOLDER [" + i + ", " + n + "]\ny(i, c) = x[i, ((floormod(c, " + t + ")*" +
                     std::to_string(length) + ") + floordiv(c, " + t + "))] for i in " + i + ", c in " + n +
                     "  # injective\nreturn y\n"),
                 kRows, 4);
  }
}
TEST(Templates, ComputeElementByElement) {
  for (const auto& [a, b, c] : {std::tuple{7, 5, 512}, {1, 1, 1000}, {40, 33, 4}, {9, 20, 3}, {6, 1, 1}, {17, 2, 19}}) {
    const std::string shape = std::to_string(a) + ", " + std::to_string(b) + ", " + std::to_string(c);
    expect_right(dag("x = PLACEHOLDER [" + shape + "]\nz = PLACEHOLDER [" + std::to_string(c) +
                     "]\ny(i, j, k) = max((x[i, j, k] + z[k]), 0f) for i in " + std::to_string(a) + ", j in " +
                     std::to_string(b) + ", k in " + std::to_string(c) + "  # elementwise\nreturn y\n"),
                 kRows, 4);
  }
}

/// As CumSum: the sums of groups of four, the first of which are `before` each, and those up to each place.
TEST(Templates, ComputeRunningSumsByGroups) {
  for (const auto& [rows, columns] : {std::pair{32, 40}, {22, 37}, {7, 3}, {130, 512}}) {
    const std::string i = std::to_string(rows), g = std::to_string((rows + 3) / 4), c = std::to_string(columns);
    const auto at = [&](const std::string& group, int k) {
      const std::string place = "((" + group + "*4) + " + std::to_string(k) + ")";
      return "select((" + place + " < " + i + "), x[" + place + ", c], 0f)";
    };
    std::string total = at("g", 0), sum = at("floordiv(i, 4)", 0);
    for (int k = 1; k < 4; ++k) {
      total = "(" + total + " + " + at("g", k) + ")";
      sum =
          "(" + sum + " + select((floormod(i, 4) >= " + std::to_string(k) + "), " + at("floordiv(i, 4)", k) + ", 0f))";
    }
    expect_right(dag("x = PLACEHOLDER [" + i + ", " + c + "]\ntotal(g, c) = " + total + " for g in " + g + ", c in " +
                     c + "  # elementwise\nbefore(g, c) += select((k < g), total[k, c], 0f) for g in " + g + ", c in " +
                     c + ", k in " + g + "  # reduce\ny(i, c) = (before[floordiv(i, 4), c] + " + sum + ") for i in " +
                     i + ", c in " + c + "  # elementwise\nreturn y\n"),
                 kRows, 6);
  }
}

/// The template of everything else takes any DAG, and never refuses.
TEST(Templates, ComputeRandomDagsByRows) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Rng rng(seed);
    const ComputeDag task = testing::random_dag(rng);
    for (Target target : runnable_targets()) {
      target.threads = 2;
      const Sketch sketch = rows_sketch(task, target);
      Sketch::Choices choices = sketch.preferred;
      if (seed % 2 == 0)
        for (const Decision& d : sketch.decisions)
          choices[d.name] = d.options[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(d.options.size())))];
      SCOPED_TRACE(to_json(Candidate{sketch.name, choices}) + " for " + to_string(target) + "\n" + to_text(task));
      Scheduler scheduler(task);
      sketch.build(scheduler, choices);
      const Result<Steps> steps = scheduler.finish();
      ASSERT_TRUE(steps.ok()) << steps.error().message;
      const Result<Lowered> lowered = lower(*replay(task, *steps), target, {}, testing::verify_pass);
      ASSERT_TRUE(lowered.ok()) << lowered.error().message;
      const Result<double> error = error_of(task, *lowered, target, seed);
      ASSERT_TRUE(error.ok()) << error.error().message;
      EXPECT_LT(*error, 1e-5);
    }
  }
}

/// What the rules derive is right wherever it is built.
TEST(Rules, ComputeRandomDags) {
  const Target target = runnable_targets().back();
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Rng rng(seed);
    const ComputeDag task = testing::random_dag(rng);
    const DesignSpace space(task, derive_sketches(task, target, cpu_rules(), {}));
    for (int i = 0; i < 2; ++i) {
      const Candidate c = space.sample(rng);
      const Result<Scheduled> scheduled = space.schedule(c);
      if (!scheduled.ok()) continue;
      SCOPED_TRACE(to_json(c) + "\n" + to_text(task));
      const Result<Lowered> lowered = lower(scheduled->tree, target, {}, testing::verify_pass);
      if (!lowered.ok()) continue;
      const Result<double> error = error_of(task, *lowered, target, seed);
      ASSERT_TRUE(error.ok()) << error.error().message;
      EXPECT_LT(*error, c.sketch.starts_with("winograd") ? 3e-5 : 1e-5);
    }
  }
}

}  // namespace
}  // namespace whet
