#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/rng.h"
#include "import_torch/testing/pt2.h"
#include "ops/evaluate_graph.h"

/// Whole layers of torch.nn in one operator, held against plain loops; and elements by their places in memory.
namespace whet::torch {
namespace torch_encoder_test {

using Numbers = std::vector<double>;
using Rows = std::vector<Numbers>;

constexpr std::size_t kSize = 4, kHeads = 2, kPlaces = 3, kHidden = 5;

std::vector<Numbers> answers(const Pt2& program, const std::vector<Tensor>& given) {
  const Result<Graph> graph = imported_pt2(program.bytes(), "m");
  if (!graph.ok()) {
    ADD_FAILURE() << graph.error().message;
    return {};
  }
  const auto values = evaluate_graph(*graph, given).value();
  std::vector<Numbers> found;
  for (const ValueId id : graph->outputs) {
    found.emplace_back();
    for (std::int64_t i = 0; i < values[id.index()].size(); ++i) found.back().push_back(values[id.index()].get(i));
  }
  return found;
}
std::string said(const Pt2& program) {
  const Result<Graph> graph = imported_pt2(program.bytes(), "m");
  return graph.ok() ? "" : graph.error().message;
}
void expect_near(const Numbers& found, const Numbers& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-4) << i;
}
Numbers flat(const Rows& rows) {
  Numbers all;
  for (const Numbers& row : rows) all.insert(all.end(), row.begin(), row.end());
  return all;
}

/// Weights by their names.
struct Weights {
  std::map<std::string, Tensor> tensors;
  explicit Weights(std::uint64_t seed) {
    Rng rng(seed);
    const std::int64_t e = kSize, h = kHidden;
    const std::vector<std::pair<std::string, Shape>> shapes = {
        {"wq", {3 * e, e}}, {"bq", {3 * e}}, {"wo", {e, e}}, {"bo", {e}}, {"s1", {e}},    {"t1", {e}},
        {"s2", {e}},        {"t2", {e}},     {"w1", {h, e}}, {"b1", {h}}, {"w2", {e, h}}, {"b2", {e}}};
    for (const auto& [name, shape] : shapes) {
      Tensor tensor(DType::f32, shape);
      for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, rng.uniform(-1, 1));
      tensors.emplace(name, tensor);
    }
  }
  void give(Pt2& p) const {
    for (const auto& [name, tensor] : tensors) p.weight(name, tensor);
  }
  /// x wᵀ + b, of rows `first` .. of w.
  Rows linear(const Rows& x, const std::string& w, const std::string& b, std::size_t first, std::size_t count) const {
    const Tensor &weight = tensors.at(w), &bias = tensors.at(b);
    const auto width = static_cast<std::size_t>(weight.shape()[1]);
    Rows y;
    for (const Numbers& row : x) {
      y.emplace_back();
      for (std::size_t o = first; o < first + count; ++o) {
        double sum = bias.get(static_cast<std::int64_t>(o));
        for (std::size_t i = 0; i < width; ++i) sum += row[i] * weight.get(static_cast<std::int64_t>(o * width + i));
        y.back().push_back(sum);
      }
    }
    return y;
  }
  Rows normed(Rows x, const std::string& s, const std::string& t) const {
    for (Numbers& row : x) {
      double mean = 0, square = 0;
      for (const double v : row) mean += v / double(row.size());
      for (const double v : row) square += (v - mean) * (v - mean) / double(row.size());
      for (std::size_t i = 0; i < row.size(); ++i)
        row[i] = (row[i] - mean) / std::sqrt(square + 1e-5) * tensors.at(s).get(std::int64_t(i)) +
                 tensors.at(t).get(std::int64_t(i));
    }
    return x;
  }
};

