#pragma once

#include <vector>

#include "json/json.h"
#include "plan/layer_precisions.h"

namespace whet {

/// A list of layers with `layer`, `is`, `lowered`, `ms`, `f32_ms`, `error`, `share`, `saves_us`, `why` and `kernels` (`forms`, `ms`,
/// `error`). What is not known is null.
Json to_json(const std::vector<LayerPrecision>&);

}  // namespace whet
