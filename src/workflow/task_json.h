#pragma once

#include "compute/dag.h"
#include "json/json.h"

namespace whet {

/// The ops of a task for who writes schedules of it (docs/formats/serve.md): names, families, what they read, and their axes with the
/// numbers of the naive loops.
Json ops_json(const ComputeDag&);

}  // namespace whet
