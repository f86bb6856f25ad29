#pragma once

#include <cstdint>
#include <string>

namespace whet {

/// What CPUID says, as far as LLVM's name of the processor depends on it. A feature is on only where the operating
/// system saves its registers too.
struct Processor {
  enum Feature : std::uint32_t {
    sse42 = 1u << 0,
    avx = 1u << 1,
    avx2 = 1u << 2,
    fma = 1u << 3,
    bmi2 = 1u << 4,
    f16c = 1u << 5,
    adx = 1u << 6,
    clflushopt = 1u << 7,
    avx512f = 1u << 8,
    avx512bw = 1u << 9,
    avx512cd = 1u << 10,
    avx512dq = 1u << 11,
    avx512vl = 1u << 12,
    avx512vnni = 1u << 13,
    avx512bf16 = 1u << 14,
    avx512vbmi2 = 1u << 15,
    avx512vp2intersect = 1u << 16,
    avx512fp16 = 1u << 17,
    amx_tile = 1u << 18,
    amx_fp16 = 1u << 19,
    avxvnni = 1u << 20,
    wbnoinvd = 1u << 21,
    popcnt = 1u << 22,
  };
  std::string vendor;  ///< "GenuineIntel", "AuthenticAMD", ...
  int family = 0, model = 0;
  std::uint32_t features = 0;
  std::string brand;  ///< for people: "AMD EPYC 9555"
};

/// This machine's.
Processor read_processor();

/// LLVM's name of the newest processor whose features are all there. Features decide, never the model number alone:
/// virtual machines mask features and lie about models.
std::string llvm_name(const Processor&);

}  // namespace whet
