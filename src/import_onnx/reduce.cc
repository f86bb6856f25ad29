#include "import/parts/reduce.h"

#include "import/parts/shape.h"
#include "import_onnx/rows.h"

namespace whet {
namespace {

Result<ValueId> import_reduce(OnnxSite& site, ValueId x, const Ints& axes, bool keep_dims) {
  const ReduceKind kind = kind_of_name<ReduceOperator, ReduceKind::log_sum_exp>(site);
  WHET_TRY(const bool noop, site.flag("noop_with_empty_axes", false));
  if (axes.empty() && noop) return reduced_each(site, x, kind);
  return reduced(site, x, {kind, axes.empty() ? every_axis(site.rank(x)) : axes, keep_dims});
}

}  // namespace

/// The axes were an attribute at first.
OnnxRows onnx_reduce() {
  static constexpr std::string_view kFirst = "x @axes(x)= @keepdims=1",
                                    kThen = "x list_of_axes(x)? @keepdims=1 @noop_with_empty_axes?",
                                    kAll =
                                        "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean "
                                        "ReduceMin ReduceProd ReduceSumSquare";
  static constexpr OnnxRow kRows[] = {
      {kAll, 1, kFirst, calls<import_reduce>},
      {kAll, 18, kThen, calls<import_reduce>},
      {"ReduceSum", 1, kFirst, calls<import_reduce>},
      {"ReduceSum", 13, kThen, calls<import_reduce>},
  };
  return kRows;
}

}  // namespace whet
