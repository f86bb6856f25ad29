#include "ranges/follow.h"

#include <gtest/gtest.h>

#include <functional>

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
}

}  // namespace
}  // namespace whet
