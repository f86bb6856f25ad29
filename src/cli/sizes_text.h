#pragma once

#include <string>
#include <vector>

#include "json/json.h"
#include "ranges/ranges.h"

namespace whet {

/// "n=2..15; n=17": the sizes of a variant, or of a piece of it.
std::string boxes_text(const Family&, const std::vector<SizeBox>&);
/// "n, (n - 1) and 3 others": the functions of a variant's numbers, the most frequent first.
std::string forms_text(const Variant&);

/// Its boxes, where it was read, how many numbers change, and the functions.
Json to_json(const Family&, const Variant&);
/// A task's own sizes: name, range, and what they are of the model's.
Json sizes_json(const Family&, const SizedTask&);

}  // namespace whet
