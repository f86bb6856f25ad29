#include "import/parts/reduce.h"

#include <numeric>

#include "import/onnx/importers.h"

namespace whet {

Status import_reduce(OnnxSite& site, ReduceKind kind, int axes_are_an_input_since) {
  const bool as_input = site.opset() >= axes_are_an_input_since;
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, as_input ? 2 : 1));
  std::vector<std::int64_t> axes;
  bool none_means_all = true;
  if (as_input) {
    WHET_TRY(const bool noop, site.flag("noop_with_empty_axes", false));
    none_means_all = !noop;
    if (site.has(1)) {
      WHET_TRY(axes, site.known_integers(1, "list of axes"));
    }
  } else {
    WHET_TRY(axes, site.integers("axes", {}));
  }
  WHET_TRY(const bool keep_dims, site.flag("keepdims", true));
  if (axes.empty()) {
    if (!none_means_all) return site.give(reduced_each(site, site.in(0), kind));
    axes.resize(site.rank(0));
    std::iota(axes.begin(), axes.end(), 0);
  }
  WHET_TRY(axes, site.resolve_axes(axes, site.rank(0)));
  return site.give(reduced(site, site.in(0), {kind, axes, keep_dims}));
}

}  // namespace whet
