#include "import/onnx/importers.h"

namespace whet {
namespace {

using U = UnaryKind;
using B = BinaryKind;
using R = ReduceKind;

/// The operators of the standard that whet reads: name, first operator set with this meaning, importer. A later row of
/// the same name replaces an earlier one.
constexpr OnnxImporter kImporters[] = {
    {"Abs", 1, import_unary<U::abs>},
    {"Add", 1, import_binary<B::add>},
    {"And", 1, import_binary<B::logical_and>},
    {"AveragePool", 1, import_average_pool},
    {"BatchNormalization", 1, import_batch_norm},
    {"Cast", 1, import_cast},
    {"CastLike", 15, import_cast_like},
    {"Ceil", 1, import_unary<U::ceil>},
    {"Celu", 12, import_celu},
    {"Clip", 1, import_clip_attributes},
    {"Clip", 11, import_clip},
    {"Concat", 1, import_concat},
    {"Constant", 1, import_constant},
    {"ConstantOfShape", 9, import_constant_of_shape},
    {"Conv", 1, import_conv},
    {"Cos", 7, import_unary<U::cos>},
    {"DepthToSpace", 1, import_depth_to_space},
    {"Div", 1, import_binary<B::div>},
    {"Dropout", 1, import_dropout},
    {"Elu", 1, import_elu},
    {"Equal", 1, import_binary<B::equal>},
    {"Erf", 9, import_unary<U::erf>},
    {"Exp", 1, import_unary<U::exp>},
    {"Expand", 8, import_expand},
    {"Flatten", 1, import_flatten},
    {"Floor", 1, import_unary<U::floor>},
    {"Gather", 1, import_gather},
    {"Gelu", 20, import_gelu},
    {"Gemm", 1, import_gemm},
    {"GlobalAveragePool", 1, import_global_average_pool},
    {"GlobalMaxPool", 1, import_global_max_pool},
    {"Greater", 1, import_binary<B::greater>},
    {"GreaterOrEqual", 12, import_binary<B::greater_equal>},
    {"HardSigmoid", 1, import_hard_sigmoid},
    {"HardSwish", 14, import_unary<U::hard_swish>},
    {"Identity", 1, import_identity},
    {"InstanceNormalization", 1, import_instance_norm},
    {"LayerNormalization", 17, import_layer_norm},
    {"LeakyRelu", 1, import_leaky_relu},
    {"Less", 1, import_binary<B::less>},
    {"LessOrEqual", 12, import_binary<B::less_equal>},
    {"Log", 1, import_unary<U::log>},
    {"LogSoftmax", 1, import_log_softmax_flattened},
    {"LogSoftmax", 13, import_log_softmax},
    {"MatMul", 1, import_matmul},
    {"Max", 1, import_variadic<B::max>},
    {"MaxPool", 1, import_max_pool},
    {"Mean", 1, import_mean},
    {"Min", 1, import_variadic<B::min>},
    {"Mish", 18, import_mish},
    {"Mod", 10, import_mod},
    {"Mul", 1, import_binary<B::mul>},
    {"Neg", 1, import_unary<U::neg>},
    {"Not", 1, import_unary<U::logical_not>},
    {"Or", 1, import_binary<B::logical_or>},
    {"PRelu", 1, import_prelu},
    {"Pad", 1, import_pad_attributes},
    {"Pad", 11, import_pad},
    {"Pow", 1, import_pow},
    {"Range", 11, import_range},
    {"Reciprocal", 1, import_unary<U::reciprocal>},
    {"ReduceL1", 1, import_reduce<R::l1, 18>},
    {"ReduceL2", 1, import_reduce<R::l2, 18>},
    {"ReduceLogSum", 1, import_reduce<R::log_sum, 18>},
    {"ReduceLogSumExp", 1, import_reduce<R::log_sum_exp, 18>},
    {"ReduceMax", 1, import_reduce<R::max, 18>},
    {"ReduceMean", 1, import_reduce<R::mean, 18>},
    {"ReduceMin", 1, import_reduce<R::min, 18>},
    {"ReduceProd", 1, import_reduce<R::prod, 18>},
    {"ReduceSum", 1, import_reduce<R::sum, 13>},
    {"ReduceSumSquare", 1, import_reduce<R::sum_square, 18>},
    {"Relu", 1, import_unary<U::relu>},
    {"Reshape", 5, import_reshape},
    {"Resize", 10, import_resize_10},
    {"Resize", 11, import_resize},
    {"Round", 11, import_unary<U::round>},
    {"Selu", 1, import_selu},
    {"Shape", 1, import_shape},
    {"Sigmoid", 1, import_unary<U::sigmoid>},
    {"Sign", 9, import_unary<U::sign>},
    {"Sin", 7, import_unary<U::sin>},
    {"Size", 1, import_size},
    {"Slice", 1, import_slice_attributes},
    {"Slice", 10, import_slice},
    {"Softmax", 1, import_softmax_flattened},
    {"Softmax", 13, import_softmax},
    {"Softplus", 1, import_unary<U::softplus>},
    {"Softsign", 1, import_unary<U::softsign>},
    {"SpaceToDepth", 1, import_space_to_depth},
    {"Split", 1, import_split},
    {"Sqrt", 1, import_unary<U::sqrt>},
    {"Squeeze", 1, import_squeeze},
    {"Sub", 1, import_binary<B::sub>},
    {"Sum", 1, import_variadic<B::add>},
    {"Tanh", 1, import_unary<U::tanh>},
    {"ThresholdedRelu", 10, import_thresholded_relu},
    {"Tile", 6, import_tile},
    {"Transpose", 1, import_transpose},
    {"Unsqueeze", 1, import_unsqueeze},
    {"Upsample", 7, import_upsample},
    {"Where", 9, import_where},
    {"Xor", 1, import_binary<B::logical_xor>},
};

}  // namespace

std::span<const OnnxImporter> onnx_importers() { return kImporters; }

const OnnxImporter* find_importer(std::string_view op, std::int64_t opset) {
  const OnnxImporter* found = nullptr;
  for (const OnnxImporter& row : kImporters) {
    if (row.op == op && row.since <= opset) found = &row;
  }
  return found;
}

}  // namespace whet
