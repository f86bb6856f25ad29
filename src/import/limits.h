#pragma once

#include <cstdint>

#include "import/fold_shape.h"

namespace whet {

/// What a small file may become: beyond `inlined_nodes` it is refused, beyond `folding_work` nodes stay nodes.
struct ImportLimits {
  std::int64_t inlined_nodes = std::int64_t{1} << 17;  ///< of functions, branches and loops, of each round anew
  std::int64_t folding_work = kMaxFoldingWork;         ///< of all folded nodes (`folding_work`) [elements]
};

/// Of this process.
const ImportLimits& import_limits();
/// Smaller ones for tests and fuzzed programs, which import thousands of files, while nothing is imported.
void set_import_limits(const ImportLimits&);

}  // namespace whet
