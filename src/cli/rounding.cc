#include "cli/rounding.h"

namespace whet {

void RoundingOptions::add_to(Arguments& arguments, const std::string& what) {
  arguments.flag("--exact", exact, "Leave out " + what + " that round differently (Winograd, --precision)");
  arguments.choice(
      "--precision", precision, {"f32", "tf32", "f16", "bf16"},
      "Also allow " + what + " whose products round their operands so, on GPUs with tensor cores; sums stay f32");
}

SpaceOptions RoundingOptions::schedules() const { return {exact, parse_precision(precision).value_or(Precision::f32)}; }

Status RoundingOptions::check(const Target& target) const {
  if (precision == "f32" || (target.is_gpu() && limits_of(target.gpu()).mma)) return ok_status();
  return Error{"--precision " + precision + " is for GPUs with tensor cores, sm_80 or newer; the target is \"" +
               to_string(target) + "\""};
}

}  // namespace whet
