#include "import/fold_shape.h"

#include <gtest/gtest.h>

#include <limits>

#include "ops/evaluate_graph.h"
#include "tensor/compare.h"

namespace whet {
namespace fold_shape_test {

/// What an operator folds to, and its definition's answer, are the same.
void expect_definition(const Operator& op, const std::vector<Tensor>& inputs) {
  std::vector<const Tensor*> pointers;
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) {
    pointers.push_back(&input);
    types.push_back(input.type());
  }
  const TensorType type = infer_type("n", op, types).value();
  const auto folded = fold_shape("n", op, pointers, type);
  ASSERT_TRUE(folded.ok() && folded->has_value());
  const Tensor defined = evaluate_operator(op, inputs, type, "n").value();
  EXPECT_EQ(to_string((*folded)->type()), to_string(defined.type()));
  for (std::int64_t i = 0; i < defined.size(); ++i)
    EXPECT_EQ((*folded)->integer(i), defined.integer(i)) << name_of(op) << " of " << inputs[0].integer(0);
}

TEST(FoldShape, SingleIntegersAreComputedAsByTheirDefinition) {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::int64_t> values = {0, 1, -1, 7, -300, 1LL << 31, -(1LL << 31), (1LL << 31) - 1, least, most};
  for (const DType dtype : {DType::i32, DType::i64}) {
    for (const std::int64_t a : values) {
      const Tensor x = Tensor::of<std::int64_t>(dtype, {1}, {a});
      for (const DType to : {DType::i8, DType::u8, DType::i32, DType::i64, DType::boolean})
        expect_definition(CastOperator{to}, {x});
      for (const std::int64_t b : values)
        for (const BinaryKind kind :
             {BinaryKind::add, BinaryKind::sub, BinaryKind::mul, BinaryKind::min, BinaryKind::max, BinaryKind::less,
              BinaryKind::less_equal, BinaryKind::greater, BinaryKind::greater_equal, BinaryKind::equal})
          expect_definition(BinaryOperator{kind}, {x, Tensor::of<std::int64_t>(dtype, {}, {b})});
    }
  }
}
TEST(FoldShape, WorkIsCountedByWhatIsRead) {
  const Tensor large(DType::i32, {1000}), number(DType::i32, {});
  const auto work = [](const Operator& op, const std::vector<const Tensor*>& inputs, const TensorType& result) {
    return folding_work(op, inputs, result);
  };
  const std::int64_t sum = work(ReduceOperator{ReduceKind::sum, {0}, false}, {&large}, {DType::i32, {}});
  const std::int64_t each = work(CumSumOperator{0}, {&large}, {DType::i32, {1000}});
  EXPECT_GE(sum, 1000);
  EXPECT_GE(each, 1000 * 1000);
  EXPECT_LT(work(BinaryOperator{BinaryKind::add}, {&number, &number}, {DType::i32, {}}), 100);
}

}  // namespace fold_shape_test
}  // namespace whet
