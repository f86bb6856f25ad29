#include "ranges/follow.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "passes/testing/graph_builder.h"

namespace whet {
namespace {

using testing::GraphBuilder;

/// What is said about a network whose file has a fixed first dimension of `x`.
std::string followed(const std::function<Graph(GraphBuilder&, std::int64_t)>& build) {
  GraphBuilder two, three;
  const Graph a = build(two, 2), b = build(three, 3);
  const Status status = check_follows("x.0", {a, 2}, {b, 3});
  return status.ok() ? "follows" : status.error().message;
}

TEST(CheckFollows, TakesNetworksThatDoTheSameForEachPlace) {
  EXPECT_EQ(followed([](GraphBuilder& build, std::int64_t n) {
              const ValueId x = build.input("x", {n, 3, 8, 8});
              const ValueId y = build.relu("r", build.batch_norm("bn", build.conv("c", x, 4, 3, 1, 1)));
              const ValueId flat = build.add("flat", ReshapeOperator{{n, 256}}, {y});
              const ValueId dense = build.add("dense", MatMulOperator{}, {flat, build.constant("w", {256, 10})});
              return build.finish({build.add("y", SoftmaxOperator{1}, {dense})});
            }),
            "follows");
  EXPECT_EQ(followed([](GraphBuilder& build, std::int64_t n) {
              const ValueId x = build.input("x", {n, 6, 8});
              const ValueId rows = build.add("rows", ReshapeOperator{{n * 6, 8}}, {x});
              const ValueId dense = build.add("dense", MatMulOperator{}, {rows, build.constant("w", {8, 4})});
              return build.finish({build.add("back", ReshapeOperator{{n, 6, 4}}, {dense})});
            }),
            "follows");
}

/// [1, 8, 1, n] of the input [n, 8]: the dimension is a row of pictures.
ValueId as_row(GraphBuilder& build, std::int64_t n) {
  const ValueId turned = build.add("turned", TransposeOperator{{1, 0}}, {build.input("x", {n, 8})});
  return build.add("row", ReshapeOperator{{1, 8, 1, n}}, {turned});
}
PoolOperator pool_of(std::vector<std::int64_t> kernel, std::vector<std::int64_t> pads) {
  return {PoolKind::average, std::move(kernel), {1, 1}, {1, 1}, pads, pads};
}
ResizeOperator resize_to(Shape shape, std::vector<double> scales) {
  return {.mode = ResizeMode::nearest,
          .coordinates = CoordinateMode::asymmetric,
          .scales = std::move(scales),
          .shape = std::move(shape)};
}

TEST(CheckFollows, TakesWindowsResizesAndSlicesOfOtherDimensions) {
  EXPECT_EQ(followed([](GraphBuilder& build, std::int64_t n) {
              const ValueId x = build.conv("c", build.input("x", {n, 3, 8, 8}), 4, 3, 2, 1);
              const ValueId pooled = build.add("p", pool_of({2, 2}, {0, 0}), {x});
              const ValueId larger = build.add("l", resize_to({n, 4, 6, 6}, {1, 1, 2, 2}), {pooled});
              return build.finish({build.add("y", SliceOperator{{0, 0, 0, 5}, {1, 1, 1, -1}, {n, 4, 6, 6}}, {larger})});
            }),
            "follows");
  // Windows of channels, and those that are one wide.
  EXPECT_EQ(followed([](GraphBuilder& build, std::int64_t n) {
              const ValueId x = build.input("x", {n, 3, 8, 8});
              const ValueId one = build.add("one", ReshapeOperator{{1, n * 3, 8, 8}}, {x});
              const ValueId pooled = build.add("p", pool_of({2, 2}, {0, 0}), {one});
              return build.finish({build.add("y", ReshapeOperator{{n, 3, 7, 7}}, {pooled})});
            }),
            "follows");
  EXPECT_EQ(followed([](GraphBuilder& build, std::int64_t n) {
              const ValueId x = build.conv("c", as_row(build, n), 4, 1);
              const ValueId pooled = build.add("p", pool_of({1, 1}, {0, 0}), {x});
              return build.finish({build.add("y", resize_to({1, 4, 2, n}, {1, 1, 2, 1}), {pooled})});
            }),
            "follows");
}

TEST(CheckFollows, NamesTheWindowOrResizeAlongTheDimension) {
  EXPECT_EQ(followed([](GraphBuilder& build, std::int64_t n) {
              return build.finish({build.conv("c", as_row(build, n), 4, 3, 1, 1)});
            }),
            "node \"c\" computes along x.0, which the file has fixed");
  EXPECT_EQ(followed([](GraphBuilder& build, std::int64_t n) {
              return build.finish({build.add("p", pool_of({1, 3}, {0, 1}), {as_row(build, n)})});
            }),
            "node \"p\" computes along x.0, which the file has fixed");
  EXPECT_EQ(followed([](GraphBuilder& build, std::int64_t n) {
              return build.finish({build.add("l", resize_to({1, 8, 1, 2 * n}, {1, 1, 1, 2}), {as_row(build, n)})});
            }),
            "node \"l\" computes along x.0, which the file has fixed");
  // A scale that rounds to the extent at these two sizes, and not at 8.
  EXPECT_EQ(followed([](GraphBuilder& build, std::int64_t n) {
              return build.finish({build.add("l", resize_to({1, 8, 1, n}, {1, 1, 1, 1.2}), {as_row(build, n)})});
            }),
            "node \"l\" computes along x.0, which the file has fixed");
  EXPECT_EQ(followed([](GraphBuilder& build, std::int64_t n) {
              const ValueId x = build.input("x", {n, 8});
              return build.finish({build.add("products", MatMulOperator{.transpose_a = true}, {x, x})});
            }),
            "node \"products\" computes along x.0, which the file has fixed");
}

TEST(CheckFollows, NamesTheNodeThatMovesPlaces) {
  EXPECT_EQ(followed([](GraphBuilder& build, std::int64_t n) {
              const ValueId x = build.input("x", {n, 8});
              return build.finish({build.add("reversed", SliceOperator{{n - 1, 0}, {-1, 1}, {n, 8}}, {x})});
            }),
            "node \"reversed\" gives other places of x.0 than it reads");
  EXPECT_EQ(followed([](GraphBuilder& build, std::int64_t n) {
              const ValueId rows = build.add("rows", ReshapeOperator{{n * 6, 8}}, {build.input("x", {n, 6, 8})});
              return build.finish({build.add("half", SliceOperator{{0, 0}, {1, 1}, {n * 3, 8}}, {rows})});
            }),
            "node \"half\" gives other places of x.0 than it reads");
  EXPECT_EQ(followed([](GraphBuilder& build, std::int64_t n) {
              const ValueId x = build.input("x", {n, 8});
              return build.finish({build.add("shifted", PadOperator{PadMode::constant, 0, {1, 0}, {-1, 0}}, {x})});
            }),
            "node \"shifted\" gives other places of x.0 than it reads");
  // As a transpose where the batch is 1, and no transpose elsewhere.
  EXPECT_EQ(followed([](GraphBuilder& build, std::int64_t n) {
              const ValueId x = build.input("x", {n, 6, 8});
              return build.finish({build.add("turned", ReshapeOperator{{6, n, 8}}, {x})});
            }),
            "node \"turned\" mixes the places of x.0");
  EXPECT_EQ(followed([](GraphBuilder& build, std::int64_t n) {
              const ValueId x = build.input("x", {n, 6, 8});
              const ValueId turned = build.add("turned", TransposeOperator{{1, 0, 2}}, {x});
              const ValueId a = build.add("a", ReshapeOperator{{n * 6, 8}}, {x});
              const ValueId b = build.add("b", ReshapeOperator{{6 * n, 8}}, {turned});
              return build.finish({build.plus("sum", a, b)});
            }),
            "node \"sum\" reads the places of x.0 in two orders");
  // Heads of an attention whose batch is the second dimension.
  EXPECT_EQ(followed([](GraphBuilder& build, std::int64_t n) {
              const ValueId x = build.input("x", {n, 5, 8});
              const ValueId turned = build.add("turned", TransposeOperator{{1, 0, 2}}, {x});
              const ValueId split = build.add("split", ReshapeOperator{{5, n * 2, 4}}, {turned});
              const ValueId heads = build.add("heads", TransposeOperator{{1, 0, 2}}, {split});
              const ValueId scores = build.add("scores", MatMulOperator{.transpose_b = true}, {heads, heads});
              const ValueId mixed = build.add("mixed", MatMulOperator{}, {scores, heads});
              const ValueId back = build.add("back", TransposeOperator{{1, 0, 2}}, {mixed});
              return build.finish({build.add("y", ReshapeOperator{{5 * n, 8}}, {back})});
            }),
            "follows");
}

TEST(CheckFollows, NamesTheConstantThatDiffersFromPlaceToPlace) {
  const auto plus_constant = [](const std::function<double(std::int64_t place, std::int64_t n)>& value) {
    return followed([&](GraphBuilder& build, std::int64_t n) {
      std::vector<double> values;
      for (std::int64_t place = 0; place < n; ++place) values.push_back(value(place, n));
      return build.finish({build.plus("y", build.input("x", {n, 8}), build.constant("c", {n, 1}, values))});
    });
  };
  const std::string differs = "node \"y\" reads constant \"c\", which is not the same for each place of x.0";
  EXPECT_EQ(plus_constant([](std::int64_t, std::int64_t) { return 7.0; }), "follows");
  EXPECT_EQ(plus_constant([](std::int64_t place, std::int64_t) { return static_cast<double>(place); }), differs);
  EXPECT_EQ(plus_constant([](std::int64_t, std::int64_t n) { return static_cast<double>(n); }), differs);
  EXPECT_EQ(followed([](GraphBuilder& build, std::int64_t n) {
              const ValueId c = build.constant("c", {1}, {1.0 / static_cast<double>(n)});
              return build.finish({build.binary("y", BinaryKind::mul, build.input("x", {n, 8}), c)});
            }),
            differs);
  EXPECT_EQ(followed([](GraphBuilder& build, std::int64_t n) {
              const ValueId x = build.input("x", {n, 8}), table = build.relu("table", build.input("t", {5, 8}));
              const ValueId rows = build.add("rows", SliceOperator{{0, 0}, {1, 1}, {n, 8}}, {table});
              return build.finish({build.plus("y", x, rows)});
            }),
            "node \"rows\" gives 2x8 at x.0 = 2 and 3x8 at x.0 = 3, of values that are the same at both");
  EXPECT_EQ(followed([](GraphBuilder& build, std::int64_t n) {
              const ValueId x = build.input("x", {n, 8}), token = build.relu("token", build.input("t", {1, 8}));
              return build.finish({build.plus("y", x, build.add("all", ExpandOperator{{n, 8}}, {token}))});
            }),
            "follows");
}

TEST(CheckFollows, NamesTheNodeThatDoesNot) {
  EXPECT_EQ(followed([](GraphBuilder& build, std::int64_t n) {
              const ValueId x = build.input("x", {n, 8});
              return build.finish({build.add("first", SliceOperator{{0, 0}, {1, 1}, {1, 8}}, {x})});
            }),
            "node \"first\" gives 1x8 whatever x.0 is");
  EXPECT_EQ(followed([](GraphBuilder& build, std::int64_t n) {
              const ValueId x = build.input("x", {n, 8});
              return build.finish({build.add("mean", ReduceOperator{ReduceKind::mean, {0}, true}, {x})});
            }),
            "node \"mean\" computes along x.0, which the file has fixed");
  EXPECT_EQ(followed([](GraphBuilder& build, std::int64_t n) {
              const ValueId x = build.input("x", {n, 8});
              const ValueId flat = build.add("flat", ReshapeOperator{{1, n * 8}}, {x});
              return build.finish({build.add("part", SoftmaxOperator{1}, {flat})});
            }),
            "node \"part\" computes along x.0, which the file has fixed");
  EXPECT_EQ(followed([](GraphBuilder& build, std::int64_t n) {
              const ValueId x = build.input("x", {n, 8});
              return build.finish({build.add("rest", SliceOperator{{1, 0}, {1, 1}, {n - 1, 8}}, {x})});
            }),
            "node \"rest\" gives 1x8 at x.0 = 2 and 2x8 at x.0 = 3");
  EXPECT_EQ(followed([](GraphBuilder& build, std::int64_t n) {
              const ValueId x = build.input("x", {n, 8}), z = build.input("z", {1, 8});
              return build.finish({build.relu("y", x), build.relu("other", z)});
            }),
            "output \"other\" is 1x8 whatever x.0 is");
  EXPECT_EQ(followed([](GraphBuilder& build, std::int64_t n) {
              const ValueId x = build.input("x", {n, 8});
              return build.finish({n == 2 ? build.relu("y", x) : build.unary("y", UnaryKind::tanh, x)});
            }),
            "node \"y\" is not the same operator at x.0 = 2 and at x.0 = 3");
}

}  // namespace
}  // namespace whet
