#include "workflow/rounding.h"

namespace whet {

SpaceOptions RoundingOptions::schedules() const { return {exact, parse_precision(precision).value_or(Precision::f32)}; }

PassOptions RoundingOptions::passes(const Target& target) const {
  return {.halves = precision == "f16" && !exact, .bf16 = precision == "bf16" && !exact && target.is_cpu()};
}

Status RoundingOptions::check(const Target& target) const {
  if (precision == "f32" || (!chooses() && target.is_gpu() && limits_of(target.gpu()).mma)) return ok_status();
  if ((precision == "bf16" || chooses()) && target.is_cpu()) {
    if (target.cpu().bf16_products) return ok_status();
    return Error{"cpu " + target.cpu().mcpu + " has no products of bf16: --precision " + precision + " is for processors with avx512_bf16, as znver4 and sapphirerapids" +
                     (chooses() ? "" : ", and for GPUs with tensor cores"),
                 ErrorKind::wrong_use};
  }
  if (chooses())
    return Error{"--precision auto is for processors; the target is \"" + to_string(target) + "\"",
                 ErrorKind::wrong_use};
  return Error{"--precision " + precision + " is for GPUs with tensor cores, sm_80 or newer; the target is \"" +
                   to_string(target) + "\"",
               ErrorKind::wrong_use};
}

}  // namespace whet
