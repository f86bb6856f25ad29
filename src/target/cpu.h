#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace whet {

/// Which cores of a big.LITTLE machine run a kernel.
enum class CoreKind { big, little };

/// A CPU. Text form: `cpu -mcpu=znver5 -mattr=+avx512f,-amx-tile -threads=2 -cores=big`.
/// The text form decides everything else: register and cache figures follow from -mcpu and -mattr by a table in cpu.cc,
/// or from `machine::detect` on this machine.
struct CpuTarget {
  std::string mcpu = "x86-64";     ///< LLVM's name of the processor
  std::vector<std::string> mattr;  ///< LLVM's feature switches, "+avx512f", "-fma"
  CoreKind cores = CoreKind::big;

  // Derived from mcpu and mattr when the text is parsed; spaces, default schedules and lowering look at these.
  int vector_bytes = 16;      ///< native vector: 16 (SSE2, NEON), 32 (AVX2), 64 (AVX-512)
  int vector_registers = 16;  ///< 16, or 32 with AVX-512 and AArch64
  bool fma = false;
  std::int64_t l1_bytes = 32 << 10;  ///< data, per core
  std::int64_t l2_bytes = 1 << 20;   ///< per core
  std::int64_t l3_bytes = 16 << 20;  ///< shared

  int lanes(int element_bytes) const { return vector_bytes / element_bytes; }
  friend bool operator==(const CpuTarget&, const CpuTarget&) = default;
};

/// A text of all the members that decide what code a Program becomes. Equal texts: equal code.
std::string code_key(const CpuTarget&);

/// The processors that -mcpu knows by name, for `whet target --list`.
std::vector<std::string> known_processors();

}  // namespace whet
