#include <algorithm>

#include "import/onnx/importers.h"
#include "import/onnx/window.h"

namespace whet {
namespace {

/// With ceil_mode a last window may reach beyond the padding: the padding grows to hold it. A window that would begin
/// beyond the input and its first padding is not counted.
void round_up(PoolOperator& op, std::size_t i, std::int64_t extent) {
  const std::int64_t reach = op.dilations[i] * (op.kernel[i] - 1) + 1, stride = op.strides[i];
  const std::int64_t span = extent + op.pads_begin[i] + op.pads_end[i] - reach;
  if (span < 0) return;  // inference says that not one window fits
  std::int64_t positions = (span + stride - 1) / stride + 1;
  if ((positions - 1) * stride >= extent + op.pads_begin[i]) --positions;
  op.pads_end[i] = std::max<std::int64_t>((positions - 1) * stride + reach - extent - op.pads_begin[i], 0);
}

/// Average with its padding counted, and a padding that ceil_mode enlarged: what the file pads is counted and becomes a
/// Pad of its own; what ceil_mode added is not.
Status give_padded_average(OnnxSite& site, PoolOperator op, const Window& window) {
  PadOperator pad{PadMode::constant, 0, {0, 0}, {0, 0}};
  for (std::size_t i = 0; i < op.kernel.size(); ++i) {
    pad.begin.push_back(op.pads_begin[i]);
    pad.end.push_back(std::min(op.pads_end[i], window.pads_end[i]));
    op.pads_begin[i] = 0;
    op.pads_end[i] -= pad.end.back();
  }
  op.count_include_pad = false;
  WHET_TRY(const ValueId padded, site.add("pad", pad, {site.in(0)}));
  return site.give(op, {padded});
}

Status import_pool(OnnxSite& site, PoolKind kind) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  if (site.rank(0) < 3) {
    return site.error("the input is " + to_string(site.type(site.in(0))) +
                      "; expected a batch, channels and one to three spatial dimensions");
  }
  WHET_RETURN_IF_ERROR(site.expect_attribute("kernel_shape"));
  WHET_TRY(const std::vector<std::int64_t> kernel, site.entries("kernel_shape", site.rank(0) - 2, 1, 1));
  WHET_TRY(const Window window, read_window(site, kernel));
  WHET_TRY(const bool ceil_mode, site.flag("ceil_mode", false));
  PoolOperator op{kind, kernel, window.strides, window.dilations, window.pads_begin, window.pads_end};
  if (kind == PoolKind::average) {
    WHET_TRY(op.count_include_pad, site.flag("count_include_pad", false));
  }
  bool grew = false;
  for (std::size_t i = 0; ceil_mode && i < kernel.size(); ++i) {
    round_up(op, i, site.shape(0)[i + 2]);
    grew = grew || op.pads_end[i] > window.pads_end[i];
  }
  if (op.count_include_pad && grew) return give_padded_average(site, op, window);
  return site.give(op, {site.in(0)});
}

Status import_global_pool(OnnxSite& site, ReduceKind kind) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  ReduceOperator op{kind, {}, true};
  for (std::size_t i = 2; i < site.rank(0); ++i) op.axes.push_back(static_cast<std::int64_t>(i));
  if (op.axes.empty()) {
    return site.error("the input is " + to_string(site.type(site.in(0))) + "; expected spatial dimensions");
  }
  return site.give(op, {site.in(0)});
}

}  // namespace

Status import_max_pool(OnnxSite& site) {
  site.ignore({"storage_order"});  // of the second output, which is refused
  return import_pool(site, PoolKind::max);
}

Status import_average_pool(OnnxSite& site) { return import_pool(site, PoolKind::average); }
Status import_global_average_pool(OnnxSite& site) { return import_global_pool(site, ReduceKind::mean); }
Status import_global_max_pool(OnnxSite& site) { return import_global_pool(site, ReduceKind::max); }

}  // namespace whet
