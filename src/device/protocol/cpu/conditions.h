#pragma once

#include <cmath>

#include "artifact/cpu/conditions.h"
#include "base/message.h"
#include "device/protocol/bounds.h"

namespace whet {

inline bool are_sane(const RunConditions& conditions) {
  constexpr double kMostGhz = 100, kMostCelsius = 1000;
  return conditions.ghz >= 0 && conditions.ghz <= kMostGhz && std::abs(conditions.celsius) <= kMostCelsius;
}

/// Without the unit, which is known from the device's description.
template <>
inline constexpr auto kRow<RunConditions> =
    row<at_most<1024, &RunConditions::cores>, where<is_short_text, &RunConditions::governor>, &RunConditions::ghz,
        &RunConditions::celsius, &RunConditions::throttled, are_sane>;

}  // namespace whet
