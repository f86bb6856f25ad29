#pragma once

#include <string>
#include <vector>

#include "alternatives/alternatives.h"
#include "base/result.h"
#include "cli/arguments.h"
#include "json/json.h"
#include "tuner/plan_search.h"

namespace whet {

/// --layouts, --covers: which alternatives `whet tune` looks at.
struct LayoutOptions {
  std::string layouts = "search", covers = "search";

  void add_to(Arguments&);
  /// The forms beside nhwc; none for "nhwc". An error for what is neither a word nor a list of forms.
  Result<std::vector<Form>> forms(const Target&) const;
  Result<AlternativeOptions> alternatives(const Target&) const;
};

/// What `whet tune` tells of the search over plans at its end.
std::string plan_report(const PlanSearch&);
Json to_json(const PlanSearch&);
/// "3 kernels as nchw16c, 2 as nhwc -> nchw16c, 1 copy nchw16c -> nhwc"; "the usual kernels" where there are none.
std::string kernels_text(const std::vector<PlannedKernel>&);

}  // namespace whet
