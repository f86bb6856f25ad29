#pragma once

#include <span>
#include <string_view>

#include "base/check.h"
#include "import/call.h"
#include "import/onnx/site.h"

/// The operators of ONNX that whet reads. Each family's rows are at the end of its file; rows.cc declares and gathers them.
namespace whet {

constexpr std::string_view kMicrosoft = "com.microsoft";  ///< what ONNX Runtime's optimizer writes

struct OnnxRow {
  /// `takes`: the operands and attributes (call.h).
  template <auto function>
  consteval OnnxRow(std::string_view op, int since, std::string_view takes, RowFunction<function>,
                    std::string_view domain = "")
      : op(op), since(since), takes(takes), domain(domain) {
    import = [](OnnxSite& site) { return called(site, function); };
    WHET_CHECK(count_parameters(takes) >= parameters_of(function), "a row names fewer words than its function takes");
  }

  std::string_view op;
  int since;  ///< from this operator set on, until a later row of the same operator
  std::string_view takes;
  Status (*import)(OnnxSite&) = nullptr;
  std::string_view domain;  ///< "": the standard's; the operator sets of others are not told apart
};
using OnnxRows = std::span<const OnnxRow>;

/// The row for an operator, or null when it is not supported. `opset`: of the standard.
const OnnxRow* find_importer(std::string_view domain, std::string_view op, std::int64_t opset);
/// All rows by domain, operator and operator set.
OnnxRows onnx_importers();

}  // namespace whet
