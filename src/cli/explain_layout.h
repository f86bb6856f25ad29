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

/// Prints in which order of dimensions each result is stored, and why. For a convolution or pool it also times that order and the
/// file's. Returns the exit code.
int explain_layout(const LayoutQuestion&);

}  // namespace whet
