#include <gtest/gtest.h>

#include <functional>
#include <sstream>

#include "passes/optimize.h"
#include "passes/testing/graph_builder.h"

// What exporters write for the parts that networks are made of, and what it becomes: one kernel each. A pattern is
// between two matrix products where that is its place in a network; its own group is what a test looks at.

namespace whet {
namespace patterns_test {

using namespace testing;
using U = UnaryKind;
using B = BinaryKind;

/// The operators of each group, one group a line.
std::string groups_of(const Graph& graph) {
  const auto fused = optimize(graph, {});
  EXPECT_TRUE(fused.ok()) << (fused.ok() ? "" : fused.error().message);
  if (!fused.ok()) return "";
  std::istringstream text(to_text(*fused));
  std::string line, result;
  while (std::getline(text, line)) result += line.substr(0, line.find(" (")) + "\n";
  return result;
}

struct Pattern : GraphBuilder {
  ValueId number(const std::string& name, double value) { return constant(name, {}, {value}); }
  ValueId scaled(const std::string& name, ValueId x, double by) {
    return binary(name, B::mul, x, number(name + "_by", by));
  }
  ValueId shifted(const std::string& name, ValueId x, double by) { return plus(name, x, number(name + "_by", by)); }
  ValueId times(const std::string& name, ValueId a, ValueId b) { return binary(name, B::mul, a, b); }
  ValueId over(const std::string& name, ValueId a, ValueId b) { return binary(name, B::div, a, b); }
  ValueId power(const std::string& name, ValueId a, double by) {
    return binary(name, B::pow, a, number(name + "_by", by));
  }
  ValueId mean(const std::string& name, ValueId x) {
    const auto last = static_cast<std::int64_t>(graph.value(x).type.shape.size()) - 1;
    return add(name, ReduceOperator{ReduceKind::mean, {last}, true}, {x});
  }
  ValueId dense(const std::string& name, ValueId x, std::int64_t out) {
    const ValueId product =
        add(name, MatMulOperator{}, {x, constant(name + "_w", {graph.value(x).type.shape.back(), out})});
    return plus(name + "_plus", product, constant(name + "_b", {out}));
  }
  ValueId reshape(const std::string& name, ValueId x, Shape shape) { return add(name, ReshapeOperator{shape}, {x}); }
  ValueId transpose(const std::string& name, ValueId x, std::vector<std::int64_t> perm) {
    return add(name, TransposeOperator{perm}, {x});
  }
  ValueId softmax(const std::string& name, ValueId x) {
    return add(name, SoftmaxOperator{static_cast<std::int64_t>(graph.value(x).type.shape.size()) - 1}, {x});
  }
  ValueId product(const std::string& name, ValueId a, ValueId b) { return add(name, MatMulOperator{}, {a, b}); }
};

using Make = std::function<ValueId(Pattern&, ValueId)>;

/// Of tokens, between two dense layers.
std::string between_dense(const Make& make) {
  Pattern p;
  const ValueId x = p.dense("before", p.input("x", {1, 32, 64}), 64);
  return groups_of(p.finish({p.dense("after", make(p, x), 8)}));
}

/// Of a picture, behind a convolution.
std::string behind_conv(const Make& make) {
  Pattern p;
  return groups_of(p.finish({make(p, p.conv("c", p.input("x", {1, 3, 8, 8}), 16, 3, 1, 1))}));
}

// ---- Normalizations

ValueId layer_norm(Pattern& p, ValueId x, bool by_power) {
  const ValueId centred = p.binary("centred", B::sub, x, p.mean("mean", x));
  const ValueId square = by_power ? p.power("square", centred, 2) : p.times("square", centred, centred);
  const ValueId deviation = p.unary("deviation", U::sqrt, p.shifted("safe", p.mean("variance", square), 1e-5));
  const ValueId normal = p.over("normal", centred, deviation);
  return p.plus("beta", p.times("gamma", normal, p.constant("g", {64})), p.constant("b", {64}));
}

TEST(Patterns, LayerNorm) {
  EXPECT_EQ(between_dense([](Pattern& p, ValueId x) { return layer_norm(p, x, true); }),
            "matmul+add\nreduce_mean+sub+pow+reduce_mean+add+sqrt+div\nmatmul+add+add\n");
  EXPECT_EQ(between_dense([](Pattern& p, ValueId x) { return layer_norm(p, x, false); }),
            "matmul+add\nreduce_mean+sub+mul+reduce_mean+add+sqrt+div\nmatmul+add+add\n");
}

TEST(Patterns, LayerNormOfHalves) {
  Pattern p;
  const ValueId wide = p.add("wide", CastOperator{DType::f32}, {p.input("x", {1, 32, 64}, DType::f16)});
  const ValueId y = p.add("y", CastOperator{DType::f16}, {layer_norm(p, wide, false)});
  EXPECT_EQ(groups_of(p.finish({y})), "cast+reduce_mean+sub+mul+reduce_mean+add+sqrt+div+mul+add+cast\n");
}

/// The residual is added by the product before it, which the next block reads as well.
TEST(Patterns, LayerNormOfAResidual) {
  EXPECT_EQ(between_dense([](Pattern& p, ValueId x) {
              const ValueId sum = p.plus("residual", p.dense("inner", x, 64), x);
              return p.plus("again", layer_norm(p, sum, true), sum);
            }),
            "matmul+add\nmatmul+add+add\nreduce_mean+sub+pow+reduce_mean+add+sqrt+div+mul+add+add\nmatmul+add\n");
}

TEST(Patterns, RmsNorm) {
  const auto norm = [](bool reciprocal) {
    return [=](Pattern& p, ValueId x) {
      const ValueId root = p.unary("root", U::sqrt, p.shifted("safe", p.mean("mean", p.power("square", x, 2)), 1e-6));
      const ValueId scale =
          reciprocal ? p.unary("scale", U::reciprocal, root) : p.over("scale", p.number("one", 1), root);
      return p.times("gamma", p.times("normal", x, scale), p.constant("g", {64}));
    };
  };
  EXPECT_EQ(between_dense(norm(false)), "matmul+add\npow+reduce_mean+add+sqrt+div+mul\nmatmul+add\n");
  EXPECT_EQ(between_dense(norm(true)), "matmul+add\npow+reduce_mean+add+sqrt+reciprocal+mul\nmatmul+add\n");
}

// ---- Activations

TEST(Patterns, GeluByErf) {
  const auto erf = [](Pattern& p, ValueId x) {
    return p.shifted("plus", p.unary("erf", U::erf, p.over("scaled", x, p.number("root", 1.41421356))), 1);
  };
  EXPECT_EQ(between_dense([&](Pattern& p, ValueId x) { return p.scaled("half", p.times("gelu", x, erf(p, x)), 0.5); }),
            "matmul+add+div+erf+add+mul\nmatmul+add\n");
  EXPECT_EQ(between_dense([&](Pattern& p, ValueId x) {
              const ValueId part = erf(p, x);
              return p.times("gelu", p.scaled("half", x, 0.5), part);
            }),
            "matmul+add+div+erf+add+mul+mul\nmatmul+add\n");
}

TEST(Patterns, GeluByTanh) {
  const auto tanh = [](Pattern& p, ValueId x, ValueId cube) {
    const ValueId inner = p.scaled("inner", p.plus("sum", x, p.scaled("small", cube, 0.044715)), 0.79788456);
    return p.shifted("plus", p.unary("tanh", U::tanh, inner), 1);
  };
  EXPECT_EQ(between_dense([&](Pattern& p, ValueId x) {
              const ValueId part = tanh(p, x, p.power("cube", x, 3));
              return p.times("gelu", p.scaled("half", x, 0.5), part);
            }),
            "matmul+add+pow+mul+add+mul+tanh+add+mul+mul\nmatmul+add\n");
  EXPECT_EQ(between_dense([&](Pattern& p, ValueId x) {
              const ValueId cube = p.times("cube", p.times("square", x, x), x);
              return p.scaled("half", p.times("gelu", x, tanh(p, x, cube)), 0.5);
            }),
            "matmul+add+mul+mul+mul+add+mul+tanh+add+mul\nmatmul+add\n");
}

TEST(Patterns, HardSwish) {
  EXPECT_EQ(behind_conv([](Pattern& p, ValueId x) { return p.unary("y", U::hard_swish, x); }),
            "transpose+conv+hard_swish\ntranspose\n");
  EXPECT_EQ(behind_conv([](Pattern& p, ValueId x) {
              return p.times("y", x, p.add("gate", HardSigmoidOperator{1.0 / 6, 0.5}, {x}));
            }),
            "transpose+conv+hard_sigmoid+mul\ntranspose\n");
  EXPECT_EQ(behind_conv([](Pattern& p, ValueId x) {
              const ValueId six = p.add("six", ClipOperator{0, 6}, {p.shifted("three", x, 3)});
              return p.over("y", p.times("product", x, six), p.number("by", 6));
            }),
            "transpose+conv+add+clip+mul+div\ntranspose\n");
}

TEST(Patterns, Silu) {
  EXPECT_EQ(behind_conv([](Pattern& p, ValueId x) { return p.times("y", x, p.unary("gate", U::sigmoid, x)); }),
            "transpose+conv+sigmoid+mul\ntranspose\n");
}

/// And its gated form: two products, one of which takes the other's result.
TEST(Patterns, SwiGlu) {
  EXPECT_EQ(between_dense([](Pattern& p, ValueId x) {
              const ValueId gate = p.dense("gate", x, 96), up = p.dense("up", x, 96);
              return p.times("y", p.times("silu", gate, p.unary("sigmoid", U::sigmoid, gate)), up);
            }),
            "matmul+add\nmatmul+add+sigmoid+mul\nmatmul+add+mul\nmatmul+add\n");
}

TEST(Patterns, Mish) {
  EXPECT_EQ(behind_conv([](Pattern& p, ValueId x) {
              return p.times("y", x, p.unary("tanh", U::tanh, p.unary("softplus", U::softplus, x)));
            }),
            "transpose+conv+softplus+tanh+mul\ntranspose\n");
  EXPECT_EQ(behind_conv([](Pattern& p, ValueId x) {
              const ValueId softplus = p.unary("log", U::log, p.shifted("plus", p.unary("exp", U::exp, x), 1));
              return p.times("y", x, p.unary("tanh", U::tanh, softplus));
            }),
            "transpose+conv+exp+add+log+tanh+mul\ntranspose\n");
}

// ---- Softmax

TEST(Patterns, SoftmaxWithScaleAndMask) {
  Pattern p;
  const ValueId mask = p.input("mask", {1, 1, 1, 48});
  const ValueId scores = p.plus("masked", p.scaled("scaled", p.input("scores", {1, 4, 48, 48}), 0.125), mask);
  EXPECT_EQ(groups_of(p.finish({p.softmax("y", scores)})), "mul+add+softmax\n");
}

TEST(Patterns, SoftmaxWithAChoice) {
  Pattern p;
  const ValueId masked = p.add(
      "masked", WhereOperator{},
      {p.input("keep", {1, 1, 48, 48}, DType::boolean), p.input("scores", {1, 4, 48, 48}), p.number("never", -1e9)});
  EXPECT_EQ(groups_of(p.finish({p.softmax("y", masked)})), "where+softmax\n");
}

TEST(Patterns, SoftmaxOfItsParts) {
  EXPECT_EQ(between_dense([](Pattern& p, ValueId x) {
              const ValueId top = p.add("top", ReduceOperator{ReduceKind::max, {2}, true}, {x});
              const ValueId exp = p.unary("exp", U::exp, p.binary("less", B::sub, x, top));
              return p.over("y", exp, p.add("sum", ReduceOperator{ReduceKind::sum, {2}, true}, {exp}));
            }),
            "matmul+add\nreduce_max+sub+exp+reduce_sum+div\nmatmul+add\n");
}

// ---- Attention: tokens [batch, 32, 64], 2 heads of 32

struct AttentionForm {
  std::int64_t batch = 1;
  bool one_product = true;  ///< queries, keys and values are slices of one
  std::function<ValueId(Pattern&, ValueId)> queries = [](Pattern&, ValueId q) { return q; };
  std::function<ValueId(Pattern&, ValueId)> scores = [](Pattern& p, ValueId s) { return p.scaled("scale", s, 0.17); };
  std::function<ValueId(Pattern&, ValueId)> mixed = [](Pattern&, ValueId y) { return y; };
};

std::string attention(const AttentionForm& form) {
  Pattern p;
  const std::int64_t n = form.batch;
  const ValueId x = p.input("x", {n, 32, 64});
  const ValueId all = form.one_product ? p.dense("qkv", x, 192) : x;
  const auto part = [&](const std::string& name, std::int64_t k) {
    return form.one_product ? p.add(name, SliceOperator{{0, 0, k * 64}, {1, 1, 1}, {n, 32, 64}}, {all})
                            : p.dense(name, x, 64);
  };
  const auto heads = [&](const std::string& name, ValueId tokens) {
    return p.transpose(name + "_heads", p.reshape(name + "_split", tokens, {n, 32, 2, 32}), {0, 2, 1, 3});
  };
  const ValueId q = heads("q", form.queries(p, part("q", 0))), v = heads("v", part("v", 2));
  const ValueId k = p.transpose("k_turned", heads("k", part("k", 1)), {0, 1, 3, 2});
  const ValueId weights = p.softmax("weights", form.scores(p, p.product("scores", q, k)));
  const ValueId mixed = p.transpose("together", form.mixed(p, p.product("mix", weights, v)), {0, 2, 1, 3});
  const ValueId tokens = p.reshape("tokens", mixed, {n, 32, 64});
  return groups_of(p.finish({p.graph.value(tokens).type.dtype == DType::f32 ? p.dense("out", tokens, 64) : tokens}));
}

TEST(Patterns, AttentionOfOneProduct) {
  EXPECT_EQ(attention({}),
            "matmul+add\nslice+reshape+slice+reshape+slice+reshape+transpose+transpose+matmul+mul+softmax+transpose+"
            "matmul+transpose\nmatmul+add\n");
}
TEST(Patterns, AttentionOfThreeProducts) {
  EXPECT_EQ(attention({.one_product = false}),
            "matmul+add\nmatmul+add\nmatmul+add\ntranspose+transpose+matmul+mul+softmax+transpose+matmul+"
            "transpose\nmatmul+add\n");
}
TEST(Patterns, AttentionWhoseResultIsRoundedBeforeItIsTurned) {
  EXPECT_EQ(attention({.mixed = [](Pattern& p, ValueId y) { return p.add("half", CastOperator{DType::f16}, {y}); }}),
            "matmul+add\nslice+reshape+slice+reshape+slice+reshape+transpose+transpose+matmul+mul+softmax+transpose+"
            "matmul+cast+transpose\n");
}
TEST(Patterns, AttentionOfABatchWithScaledQueries) {
  EXPECT_EQ(attention({.batch = 3,
                       .queries = [](Pattern& p, ValueId q) { return p.over("scaled", q, p.number("root", 5.66)); },
                       .scores = [](Pattern&, ValueId s) { return s; }}),
            "matmul+add\nslice+div+reshape+slice+reshape+slice+reshape+transpose+transpose+matmul+softmax+transpose+"
            "matmul+transpose\nmatmul+add\n");
}
TEST(Patterns, AttentionWithAMask) {
  EXPECT_EQ(attention({.scores =
                           [](Pattern& p, ValueId s) {
                             return p.plus("masked", p.scaled("scale", s, 0.17), p.input("mask", {1, 1, 1, 32}));
                           }}),
            "matmul+add\nslice+reshape+slice+reshape+slice+reshape+transpose+transpose+matmul+mul+add+softmax+"
            "transpose+matmul+transpose\nmatmul+add\n");
}
TEST(Patterns, AttentionWithARelativePositionBias) {
  EXPECT_EQ(attention({.scores = [](Pattern& p,
                                    ValueId s) { return p.plus("biased", s, p.constant("bias", {1, 2, 32, 32})); }}),
            "matmul+add\nslice+reshape+slice+reshape+slice+reshape+transpose+transpose+matmul+add+softmax+transpose+"
            "matmul+transpose\nmatmul+add\n");
}
TEST(Patterns, CausalAttention) {
  EXPECT_EQ(attention({.scores =
                           [](Pattern& p, ValueId s) {
                             const ValueId later = p.input("later", {1, 1, 32, 32}, DType::boolean);
                             return p.add("causal", WhereOperator{},
                                          {later, p.number("never", -1e9), p.scaled("scale", s, 0.17)});
                           }}),
            "matmul+add\nslice+reshape+slice+reshape+slice+reshape+transpose+transpose+matmul+mul+where+softmax+"
            "transpose+matmul+transpose\nmatmul+add\n");
}

/// Over the pixels of a picture, as diffusion networks have it: channels are before pixels.
TEST(Patterns, AttentionWithChannelsFirst) {
  Pattern p;
  const ValueId x = p.conv("qkv", p.input("x", {1, 16, 8, 8}), 96, 1);
  const ValueId all = p.reshape("heads", x, {1, 3, 2, 16, 64});
  const auto part = [&](const std::string& name, std::int64_t k) {
    const ValueId one = p.add(name, SliceOperator{{0, k, 0, 0, 0}, {1, 1, 1, 1, 1}, {1, 1, 2, 16, 64}}, {all});
    return p.reshape(name + "_alone", one, {1, 2, 16, 64});
  };
  const ValueId q = p.transpose("q_turned", part("q", 0), {0, 1, 3, 2});
  const ValueId weights = p.softmax("weights", p.scaled("scaled", p.product("scores", q, part("k", 1)), 0.25));
  const ValueId mixed = p.product("mix", part("v", 2), p.transpose("weights_turned", weights, {0, 1, 3, 2}));
  const ValueId y = p.conv("out", p.reshape("picture", mixed, {1, 32, 8, 8}), 16, 1);
  EXPECT_EQ(groups_of(p.finish({y})),
            "transpose\nconv\nslice+reshape+slice+reshape+transpose+transpose+matmul+mul+softmax+slice+reshape+"
            "transpose+matmul+transpose\nconv\ntranspose\n");
}

/// torch's multi-head attention: heads times batch in front, tokens before the batch.
TEST(Patterns, AttentionWithTokensFirst) {
  Pattern p;
  const ValueId all = p.dense("qkv", p.input("x", {32, 1, 64}), 192);
  const auto heads = [&](const std::string& name, std::int64_t k) {
    const ValueId part = p.add(name, SliceOperator{{0, 0, k * 64}, {1, 1, 1}, {32, 1, 64}}, {all});
    return p.transpose(name + "_heads", p.reshape(name + "_split", part, {32, 2, 32}), {1, 0, 2});
  };
  const ValueId q = p.over("scaled", heads("q", 0), p.number("root", 5.66)), v = heads("v", 2);
  const ValueId k = p.transpose("k_turned", heads("k", 1), {0, 2, 1});
  const ValueId mixed = p.product("mix", p.softmax("weights", p.product("scores", q, k)), v);
  const ValueId tokens = p.reshape("tokens", p.transpose("together", mixed, {1, 0, 2}), {32, 64});
  EXPECT_EQ(groups_of(p.finish({p.dense("out", tokens, 64)})),
            "matmul+add\nslice+div+reshape+slice+reshape+slice+reshape+transpose+transpose+matmul+softmax+transpose+"
            "matmul+transpose\nmatmul+add\n");
}

/// Keys that are multiplied transposed, as einsum is written.
TEST(Patterns, AttentionWithTransposedKeys) {
  Pattern p;
  const ValueId q = p.input("q", {2, 32, 32}), k = p.input("k", {2, 32, 32}), v = p.input("v", {2, 32, 32});
  const ValueId scores = p.add("scores", MatMulOperator{.transpose_b = true}, {q, k});
  EXPECT_EQ(groups_of(p.finish({p.product("mix", p.softmax("weights", scores), v)})),
            "transpose+matmul+softmax+matmul\n");
}

/// Operators between two attentions belong to the kernel of the first.
TEST(Patterns, AttentionOfAnAttention) {
  Pattern p;
  const ValueId q = p.input("q", {1, 32, 32, 32}), k = p.input("k", {1, 32, 32, 32}), v = p.input("v", {1, 32, 32, 32});
  const ValueId first = p.product("mix", p.softmax("weights", p.product("scores", q, k)), v);
  const ValueId turned = p.transpose("turned", first, {0, 2, 1, 3});
  const ValueId weights = p.softmax("weights2", p.product("scores2", turned, k));
  EXPECT_EQ(groups_of(p.finish({p.product("mix2", weights, v)})),
            "matmul+softmax+matmul+transpose\nmatmul+softmax+matmul\n");
}

/// A product is the last of one or the first of another.
TEST(Patterns, AttentionWhoseResultIsScores) {
  Pattern p;
  const ValueId q = p.input("q", {2, 32, 32}), k = p.input("k", {2, 32, 32}), v = p.input("v", {2, 32, 32});
  const ValueId first = p.product("mix", p.softmax("weights", p.product("scores", q, k)), v);
  EXPECT_EQ(groups_of(p.finish({p.product("mix2", p.softmax("weights2", first), v)})),
            "matmul+softmax+matmul\nsoftmax\nmatmul\n");
}

/// One query reads each key once: turning the keys would cost more.
TEST(Patterns, AttentionOfOneQueryStaysSeparate) {
  Pattern p;
  const ValueId q = p.input("q", {2, 1, 32}), k = p.input("k", {2, 32, 48}), v = p.input("v", {2, 48, 32});
  EXPECT_EQ(groups_of(p.finish({p.product("mix", p.softmax("weights", p.product("scores", q, k)), v)})),
            "matmul\nsoftmax\nmatmul\n");
}

/// Weights that the user wants to see are an output, which a kernel has one of.
TEST(Patterns, AttentionWhoseWeightsAreReadStaysSeparate) {
  Pattern p;
  const ValueId q = p.input("q", {2, 32, 32}), k = p.input("k", {2, 32, 32}), v = p.input("v", {2, 32, 32});
  const ValueId weights = p.softmax("weights", p.product("scores", q, k));
  EXPECT_EQ(groups_of(p.finish({p.product("mix", weights, v), weights})), "matmul\nsoftmax\nmatmul\n");
}

// ---- Squeeze and excite: of a picture [1, 16, 8, 8] to 4 channels and back

std::string squeeze(const Make& inner, const Make& outer, bool dense) {
  Pattern p;
  const ValueId x = p.conv("x", p.input("picture", {1, 3, 8, 8}), 16, 3, 1, 1);
  ValueId y = p.add("mean", ReduceOperator{ReduceKind::mean, {2, 3}, true}, {x});
  if (dense) y = p.reshape("flat", y, {1, 16});
  y = inner(p, dense ? p.dense("squeeze", y, 4) : p.conv("squeeze", y, 4, 1));
  y = outer(p, dense ? p.dense("excite", y, 16) : p.conv("excite", y, 16, 1));
  if (dense) y = p.reshape("factors", y, {1, 16, 1, 1});
  return groups_of(p.finish({p.conv("next", p.times("y", x, y), 4, 1)}));
}

const Make kRelu = [](Pattern& p, ValueId x) { return p.relu("relu", x); };
const Make kSigmoid = [](Pattern& p, ValueId x) { return p.unary("sigmoid", U::sigmoid, x); };
const Make kHardSigmoid = [](Pattern& p, ValueId x) { return p.add("hard", HardSigmoidOperator{1.0 / 6, 0.5}, {x}); };
const Make kSilu = [](Pattern& p, ValueId x) { return p.times("silu", x, p.unary("gate", U::sigmoid, x)); };

TEST(Patterns, SqueezeAndExcite) {
  EXPECT_EQ(squeeze(kRelu, kSigmoid, false),
            "transpose+conv\nreduce_mean+conv+relu+conv+sigmoid\nmul+conv\ntranspose\n");
}
TEST(Patterns, SqueezeAndExciteOfMobilenet) {
  EXPECT_EQ(squeeze(kRelu, kHardSigmoid, false),
            "transpose+conv\nreduce_mean+conv+relu+conv+hard_sigmoid\nmul+conv\ntranspose\n");
}
TEST(Patterns, SqueezeAndExciteOfEfficientnet) {
  EXPECT_EQ(squeeze(kSilu, kSigmoid, false),
            "transpose+conv\nreduce_mean+conv+sigmoid+mul+conv+sigmoid\nmul+conv\ntranspose\n");
}
TEST(Patterns, SqueezeAndExciteByDenseLayers) {
  EXPECT_EQ(squeeze(kRelu, kSigmoid, true),
            "transpose+conv\nreduce_mean+reshape+matmul+add+relu+matmul+add+sigmoid\nmul+conv\ntranspose\n");
}

/// A classifier behind the mean is none: its large products have schedules of their own.
TEST(Patterns, AClassifierStaysSeparate) {
  Pattern p;
  const ValueId x = p.conv("x", p.input("picture", {1, 3, 8, 8}), 16, 3, 1, 1);
  const ValueId mean = p.reshape("flat", p.add("mean", ReduceOperator{ReduceKind::mean, {2, 3}, true}, {x}), {1, 16});
  EXPECT_EQ(groups_of(p.finish({p.dense("classes", p.relu("relu", p.dense("hidden", mean, 32)), 10)})),
            "transpose+conv\nreduce_mean\nmatmul+add+relu\nmatmul+add\n");
}

// ---- Moves

/// Torch exports GroupNorm as a reshape to [N, G, M] and back: nothing turns the picture on the way, and it is read
/// three times, by rows of channels.
TEST(Patterns, GroupNormalization) {
  Pattern p;
  const ValueId x = p.conv("a", p.input("x", {1, 16, 4, 4}), 16, 1);
  const ValueId flat = p.reshape("flat", x, {1, 4, 64});
  const ValueId centred = p.binary("centred", B::sub, flat, p.mean("mean", flat));
  const ValueId variance = p.shifted("variance", p.mean("squares", p.times("square", centred, centred)), 1e-5);
  const ValueId normal = p.over("normal", centred, p.unary("deviation", U::sqrt, variance));
  const ValueId y = p.conv("b", p.reshape("picture", normal, {1, 16, 4, 4}), 8, 1);
  EXPECT_EQ(groups_of(p.finish({y})),
            "transpose\nconv\nreduce_mean\nreduce_mean\nexpand+reshape\nsub+mul+reduce_mean\nreduce_mean+add+sqrt+"
            "reciprocal\nmul\nexpand+reshape\nexpand+reshape\nmul+sub\nconv\ntranspose\n");
}

TEST(Patterns, ChannelShuffle) {
  Pattern p;
  const ValueId x = p.input("x", {1, 16, 4, 4});
  const ValueId both = p.add("both", ConcatOperator{1}, {p.conv("a", x, 16, 1), p.conv("b", x, 16, 1)});
  const ValueId turned = p.transpose("turned", p.reshape("groups", both, {1, 2, 16, 4, 4}), {0, 2, 1, 3, 4});
  const ValueId shuffled = p.reshape("shuffled", turned, {1, 32, 4, 4});
  EXPECT_EQ(groups_of(p.finish({p.conv("c", shuffled, 8, 1)})),
            "transpose\nconv\nconv\nconcat+reshape+transpose+reshape\nconv\ntranspose\n");
}

/// A half goes through, the other one is convolved where it is; the next shuffle reads both.
TEST(Patterns, ChannelShuffleAndSplit) {
  Pattern p;
  const auto shuffle = [&](const std::string& name, ValueId a, ValueId b) {
    const ValueId both = p.add(name + "_both", ConcatOperator{1}, {a, b});
    const ValueId turned =
        p.transpose(name + "_turned", p.reshape(name + "_groups", both, {1, 2, 16, 4, 4}), {0, 2, 1, 3, 4});
    return p.reshape(name, turned, {1, 32, 4, 4});
  };
  const auto half = [&](const std::string& name, ValueId x, std::int64_t k) {
    return p.add(name, SliceOperator{{0, k * 16, 0, 0}, {1, 1, 1, 1}, {1, 16, 4, 4}}, {x});
  };
  const ValueId x = p.input("x", {1, 16, 4, 4});
  const ValueId first = shuffle("first", p.conv("a", x, 16, 1), p.conv("b", x, 16, 1));
  const ValueId second =
      shuffle("second", half("left", first, 0), p.relu("relu", p.conv("c", half("right", first, 1), 16, 1)));
  EXPECT_EQ(groups_of(p.finish({p.conv("d", second, 8, 1)})),
            "transpose\nconv\nconv\nconcat+reshape+transpose+reshape\nslice+conv+relu\nslice+concat+reshape+transpose+"
            "reshape\nconv\ntranspose\n");
}

}  // namespace patterns_test
}  // namespace whet
