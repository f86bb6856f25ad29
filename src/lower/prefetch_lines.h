#pragma once

#include <vector>

#include "program/program.h"

namespace whet {

/// Prefetches of the cache lines of a box in buffer `id`, from `base` on, at most kMaxPrefetchedLines. Dimensions that
/// the box fills make one run of neighbours with the one before.
void append_line_prefetches(const Buffer& buffer, BufferId id, const std::vector<Expr>& base,
                            std::vector<std::int64_t> extents, std::vector<Stmt>& out);

}  // namespace whet
