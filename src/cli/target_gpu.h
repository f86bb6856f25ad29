#pragma once

#include "json/json.h"
#include "target/target.h"

namespace whet {

/// What `whet target` says of a GPU: what a kernel may use, and the rates of the nearest model.
/// Needs: `target.is_gpu()`.
void print_gpu(const Target& target);
Json gpu_json(const Target& target);

}  // namespace whet
