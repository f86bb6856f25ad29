#pragma once

#include <string>

#include "passes/fuse.h"

namespace whet {

/// The group has a product: a convolution or a product of matrices.
bool has_product(const FusedGraph&, const Group&);

/// Why no kernel multiplies the group's product in fewer bits (lowered.h), a clause about it: "its 3 terms are no pairs". For groups of
/// which none does.
std::string why_not_lowered(const FusedGraph&, const Group&);

}  // namespace whet
