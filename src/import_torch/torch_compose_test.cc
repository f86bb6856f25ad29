#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "import_torch/site.h"
#include "import_torch/testing/pt2.h"
#include "ops/evaluate_graph.h"

/// Operators that are made of others, against their definitions.
namespace whet::torch {
namespace torch_compose_test {

using Numbers = std::vector<double>;

/// Output `k` where the inputs are `given`, or an error as a failure.
Numbers answer(const Pt2& program, const std::vector<Tensor>& given, std::size_t k = 0) {
  const Result<Graph> graph = imported_pt2(program.bytes(), "m");
  if (!graph.ok()) {
    ADD_FAILURE() << graph.error().message;
    return {};
  }
  const Tensor y = evaluate_graph(*graph, given).value()[graph->outputs.at(k).index()];
  Numbers values;
  for (std::int64_t i = 0; i < y.size(); ++i) values.push_back(y.get(i));
  return values;
}
std::string said(const Pt2& program) {
  const Result<Graph> graph = imported_pt2(program.bytes(), "m");
  return graph.ok() ? "" : graph.error().message;
}
Tensor f32(const Shape& shape, const Numbers& values) { return Tensor::of(DType::f32, shape, values); }
void expect_near(const Numbers& got, const Numbers& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5) << i;
}
/// One operator of x.
Numbers of(const std::string& op, const std::string& arguments, const Tensor& x, std::size_t k = 0,
           std::size_t outputs = 1) {
  Pt2 p;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < outputs; ++i) names.push_back("y" + std::to_string(i));
  p.input("x", x.shape()).node(op, "self=%x" + (arguments.empty() ? "" : " " + arguments), names);
  for (const std::string& name : names) p.output(name);
  return answer(p, {x}, k);
}

