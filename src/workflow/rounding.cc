#include "workflow/rounding.h"

namespace whet {

SpaceOptions RoundingOptions::schedules() const { return {exact, parse_precision(precision).value_or(Precision::f32)}; }

PassOptions RoundingOptions::passes() const { return {.halves = precision == "f16" && !exact}; }

Status RoundingOptions::check(const Target& target) const {
  if (precision == "f32" || (target.is_gpu() && limits_of(target.gpu()).mma)) return ok_status();
  return Error{"--precision " + precision + " is for GPUs with tensor cores, sm_80 or newer; the target is \"" +
                   to_string(target) + "\"",
               ErrorKind::wrong_use};
}

}  // namespace whet
