#pragma once

#include <cstddef>

#include "runner/messages.h"

namespace whet {

/// Writes the contents that `spec` stands for: the same bytes in every process, so that runner and reference agree.
/// Floats that are made are never zero (nothing can be skipped) nor denormal; integers lie in the argument's domain.
void fill_argument(const ArgumentSpec& spec, std::byte* data);

}  // namespace whet
