#pragma once

#include "import/rows.h"
#include "import_tf/site.h"

/// The operators of TensorFlow that whet reads. Each family's rows are at the end of its file; rows.cc gathers them.
namespace whet::tensorflow {

using TfRow = CallRow<TfSite>;
using TfRows = std::span<const TfRow>;
/// All rows, by operator.
TfRows rows();
const TfRow* find_row(std::string_view op);
/// Why an operator is not read, in brackets, where more can be said than that.
std::string reason_against(std::string_view op);

TfRows boxes_rows(), control_rows(), elementwise_rows(), fourier_rows(), index_rows(), shape_rows(), window_rows();

}  // namespace whet::tensorflow
