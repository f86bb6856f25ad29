#pragma once

#include <string>

#include "workflow/model.h"
#include "workflow/options.h"

namespace whet {

/// The question of `whet explain layout`.
struct LayoutQuestion {
  std::string node;  ///< "": all
  ModelOptions model;
  TargetOptions place;
};

/// In which order of dimensions results are stored, and why. Of a convolution or pool also what that takes, and what the
/// file's order would, measured now. Gives the exit code.
int explain_layout(const LayoutQuestion&);

}  // namespace whet
