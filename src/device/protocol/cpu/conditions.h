#pragma once

#include <optional>

#include "artifact/cpu/conditions.h"
#include "runner/wire.h"

namespace whet {

/// Without the unit, which is known from the device's description.
void pack(Packer&, const RunConditions&);
/// Nothing where they make no sense.
std::optional<RunConditions> unpack_conditions(Unpacker&);

}  // namespace whet
