#include "graph/graph.h"

#include <gtest/gtest.h>

#include <limits>

#include "graph/border.h"

namespace whet {
namespace {

ConvOperator conv(std::int64_t stride = 1, std::int64_t pad = 0, std::int64_t groups = 1,
                  Layout layout = Layout::channels_first) {
  return {{stride, stride}, {1, 1}, {pad, pad}, {pad, pad}, groups, layout};
}

TensorType f32(Shape shape) { return {DType::f32, std::move(shape)}; }
TensorType i64(Shape shape) { return {DType::i64, std::move(shape)}; }
TensorType boolean(Shape shape) { return {DType::boolean, std::move(shape)}; }

/// The result's type as text, or the sentence of the error.
std::string inferred(const Operator& op, const std::vector<TensorType>& inputs) {
  const auto type = infer_type("n", op, inputs);
  return type.ok() ? to_string(*type) : type.error().message;
}

TEST(Infer, ConvolutionCountsWindowsInBothLayouts) {
  EXPECT_EQ(inferred(conv(2, 3), {f32({1, 3, 224, 224}), f32({64, 3, 7, 7})}), "f32[1x64x112x112]");
  EXPECT_EQ(inferred(conv(2, 3, 1, Layout::channels_last), {f32({1, 224, 224, 3}), f32({7, 7, 3, 64}), f32({64})}),
            "f32[1x112x112x64]");
  EXPECT_EQ(inferred(conv(1, 1, 8), {f32({1, 8, 5, 5}), f32({8, 1, 3, 3})}), "f32[1x8x5x5]");
  EXPECT_EQ(inferred(conv(1, 1, 8, Layout::channels_last), {f32({1, 5, 5, 8}), f32({3, 3, 8})}), "f32[1x5x5x8]");
  EXPECT_EQ(inferred(conv(1, 1, 4, Layout::channels_last), {f32({1, 5, 5, 8}), f32({3, 3, 2, 12})}), "f32[1x5x5x12]");
}
TEST(Infer, ProductsOfI16AddUpInI32) {
  const auto i16 = [](Shape shape) { return TensorType{DType::i16, std::move(shape)}; };
  ConvOperator op = conv(1, 1, 1, Layout::channels_last);
  op.wide = true;
  EXPECT_EQ(inferred(op, {i16({1, 5, 5, 8}), i16({3, 3, 8, 16}), {DType::i32, {16}}}), "i32[1x5x5x16]");
  EXPECT_EQ(inferred(op, {i16({1, 5, 5, 8}), i16({3, 3, 8, 16}), f32({16})}),
            "n: the bias is f32[16] and the sums are i32");
  EXPECT_EQ(inferred(MatMulOperator{.wide = true}, {i16({2, 8}), i16({8, 4})}), "i32[2x4]");
  op.groups = 8;
  EXPECT_EQ(inferred(op, {i16({1, 5, 5, 8}), f32({3, 3, 8})}), "f32[1x5x5x8]") << "widened";
  op.wide = false;
  EXPECT_EQ(inferred(op, {i16({1, 5, 5, 8}), i16({3, 3, 8})}),
            "n: input 0 is i16[1x5x5x8]; conv needs f32, f64, f16 or i32");
}
TEST(Infer, ConvolutionOfBlocksOfChannelsWritesBlocksOfItsOwn) {
  ConvOperator op = conv(1, 1, 1, Layout::channels_blocked);
  op.block = 16;
  EXPECT_EQ(inferred(op, {f32({1, 4, 5, 5, 8}), f32({3, 3, 32, 64})}), "f32[1x4x5x5x16]");
  EXPECT_EQ(inferred(op, {f32({1, 4, 5, 5, 8}), f32({3, 3, 32, 40})}),
            "n: blocks of 16 channels do not divide the 40 output channels");
  op.groups = 32, op.block = 8;
  EXPECT_EQ(inferred(op, {f32({1, 4, 5, 5, 8}), f32({3, 3, 32})}), "f32[1x4x5x5x8]");
  op.block = 16;
  EXPECT_EQ(inferred(op, {f32({1, 4, 5, 5, 8}), f32({3, 3, 32})}),
            "n: channels in blocks of 8 and 16 with 32 groups; expected one group, or a depthwise convolution of equal "
            "blocks");
  EXPECT_EQ(inferred(op, {f32({1, 4, 8}), f32({3, 32})}),
            "n: input 0 is f32[1x4x8]; conv needs a batch, channels in blocks and one to three spatial dimensions");
}
TEST(Infer, ConvolutionMayHaveABiasForTheBorders) {
  const std::vector<TensorType> types = {f32({1, 3, 8, 8}), f32({4, 3, 3, 3}), f32({3, 3, 4})};
  EXPECT_EQ(inferred(conv(1, 1), types), "f32[1x4x8x8]");
  EXPECT_EQ(inferred(conv(1, 0), types),
            "n: the bias is f32[3x3x4]; expected one value for each of the 4 output channels");
}
TEST(Borders, HaveAPlaceForEachPositionThatReachesIntoThePadding) {
  const auto places = [](std::int64_t extent, std::int64_t taps, const ConvOperator& op) {
    const Shape x = {1, 1, extent, extent}, w = {1, 1, taps, taps};
    const Shape y = infer_type("n", op, {f32(x), f32(w)})->shape;
    const BorderPlaces along = border_places(op, x, w, y, 1);
    std::vector<std::int64_t> of;
    for (std::int64_t i = 0; i < y[3]; ++i) of.push_back(along.of(i));
    EXPECT_EQ(of.back(), along.count() - 1);
    return of;
  };
  using Places = std::vector<std::int64_t>;
  EXPECT_EQ(places(6, 3, conv(1, 1)), (Places{0, 1, 1, 1, 1, 2}));
  EXPECT_EQ(places(6, 3, conv(2, 1)), (Places{0, 1, 1}));
  EXPECT_EQ(places(7, 3, conv(2, 1)), (Places{0, 1, 1, 2}));
  EXPECT_EQ(places(6, 3, conv(1, 0)), (Places{0, 0, 0, 0}));
  EXPECT_EQ(places(2, 3, conv(1, 1)), (Places{0, 1}));
  EXPECT_EQ(places(3, 5, conv(1, 2)), (Places{0, 1, 2}));
  EXPECT_EQ(places(1, 1, conv(1, 2)), (Places{0, 1, 2, 3, 4}));
}
TEST(Infer, ConvolutionAddsUpInI32Too) {
  const TensorType x{DType::i32, {1, 3, 8, 8}}, w{DType::i32, {4, 3, 3, 3}};
  EXPECT_EQ(inferred(conv(), {x, w}), "i32[1x4x6x6]");
}
TEST(Infer, ConvolutionSaysWhatIsWrong) {
  EXPECT_EQ(inferred(conv(), {f32({1, 3, 8, 8}), f32({64, 4, 3, 3})}),
            "n: the weights are f32[64x4x3x3], which read 4 channels a group; the input has 3 channels in 1 group");
  EXPECT_EQ(inferred(conv(1, 0, 2), {f32({1, 3, 8, 8}), f32({64, 4, 3, 3})}),
            "n: attribute \"group\" is 2; it must divide the 3 input channels and the 64 output channels");
  EXPECT_EQ(inferred(conv(), {f32({1, 3, 2, 8}), f32({64, 3, 3, 3})}),
            "n: a window of 3 does not fit into spatial dimension 0 of extent 2 with padding 0 and 0");
  EXPECT_EQ(inferred(conv(0), {f32({1, 3, 8, 8}), f32({64, 3, 3, 3})}),
            "n: attribute \"strides\" holds 0; expected 1 to 2147483647");
  EXPECT_EQ(inferred(conv(), {i64({1, 3, 8, 8}), f32({64, 3, 3, 3})}),
            "n: input 0 is i64[1x3x8x8]; conv needs f32, f64, f16 or i32");
  EXPECT_EQ(inferred(conv(), {f32({1, 3, 8, 8}), f32({64, 3, 3, 3}), f32({63})}),
            "n: the bias is f32[63]; expected one value for each of the 64 output channels");
  EXPECT_EQ(inferred(conv(), {f32({1, 3, 8, 8})}), "n: conv has 1 inputs; expected 2 to 3");
}
TEST(Infer, PoolsSlideTheirWindow) {
  const PoolOperator pool{PoolKind::max, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}};
  EXPECT_EQ(inferred(pool, {f32({1, 64, 112, 112})}), "f32[1x64x56x56]");
  PoolOperator blocked = pool;
  blocked.layout = Layout::channels_blocked;
  EXPECT_EQ(inferred(blocked, {f32({1, 4, 112, 112, 16})}), "f32[1x4x56x56x16]");
  EXPECT_EQ(inferred(pool, {f32({1, 64})}),
            "n: input 0 is f32[1x64]; maxpool needs a batch, channels and one to three spatial dimensions");
}
TEST(Infer, PoolsRefuseWindowsInThePadding) {
  EXPECT_EQ(inferred(PoolOperator{PoolKind::max, {2}, {1}, {1}, {2}, {0}}, {f32({1, 1, 4})}),
            "n: a window of 2 lies wholly in the padding of spatial dimension 0: extent 4, padding 2 and 0");
  EXPECT_EQ(inferred(PoolOperator{PoolKind::average, {2}, {1}, {1}, {0}, {2}}, {f32({1, 1, 4})}),
            "n: a window of 2 lies wholly in the padding of spatial dimension 0: extent 4, padding 0 and 2");
}
TEST(Infer, ElementwiseBroadcasts) {
  EXPECT_EQ(inferred(BinaryOperator{BinaryKind::add}, {f32({1, 8, 1}), f32({4, 1, 5})}), "f32[4x8x5]");
  EXPECT_EQ(inferred(BinaryOperator{BinaryKind::less}, {f32({3}), f32({})}), "bool[3]");
  EXPECT_EQ(inferred(BinaryOperator{BinaryKind::add}, {f32({3}), f32({0})}),
            "n: shapes 3 and 0 do not broadcast; extents, counted from the right, must be equal or 1");
  EXPECT_EQ(inferred(BinaryOperator{BinaryKind::add}, {f32({3}), i64({3})}),
            "n: inputs 0 and 1 of add are f32[3] and i64[3]; expected one type");
  EXPECT_EQ(inferred(WhereOperator{}, {boolean({4, 1}), f32({3}), f32({})}), "f32[4x3]");
  EXPECT_EQ(inferred(WhereOperator{}, {f32({4, 1}), f32({3}), f32({})}), "n: input 0 is f32[4x1]; where needs bool");
  EXPECT_EQ(inferred(UnaryOperator{UnaryKind::exp}, {i64({2})}),
            "n: input 0 is i64[2]; exp needs f32, f64, f16 or bf16");
  EXPECT_EQ(inferred(SoftmaxOperator{.axis = 0, .rounds = DType::f16}, {i64({2})}),
            "n: input 0 is i64[2]; softmax needs f32, f64, f16 or bf16");
  EXPECT_EQ(inferred(SoftmaxOperator{.axis = 0, .rounds = DType::f16}, {TensorType{DType::f64, {2}}}),
            "n: input 0 is f64[2]; a softmax that rounds needs f32");
  EXPECT_EQ(inferred(CastOperator{DType::f16}, {i64({2})}), "f16[2]");
}
TEST(Infer, MatricesMultiplyWithBroadcastBatches) {
  EXPECT_EQ(inferred(MatMulOperator{}, {f32({4, 1, 5, 6}), f32({3, 6, 7})}), "f32[4x3x5x7]");
  EXPECT_EQ(inferred(MatMulOperator{true, true}, {f32({6, 5}), f32({7, 6})}), "f32[5x7]");
  EXPECT_EQ(inferred(MatMulOperator{}, {f32({5, 6}), f32({5, 6})}),
            "n: matrices 5x6 and 5x6 do not multiply: the inner extents are 6 and 5");
}
TEST(Infer, ReductionsKeepOrDropTheirDimensions) {
  EXPECT_EQ(inferred(ReduceOperator{ReduceKind::mean, {1, 2}, true}, {f32({2, 3, 4, 5})}), "f32[2x1x1x5]");
  EXPECT_EQ(inferred(ReduceOperator{ReduceKind::mean, {0, 3}, false}, {f32({2, 3, 4, 5})}), "f32[3x4]");
  EXPECT_EQ(inferred(ReduceOperator{ReduceKind::mean, {4}, false}, {f32({2, 3, 4, 5})}),
            "n: attribute \"axes\" is 4; the input has 4 dimensions");
}
TEST(Infer, DataMovementChecksItsAttributes) {
  EXPECT_EQ(inferred(TransposeOperator{{0, 2, 3, 1}}, {f32({1, 2, 3, 4})}), "f32[1x3x4x2]");
  EXPECT_EQ(inferred(TransposeOperator{{0, 0}}, {f32({1, 2})}),
            "n: attribute \"perm\" is [0, 0]; expected an order of the 2 dimensions of f32[1x2]");
  EXPECT_EQ(inferred(ReshapeOperator{{6}}, {f32({2, 3})}), "f32[6]");
  EXPECT_EQ(inferred(ReshapeOperator{{7}}, {f32({2, 3})}), "n: f32[2x3] cannot be reshaped to 7: 6 elements against 7");
  EXPECT_EQ(inferred(ConcatOperator{1}, {f32({2, 3}), f32({2, 4}), f32({2, 0})}), "f32[2x7]");
  EXPECT_EQ(inferred(ConcatOperator{0}, {f32({2, 3}), f32({2, 4})}),
            "n: inputs 0 and 1 are f32[2x3] and f32[2x4]; to concatenate along dimension 0 the others must be equal");
  EXPECT_EQ(inferred(SliceOperator{{4}, {-2}, {3}}, {f32({5})}), "f32[3]");
  EXPECT_EQ(inferred(SliceOperator{{4}, {-2}, {4}}, {f32({5})}),
            "n: a slice of dimension 0 takes 4 elements from 4 in steps of -2; the extent is 5");
  EXPECT_EQ(inferred(PadOperator{PadMode::constant, 0, {1, -1}, {0, 2}}, {f32({2, 3})}), "f32[3x4]");
  EXPECT_EQ(inferred(PadOperator{PadMode::reflect, 0, {3}, {0}}, {f32({3})}),
            "n: padding by 3 and 0 is not possible in dimension 0 of extent 3");
  EXPECT_EQ(inferred(GatherOperator{1}, {f32({2, 3, 4}), i64({5, 6})}), "f32[2x5x6x4]");
  EXPECT_EQ(inferred(ExpandOperator{{4, 3}}, {f32({1, 3})}), "f32[4x3]");
  EXPECT_EQ(inferred(ExpandOperator{{1, 3}}, {f32({4, 3})}), "n: f32[4x3] cannot be expanded to 1x3");
}
TEST(Infer, PlacesFitTheDataTheyNameElementsOf) {
  EXPECT_EQ(inferred(GatherElementsOperator{1}, {f32({3, 4}), i64({2, 9})}), "f32[2x9]");
  EXPECT_EQ(inferred(GatherElementsOperator{1}, {f32({3, 4}), i64({4, 2})}),
            "n: the indices are i64[4x2] into f32[3x4] along dimension 1; expected as many dimensions, and no larger "
            "extents in the others");
  EXPECT_EQ(inferred(GatherNdOperator{1}, {f32({2, 3, 4}), i64({2, 5, 1})}), "f32[2x5x4]");
  EXPECT_EQ(
      inferred(GatherNdOperator{}, {f32({2, 3}), i64({5, 3})}),
      "n: the indices are i64[5x3] into f32[2x3] with 0 batch dimensions; expected equal batches and a last extent "
      "of 1 to 2");
  EXPECT_EQ(inferred(GatherNdOperator{}, {f32({2, 3}), f32({5, 2})}),
            "n: the indices are f32[5x2]; expected i32 or i64");
  EXPECT_EQ(inferred(ScatterElementsOperator{0}, {f32({5, 3}), i64({2, 3}), f32({2, 3})}), "f32[5x3]");
  EXPECT_EQ(inferred(ScatterElementsOperator{0}, {f32({5, 3}), i64({2, 3}), f32({2, 2})}),
            "n: the indices are i64[2x3] and the updates f32[2x2]; expected equal shapes");
  EXPECT_EQ(inferred(ScatterNdOperator{}, {f32({5, 3}), i64({2, 1}), f32({2, 3})}), "f32[5x3]");
  EXPECT_EQ(inferred(ScatterNdOperator{}, {f32({5, 3}), i64({2, 1}), f32({2, 5})}),
            "n: the updates are f32[2x5]; expected the shape 2x3 for indices 2x1 into 5x3");
}
TEST(Infer, ChoicesGivePlaces) {
  EXPECT_EQ(inferred(ArgReduceOperator{true, 1, true}, {f32({2, 3, 4})}), "i64[2x1x4]");
  EXPECT_EQ(inferred(ArgReduceOperator{true, 2, false}, {f32({2, 3, 4})}), "i64[2x3]");
  EXPECT_EQ(inferred(ArgReduceOperator{true, 0}, {f32({0, 3})}),
            "n: input 0 is f32[0x3]; there is no element along dimension 0");
  EXPECT_EQ(inferred(TopKOperator{1, 2}, {f32({2, 3})}), "i64[2x2]");
  EXPECT_EQ(inferred(TopKOperator{1, 4}, {f32({2, 3})}), "n: takes 4 elements of 3");
  EXPECT_EQ(inferred(CumSumOperator{1}, {i64({2, 3})}), "i64[2x3]");
  EXPECT_EQ(inferred(CumSumOperator{0}, {boolean({2})}), "n: input 0 is bool[2]; cumsum needs numbers");
  EXPECT_EQ(inferred(UnaryOperator{UnaryKind::is_nan}, {f32({2})}), "bool[2]");
}
TEST(Infer, RefusesAbsurdShapes) {
  const std::int64_t huge = std::int64_t{1} << 31, half = std::int64_t{1} << 40;
  EXPECT_EQ(inferred(UnaryOperator{UnaryKind::relu}, {f32({huge})}),
            "n: input 0 has shape 2147483648; at most 2147483647 elements are supported");
  EXPECT_EQ(inferred(UnaryOperator{UnaryKind::relu}, {f32({0, half, half})}),
            "n: input 0 has shape 0x1099511627776x1099511627776; at most 2147483647 elements are supported");
  EXPECT_EQ(inferred(UnaryOperator{UnaryKind::relu}, {f32({-1})}), "n: input 0 has shape -1: an extent is negative");
  EXPECT_EQ(inferred(BinaryOperator{BinaryKind::add}, {f32({65536, 1}), f32({1, 65536})}),
            "n: the result has shape 65536x65536; at most 2147483647 elements are supported");
}

Graph small_graph() {
  Graph g;
  g.name = "small";
  const ValueId x = g.add_value("x", f32({1, 3, 8, 8}));
  g.inputs = {x};
  const ValueId w = g.add_constant("w", Tensor(DType::f32, {4, 3, 3, 3}));
  const ValueId y = g.add_node("conv_0", conv(2, 1), {x, w}).value();
  g.outputs = {g.add_node("clip_1", ClipOperator{0, 6}, {y}).value()};
  return g;
}

TEST(GraphText, ShowsInputsConstantsNodesAndOutputs) {
  EXPECT_EQ(to_text(small_graph()),
            "graph small\n"
            "input x: f32[1x3x8x8]\n"
            "constant w: f32[4x3x3x3]\n"
            "conv_0: f32[1x4x4x4] = conv(x, w) strides=[2,2] pads=[1,1]\n"
            "clip_1: f32[1x4x4x4] = clip(conv_0) low=0 high=6\n"
            "output clip_1\n");
}

std::string verified(const Graph& graph) {
  const Status status = verify(graph);
  return status.ok() ? "ok" : status.error().message;
}

TEST(Verify, AcceptsWhatAddNodeMakes) { EXPECT_EQ(verified(small_graph()), "ok"); }
TEST(Verify, RefusesWhatIsNotInOrder) {
  Graph g = small_graph();
  std::swap(g.nodes[0], g.nodes[1]);
  EXPECT_EQ(verified(g), "clip_1: reads \"conv_0\", which no earlier node computes");
}
TEST(Verify, RefusesWrongTypesNamesAndOutputs) {
  Graph g = small_graph();
  g.values[3].type.shape = {1};
  EXPECT_EQ(verified(g), "clip_1: computes f32[1x4x4x4]; its value says f32[1]");
  g = small_graph();
  g.values[1].name = "x";
  EXPECT_EQ(verified(g), "two values are called \"x\"");
  g = small_graph();
  g.nodes[1].name = "conv_0";
  EXPECT_EQ(verified(g), "two nodes are called \"conv_0\"");
  g = small_graph();
  g.outputs = {ValueId(9)};
  EXPECT_EQ(verified(g), "an output of the graph does not exist");
  g = small_graph();
  g.nodes.pop_back();
  EXPECT_EQ(verified(g), "nothing computes the output \"clip_1\"");
}

}  // namespace
}  // namespace whet
