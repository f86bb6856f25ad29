#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace whet {

enum class TargetKind { cpu };
/// More workers than any machine that runs one kernel has.
constexpr int kMaxThreads = 1024;
/// Which cores of a big.LITTLE machine run a kernel.
enum class CoreKind { big, little };

/// What a machine offers. Text form: `cpu -mcpu=znver5 -mattr=+avx512f,-amx-tile -threads=2 -cores=big`.
/// The text form decides everything else: register and cache figures follow from -mcpu and -mattr (a table in
/// target.cc), or from `machine::detect` on this machine.
struct Target {
  TargetKind kind = TargetKind::cpu;
  std::string mcpu = "x86-64";     ///< LLVM's name of the processor
  std::vector<std::string> mattr;  ///< LLVM's feature switches, "+avx512f", "-fma"
  int threads = 1;                 ///< workers that run a kernel together
  CoreKind cores = CoreKind::big;

  // Derived from mcpu and mattr by `parse_target`; what spaces, default schedules and lowering look at.
  int vector_bytes = 16;      ///< native vector: 16 (SSE2, NEON), 32 (AVX2), 64 (AVX-512)
  int vector_registers = 16;  ///< 16, or 32 with AVX-512 and AArch64
  bool fma = false;
  std::int64_t l1_bytes = 32 << 10;  ///< data, per core
  std::int64_t l2_bytes = 1 << 20;   ///< per core
  std::int64_t l3_bytes = 16 << 20;  ///< shared

  int lanes(int element_bytes) const { return vector_bytes / element_bytes; }
  friend bool operator==(const Target&, const Target&) = default;
};

/// The text form; parses back to an equal target except for cache sizes detected on a machine.
/// The default kind of cores is left out.
std::string to_string(const Target&);

/// Parses the text form. Errors name the switch, what was found and the nearest right one.
Result<Target> parse_target(std::string_view text);

/// The processors that whet knows by name, for `whet target --list`.
std::vector<std::string> known_processors();

}  // namespace whet