struct Attending {
  Rows y;
  std::vector<Rows> weights;  ///< of each head
};
/// `hidden(query, key)`: places that are left out.
template <typename Hidden>
Attending attend(const Weights& w, const Rows& q, const Rows& k, const Rows& v, Hidden hidden) {
  const Rows queries = w.linear(q, "wq", "bq", 0, kSize), keys = w.linear(k, "wq", "bq", kSize, kSize),
             values = w.linear(v, "wq", "bq", 2 * kSize, kSize);
  constexpr std::size_t kOfHead = kSize / kHeads;
  Attending a;
  Rows joined(q.size(), Numbers(kSize, 0));
  for (std::size_t h = 0; h < kHeads; ++h) {
    a.weights.emplace_back();
    for (std::size_t i = 0; i < q.size(); ++i) {
      Numbers scores;
      double all = 0;
      for (std::size_t j = 0; j < k.size(); ++j) {
        double sum = 0;
        for (std::size_t d = h * kOfHead; d < (h + 1) * kOfHead; ++d) sum += queries[i][d] * keys[j][d];
        scores.push_back(hidden(i, j) ? 0 : std::exp(sum / std::sqrt(double(kOfHead))));
        all += scores.back();
      }
      for (std::size_t j = 0; j < k.size(); ++j) {
        scores[j] /= all;
        for (std::size_t d = h * kOfHead; d < (h + 1) * kOfHead; ++d) joined[i][d] += scores[j] * values[j][d];
      }
      a.weights.back().push_back(scores);
    }
  }
  a.y = w.linear(joined, "wo", "bo", 0, kSize);
  return a;
}
Rows random_rows(std::uint64_t seed) {
  Rng rng(seed);
  Rows rows(kPlaces, Numbers(kSize));
  for (Numbers& row : rows)
    for (double& v : row) v = static_cast<double>(static_cast<float>(rng.uniform(-1, 1)));
  return rows;
}
Tensor tensor_of(const Rows& rows) { return Tensor::of<double>(DType::f32, {1, kPlaces, kSize}, flat(rows)); }
const std::string kLayer = " qkv_weight=%wq qkv_bias=%bq proj_weight=%wo proj_bias=%bo";
constexpr auto kNothing = [](std::size_t, std::size_t) { return false; };
constexpr auto kLater = [](std::size_t i, std::size_t j) { return j > i; };
constexpr auto kLastKey = [](std::size_t, std::size_t j) { return j == 2; };

TEST(NativeAttention, IsThatOfPlainLoops) {
  const Weights w(1);
  const Rows x = random_rows(2);
  Pt2 p;
  p.input("x", {1, 3, 4});
  w.give(p);
  p.node("aten._native_multi_head_attention.default", "query=%x key=%x value=%x embed_dim=4 num_head=2" + kLayer,
         {"y", "a"});
  const auto found = answers(p.output("y").output("a"), {tensor_of(x)});
  const Attending wanted = attend(w, x, x, x, kNothing);
  ASSERT_EQ(found.size(), 2U);
  expect_near(found[0], flat(wanted.y));
  Numbers mean;
  for (std::size_t i = 0; i < kPlaces; ++i)
    for (std::size_t j = 0; j < kPlaces; ++j) mean.push_back((wanted.weights[0][i][j] + wanted.weights[1][i][j]) / 2);
  expect_near(found[1], mean);
}
TEST(NativeAttention, OfOtherKeysAndValuesGivesTheWeightsOfEachHead) {
  const Weights w(3);
  const Rows q = random_rows(4), k = random_rows(5), v = random_rows(6);
  Pt2 p;
  p.input("q", {1, 3, 4}).input("k", {1, 3, 4}).input("v", {1, 3, 4});
  w.give(p);
  p.node("aten._native_multi_head_attention.default",
         "query=%q key=%k value=%v embed_dim=4 num_head=2" + kLayer + " average_attn_weights=false", {"y", "a"});
  const auto found = answers(p.output("y").output("a"), {tensor_of(q), tensor_of(k), tensor_of(v)});
  const Attending wanted = attend(w, q, k, v, kNothing);
  expect_near(found.at(0), flat(wanted.y));
  Numbers weights = flat(wanted.weights[0]), more = flat(wanted.weights[1]);
  weights.insert(weights.end(), more.begin(), more.end());
  expect_near(found.at(1), weights);
}
TEST(NativeAttention, LeavesOutWhatTheMaskHides) {
  const Weights w(7);
  const Rows x = random_rows(8);
  for (const bool keys : {false, true}) {
    Pt2 p;
    p.input("x", {1, 3, 4});
    w.give(p);
    p.weight("mask",
             keys ? Tensor::of<std::int64_t>(DType::boolean, {1, 3}, {0, 0, 1})
                  : Tensor::of<std::int64_t>(DType::boolean, {3, 3}, {0, 1, 1, 0, 0, 1, 0, 0, 0}),
             "buffer");
    p.node("aten._native_multi_head_attention.default",
           "query=%x key=%x value=%x embed_dim=4 num_head=2" + kLayer +
               " mask=%mask need_weights=false mask_type=" + (keys ? "1" : "0"),
           {"y"});
    expect_near(answers(p.output("y"), {tensor_of(x)}).at(0),
                flat(keys ? attend(w, x, x, x, kLastKey).y : attend(w, x, x, x, kLater).y));
  }
}

