#pragma once

#include <string>
#include <vector>

#include "alternatives/stored_numbers.h"

namespace whet {

/// The group has a product: a convolution or a product of matrices.
bool has_product(const FusedGraph&, const Group&);

/// Why no kernel multiplies the group's product in fewer bits (lowered.h), a clause about it: "its 3 terms are no pairs". For groups of
/// which none does.
///   types   that were asked for
///   stored  how the network's values are stored in them
std::string why_not_lowered(const FusedGraph&, const Group&, const std::vector<StoredAs>& types,
                            const StoredForms& stored);

}  // namespace whet
