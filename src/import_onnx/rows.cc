#include "import_onnx/rows.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "import/rows.h"

namespace whet {

OnnxRows onnx_attention(), onnx_constant(), onnx_control(), onnx_conv(), onnx_data(), onnx_elementwise(),
    onnx_fourier(), onnx_fused(), onnx_fused_attention(), onnx_index(), onnx_loss(), onnx_matrix(), onnx_normalize(),
    onnx_pool(), onnx_quantize(), onnx_recurrent(), onnx_reduce(), onnx_resize(), onnx_sample(), onnx_sequence(),
    onnx_shape(), onnx_signal();

namespace {

std::tuple<std::string_view, std::string_view, std::int64_t> key_of(const OnnxRow& row) {
  return {row.domain, row.op, row.since};
}

std::vector<OnnxRow> all_rows() {
  std::vector<OnnxRow> all = gathered<OnnxRow>(
      {onnx_attention(), onnx_constant(), onnx_control(),         onnx_conv(),      onnx_data(),   onnx_elementwise(),
       onnx_fourier(),   onnx_fused(),    onnx_fused_attention(), onnx_index(),     onnx_loss(),   onnx_matrix(),
       onnx_normalize(), onnx_pool(),     onnx_quantize(),        onnx_recurrent(), onnx_reduce(), onnx_resize(),
       onnx_sample(),    onnx_sequence(), onnx_shape(),           onnx_signal()});
  std::sort(all.begin(), all.end(), [](const OnnxRow& a, const OnnxRow& b) { return key_of(a) < key_of(b); });
  return all;
}

}  // namespace

OnnxRows onnx_importers() {
  static const std::vector<OnnxRow> kAll = all_rows();
  return kAll;
}

const OnnxRow* find_importer(std::string_view domain, std::string_view op, std::int64_t opset) {
  const OnnxRows rows = onnx_importers();
  const auto behind = std::upper_bound(rows.begin(), rows.end(), std::tuple(domain, op, opset),
                                       [](const auto& key, const OnnxRow& row) { return key < key_of(row); });
  if (behind == rows.begin()) return nullptr;
  const OnnxRow& row = *std::prev(behind);
  return row.domain == domain && row.op == op ? &row : nullptr;
}

}  // namespace whet