Rows plus(Rows a, const Rows& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[i].size(); ++j) a[i][j] += b[i][j];
  return a;
}
Rows between(const Weights& w, const Rows& x, bool gelu) {
  Rows y = w.linear(x, "w1", "b1", 0, kHidden);
  for (Numbers& row : y)
    for (double& v : row) v = gelu ? v * (1 + std::erf(v / std::sqrt(2.0))) / 2 : std::max(v, 0.0);
  return w.linear(y, "w2", "b2", 0, kSize);
}
TEST(EncoderLayer, IsThatOfPlainLoopsWithItsNormalizationsBeforeAndBehind) {
  const Weights w(9);
  const Rows x = random_rows(10);
  for (const bool before : {false, true}) {
    Pt2 p;
    p.input("x", {1, 3, 4});
    w.give(p);
    p.node("aten._transformer_encoder_layer_fwd.default",
           "src=%x embed_dim=4 num_heads=2" + kLayer + " use_gelu=" + (before ? "true" : "false") +
               " norm_first=" + (before ? "true" : "false") +
               " eps=0.00001 norm_weight_1=%s1 norm_bias_1=%t1 norm_weight_2=%s2 norm_bias_2=%t2 ffn_weight_1=%w1 "
               "ffn_bias_1=%b1 ffn_weight_2=%w2 ffn_bias_2=%b2",
           {"y"});
    Rows y = x;
    if (before) {
      const Rows normed = w.normed(x, "s1", "t1");
      y = plus(x, attend(w, normed, normed, normed, kNothing).y);
      y = plus(y, between(w, w.normed(y, "s2", "t2"), true));
    } else {
      y = w.normed(plus(x, attend(w, x, x, x, kNothing).y), "s1", "t1");
      y = w.normed(plus(y, between(w, y, false)), "s2", "t2");
    }
    expect_near(answers(p.output("y"), {tensor_of(x)}).at(0), flat(y));
  }
}
TEST(EncoderLayer, LeavesOutWhatMasksOfBooleansOrNumbersHide) {
  const Weights w(11);
  const Rows x = random_rows(12);
  const double never = -std::numeric_limits<double>::infinity();
  const std::vector<Tensor> masks = {Tensor::of<std::int64_t>(DType::boolean, {3, 3}, {0, 1, 1, 0, 0, 1, 0, 0, 0}),
                                     Tensor::of<double>(DType::f32, {3, 3}, {0, 1, 1, 0, 0, 1, 0, 0, 0}),
                                     Tensor::of<double>(DType::f32, {3, 3}, {0, never, never, 0, 0, 0.5, 0, 0, 0})};
  Rows y = w.normed(plus(x, attend(w, x, x, x, kLater).y), "s1", "t1");
  y = w.normed(plus(y, between(w, y, false)), "s2", "t2");
  for (const Tensor& mask : masks) {
    Pt2 p;
    p.input("x", {1, 3, 4});
    w.give(p);
    p.weight("mask", mask, "buffer");
    p.node("aten._transformer_encoder_layer_fwd.default",
           "src=%x embed_dim=4 num_heads=2" + kLayer +
               " use_gelu=false norm_first=false eps=0.00001 norm_weight_1=%s1 norm_bias_1=%t1 norm_weight_2=%s2 "
               "norm_bias_2=%t2 ffn_weight_1=%w1 ffn_bias_1=%b1 ffn_weight_2=%w2 ffn_bias_2=%b2 mask=%mask mask_type=0",
           {"y"});
    expect_near(answers(p.output("y"), {tensor_of(x)}).at(0), flat(y));
  }
}
TEST(NativeAttention, OfWeightsThatDoNotFitIsRefused) {
  Pt2 p;
  p.input("x", {1, 3, 4});
  Weights(1).give(p);
  p.node("aten._native_multi_head_attention.default", "query=%x key=%x value=%x embed_dim=4 num_head=3" + kLayer,
         {"y"});
  const std::string text = said(p.output("y"));
  EXPECT_NE(text.find("has 3 heads of 4 numbers and weights f32[12x4]"), std::string::npos) << text;
}