TEST(TorchCompose, OtherNamesMeanTheSame) {
  const Tensor x = f32({2, 2}, {-1.5, 0.25, 2, 3});
  EXPECT_EQ(of("aten.absolute.default", "", x), (Numbers{1.5, 0.25, 2, 3}));
  EXPECT_EQ(of("aten.clip.default", "min=0 max=2", x), (Numbers{0, 0.25, 2, 2}));
  EXPECT_EQ(of("aten.swapdims.default", "dim0=0 dim1=1", x), (Numbers{-1.5, 2, 0.25, 3}));
  EXPECT_EQ(of("aten.multiply.Scalar", "other=2", x), (Numbers{-3, 0.5, 4, 6}));
  EXPECT_EQ(of("aten.subtract.Scalar", "other=1", x), (Numbers{-2.5, -0.75, 1, 2}));
  EXPECT_EQ(of("aten.greater.Scalar", "other=1", x), (Numbers{0, 0, 1, 1}));
  EXPECT_EQ(of("aten.ravel.default", "", x), (Numbers{-1.5, 0.25, 2, 3}));
}
/// PyTorch divides by the whole size, whatever the factor that it is given.
TEST(TorchCompose, AlignedCornersAreTheLastPixels) {
  const auto resized = [](const std::string& op, const std::string& arguments, const Tensor& x) {
    Pt2 p;
    p.input("x", x.shape()).node(op, "input=%x " + arguments, {"y"}).output("y");
    return answer(p, {x});
  };
  const Tensor line = f32({1, 1, 4}, {1, 2, 3, 4}), image = f32({1, 1, 1, 4}, {1, 2, 3, 4});
  expect_near(resized("aten.upsample_linear1d.vec", "output_size=none align_corners=true scale_factors=[0.9]", line),
              {1, 2.5, 4});
  expect_near(resized("aten.upsample_linear1d.vec", "output_size=none align_corners=true scale_factors=[1.9]", line),
              {1, 1.5, 2, 2.5, 3, 3.5, 4});
  expect_near(
      resized("aten._upsample_bilinear2d_aa.vec", "output_size=[1,3] align_corners=true scale_factors=none", image),
      {1.375, 2.777778, 3.833333});
}
/// One operator of x [4] of f16, or of two such.
Numbers of_halves(const std::string& op, const std::string& arguments, const Numbers& x, const Numbers& z = {}) {
  const auto shape = Shape{static_cast<std::int64_t>(x.size())};
  Pt2 p;
  p.input("x", shape, 6);
  if (!z.empty()) p.input("z", shape, 6);
  p.node(op, arguments, {"y"}).output("y");
  std::vector<Tensor> given = {Tensor::of(DType::f16, shape, x)};
  if (!z.empty()) given.push_back(Tensor::of(DType::f16, shape, z));
  return answer(p, given);
}
TEST(TorchHalves, AreComputedInF32InsideOfOneOperator) {
  // Squares of 300 and more are no numbers of f16.
  EXPECT_EQ(of_halves("aten.var.correction", "self=%x correction=0", {300, -300, 100, -100}),
            (Numbers{49984}));  // the number of f16 next to 50000
  EXPECT_EQ(of_halves("aten.std.correction", "self=%x correction=0", {300, -300, 300, -300}), (Numbers{300}));
  EXPECT_EQ(of_halves("aten.linalg_vector_norm.default", "self=%x ord=2", {300, 400, 0, 0}), (Numbers{500}));
  EXPECT_EQ(of_halves("aten.linalg_vector_norm.default", "self=%x ord=3.0", {300, 0, 0, 0}), (Numbers{300}));
  EXPECT_EQ(of_halves("aten.cosine_similarity.default", "x1=%x x2=%z dim=0", {300, 400, 0, 0}, {300, 400, 0, 0}),
            (Numbers{1}));
  EXPECT_EQ(of_halves("aten.dist.default", "self=%x other=%z p=2", {300, 0, 0, 0}, {0, 400, 0, 0}), (Numbers{500}));
  EXPECT_EQ(
      of_halves("aten.addcmul.default", "self=%x tensor1=%z tensor2=%z value=0.001", {1, 1, 1, 1}, {1000, 2000, 0, 0}),
      (Numbers{1001, 4002, 1, 1}));
  EXPECT_EQ(of_halves("aten.add.Tensor", "self=%x other=%z alpha=1000", {-60000, 0, 0, 0}, {100, 1, 2, 3}),
            (Numbers{40000, 1000, 2000, 3000}));
  EXPECT_EQ(of_halves("aten.lerp.Scalar", "self=%x end=%z weight=0.5", {60000, 0, 0, 0}, {-60000, 1, 2, 4}),
            (Numbers{0, 0.5, 1, 2}));
  EXPECT_EQ(of_halves("aten.cumsum.default", "self=%x dim=0", {2048, 1, 1, 1}), (Numbers{2048, 2048, 2050, 2052}));
  EXPECT_EQ(of_halves("aten.logsumexp.default", "self=%x dim=[0]", {60000, -60000, 0, 0}), (Numbers{60000}));
  EXPECT_EQ(of_halves("aten.dot.default", "self=%x tensor=%z", {256, 256, 0, 0}, {256, -256, 0, 0}), (Numbers{0}));
}
TEST(TorchHalves, ARowOfTheLowestNumbersLeavesTheScoresAsTheyAre) {
  // Queries of one place, keys of two: scores of 1 and 0 beside a mask that is all -65504.
  Pt2 p;
  p.input("q", {1, 1, 1, 1}, 6).input("k", {1, 1, 2, 1}, 6).input("m", {1, 1, 1, 2}, 6);
  p.node("aten.scaled_dot_product_attention.default", "query=%q key=%k value=%k attn_mask=%m scale=1", {"y"})
      .output("y");
  const auto half = [](const Shape& shape, const Numbers& x) { return Tensor::of(DType::f16, shape, x); };
  const Numbers same =
      answer(p, {half({1, 1, 1, 1}, {8}), half({1, 1, 2, 1}, {1, 0}), half({1, 1, 1, 2}, {-65504, -65504})});
  EXPECT_NEAR(same.at(0), 1 / (1 + std::exp(-8.0)), 2e-3);
  const Numbers beyond =
      answer(p, {half({1, 1, 1, 1}, {400}), half({1, 1, 2, 1}, {400, 399}), half({1, 1, 1, 2}, {0, 0})});
  EXPECT_EQ(beyond, Numbers{400});
}
TEST(TorchHalves, LinearLayersAreRoundedBehindTheirBias) {
  Pt2 p;
  p.input("x", {1, 1}, 6).input("w", {1, 1}, 6).input("b", {1}, 6);
  p.node("aten.linear.default", "input=%x weight=%w bias=%b", {"y"}).output("y");
  p.node("aten.addmm.default", "self=%b mat1=%x mat2=%w beta=2 alpha=0.5", {"z"}).output("z");
  const auto half = [](const Shape& shape, double x) { return Tensor::of(DType::f16, shape, Numbers{x}); };
  const std::vector<Tensor> given = {half({1, 1}, 300), half({1, 1}, 300), half({1}, -40000)};
  EXPECT_EQ(answer(p, given), Numbers{49984});
  EXPECT_EQ(answer(p, {half({1, 1}, 300), half({1, 1}, 300), half({1}, 1)}, 1), Numbers{44992});
}
TEST(TorchCompose, PartsBetweenPlacesAreSlices) {
  // x[r][c] = 10 r + c; parts of the columns, as Python's x[:, from:to] has them
  Tensor x(DType::f32, {2, 5});
  for (std::int64_t i = 0; i < 10; ++i) x.set(i, static_cast<double>(10 * (i / 5) + i % 5));
  const auto columns = [&](std::int64_t from, std::int64_t to) {
    Numbers values;
    for (std::int64_t r = 0; r < 2; ++r)
      for (std::int64_t c = from; c < to; ++c) values.push_back(static_cast<double>(10 * r + c));
    return values;
  };
  const auto part = [&](const std::string& places, std::size_t k, std::size_t count) {
    return of("aten.tensor_split.indices", "indices=" + places + " dim=1", x, k, count);
  };
  EXPECT_EQ(part("[1]", 0, 2), columns(0, 1));
  EXPECT_EQ(part("[1]", 1, 2), columns(1, 5));
  EXPECT_EQ(part("[2,-1]", 1, 3), columns(2, 4));
  EXPECT_EQ(part("[2,-1]", 2, 3), columns(4, 5));
  EXPECT_EQ(part("[3,1,9]", 1, 4), Numbers{});
  EXPECT_EQ(part("[3,1,9]", 2, 4), columns(1, 5));
  EXPECT_EQ(part("[3,1,9]", 3, 4), Numbers{});
  Pt2 p;
  p.input("x", {2, 5}).node("aten.tensor_split.indices", "self=%x indices=[1,2]", {"a", "b"}).output("a");
  EXPECT_EQ(said(p), "a (aten.tensor_split): has 2 results; expected 3");
}
TEST(TorchCompose, TheShapeIsATensor) {
  EXPECT_EQ(of("aten._shape_as_tensor.default", "", f32({3, 1}, {1, 2, 3})), (Numbers{3, 1}));
}
TEST(TorchCompose, FractionsAndLogarithms) {
  const Tensor x = f32({4}, {-1.75, 0.25, 2, 3.5});
  EXPECT_EQ(of("aten.frac.default", "", x), (Numbers{-0.75, 0.25, 0, 0.5}));
  const auto logit = [](double p) { return std::log(p / (1 - p)); };
  expect_near(of("aten.logit.default", "", f32({2}, {0.25, 0.9})), {logit(0.25), logit(0.9)});
  expect_near(of("aten.logit.default", "eps=0.125", f32({2}, {0, 1})), {logit(0.125), logit(0.875)});
  Pt2 p;
  p.input("a", {4}).input("b", {4}).node("aten.logaddexp.default", "self=%a other=%b", {"y"}).output("y");
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  const Numbers sums = answer(p, {f32({4}, {0, 100, -2, kNone}), f32({4}, {0, 1, 3, kNone})});
  expect_near({sums[0], sums[1], sums[2]}, {std::log(2), 100, std::log(std::exp(-2.0) + std::exp(3.0))});
  EXPECT_EQ(sums[3], kNone);
  EXPECT_EQ(of("aten.rrelu.default", "lower=0.25 upper=0.75", f32({2}, {-2, 2})), (Numbers{-1, 2}));
}
TEST(TorchCompose, WindowsOfADimensionStandLast) {
  // x[r][c] = 10 r + c; windows of 2 rows by steps of 2: [2, 3, 2]
  Tensor x(DType::f32, {5, 3});
  for (std::int64_t i = 0; i < 15; ++i) x.set(i, static_cast<double>(10 * (i / 3) + i % 3));
  EXPECT_EQ(of("aten.unfold.default", "dimension=0 size=2 step=2", x),
            (Numbers{0, 10, 1, 11, 2, 12, 20, 30, 21, 31, 22, 32}));
  EXPECT_EQ(of("aten.unfold.default", "dimension=-1 size=2 step=1", f32({1, 3}, {5, 6, 7})), (Numbers{5, 6, 6, 7}));
}
TEST(TorchCompose, StacksOfLists) {
  Pt2 p;
  p.input("a", {2}).input("b", {2});
  p.node("aten.vstack.default", "tensors=(%a,%b)", {"v"}).node("aten.hstack.default", "tensors=(%a,%b)", {"h"});
  p.node("aten.hstack.default", "tensors=(%v,%v)", {"w"}).output("v").output("h").output("w");
  const std::vector<Tensor> given = {f32({2}, {1, 2}), f32({2}, {3, 4})};
  EXPECT_EQ(answer(p.said("v", {2, 2}).said("h", {4}).said("w", {2, 4}), given, 0), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(answer(p, given, 1), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(answer(p, given, 2), (Numbers{1, 2, 1, 2, 3, 4, 3, 4}));
}
TEST(TorchCompose, ExtremesAndMoments) {
  const Tensor x = f32({2, 3}, {4, 1, 7, 2, 8, 2});
  EXPECT_EQ(of("aten.aminmax.default", "dim=1", x, 0, 2), (Numbers{1, 2}));
  EXPECT_EQ(of("aten.aminmax.default", "dim=1", x, 1, 2), (Numbers{7, 8}));
  EXPECT_EQ(of("aten.aminmax.default", "", x, 1, 2), (Numbers{8}));
  expect_near(of("aten.std_mean.correction", "dim=[1]", x, 0, 2), {3, std::sqrt(12.0)});
  expect_near(of("aten.std_mean.correction", "dim=[1]", x, 1, 2), {4, 4});
}
TEST(TorchCompose, MaximaGoBackToTheirPlaces) {
  Pt2 p;
  p.input("x", {1, 2, 2, 2}).node("aten.max_pool2d_with_indices.default", "self=%x kernel_size=[2,2]", {"m", "i"});
  p.node("aten.max_unpool2d.default", "self=%m indices=%i output_size=[2,2]", {"y"}).output("y");
  EXPECT_EQ(answer(p, {f32({1, 2, 2, 2}, {1, 5, 2, 3, 9, 7, 8, 6})}), (Numbers{0, 5, 0, 0, 9, 0, 0, 0}));
}

TEST(TorchCompose, PlacesInRisingRows) {
  const Numbers bounds = {-1, 0.5, 0.5, 2}, values = {-2, -1, 0, 0.5, 1, 2, 7, std::nan("")};
  const auto wanted = [&](bool right) {
    Numbers places;
    for (const double value : values) {
      double place = 0;
      for (const double bound : bounds) place += std::isnan(value) || bound < value || (right && bound == value);
      places.push_back(place);
    }
    return places;
  };
  const Tensor x = f32({2, 4}, values);
  for (const bool right : {false, true}) {
    const std::string said_right = right ? " right=true" : "";
    Pt2 p;
    p.input("x", {2, 4}).weight("b", f32({4}, bounds)).weight("unsorted", f32({4}, {0.5, 2, -1, 0.5}));
    p.weight("order", Tensor::of<std::int64_t>(DType::i64, {4}, {2, 0, 3, 1}));
    p.node("aten.bucketize.Tensor", "self=%x boundaries=%b" + said_right, {"k"}).said("k", {2, 4}, 5).output("k");
    p.node("aten.searchsorted.Tensor", "sorted_sequence=%b self=%x out_int32=true" + said_right, {"n"});
    p.node("aten.searchsorted.Tensor",
           std::string("sorted_sequence=%unsorted self=%x sorter=%order side=") + (right ? "'right'" : "'left'"),
           {"s"});
    p.said("n", {2, 4}, 4).output("n").said("s", {2, 4}, 5).output("s");
    for (const std::size_t k : {0, 1, 2}) EXPECT_EQ(answer(p, {x}, k), wanted(right)) << right << k;
  }
}
TEST(TorchCompose, EachRowHasItsOwnOrder) {
  Pt2 p;
  p.input("r", {2, 3}).input("x", {2, 2}).node("aten.searchsorted.Tensor", "sorted_sequence=%r self=%x", {"y"});
  p.output("y");
  EXPECT_EQ(answer(p, {f32({2, 3}, {1, 2, 3, 10, 20, 30}), f32({2, 2}, {2, 4, 5, 25})}), (Numbers{1, 3, 0, 2}));
  Pt2 q;
  q.input("r", {3, 3}).input("x", {2, 2}).node("aten.searchsorted.Tensor", "sorted_sequence=%r self=%x", {"y"});
  EXPECT_EQ(said(q.output("y")), "y (aten.searchsorted): looks for f32[2x2] in rows f32[3x3]");
  Pt2 side;
  side.input("r", {3}).input("x", {2});
  side.node("aten.searchsorted.Tensor", "sorted_sequence=%r self=%x right=true side='left'", {"y"});
  EXPECT_EQ(said(side.output("y")), "y (aten.searchsorted): argument \"side\" is left; expected right");
}
TEST(TorchCompose, EntriesArePutWhereAListSays) {
  const Tensor x = f32({2, 3}, {0, 1, 2, 3, 4, 5}), two = f32({2, 2}, {10, 11, 12, 13});
  Pt2 p;
  p.input("x", {2, 3}).input("s", {2, 2}).weight("i", Tensor::of<std::int64_t>(DType::i64, {2}, {2, 0}));
  p.node("aten.index_copy.default", "self=%x dim=1 index=%i source=%s", {"c"}).output("c");
  p.node("aten.index_add.default", "self=%x dim=1 index=%i source=%s alpha=2", {"a"}).output("a");
  p.node("aten.index_fill.int_Scalar", "self=%x dim=-1 index=%i value=7", {"f"}).output("f");
  Numbers copied, added, filled;
  for (int r = 0; r < 2; ++r) {
    for (int c = 0; c < 3; ++c) {
      const double old = x.get(3 * r + c), from = c == 1 ? 0 : two.get(2 * r + (c == 2 ? 0 : 1));
      copied.push_back(c == 1 ? old : from);
      added.push_back(old + 2 * from);
      filled.push_back(c == 1 ? old : 7);
    }
  }
  EXPECT_EQ(answer(p, {x, two}, 0), copied);
  EXPECT_EQ(answer(p, {x, two}, 1), added);
  EXPECT_EQ(answer(p, {x, two}, 2), filled);
  Pt2 q;
  q.input("x", {2, 3}).input("s", {1, 2}).weight("i", Tensor::of<std::int64_t>(DType::i64, {2}, {2, 0}));
  q.node("aten.index_copy.default", "self=%x dim=1 index=%i source=%s", {"c"}).output("c");
  EXPECT_EQ(said(q), "c (aten.index_copy): puts f32[1x2] to f32[2x3] at places i64[2]");
}
/// x [2, 3] = 0 .. 5 with (1, 2), (10, 20) put at columns of a list, or added to them.
Numbers put(const std::string& op, const std::vector<std::int64_t>& columns, bool known) {
  Pt2 p;
  const Tensor list = Tensor::of<std::int64_t>(DType::i64, {2}, columns);
  p.input("x", {2, 3}).input("s", {2, 2});
  if (known) {
    p.weight("i", list);
  } else {
    p.input("i", {2}, 5);
  }
  p.node(op, "self=%x dim=1 index=%i " + std::string(op.find("fill") != std::string::npos ? "value=7" : "source=%s"),
         {"y"});
  std::vector<Tensor> given = {f32({2, 3}, {0, 1, 2, 3, 4, 5}), f32({2, 2}, {1, 2, 10, 20})};
  if (!known) given.push_back(list);
  return answer(p.output("y"), given);
}
TEST(TorchCompose, OfEntriesAtOnePlaceTheLastIsPutAndAllAreAdded) {
  for (const bool known : {false, true}) {
    EXPECT_EQ(put("aten.index_copy.default", {1, 1}, known), (Numbers{0, 2, 2, 3, 20, 5})) << known;
    EXPECT_EQ(put("aten.index_add.default", {1, 1}, known), (Numbers{0, 4, 2, 3, 34, 5})) << known;
    EXPECT_EQ(put("aten.index_add.default", {2, 0}, known), (Numbers{2, 1, 3, 23, 4, 15})) << known;
    EXPECT_EQ(put("aten.index_fill.int_Scalar", {-1, 0}, known), (Numbers{7, 1, 7, 7, 4, 7})) << known;
  }
}
TEST(TorchCompose, KnownPlacesOutsideAreRefused) {
  const auto error = [](const std::string& op, const std::string& what, const Shape& shape, std::int64_t place) {
    Tensor list(DType::i64, shape);
    for (std::int64_t i = 0; i < list.size(); ++i) list.set_integer(i, place);
    Pt2 p;
    p.input("x", {2, 3}).input("s", {2, 1}).weight("i", list);
    return said(p.node("aten." + op, "self=%x dim=1 index=%i " + what, {"y"}).output("y"));
  };
  for (const std::string op : {"index_copy", "index_add"}) {
    EXPECT_EQ(error(op + ".default", "source=%s", {1}, 5),
              "y (aten." + op + "): writes element 5 of a dimension of extent 3");
    EXPECT_EQ(error(op + ".default", "source=%s", {}, -1),
              "y (aten." + op + "): writes element -1; expected 0 or more");
    EXPECT_EQ(error(op + ".default", "source=%s", {}, 2), "");
    EXPECT_EQ(
        error(op + ".default", "source=%s", {1, 1}, 2),
        "y (aten." + op + (op == "index_add" ? "): adds" : "): puts") + " f32[2x1] to f32[2x3] at places i64[1x1]");
  }
  EXPECT_EQ(error("index_fill.int_Scalar", "value=7", {1}, -4),
            "y (aten.index_fill): writes element -4 of a dimension of extent 3");
  EXPECT_EQ(error("index_fill.int_Scalar", "value=7", {1, 1}, 0),
            "y (aten.index_fill): puts f32[2x1] to f32[2x3] at places i64[1x1]");
}
TEST(TorchCompose, AKnownMaskTakesNoMoreThanThereIs) {
  const auto program = [](std::int64_t count) {
    Pt2 p;
    p.input("x", {2, 3}).input("s", {count}).weight("m", Tensor::of<int>(DType::boolean, {3}, {1, 0, 1}));
    p.node("aten.masked_scatter.default", "self=%x mask=%m source=%s", {"y"}).output("y");
    return p;
  };
  EXPECT_EQ(said(program(3)), "y (aten.masked_scatter): takes 4 elements of f32[3]");
  EXPECT_EQ(answer(program(4), {f32({2, 3}, {0, 1, 2, 3, 4, 5}), f32({4}, {10, 11, 12, 13})}),
            (Numbers{10, 1, 11, 12, 4, 13}));
}
TEST(TorchCompose, AMaskTakesTheNextOfASource) {
  Pt2 p;
  p.input("x", {2, 3}).input("m", {3}).input("s", {2, 3}).node("aten.gt.Scalar", "self=%m other=0", {"k"});
  p.said("k", {3}, 12).node("aten.masked_scatter.default", "self=%x mask=%k source=%s", {"y"}).output("y");
  const std::vector<Tensor> given = {f32({2, 3}, {0, 1, 2, 3, 4, 5}), f32({3}, {1, 0, 1}),
                                     f32({2, 3}, {10, 11, 12, 13, 14, 15})};
  EXPECT_EQ(answer(p, given), (Numbers{10, 1, 11, 12, 4, 13}));
}
TEST(TorchCompose, RowsBecomeDiagonals) {
  // x[r][i] = 10 r + i + 1
  const Tensor x = f32({2, 3}, {1, 2, 3, 11, 12, 13});
  for (const int offset : {0, 2, -1}) {
    const int extent = 3 + std::abs(offset);
    Numbers last(static_cast<std::size_t>(2 * extent * extent)), turned = last;
    for (int r = 0; r < 2; ++r) {
      for (int i = 0; i < 3; ++i) {
        const int row = i + std::max(-offset, 0), column = i + std::max(offset, 0);
        last[static_cast<std::size_t>((r * extent + row) * extent + column)] = 10 * r + i + 1;
        turned[static_cast<std::size_t>((column * 2 + r) * extent + row)] = 10 * r + i + 1;
      }
    }
    const std::string said_offset = "offset=" + std::to_string(offset);
    EXPECT_EQ(of("aten.diag_embed.default", said_offset, x), last) << offset;
    EXPECT_EQ(of("aten.diag_embed.default", said_offset + " dim1=2 dim2=0", x), turned) << offset;
  }
  Pt2 p;
  p.input("x", {2, 3}).node("aten.diag_embed.default", "self=%x dim1=1 dim2=1", {"y"}).output("y");
  EXPECT_EQ(said(p), "y (aten.diag_embed): makes diagonals 0 of f32[2x3] in dimensions 1 and 1");
}
TEST(TorchCompose, ProductsOfAllBefore) {
  Tensor x(DType::f32, {2, 7});
  Numbers rows, columns;
  for (std::int64_t i = 0; i < 14; ++i) x.set(i, 0.5 + 0.25 * static_cast<double>(i % 5));
  for (std::int64_t i = 0; i < 14; ++i) {
    double product = 1;
    for (std::int64_t j = i - i % 7; j <= i; ++j) product *= x.get(j);
    rows.push_back(product);
    columns.push_back(i < 7 ? x.get(i) : x.get(i - 7) * x.get(i));
  }
  expect_near(of("aten.cumprod.default", "dim=1", x), rows);
  expect_near(of("aten.cumprod.default", "dim=-2", x), columns);
}
TEST(TorchCompose, ProductsOfAllBeforeAreTakenInOrder) {
  const double big = 0x1p100, small = 0x1p-100, infinite = std::numeric_limits<double>::infinity();
  const auto products = [](const Numbers& x) {
    return of("aten.cumprod.default", "dim=0", f32({static_cast<std::int64_t>(x.size())}, x));
  };
  EXPECT_EQ(products({0, big, big}), (Numbers{0, 0, 0}));
  EXPECT_EQ(products({small, big, big}), (Numbers{small, 1, big}));
  EXPECT_EQ(products({big, small, small}), (Numbers{big, 1, small}));
  EXPECT_EQ(products({big, big, small}), (Numbers{big, infinite, infinite}));
  // Longer ones are not in order, but end at the first 0.
  Numbers many(70, big), wanted(70, 0);
  many[1] = 0;
  wanted[0] = big;
  EXPECT_EQ(products(many), wanted);
  for (std::size_t i = 0; i < many.size(); ++i) {
    many[i] = i % 3 == 2 ? 0.25 : 2;
    wanted[i] = i == 0 ? many[0] : wanted[i - 1] * many[i];
  }
  EXPECT_EQ(products(many), wanted);
}
TEST(TorchCompose, ProductsOfIntegersAreLong) {
  Pt2 p;
  p.input("x", {2, 3}, 4).node("aten.cumprod.default", "self=%x dim=1", {"y"}).said("y", {2, 3}, 5).output("y");
  const Tensor x = Tensor::of<int>(DType::i32, {2, 3}, {2, -3, 1 << 30, 0, 5, 7});
  EXPECT_EQ(answer(p, {x}), (Numbers{2, -6, -6.0 * (1 << 30), 0, 0, 0}));
}
TEST(TorchCompose, SumsAndProductsInPlaceKeepTheirType) {
  for (const std::string op : {"cumsum", "cumprod"}) {
    Pt2 p;
    p.input("x", {3}, 4).node("aten.neg.default", "self=%x", {"n"}).said("n", {3}, 4);
    p.node("aten." + op + "_.default", "self=%n dim=0", {"y"}).said("y", {3}, 4);
    p.node("aten.mul.Scalar", "self=%n other=2", {"z"}).said("z", {3}, 4).output("z");
    const Tensor x = Tensor::of<int>(DType::i32, {3}, {-2, -3, -4});
    EXPECT_EQ(answer(p, {x}), op == "cumsum" ? (Numbers{4, 10, 18}) : (Numbers{4, 12, 48}));
  }
}
TEST(TorchCompose, CountsTrianglesAndCrossProducts) {
  const Tensor x = f32({2, 3}, {0, 1, -2, 0, 0, 3});
  EXPECT_EQ(of("aten.count_nonzero.default", "", x), (Numbers{3}));
  EXPECT_EQ(of("aten.count_nonzero.dim_IntList", "dim=[1]", x), (Numbers{2, 1}));
  EXPECT_EQ(of("aten.count_nonzero.dim_IntList", "dim=[0,2]", f32({2, 2, 2}, {0, 1, -2, 0, 0, 3, 0, 0})),
            (Numbers{2, 1}));
  Pt2 p;
  p.input("a", {2, 3}).input("b", {2, 3}).node("aten.linalg_cross.default", "self=%a other=%b", {"c"}).output("c");
  p.node("aten.triu_indices.default", "row=2 col=3 offset=1", {"u"}).said("u", {2, 3}, 5).output("u");
  p.node("aten.tril_indices.default", "row=2 col=3", {"l"}).said("l", {2, 3}, 5).output("l");
  p.node("aten.cross.default", "self=%a other=%b", {"d"}).output("d");
  const Tensor a = f32({2, 3}, {1, 2, 3, 0, 1, 0}), b = f32({2, 3}, {4, 5, 6, 0, 0, 1});
  EXPECT_EQ(answer(p, {a, b}), (Numbers{-3, 6, -3, 1, 0, 0}));
  EXPECT_EQ(answer(p, {a, b}, 1), (Numbers{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(answer(p, {a, b}, 2), (Numbers{0, 1, 1, 0, 0, 1}));
  EXPECT_EQ(answer(p, {a, b}, 3), (Numbers{-3, 6, -3, 1, 0, 0}));
  Pt2 one;
  one.input("a", {2, 3}).input("b", {1, 3}).node("aten.linalg_cross.default", "self=%a other=%b", {"c"}).output("c");
  EXPECT_EQ(answer(one, {a, f32({1, 3}, {0, 0, 1})}), (Numbers{2, -1, 0, 1, 0, 0}));
}
TEST(TorchCompose, TrianglesAreAsLargeAsTheirPlaces) {
  const auto places = [](const std::string& op, int rows, int columns, int offset) {
    Pt2 p;
    p.input("x", {1}).node(
        "aten." + op + "_indices.default",
        "row=" + std::to_string(rows) + " col=" + std::to_string(columns) + " offset=" + std::to_string(offset), {"y"});
    return answer(p.output("y"), {f32({1}, {0})});
  };
  for (const std::string op : {"tril", "triu"}) {
    for (const int offset : {-7, -2, -1, 0, 1, 2, 7}) {
      Numbers rows, columns;
      for (int r = 0; r < 3; ++r) {
        for (int c = 0; c < 2; ++c) {
          if (op == "tril" ? c - r > offset : c - r < offset) continue;
          rows.push_back(r);
          columns.push_back(c);
        }
      }
      rows.insert(rows.end(), columns.begin(), columns.end());
      EXPECT_EQ(places(op, 3, 2, offset), rows) << op << offset;
    }
    constexpr int kMany = (1 << 30) - 1;  // rows, of which none is walked
    for (const int offset : {-kMany, 0, kMany}) {
      EXPECT_EQ(places(op, kMany, 0, offset), Numbers{}) << op << offset;
      EXPECT_EQ(places(op, 0, kMany, offset), Numbers{}) << op << offset;
    }
    Pt2 p;
    p.input("x", {1}).node("aten." + op + "_indices.default", "row=4096 col=4096 offset=0", {"y"}).output("y");
    EXPECT_EQ(said(p), "y (aten." + op + "_indices): the list of places has shape 2x4096x4096, which is too large");
  }
  Pt2 p;
  p.input("x", {1}).node("aten.eye.m", "n=2147483647 m=0", {"y"}).node("aten.sum.default", "self=%y", {"z"});
  EXPECT_EQ(answer(p.said("y", {2147483647, 0}).output("z"), {f32({1}, {0})}), Numbers{0});
}

/// Frames have 6 samples, and begin 2 samples apart. The window has 4 numbers and is in the middle of a frame.
struct Spectrogram {
  Tensor x = Tensor(DType::f32, {2, 10});
  Numbers window = {0.25, 1, 0.75, 0.5};
  Spectrogram() {
    for (std::int64_t i = 0; i < 20; ++i) x.set(i, static_cast<double>(i * i % 11) - 4.5);
  }
  Pt2 program(const std::string& more = " return_complex=true") const {
    Pt2 p;
    p.input("x", {2, 10}).weight("w", f32({4}, window));
    p.node("aten.stft.default",
           "self=%x n_fft=6 hop_length=2 win_length=4 window=%w normalized=true onesided=true" + more, {"s"});
    return p;
  }
  /// Of row r, frequency k and frame t, by the definition; the first and the last are real.
  std::complex<double> at(std::int64_t r, int k, int t) const {
    std::complex<double> sum = 0;
    for (int n = 0; n < 4; ++n) {
      const double sample = x.get(10 * r + 2 * t + n + 1) * window[static_cast<std::size_t>(n)];
      sum += sample * std::polar(1.0, -2 * std::numbers::pi * k * (n + 1) / 6);
    }
    return std::complex<double>(sum.real(), k % 3 == 0 ? 0 : sum.imag()) / std::sqrt(6.0);
  }
};
TEST(TorchComplex, SpectraOfFramesAreMovedAndMeasured) {
  const Spectrogram form;
  Pt2 p = form.program();
  p.said("s", {2, 4, 3}, 10).node("aten.view.default", "self=%s size=[1,2,4,3]", {"v"}).said("v", {1, 2, 4, 3}, 10);
  p.node("aten.slice.Tensor", "self=%v dim=3 start=0 end=2", {"c"}).said("c", {1, 2, 4, 2}, 10);
  p.node("aten.abs.default", "self=%c", {"a"}).said("a", {1, 2, 4, 2}).output("a");
  p.node("aten.view_as_real.default", "self=%c", {"r"}).said("r", {1, 2, 4, 2, 2}).output("r");
  p.node("aten.view_as_complex.default", "self=%r", {"z"}).said("z", {1, 2, 4, 2}, 10);
  p.node("aten.imag.default", "self=%z", {"i"}).output("i").node("aten.real.default", "self=%z", {"q"}).output("q");
  p.node("aten.angle.default", "self=%z", {"g"}).output("g");
  Numbers sizes, pairs, real, imaginary, angles;
  for (int r = 0; r < 2; ++r) {
    for (int k = 0; k < 4; ++k) {
      for (int t = 0; t < 2; ++t) {
        const std::complex<double> value = form.at(r, k, t);
        sizes.push_back(std::abs(value));
        pairs.insert(pairs.end(), {value.real(), value.imag()});
        real.push_back(value.real());
        imaginary.push_back(value.imag());
        angles.push_back(std::arg(value));
      }
    }
  }
  const std::vector<Numbers> wanted = {sizes, pairs, imaginary, real, angles};
  for (std::size_t k = 0; k < wanted.size(); ++k) expect_near(answer(p, {form.x}, k), wanted[k]);
}
TEST(TorchComplex, AnglesKnowTheSignsOfZeros) {
  Numbers pairs, angles;
  for (const double real : {-1.0, -0.0, 0.0, 2.0}) {
    for (const double imaginary : {-1.0, -0.0, 0.0, 2.0}) {
      pairs.insert(pairs.end(), {real, imaginary});
      angles.push_back(std::arg(std::complex<double>(real, imaginary)));
    }
  }
  Pt2 p;
  p.input("x", {16, 2}).node("aten.view_as_complex.default", "self=%x", {"z"}).said("z", {16}, 10);
  p.node("aten.angle.default", "self=%z", {"y"}).output("y");
  expect_near(answer(p, {f32({16, 2}, pairs)}), angles);
}
TEST(TorchComplex, FramesHaveDefaultsAndRealEnds) {
  // One frame of 4; its frequencies are 0, 0 and -4.
  Pt2 p;
  p.input("x", {4}).node("aten.stft.default", "self=%x n_fft=4 return_complex=true", {"s"}).said("s", {3, 1}, 10);
  p.node("aten.angle.default", "self=%s", {"g"}).output("g");
  p.node("aten.view_as_real.default", "self=%s", {"r"}).output("r");
  const Tensor x = f32({4}, {-1, 1, -1, 1});
  expect_near(answer(p, {x}), {0, 0, std::numbers::pi});
  expect_near(answer(p, {x}, 1), {0, 0, 0, 0, -4, 0});
}
TEST(TorchComplex, AnOddWindowStandsLeftOfTheMiddle) {
  const Tensor x = f32({7}, {3, -1, 4, 1, -5, 9, 2});
  Pt2 p;
  p.input("x", {7}).weight("w", f32({2}, {0.5, 2}));
  p.node("aten.stft.default", "self=%x n_fft=5 hop_length=2 win_length=2 window=%w return_complex=true", {"s"});
  p.said("s", {3, 2}, 10).node("aten.view_as_real.default", "self=%s", {"r"}).output("r");
  Numbers pairs;
  for (int k = 0; k < 3; ++k) {
    for (int t = 0; t < 2; ++t) {
      // Of the five places of a frame one before the window and two behind it are 0.
      const double turn = -2 * std::numbers::pi * k / 5;
      const std::complex<double> sum =
          0.5 * x.get(2 * t + 1) * std::polar(1.0, turn) + 2 * x.get(2 * t + 2) * std::polar(1.0, 2 * turn);
      pairs.insert(pairs.end(), {sum.real(), sum.imag()});
    }
  }
  expect_near(answer(p, {x}), pairs);
}
TEST(TorchComplex, AnOutputIsBothParts) {
  const Spectrogram form;
  Pt2 p = form.program();
  p.output("s");
  Numbers real, imaginary;
  for (int r = 0; r < 2; ++r) {
    for (int k = 0; k < 4; ++k) {
      for (int t = 0; t < 3; ++t) {
        real.push_back(form.at(r, k, t).real());
        imaginary.push_back(form.at(r, k, t).imag());
      }
    }
  }
  expect_near(answer(p, {form.x}, 0), real);
  expect_near(answer(p, {form.x}, 1), imaginary);
}
TEST(TorchComplex, StayWholeWhereTheyCannotBeMoved) {
  GrowingGraph graph;
  const TorchProgram program{};
  const TensorType type{DType::f32, {2}};
  const ValueId real = graph.add_input("a", type), imaginary = graph.add_input("b", type);
  graph.define("z", graph.add_sequence("z", DType::f32, {real, imaginary}));
  const Argument self{Name{"z"}}, three{std::int64_t{3}}, one{std::int64_t{1}}, two{std::int64_t{2}};
  TorchNode node{"aten.view.default", "n", {{"self", self}, {"size", Argument{Arguments{three}}}}, {"y"}};
  EXPECT_FALSE(TorchSite(graph, node, program).import().ok());
  EXPECT_NE(graph.sequence(graph.find("z")), nullptr);
  EXPECT_FALSE(graph.defined("y part"));
  node.arguments[1].second = Argument{Arguments{one, two}};
  EXPECT_TRUE(TorchSite(graph, node, program).import().ok());
  EXPECT_NE(graph.sequence(graph.find("y")), nullptr);
}
TEST(TorchComplex, WhatIsNotReadIsSaid) {
  const Spectrogram form;
  EXPECT_EQ(said(form.program().node("aten.tanh.default", "self=%s", {"y"}).output("y")),
            "y (aten.tanh): reads complex numbers, \"s\", which this operator is not supported for");
  EXPECT_EQ(said(form.program().said("s", {2, 4, 3}).output("s")),
            "s (aten.stft): \"s\" becomes a pair of f32[2x4x3]; the file says float32[2x4x3]");
  EXPECT_EQ(said(form.program(" align_to_window=true").output("s")),
            "s (aten.stft): argument \"align_to_window\" is true; only false is supported");
  Pt2 angle, window;
  angle.input("x", {2}).node("aten.angle.default", "self=%x", {"y"}).output("y");
  EXPECT_EQ(said(angle), "y (aten.angle): the input is f32[2]; expected complex numbers");
  window.input("x", {9}).weight("w", f32({3}, {1, 1, 1}));
  window.node("aten.stft.default", "self=%x n_fft=4 window=%w", {"y"}).output("y");
  Pt2 none, large, larger;
  none.input("x", {9}).node("aten.stft.default", "self=%x n_fft=4 return_complex=none", {"y"}).output("y");
  EXPECT_EQ(said(none), "y (aten.stft): argument \"return_complex\" is none; expected true or false");
  large.input("x", {4096}).node("aten.stft.default", "self=%x n_fft=4096", {"y"}).said("y", {2049, 1, 2}).output("y");
  EXPECT_EQ(said(large), "");
  larger.input("x", {8192}).node("aten.stft.default", "self=%x n_fft=8192", {"y"}).output("y");
  EXPECT_EQ(said(larger),
            "y (aten.stft): transforms 8192 numbers of a period of 8192; expected 1 or more, and a matrix of at most "
            "33554432 numbers");
  EXPECT_EQ(said(window), "y (aten.stft): has a window of 4 numbers, f32[3], for frames of 4");
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// One feature and one unit, so that the gates are numbers.
TEST(TorchCompose, ACellIsAStep) {
  const double x = 0.5, h = -0.25, c = 0.75;
  const Numbers w = {0.1, -0.2, 0.3, 0.4}, v = {0.5, 0.6, -0.7, 0.8}, b = {0.01, 0.02, 0.03, 0.04};
  Pt2 lstm;
  lstm.input("x", {1, 1}).input("h", {1, 1}).input("c", {1, 1});
  lstm.weight("w", f32({4, 1}, w)).weight("v", f32({4, 1}, v)).weight("b", f32({4}, b));
  lstm.node("aten.lstm_cell.default", "input=%x hx=(%h,%c) w_ih=%w w_hh=%v b_ih=%b b_hh=%b", {"y", "d"});
  lstm.output("y").output("d");
  const auto gate = [&](std::size_t i) { return w[i] * x + v[i] * h + 2 * b[i]; };
  const double memory = sigmoid(gate(1)) * c + sigmoid(gate(0)) * std::tanh(gate(2));
  const std::vector<Tensor> given = {f32({1, 1}, {x}), f32({1, 1}, {h}), f32({1, 1}, {c})};
  expect_near(answer(lstm, given, 0), {sigmoid(gate(3)) * std::tanh(memory)});
  expect_near(answer(lstm, given, 1), {memory});
  Pt2 gru;
  gru.input("x", {1, 1}).input("h", {1, 1});
  gru.weight("w", f32({3, 1}, {w[0], w[1], w[2]})).weight("v", f32({3, 1}, {v[0], v[1], v[2]}));
  gru.weight("b", f32({3}, {b[0], b[1], b[2]}));
  gru.node("aten.gru_cell.default", "input=%x hx=%h w_ih=%w w_hh=%v b_ih=%b b_hh=%b", {"y"}).output("y");
  const double r = sigmoid(gate(0)), z = sigmoid(gate(1));
  const double n = std::tanh(w[2] * x + b[2] + r * (v[2] * h + b[2]));
  expect_near(answer(gru, {given[0], given[1]}), {(1 - z) * n + z * h});
}

// ---- Results whose number depends on values.

TEST(TorchCounted, PlacesAreRowsAndTheFileLeavesTheirNumberOpen) {
  Pt2 p;
  p.input("x", {2, 2}).node("aten.nonzero.default", "self=%x", {"n"}).said("n", {-7, 2}, 5).output("n");
  const Tensor x = f32({2, 2}, {0, 3, 4, 0});
  EXPECT_EQ(answer(p, {x}), (Numbers{0, 1, 1, 0, -1, -1, -1, -1}));
  EXPECT_EQ(answer(p, {x}, 1), (Numbers{2}));
}
TEST(TorchCounted, MasksChooseElementsAndRows) {
  Pt2 p;
  p.input("x", {3, 2}).input("s", {3}).node("aten.gt.Scalar", "self=%s other=1", {"m"}).said("m", {3}, 12);
  p.node("aten.index.Tensor", "self=%x indices=(%m)", {"y"}).node("aten.gt.Scalar", "self=%x other=2", {"k"});
  p.node("aten.masked_select.default", "self=%x mask=%k", {"z"}).output("y").output("z");
  const std::vector<Tensor> given = {f32({3, 2}, {1, 2, 3, 4, 5, 6}), f32({3}, {0, 3, 2})};
  const Numbers rows = answer(p, given), chosen = answer(p, given, 1);
  EXPECT_EQ(Numbers(rows.begin(), rows.begin() + 4), (Numbers{3, 4, 5, 6}));
  EXPECT_EQ(Numbers(chosen.begin(), chosen.begin() + 4), (Numbers{3, 4, 5, 6}));
  EXPECT_EQ(answer(p, given, 2), (Numbers{2}));
  EXPECT_EQ(answer(p, given, 3), (Numbers{4}));
}
TEST(TorchCounted, BoxesThatOverlapBetterOnesGo) {
  Pt2 p;
  p.input("b", {4, 4}).input("s", {4});
  p.node("torchvision.nms.default", "dets=%b scores=%s iou_threshold=0.5", {"k"}).said("k", {-7}, 5);
  p.node("aten.index.Tensor", "self=%s indices=(%k)", {"y"}).output("k").output("y");
  // The second one overlaps the first by 0.9; the last one is alone.
  const Tensor boxes = f32({4, 4}, {0, 0, 10, 10, 0, 0, 10, 9, 0, 0, 4, 10, 20, 20, 30, 30});
  const std::vector<Tensor> given = {boxes, f32({4}, {0.5, 0.9, 0.75, 1})};
  EXPECT_EQ(answer(p, given), (Numbers{3, 1, 2, -1}));
  EXPECT_EQ(answer(p, given, 2), (Numbers{3}));
  const Numbers scores = answer(p, given, 1);
  expect_near({scores[0], scores[1], scores[2]}, {1, 0.9, 0.75});
}
TEST(TorchCounted, MixturesAreRefused) {
  Pt2 q;
  q.input("x", {4}).node("aten.gt.Scalar", "self=%x other=1", {"m"});
  q.node("aten.masked_select.default", "self=%x mask=%m", {"z"})
      .node("aten.flip.default", "self=%z dims=[0]", {"y"})
      .output("y");
  EXPECT_NE(said(q).find("would mix them with the padding behind them"), std::string::npos) << said(q);
}

}  // namespace torch_compose_test
}  // namespace whet::torch
