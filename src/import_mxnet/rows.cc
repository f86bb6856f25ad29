#include "import_mxnet/rows.h"

namespace whet::mxnet {
MxRows rows() {
  static const std::vector<MxRow> kRows = gathered<MxRow>(
      {boxes_rows(), elementwise_rows(), recurrent_rows(), sequence_rows(), shape_rows(), window_rows()});
  return kRows;
}

const MxRow* find_row(std::string_view op) { return row_of(rows(), op); }

std::size_t unread_label(std::string_view op) {
  const bool has = op.ends_with("Output") || op == "Softmax";
  return has ? 1 : std::string_view::npos;
}

std::size_t first_parameter(std::string_view op) {
  constexpr std::string_view kLayers[] = {
      "Convolution",          "Convolution_v1",  "Deconvolution",   "FullyConnected", "BatchNorm",
      "BatchNorm_v1",         "InstanceNorm",    "GroupNorm",       "LayerNorm",      "_npx_convolution",
      "_npx_fully_connected", "_npx_batch_norm", "_npx_layer_norm", "Embedding",      "_npx_embedding"};
  for (const std::string_view layer : kLayers)
    if (layer == op) return 1;
  return std::string_view::npos;
}

}  // namespace whet::mxnet