TEST(AsStrided, TakesElementsByTheirPlacesInMemory) {
  const Tensor x = Tensor::of<double>(DType::f32, {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  Pt2 p;
  p.input("x", {2, 4}).node("aten.as_strided.default", "self=%x size=[3,2] stride=[1,3] storage_offset=1", {"y"});
  EXPECT_EQ(answers(p.output("y"), {x}).at(0), (Numbers{1, 4, 2, 5, 3, 6}));
  Pt2 part;
  part.input("x", {2, 4})
      .node("aten.as_strided.default", "self=%x size=[2,1,2] stride=[2,7,1] storage_offset=2", {"y"});
  EXPECT_EQ(answers(part.output("y"), {x}).at(0), (Numbers{2, 3, 4, 5}));
  Pt2 windows;
  windows.input("x", {2, 4}).node("aten.as_strided.default", "self=%x size=[3,4] stride=[2,1]", {"y"});
  EXPECT_EQ(answers(windows.output("y"), {x}).at(0), (Numbers{0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7}));
}
TEST(AsStrided, OfAViewOrOutsideIsRefused) {
  Pt2 turned, outside;
  turned.input("x", {2, 4}).node("aten.permute.default", "self=%x dims=[1,0]", {"t"});
  turned.node("aten.as_strided.default", "self=%t size=[2] stride=[1]", {"y"});
  EXPECT_NE(said(turned.output("y")).find("of a tensor that is perhaps a view of another"), std::string::npos);
  outside.input("x", {2, 4}).node("aten.as_strided.default", "self=%x size=[3] stride=[4]", {"y"});
  EXPECT_NE(said(outside.output("y")).find("takes 3 by steps of 4 from 0 on of 8 elements"), std::string::npos)
      << said(outside);
}

/// as_strided of what `op` makes of x and the weights w, both [2, 4] with 0 .. 7, by steps of 1.
Pt2 strided_of(const std::vector<std::array<std::string, 2>>& nodes) {
  Pt2 p;
  p.input("x", {2, 4}).weight("w", Tensor::of<double>(DType::f32, {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7}));
  std::string last = "x";
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    last = "v" + std::to_string(i);
    p.node(nodes[i][0], nodes[i][1], {last});
  }
  return p.node("aten.as_strided.default", "self=%" + last + " size=[2] stride=[1]", {"y"}).output("y");
}
TEST(AsStrided, OfWhatIsPerhapsNoWholeMemoryIsRefused) {
  const std::array<std::string, 2> turned = {"aten.t.default", "self=%x"};
  const std::vector<std::vector<std::array<std::string, 2>>> views = {
      {{"aten.as_strided.default", "self=%x size=[2,2] stride=[1,4]"}},
      {{"aten.diagonal.default", "self=%x"}},
      {{"aten.unfold.default", "self=%x dimension=1 size=2 step=1"}},
      {{"aten.t.default", "self=%w"}},
      {turned, {"aten.relu.default", "self=%v0"}},
      {turned, {"aten.add.Tensor", "self=%v0 other=%v0"}},
      {turned, {"aten.clone.default", "self=%v0"}},
      {turned, {"aten.clone.default", "self=%v0 memory_format=!4"}},
      {{"aten.clone.default", "self=%x memory_format=!2"}},
      {turned, {"aten.reshape.default", "self=%v0 shape=[8]"}}};
  for (const auto& nodes : views)
    EXPECT_NE(said(strided_of(nodes)).find("of a tensor that is perhaps a view of another"), std::string::npos)
        << nodes.back()[0] << ": " << said(strided_of(nodes));
}
TEST(AsStrided, OfResultsThatLieRowByRowTakesTheirElements) {
  const Tensor x = Tensor::of<double>(DType::f32, {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  const std::array<std::string, 2> turned = {"aten.t.default", "self=%x"};
  EXPECT_EQ(answers(strided_of({turned, {"aten.contiguous.default", "self=%v0"}}), {x}).at(0), (Numbers{0, 4}));
  EXPECT_EQ(answers(strided_of({turned, {"aten.clone.default", "self=%v0 memory_format=!1"}}), {x}).at(0),
            (Numbers{0, 4}));
  EXPECT_EQ(answers(strided_of({turned, {"aten.mm.default", "self=%v0 mat2=%w"}}), {x}).at(0), (Numbers{16, 20}));
  EXPECT_EQ(
      answers(strided_of({{"aten.neg.default", "self=%x"}, {"aten.view.default", "self=%v0 size=[4,2]"}}), {x}).at(0),
      (Numbers{0, -1}));
  EXPECT_EQ(answers(strided_of({{"aten.add.Tensor", "self=%x other=%w"}}), {x}).at(0), (Numbers{0, 2}));
}

}  // namespace torch_encoder_test
}  // namespace whet::torch
