#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/compile.h"
#include "ranges/ranges.h"
#include "records/records.h"
#include "target/target.h"
#include "tensor/shape.h"

namespace whet {

/// The box without these values of the sizes, as disjoint boxes.
std::vector<SizeBox> without_point(const SizeBox&, const SizeValues& at, const std::vector<SizeRange>&);

/// Gives some sizes of a family kernels of their own: variants for these sizes alone, in front of the others, whose pieces do not have
/// them any more. Weights are packed as those want it. Values that the family does not have are left out.
///   read  as find_family has it
/// Errors: of find_family.
Status add_exact_sizes(const std::vector<SizeValues>&, const ReadAtSizes& read, Family&, FamilyPieces&);

/// The sizes at which records say that kernels of their own were faster.
std::vector<SizeValues> hot_sizes(const Records&, const Family&, const Target&);

}  // namespace whet
