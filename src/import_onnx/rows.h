#pragma once

#include <span>
#include <string_view>

#include "import/call.h"
#include "import_onnx/site.h"

/// The operators of ONNX that whet reads. Each family's rows are at the end of its file; rows.cc declares and gathers them.
namespace whet {

constexpr std::string_view kMicrosoft = "com.microsoft";  ///< what ONNX Runtime's optimizer writes

struct OnnxRow : CallRow<OnnxSite> {
  template <auto function>
  consteval OnnxRow(std::string_view op, int since, std::string_view takes, RowFunction<function> calls,
                    std::string_view domain = "")
      : CallRow(op, takes, calls), since(since), domain(domain) {}

  int since;                ///< from this operator set on, until a later row of the same operator
  std::string_view domain;  ///< "": the standard's; the operator sets of others are not told apart
};
using OnnxRows = std::span<const OnnxRow>;

/// The row for an operator, or null when it is not supported. `opset`: of the standard.
const OnnxRow* find_importer(std::string_view domain, std::string_view op, std::int64_t opset);
/// All rows by domain, operator and operator set.
OnnxRows onnx_importers();

}  // namespace whet
