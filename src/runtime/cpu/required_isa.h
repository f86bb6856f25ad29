#pragma once

#include "artifact/model_format.h"

namespace whet {

/// Refuses a model whose kernels use instructions that this processor lacks, and names them. Returns 0, or -1 and a
/// sentence.
int check_required_isa(const ModelView& view, whet_error* error);

}  // namespace whet
