#pragma once

#include "import/rows.h"
#include "import/torch/site.h"

/// The operators of PyTorch that whet reads. Each family's rows are at the end of its file; rows.cc gathers them.
namespace whet::torch {

/// A row of the table. One importer reads an operator with all overloads of equal arguments.
struct TorchRow {
  std::string_view op;         ///< "aten.conv2d"
  std::string_view overloads;  ///< "default padding"
  /// The names of its arguments in order, and their defaults: "input weight bias=none stride=1".
  std::string_view arguments;
  Status (*import)(TorchSite&);
};

using TorchRows = std::span<const TorchRow>;
/// All rows, by operator.
TorchRows rows();
/// The row of "aten.conv2d.default"; null where there is none.
const TorchRow* find_row(std::string_view op);
/// Why an operator without a row is not read, and what to do; "" where there is nothing to say.
std::string reason_against(std::string_view op);

// counted.cc
Result<ValueId> rows_where(TorchSite&, ValueId x, ValueId mask);

TorchRows complex_rows(), compose_rows(), control_rows(), counted_rows(), create_rows(), elementwise_rows(),
    encoder_rows(), index_rows(), matrix_rows(), normalize_rows(), quantize_rows(), recurrent_rows(), reduce_rows(),
    resize_rows(), search_rows(), shape_rows(), window_rows();

}  // namespace whet::torch
