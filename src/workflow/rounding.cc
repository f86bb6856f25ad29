#include "workflow/rounding.h"

namespace whet {
namespace {

/// Weights of f16 are widened by one instruction there: on AArch64, and on x86-64 with vectors of 32 bytes and more, which come with
/// F16C in every processor.
bool widens_f16(const CpuTarget& cpu) { return cpu.isa == Isa::aarch64 || cpu.vector_bytes >= 32; }

Status check_cpu(const std::string& precision, const Target& target) {
  const CpuTarget& cpu = target.cpu();
  if (precision == "auto" || precision == "int8") return ok_status();  // bytes are multiplied everywhere
  if (precision == "bf16") {
    if (cpu.bf16_products) return ok_status();
    return Error{"cpu " + cpu.mcpu +
                     " has no products of bf16: --precision bf16 is for processors with avx512_bf16, as znver4 and "
                     "sapphirerapids, and for GPUs with tensor cores",
                 ErrorKind::wrong_use};
  }
  if (precision == "f16") {
    if (widens_f16(cpu)) return ok_status();
    return Error{
        "cpu " + cpu.mcpu +
            " does not widen f16 by an instruction: --precision f16 is for processors with F16C, as haswell and "
            "newer, for AArch64, and for GPUs with tensor cores",
        ErrorKind::wrong_use};
  }
  return Error{"--precision " + precision + " is for GPUs with tensor cores, sm_80 or newer; the target is \"" +
                   to_string(target) + "\"",
               ErrorKind::wrong_use};
}

}  // namespace

SpaceOptions RoundingOptions::schedules() const { return {exact, parse_precision(precision).value_or(Precision::f32)}; }

PassOptions RoundingOptions::passes(const Target& target) const {
  const bool is_f16 = precision == "f16" && !exact, is_bf16 = precision == "bf16" && !exact;
  return {.halves = is_f16 && !target.is_cpu(),
          .bf16_of_fixed_sizes = is_bf16 && target.is_cpu(),
          .bf16_tensors = is_bf16 && target.is_gpu(),
          .f16_weights = is_f16 && target.is_cpu(),
          .bf16_weights = is_bf16 && target.is_cpu()};
}

PassOptions RoundingOptions::passes() const {
  return {.halves = precision == "f16" && !exact, .bf16 = precision == "bf16" && !exact};
}

Status RoundingOptions::check(const Target& target) const {
  if (precision == "f32") return ok_status();
  if (target.is_cpu()) return check_cpu(precision, target);
  if (is_of_plans())
    return Error{"--precision " + precision + " is for processors; the target is \"" + to_string(target) + "\"",
                 ErrorKind::wrong_use};
  if (target.is_gpu() && limits_of(target.gpu()).mma) return ok_status();
  return Error{"--precision " + precision + " is for GPUs with tensor cores, sm_80 or newer; the target is \"" +
                   to_string(target) + "\"",
               ErrorKind::wrong_use};
}

std::string RoundingOptions::text() const {
  return (exact ? std::string(" --exact") : std::string()) + (precision == "f32" ? "" : " --precision " + precision);
}

}  // namespace whet
