#pragma once

#include "import/rows.h"
#include "import_mxnet/site.h"

/// The operators of MXNet that whet reads. Each family's rows are at the end of its file; rows.cc gathers them.
namespace whet::mxnet {

using MxRow = CallRow<MxSite>;
using MxRows = std::span<const MxRow>;
/// All rows, by operator.
MxRows rows();
const MxRow* find_row(std::string_view op);

/// The input of an operator that is a label, which only training reads; npos: none is.
std::size_t unread_label(std::string_view op);
/// From which of its inputs on a layer reads its parameters; npos: it has none.
std::size_t first_parameter(std::string_view op);

MxRows boxes_rows(), elementwise_rows(), recurrent_rows(), sequence_rows(), shape_rows(), window_rows();

}  // namespace whet::mxnet
