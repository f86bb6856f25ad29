#pragma once

#include <string>

#include "base/result.h"
#include "compute/dag.h"

namespace whet {

/// True where the DAG's only output can be a part of a tensor of the shape `within`, along its last axis.
bool is_part(const ComputeDag&, const Shape& within);

/// The elements that a kernel wrote, as `part` numbers them, out of the bytes of the whole that it wrote them into, at
/// offset 0. Fails where the whole has another size, or where bytes outside the part are not `untouched` any more.
Result<std::string> part_of(const std::string& whole, const TensorType& part, const Shape& within, char untouched);

}  // namespace whet
