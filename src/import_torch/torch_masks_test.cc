#include "import_torch/testing/answers.h"

/// Places that values decide: masks, bags, and entries that are combined.
namespace whet::torch {
namespace torch_masks_test {

const Tensor& rows() {
  static const Tensor x = f32({3, 2}, {1, 2, 3, 4, 5, 6});
  return x;
}

/// The rows of x where the sum of one is above 4, by a computed mask "m", which `arguments` of an operator name.
Pt2 with_mask() {
  Pt2 p;
  p.input("x", {3, 2}).node("aten.sum.dim_IntList", "self=%x dim=[1]", {"s"});
  p.node("aten.gt.Scalar", "self=%s other=4", {"m"});
  return p;
}

TEST(TorchMasks, OneRowIsPutWhereAMaskHolds) {
  Pt2 p = with_mask();
  p.input("v", {2}).node("aten.index_put.default", "self=%x indices=(%m) values=%v", {"y"}).output("y");
  EXPECT_EQ(answers(p, {rows(), f32({2}, {8, 9})})[0], (Values{1, 2, 8, 9, 8, 9}));
}
TEST(TorchMasks, RowsArePutWhereTheirMaskHolds) {
  Pt2 p = with_mask();
  p.node("aten.neg.default", "self=%x", {"n"}).node("aten.index.Tensor", "self=%n indices=(%m)", {"r"});
  p.node("aten.index_put.default", "self=%x indices=(%m) values=%r", {"y"}).output("y");
  p.node("aten.index_put.default", "self=%x indices=(%m) values=%r accumulate=true", {"z"}).output("z");
  const auto all = answers(p, {rows()});
  EXPECT_EQ(all[0], (Values{1, 2, -3, -4, -5, -6}));
  EXPECT_EQ(all[1], (Values{1, 2, 0, 0, 0, 0}));
}
TEST(TorchMasks, WhereAloneGivesAListForEachDimension) {
  Pt2 p;
  p.input("x", {2, 3}, 12).node("aten.where.default", "condition=%x", {"r", "c"}).output("r").output("c");
  const auto all = answers(p, {truths({2, 3}, {0, 1, 0, 1, 0, 1})});
  EXPECT_EQ(Values(all[0].begin(), all[0].begin() + 3), (Values{0, 1, 1}));
  EXPECT_EQ(Values(all[1].begin(), all[1].begin() + 3), (Values{1, 0, 2}));
  EXPECT_EQ(all[2], Values{3});
}
/// Mixtures of experts: the rows of one are found, computed and added back.
TEST(TorchMasks, RowsOfAnExpertAreAddedBack) {
  Pt2 p = with_mask();
  p.node("aten.where.default", "condition=%m", {"w"}).node("aten.unsqueeze.default", "self=%x dim=0", {"u"});
  p.node("aten.select.int", "self=%u dim=0 index=0", {"x0"});
  p.node("aten.index.Tensor", "self=%x0 indices=(%w)", {"r"}).node("aten.mul.Scalar", "self=%r other=10", {"t"});
  p.node("aten.zeros_like.default", "self=%x", {"z"});
  p.node("aten.index_add.default", "self=%z dim=0 index=%w source=%t", {"y"}).output("y");
  EXPECT_EQ(answers(p, {rows()})[0], (Values{0, 0, 30, 40, 50, 60}));
}

Values reduced_to(const std::string& reduce, bool with_self) {
  const std::string self = with_self ? "true" : "false";
  return result("aten.scatter_reduce.two", "self=%a dim=0 index=%b src=%c reduce='" + reduce + "' include_self=" + self,
                {f32({3}, {10, 20, 30}), i64({3}, {0, 0, 2}), f32({3}, {1, 3, 7})});
}
TEST(TorchScatter, EntriesAreCombined) {
  EXPECT_EQ(reduced_to("sum", true), (Values{14, 20, 37}));
  EXPECT_EQ(reduced_to("sum", false), (Values{4, 20, 7}));
  EXPECT_EQ(reduced_to("prod", false), (Values{3, 20, 7}));
  EXPECT_EQ(reduced_to("amax", true), (Values{10, 20, 30}));
  EXPECT_EQ(reduced_to("amax", false), (Values{3, 20, 7}));
  EXPECT_EQ(reduced_to("amin", false), (Values{1, 20, 7}));
  expect_near(reduced_to("mean", true), {14 / 3.0, 20, 18.5});
  EXPECT_EQ(reduced_to("mean", false), (Values{2, 20, 7}));
}
TEST(TorchScatter, EntriesAreCombinedByOlderNamesToo) {
  const std::vector<Tensor> given = {f32({2}, {10, 20}), i64({2}, {1, 1}), f32({2}, {2, 3})};
  EXPECT_EQ(result("aten.scatter.reduce", "self=%a dim=0 index=%b src=%c reduce='multiply'", given), (Values{10, 120}));
  EXPECT_EQ(result("aten.scatter.value_reduce", "self=%a dim=0 index=%b value=2 reduce='add'", {given[0], given[1]}),
            (Values{10, 24}));
  EXPECT_EQ(result("aten.index_reduce.default", "self=%a dim=0 index=%b source=%c reduce='mean' include_self=false",
                   {rows(), i64({2}, {2, 2}), f32({2, 2}, {1, 2, 3, 8})}),
            (Values{1, 2, 3, 4, 2, 5}));
}

/// Three bags of the rows of x: 0 and 1; none; 2, 2 and 0.
Values bags(const std::string& rest, const std::vector<Tensor>& more = {}) {
  std::vector<Tensor> given = {rows(), i64({5}, {0, 1, 2, 2, 0}), i64({3}, {0, 2, 2})};
  given.insert(given.end(), more.begin(), more.end());
  return result("aten.embedding_bag.padding_idx", "weight=%a indices=%b offsets=%c " + rest, given);
}
TEST(TorchBags, AreSumsMeansAndMaximaOfRows) {
  EXPECT_EQ(bags("mode=0"), (Values{4, 6, 0, 0, 11, 14}));
  expect_near(bags("mode=1"), {2, 3, 0, 0, 11 / 3.0, 14 / 3.0});
  EXPECT_EQ(bags("mode=2"), (Values{3, 4, 0, 0, 5, 6}));
  EXPECT_EQ(bags("mode=0 per_sample_weights=%d", {f32({5}, {1, 2, 3, 0, 1})}), (Values{7, 10, 0, 0, 16, 20}));
  EXPECT_EQ(bags("mode=1 padding_idx=2"), (Values{2, 3, 0, 0, 1, 2}));
  EXPECT_EQ(bags("mode=0 padding_idx=-1"), (Values{4, 6, 0, 0, 11, 14}));
}
TEST(TorchBags, OfOneSizeAreReducedWithoutMasks) {
  Pt2 p;
  p.input("x", {3, 2}).input("i", {4}, 5).node("aten.arange.start_step", "start=0 end=4 step=2", {"o"});
  p.node("aten.embedding_bag.default", "weight=%x indices=%i offsets=%o mode=2", {"y"}).output("y");
  EXPECT_EQ(answers(p, {rows(), i64({4}, {0, 2, 1, 0})})[0], (Values{5, 6, 3, 4}));
  EXPECT_EQ(imported_pt2(p.bytes(), "m").value().nodes.size(), 3u);
}
TEST(TorchBags, AnEndMayStandBehindTheStarts) {
  EXPECT_EQ(result("aten._embedding_bag.default", "weight=%a indices=%b offsets=%c mode=0 include_last_offset=true",
                   {rows(), i64({2}, {0, 2}), i64({2}, {0, 2})}),
            (Values{6, 8}));
}

}  // namespace torch_masks_test
}  // namespace whet::torch
