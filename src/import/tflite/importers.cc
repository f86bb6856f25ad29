#include "import/tflite/importers.h"

namespace whet::tflite {
namespace {

using U = UnaryKind;
using B = BinaryKind;
using R = ReduceKind;

/// The names of the operators, by their numbers in the file.
constexpr std::string_view kNames[] = {
    "ADD", "AVERAGE_POOL_2D", "CONCATENATION", "CONV_2D", "DEPTHWISE_CONV_2D", "DEPTH_TO_SPACE", "DEQUANTIZE",
    "EMBEDDING_LOOKUP", "FLOOR", "FULLY_CONNECTED", "HASHTABLE_LOOKUP", "L2_NORMALIZATION", "L2_POOL_2D",
    "LOCAL_RESPONSE_NORMALIZATION", "LOGISTIC", "LSH_PROJECTION", "LSTM", "MAX_POOL_2D", "MUL", "RELU",
    "RELU_N1_TO_1", "RELU6", "RESHAPE", "RESIZE_BILINEAR", "RNN", "SOFTMAX", "SPACE_TO_DEPTH", "SVDF", "TANH",
    "CONCAT_EMBEDDINGS", "SKIP_GRAM", "CALL", "CUSTOM", "EMBEDDING_LOOKUP_SPARSE", "PAD",
    "UNIDIRECTIONAL_SEQUENCE_RNN", "GATHER", "BATCH_TO_SPACE_ND", "SPACE_TO_BATCH_ND", "TRANSPOSE", "MEAN", "SUB",
    "DIV", "SQUEEZE", "UNIDIRECTIONAL_SEQUENCE_LSTM", "STRIDED_SLICE", "BIDIRECTIONAL_SEQUENCE_RNN", "EXP", "TOPK_V2",
    "SPLIT", "LOG_SOFTMAX", "DELEGATE", "BIDIRECTIONAL_SEQUENCE_LSTM", "CAST", "PRELU", "MAXIMUM", "ARG_MAX",
    "MINIMUM", "LESS", "NEG", "PADV2", "GREATER", "GREATER_EQUAL", "LESS_EQUAL", "SELECT", "SLICE", "SIN",
    "TRANSPOSE_CONV", "SPARSE_TO_DENSE", "TILE", "EXPAND_DIMS", "EQUAL", "NOT_EQUAL", "LOG", "SUM", "SQRT", "RSQRT",
    "SHAPE", "POW", "ARG_MIN", "FAKE_QUANT", "REDUCE_PROD", "REDUCE_MAX", "PACK", "LOGICAL_OR", "ONE_HOT",
    "LOGICAL_AND", "LOGICAL_NOT", "UNPACK", "REDUCE_MIN", "FLOOR_DIV", "REDUCE_ANY", "SQUARE", "ZEROS_LIKE", "FILL",
    "FLOOR_MOD", "RANGE", "RESIZE_NEAREST_NEIGHBOR", "LEAKY_RELU", "SQUARED_DIFFERENCE", "MIRROR_PAD", "ABS",
    "SPLIT_V", "UNIQUE", "CEIL", "REVERSE_V2", "ADD_N", "GATHER_ND", "COS", "WHERE", "RANK", "ELU",
    "REVERSE_SEQUENCE", "MATRIX_DIAG", "QUANTIZE", "MATRIX_SET_DIAG", "ROUND", "HARD_SWISH", "IF", "WHILE",
    "NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5", "SCATTER_ND", "SELECT_V2", "DENSIFY", "SEGMENT_SUM",
    "BATCH_MATMUL", "PLACEHOLDER_FOR_GREATER_OP_CODES", "CUMSUM", "CALL_ONCE", "BROADCAST_TO", "RFFT2D", "CONV_3D",
    "IMAG", "REAL", "COMPLEX_ABS", "HASHTABLE", "HASHTABLE_FIND", "HASHTABLE_IMPORT", "HASHTABLE_SIZE", "REDUCE_ALL",
    "CONV_3D_TRANSPOSE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "BROADCAST_ARGS", "RANDOM_STANDARD_NORMAL",
    "BUCKETIZE", "RANDOM_UNIFORM", "MULTINOMIAL", "GELU", "DYNAMIC_UPDATE_SLICE", "RELU_0_TO_1",
    "UNSORTED_SEGMENT_PROD", "UNSORTED_SEGMENT_MAX", "UNSORTED_SEGMENT_SUM", "ATAN2", "UNSORTED_SEGMENT_MIN", "SIGN",
    "BITCAST", "BITWISE_XOR", "RIGHT_SHIFT",
};

/// The operators that whet reads. Those that are no numbers of the file are custom ones.
constexpr TfliteImporter kTfliteImporters[] = {
    {"ABS", import_unary<U::abs>},
    {"ADD", import_binary<B::add>},
    {"ADD_N", import_add_n},
    {"ARG_MAX", import_arg_max},
    {"ARG_MIN", import_arg_min},
    {"AVERAGE_POOL_2D", import_average_pool},
    {"BATCH_MATMUL", import_batch_matmul},
    {"BROADCAST_TO", import_broadcast_to},
    {"CAST", import_cast},
    {"CEIL", import_unary<U::ceil>},
    {"CONCATENATION", import_concatenation},
    {"CONV_2D", import_conv},
    {"COS", import_unary<U::cos>},
    {"CUMSUM", import_cumsum},
    {"Convolution2DTransposeBias", import_conv_transpose_bias},
    {"DENSIFY", import_identity},
    {"DEPTHWISE_CONV_2D", import_depthwise_conv},
    {"DEPTH_TO_SPACE", import_depth_to_space},
    {"DEQUANTIZE", import_dequantize},
    {"DIV", import_binary<B::div>},
    {"ELU", import_elu},
    {"EQUAL", import_binary<B::equal>},
    {"EXP", import_unary<U::exp>},
    {"EXPAND_DIMS", import_expand_dims},
    {"FILL", import_fill},
    {"FLOOR", import_unary<U::floor>},
    {"FLOOR_DIV", import_floor_div},
    {"FLOOR_MOD", import_binary<B::mod>},
    {"FULLY_CONNECTED", import_fully_connected},
    {"GATHER", import_gather},
    {"GATHER_ND", import_gather_nd},
    {"GELU", import_gelu},
    {"GREATER", import_binary<B::greater>},
    {"GREATER_EQUAL", import_binary<B::greater_equal>},
    {"HARD_SWISH", import_hard_swish},
    {"L2_NORMALIZATION", import_l2_normalization},
    {"LEAKY_RELU", import_leaky_relu},
    {"LESS", import_binary<B::less>},
    {"LESS_EQUAL", import_binary<B::less_equal>},
    {"LOG", import_unary<U::log>},
    {"LOGICAL_AND", import_binary<B::logical_and>},
    {"LOGICAL_NOT", import_logical_not},
    {"LOGICAL_OR", import_binary<B::logical_or>},
    {"LOGISTIC", import_unary<U::sigmoid>},
    {"LOG_SOFTMAX", import_log_softmax},
    {"MAXIMUM", import_binary<B::max>},
    {"MAX_POOL_2D", import_max_pool},
    {"MEAN", import_reduce<R::mean>},
    {"MINIMUM", import_binary<B::min>},
    {"MIRROR_PAD", import_mirror_pad},
    {"MUL", import_binary<B::mul>},
    {"NEG", import_unary<U::neg>},
    {"NOT_EQUAL", import_not_equal},
    {"ONE_HOT", import_one_hot},
    {"PACK", import_pack},
    {"PAD", import_pad},
    {"PADV2", import_pad},
    {"POW", import_pow},
    {"PRELU", import_prelu},
    {"QUANTIZE", import_quantize},
    {"RANGE", import_range},
    {"RANK", import_rank},
    {"REDUCE_ALL", import_reduce<R::min>},
    {"REDUCE_ANY", import_reduce<R::max>},
    {"REDUCE_MAX", import_reduce<R::max>},
    {"REDUCE_MIN", import_reduce<R::min>},
    {"REDUCE_PROD", import_reduce<R::prod>},
    {"RELU", import_unary<U::relu>},
    {"RELU6", import_relu6},
    {"RELU_0_TO_1", import_relu_0_to_1},
    {"RELU_N1_TO_1", import_relu_n1_to_1},
    {"RESHAPE", import_reshape},
    {"RESIZE_BILINEAR", import_resize_bilinear},
    {"RESIZE_NEAREST_NEIGHBOR", import_resize_nearest},
    {"REVERSE_V2", import_reverse},
    {"ROUND", import_unary<U::round>},
    {"RSQRT", import_rsqrt},
    {"SELECT", import_select},
    {"SELECT_V2", import_select},
    {"SHAPE", import_shape},
    {"SIGN", import_unary<U::sign>},
    {"SIN", import_unary<U::sin>},
    {"SLICE", import_slice},
    {"SOFTMAX", import_softmax},
    {"SPACE_TO_DEPTH", import_space_to_depth},
    {"SPLIT", import_split},
    {"SPLIT_V", import_split_v},
    {"SQRT", import_unary<U::sqrt>},
    {"SQUARE", import_square},
    {"SQUARED_DIFFERENCE", import_squared_difference},
    {"SQUEEZE", import_squeeze},
    {"STRIDED_SLICE", import_strided_slice},
    {"SUB", import_binary<B::sub>},
    {"SUM", import_reduce<R::sum>},
    {"TANH", import_unary<U::tanh>},
    {"TILE", import_tile},
    {"TOPK_V2", import_topk},
    {"TRANSPOSE", import_transpose},
    {"TRANSPOSE_CONV", import_transpose_conv},
    {"UNIDIRECTIONAL_SEQUENCE_LSTM", import_sequence_lstm},
    {"UNPACK", import_unpack},
    {"ZEROS_LIKE", import_zeros_like},
};

}  // namespace

std::span<const TfliteImporter> importers() { return kTfliteImporters; }

const TfliteImporter* find_importer(std::string_view op) {
  for (const TfliteImporter& row : kTfliteImporters)
    if (row.op == op) return &row;
  return nullptr;
}

std::string operator_name(int code, const std::string& custom) {
  constexpr int kCustom = 32;
  if (code == kCustom) return custom.empty() ? "CUSTOM" : custom;
  if (code >= 0 && code < static_cast<int>(std::size(kNames))) return std::string(kNames[code]);
  return "operator " + std::to_string(code);
}

}  // namespace whet::tflite
