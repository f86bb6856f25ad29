#include "passes/operator_class.h"

namespace whet {
namespace {

using C = OperatorClass;

C class_at(const UnaryOperator&) { return C::elementwise; }
C class_at(const ClipOperator&) { return C::elementwise; }
C class_at(const HardSigmoidOperator&) { return C::elementwise; }
C class_at(const LeakyReluOperator&) { return C::elementwise; }
C class_at(const BinaryOperator&) { return C::elementwise; }
C class_at(const WhereOperator&) { return C::elementwise; }
C class_at(const CastOperator&) { return C::elementwise; }
C class_at(const BatchNormOperator&) { return C::elementwise; }
C class_at(const ConvOperator&) { return C::anchor; }
C class_at(const MatMulOperator&) { return C::anchor; }
C class_at(const PoolOperator&) { return C::window; }
C class_at(const ReduceOperator&) { return C::reduction; }
C class_at(const SoftmaxOperator&) { return C::softmax; }
C class_at(const TransposeOperator&) { return C::injective; }
C class_at(const ReshapeOperator&) { return C::injective; }
C class_at(const ConcatOperator&) { return C::injective; }
C class_at(const SliceOperator&) { return C::injective; }
C class_at(const PadOperator&) { return C::injective; }
C class_at(const GatherOperator&) { return C::injective; }
C class_at(const ExpandOperator&) { return C::injective; }
C class_at(const GatherElementsOperator&) { return C::injective; }
C class_at(const GatherNdOperator&) { return C::injective; }
C class_at(const ScatterElementsOperator&) { return C::reduction; }
C class_at(const ScatterNdOperator&) { return C::reduction; }
C class_at(const ArgReduceOperator&) { return C::reduction; }
C class_at(const TopKOperator&) { return C::reduction; }
C class_at(const CumSumOperator&) { return C::reduction; }
/// One that is not of elements may do anything.
C class_at(const CustomOperator& op) { return is_elementwise(op) ? C::elementwise : C::anchor; }
C class_at(const ResizeOperator& op) { return op.mode == ResizeMode::nearest ? C::injective : C::window; }

}  // namespace

OperatorClass class_of(const Operator& op) {
  return std::visit([](const auto& o) { return class_at(o); }, op);
}

}  // namespace whet
