#include "import/parts/reduce.h"

#include "import/onnx/rows.h"
#include "import/parts/shape.h"

namespace whet {
namespace {

template <ReduceKind kind>
Result<ValueId> import_reduce(OnnxSite& site, ValueId x, Ints axes, bool keep_dims) {
  WHET_TRY(const bool noop, site.flag("noop_with_empty_axes", false));
  if (axes.empty() && noop) return reduced_each(site, x, kind);
  return reduced(site, x, {kind, axes.empty() ? every_axis(site.rank(x)) : axes, keep_dims});
}

}  // namespace

/// The axes were an attribute at first.
OnnxRows onnx_reduce() {
  using R = ReduceKind;
  static constexpr std::string_view kFirst = "x @axes(x)= @keepdims=1",
                                    kThen = "x list_of_axes(x)? @keepdims=1 @noop_with_empty_axes?";
  static constexpr OnnxRow kRows[] = {
      {"ReduceL1", 1, kFirst, calls<import_reduce<R::l1>>},
      {"ReduceL1", 18, kThen, calls<import_reduce<R::l1>>},
      {"ReduceL2", 1, kFirst, calls<import_reduce<R::l2>>},
      {"ReduceL2", 18, kThen, calls<import_reduce<R::l2>>},
      {"ReduceLogSum", 1, kFirst, calls<import_reduce<R::log_sum>>},
      {"ReduceLogSum", 18, kThen, calls<import_reduce<R::log_sum>>},
      {"ReduceLogSumExp", 1, kFirst, calls<import_reduce<R::log_sum_exp>>},
      {"ReduceLogSumExp", 18, kThen, calls<import_reduce<R::log_sum_exp>>},
      {"ReduceMax", 1, kFirst, calls<import_reduce<R::max>>},
      {"ReduceMax", 18, kThen, calls<import_reduce<R::max>>},
      {"ReduceMean", 1, kFirst, calls<import_reduce<R::mean>>},
      {"ReduceMean", 18, kThen, calls<import_reduce<R::mean>>},
      {"ReduceMin", 1, kFirst, calls<import_reduce<R::min>>},
      {"ReduceMin", 18, kThen, calls<import_reduce<R::min>>},
      {"ReduceProd", 1, kFirst, calls<import_reduce<R::prod>>},
      {"ReduceProd", 18, kThen, calls<import_reduce<R::prod>>},
      {"ReduceSum", 1, kFirst, calls<import_reduce<R::sum>>},
      {"ReduceSum", 13, kThen, calls<import_reduce<R::sum>>},
      {"ReduceSumSquare", 1, kFirst, calls<import_reduce<R::sum_square>>},
      {"ReduceSumSquare", 18, kThen, calls<import_reduce<R::sum_square>>},
  };
  return kRows;
}

}  // namespace whet
