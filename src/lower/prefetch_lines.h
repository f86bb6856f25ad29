#pragma once

#include <vector>

#include "program/program.h"

namespace whet {

/// Appends prefetches of the cache lines of a box in buffer `id` that begins at `base`, at most kMaxPrefetchedLines.
/// A dimension that the box fills is contiguous with the dimension before it.
void append_line_prefetches(const Buffer& buffer, BufferId id, const std::vector<Expr>& base,
                            std::vector<std::int64_t> extents, std::vector<Stmt>& out);

}  // namespace whet
