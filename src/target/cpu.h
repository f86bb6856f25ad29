#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace whet {

/// Which cores of a big.LITTLE machine run a kernel.
enum class CoreKind { big, little, prime };
constexpr CoreKind kCoreKinds[] = {CoreKind::big, CoreKind::little, CoreKind::prime};
const char* name_of(CoreKind);
std::optional<CoreKind> parse_core_kind(std::string_view name);

/// Instruction sets that kernels are made for.
enum class Isa : std::uint8_t { x86_64, aarch64 };

/// How fast a core multiplies and adds vectors, and how its first-level data cache is cut.
struct CpuPipes {
  double multiply_adds = 2;      ///< started a cycle
  double loads = 2;              ///< of vectors, started a cycle
  double latency = 4;            ///< cycles from a multiply-add to one that needs its sum
  std::int64_t l1_sets = 64;     ///< of the first-level data cache, lines of 64 bytes
  double tile_share = 1;         ///< of the registers that a tile may fill: accumulators, a row of weights and an input
  double unrolled_share = 0.75;  ///< of the registers that accumulators may fill where reduction steps are unrolled
  bool splits_vectors =
      false;  ///< halves of a vector of 64 bytes are computed one after the other: one alone takes half the time
  /// Neighbouring scalars of f32 that one load brings and products take by lane. Where there are several, each input of a
  /// tile needs a register while as many reduction steps run.
  std::int64_t input_lanes = 1;
  /// Vectors that depthwise tiles of several rows may read, so that those which rows share stay in registers; 0: any number.
  std::int64_t window_inputs = 0;
  friend bool operator==(const CpuPipes&, const CpuPipes&) = default;
};

/// A CPU. Text form: `cpu -mcpu=znver5 -mattr=+avx512f,-amx-tile -threads=2 -cores=big`.
/// The text form decides everything else: register and cache figures follow from -mcpu and -mattr by a table in cpu.cc,
/// or from `machine::detect` on this machine. `-caches=48K,1M,32M` gives the caches (L1 data and L2 of a core, L3): they decide which
/// tiles are proposed, not what code is, and are in no text form, as those that are detected.
struct CpuTarget {
  std::string mcpu = "x86-64";     ///< LLVM's name of the processor
  std::vector<std::string> mattr;  ///< LLVM's feature switches, "+avx512f", "-fma"
  CoreKind cores = CoreKind::big;

  // Derived from mcpu and mattr when the text is parsed; spaces, default schedules and lowering look at these.
  Isa isa = Isa::x86_64;      ///< a property of the processor
  int vector_bytes = 16;      ///< native vector: 16 (SSE2, NEON), 32 (AVX2), 64 (AVX-512)
  int vector_registers = 16;  ///< 16, or 32 with AVX-512 and AArch64
  bool fma = false;
  bool bf16_products = false;        ///< an instruction adds up two products of bf16 (avx512_bf16)
  bool bf16_tiles = false;           ///< a unit of tiles multiplies matrices of bf16 (amx-bf16)
  bool byte_tiles = false;           ///< of u8 by i8 (amx-int8)
  std::int64_t l1_bytes = 32 << 10;  ///< data, per core
  std::int64_t l2_bytes = 1 << 20;   ///< per core
  std::int64_t l3_bytes = 16 << 20;  ///< shared
  bool caches_given = false;         ///< by -caches, instead of those of the processor or of this machine
  CpuPipes pipes;

  int lanes(int element_bytes) const { return vector_bytes / element_bytes; }
  /// Of the first-level data cache.
  std::int64_t l1_ways() const { return std::max<std::int64_t>(1, l1_bytes / (64 * pipes.l1_sets)); }
  friend bool operator==(const CpuTarget&, const CpuTarget&) = default;
};

/// The name by which LLVM knows the processor: `mcpu`, except for `aarch64`, which is no processor.
std::string llvm_processor(const CpuTarget&);

/// A text of all the members that decide what code a Program becomes. Equal texts: equal code.
std::string code_key(const CpuTarget&);

/// The processors that -mcpu knows by name, for `whet target --list`.
std::vector<std::string> known_processors();

}  // namespace whet
