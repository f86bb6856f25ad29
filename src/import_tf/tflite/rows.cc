#include "import_tf/tflite/rows.h"

#include "base/check.h"

namespace whet::tflite {
namespace {

/// The names of the operators, by their numbers in the file.
constexpr std::string_view kNames =
    "ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE EMBEDDING_LOOKUP "
    "FLOOR FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION LOGISTIC "
    "LSH_PROJECTION LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX "
    "SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD "
    "UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE "
    "UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT LOG_SOFTMAX "
    "DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM ARG_MAX MINIMUM LESS NEG PADV2 GREATER "
    "GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN TRANSPOSE_CONV SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL NOT_EQUAL "
    "LOG SUM SQRT RSQRT SHAPE POW ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND "
    "LOGICAL_NOT UNPACK REDUCE_MIN FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE "
    "RESIZE_NEAREST_NEIGHBOR LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N "
    "GATHER_ND COS WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF "
    "WHILE NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM BATCH_MATMUL "
    "PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D CONV_3D IMAG REAL COMPLEX_ABS "
    "HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL CONV_3D_TRANSPOSE VAR_HANDLE "
    "READ_VARIABLE ASSIGN_VARIABLE BROADCAST_ARGS RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM MULTINOMIAL "
    "GELU DYNAMIC_UPDATE_SLICE RELU_0_TO_1 UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM ATAN2 "
    "UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR RIGHT_SHIFT";

}  // namespace

TfliteRows rows() {
  static const std::vector<TfliteRow> kRows =
      gathered<TfliteRow>({control_rows(), detection_rows(), elementwise_rows(), landmarks_rows(), matrix_rows(),
                           media_pipe_rows(), recurrent_rows(), shape_rows(), window_rows()});
  return kRows;
}

const TfliteRow* find_row(std::string_view op) { return row_of(rows(), op); }

const tensorflow::TfRow* tensorflow_row(const TfliteRow& row) {
  if (row.import != nullptr) return nullptr;
  std::string name(row.as);
  if (name.empty()) {  // "GreaterEqual" of "GREATER_EQUAL"
    for (std::size_t i = 0; i < row.op.size(); ++i) {
      const char c = row.op[i];
      if (c == '_') continue;
      const bool begins = i == 0 || row.op[i - 1] == '_';
      name += begins || c < 'A' ? c : static_cast<char>(c - 'A' + 'a');
    }
  }
  const tensorflow::TfRow* found = tensorflow::find_row(name);
  WHET_CHECK(found != nullptr, name.c_str());
  return found;
}

std::string operator_name(int code, const std::string& custom) {
  constexpr int kCustom = 32;
  static const std::vector<Word> kWords = words_of(kNames);
  if (code == kCustom) return custom.empty() ? "CUSTOM" : custom;
  if (code >= 0 && code < static_cast<int>(kWords.size()))
    return std::string(kWords[static_cast<std::size_t>(code)].name);
  return "operator " + std::to_string(code);
}

}  // namespace whet::tflite
