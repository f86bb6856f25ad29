#include "import_torch/testing/answers.h"

/// Bits of integers, and numbers that are outputs.
namespace whet::torch {
namespace torch_bits_test {

Values shifted(const std::string& op, DType dtype, const Values& x, const Values& by) {
  const Shape shape = {static_cast<std::int64_t>(x.size())};
  return result("aten." + op, "self=%a other=%b", {Tensor::of(dtype, shape, x), Tensor::of(dtype, shape, by)});
}

TEST(TorchBits, AreCombinedAsPythonWritesIt) {
  const std::vector<Tensor> given = {truths({4}, {0, 0, 1, 1}), truths({4}, {0, 1, 0, 1})};
  EXPECT_EQ(result("aten.__and__.Tensor", "self=%a other=%b", given), (Values{0, 0, 0, 1}));
  EXPECT_EQ(result("aten.__or__.Tensor", "self=%a other=%b", given), (Values{0, 1, 1, 1}));
  EXPECT_EQ(result("aten.__xor__.Tensor", "self=%a other=%b", given), (Values{0, 1, 1, 0}));
  EXPECT_EQ(result("aten.__and__.Scalar", "self=%a other=12", {i64({2}, {10, -3})}), (Values{8, 12}));
}
TEST(TorchBits, AMaskOfTheLowestBitsIsARemainder) {
  Pt2 p;
  p.input("x", {2}, 4).node("aten.bitwise_and.Scalar", "self=%x other=15", {"y"}).output("y");
  EXPECT_EQ(answers(p, {Tensor::of(DType::i32, {2}, Values{0x7a, -1})})[0], (Values{10, 15}));
  const Graph graph = imported_pt2(p.bytes(), "m").value();
  EXPECT_EQ(graph.nodes.size(), 1u);
}
TEST(TorchBits, AreCombinedInPlace) {
  Pt2 p;
  p.input("a", {2}, 12).input("b", {2}, 12).node("aten.clone.default", "self=%a", {"c"});
  p.node("aten.__ior__.Tensor", "self=%c other=%b", {"d"}).output("c");
  EXPECT_EQ(answers(p, {truths({2}, {0, 1}), truths({2}, {0, 0})})[0], (Values{0, 1}));
}
TEST(TorchBits, MoveToTheLeftAndFallOut) {
  EXPECT_EQ(shifted("__lshift__.Tensor", DType::i32, {1, -3, 3, 1, 7}, {4, 1, 30, 31, 32}),
            (Values{16, -6, -1073741824, -2147483648.0, 0}));
  EXPECT_EQ(shifted("bitwise_left_shift.Tensor", DType::u8, {3, 129, 1}, {4, 1, 8}), (Values{48, 2, 0}));
  EXPECT_EQ(shifted("bitwise_left_shift.Tensor", DType::i64, {1, 3, 1}, {63, 63, 64}),
            (Values{-9223372036854775808.0, -9223372036854775808.0, 0}));
}
TEST(TorchBits, MoveToTheRightAndLeaveTheSign) {
  EXPECT_EQ(shifted("__rshift__.Tensor", DType::i32, {100, -100, -1, -2147483648.0, 5}, {3, 3, 31, 31, 32}),
            (Values{12, -13, -1, -1, 0}));
  EXPECT_EQ(shifted("bitwise_right_shift.Tensor", DType::u8, {0xf3, 255, 255}, {4, 7, 8}), (Values{15, 1, 0}));
  EXPECT_EQ(result("aten.__rshift__.Scalar", "self=%a other=4", {i64({2}, {-1, 4660})}), (Values{-1, 291}));
}
TEST(TorchOutputs, ThatAreNoneAreLeftOutAndNumbersAreConstants) {
  Pt2 p;
  p.input("x", {1}).node("aten.neg.default", "self=%x", {"y"});
  p.output_word("none").output("y").output_word("7").output_word("true");
  const auto all = answers(p, {f32({1}, {2})});
  EXPECT_EQ(all, (std::vector<Values>{{-2}, {7}, {1}}));
}
TEST(TorchNumbers, AreComputedFromSizes) {
  Pt2 p;
  p.input("x", {4, 1}).number("aten.sym_size.int", "self=%x dim=0", "n");
  p.number("torch.sym_float", "a=#n", "f").number("_operator.pow", "a=#f b=-0.5", "r");
  p.number("_operator.mul", "a=#f b=0.7", "m").number("math.floor", "x=#m", "low").number("math.ceil", "x=#m", "high");
  p.node("aten.mul.Tensor", "self=%x other=#r", {"y"}).output("y");
  p.node("aten.full.default", "size=[#low] fill_value=#high", {"z"}).output("z");
  const auto all = answers(p, {f32({4, 1}, {2, 4, 6, 8})});
  EXPECT_EQ(all, (std::vector<Values>{{1, 2, 3, 4}, {3, 3}}));
}

}  // namespace torch_bits_test
}  // namespace whet::torch
