#pragma once

#include "import/arity.h"
#include "import/rows.h"
#include "import/tensorflow/site.h"

/// The operators of TensorFlow that whet reads. Each family's rows are at the end of its file; rows.cc gathers them.
namespace whet::tensorflow {

struct TfRow {
  constexpr TfRow(std::string_view op, Arity arity, Status (*import)(TfSite&)) : op(op), arity(arity), import(import) {}
  constexpr TfRow(std::string_view op, Status (*import)(TfSite&)) : TfRow(op, kAnyArity, import) {}

  std::string_view op;
  Arity arity;
  Status (*import)(TfSite&);
};
using TfRows = std::span<const TfRow>;
/// All rows, by operator.
TfRows rows();
const TfRow* find_row(std::string_view op);
/// Why an operator is not read, in brackets, where more can be said than that.
std::string reason_against(std::string_view op);

TfRows boxes_rows(), control_rows(), elementwise_rows(), fourier_rows(), index_rows(), shape_rows(), window_rows();

}  // namespace whet::tensorflow
