#pragma once

#include <string_view>

#include "target/precision.h"

namespace whet {

/// The least precise products that the summary of a library names (compiler/compile.h; `whet_model_info::records`): those whose operands
/// may err most. f32 where it names none, and of other text.
Precision precision_in(std::string_view summary);

}  // namespace whet
