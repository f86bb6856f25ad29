#include "schedule/swizzle_storage.h"

#include <fmt/format.h>

#include "program/swizzle.h"
#include "schedule/check.h"
#include "schedule/regions.h"

namespace whet {

std::int64_t row_bytes(const LoopTree& tree, OpId id) {
  const LoopId at = storage_loop(tree, id);
  const Op& op = tree.dag.op(id);
  return (at.valid() ? computed_region(tree, id, at).back().extent : op.shape.back()) * size_of(op.dtype);
}

Status apply(LoopTree& tree, const SwizzleStorage& step) {
  WHET_RETURN_IF_ERROR(check_op(tree, step.op));
  Placement& place = tree.places[step.op.index()];
  if (place.stored_in != StoredIn::block)
    return refuse(tree, step.op, "is not in block memory, which alone is swizzled");
  if (place.swizzle > 0) return refuse(tree, step.op, "is swizzled already");
  if (place.padding > 0) return refuse(tree, step.op, "has padded rows, which lie in different banks already");
  if (tree.dag.op(step.op).shape.empty()) return refuse(tree, step.op, "is one number");
  const std::int64_t row = row_bytes(tree, step.op);
  if (!is_swizzle(step.bytes, row))
    return refuse(tree, step.op,
                  fmt::format("has rows of {} bytes; a swizzle of {} wants {}", row, step.bytes, kSwizzledRows));
  place.swizzle = step.bytes;
  return ok_status();
}

}  // namespace whet
