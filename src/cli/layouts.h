#pragma once

#include <string>
#include <vector>

#include "alternatives/alternatives.h"
#include "base/result.h"
#include "cli/arguments.h"
#include "tuner/plan_search.h"

namespace whet {

/// --layouts, --covers: which alternatives `whet tune` looks at, and `whet tasks` lists.
struct LayoutOptions {
  std::string layouts = "search", covers = "search";

  void add_to(Arguments&);
  /// An error for what is neither a word nor a form.
  Result<AlternativeOptions> alternatives(const Target&) const;
};

/// An alternative's cell in a table: the forms, or a cover's name, which is cut where it is long.
std::string stored_text(const Alternative&);

/// What `whet tune` tells of the search over plans at its end.
std::string plan_report(const PlanSearch&);

}  // namespace whet
