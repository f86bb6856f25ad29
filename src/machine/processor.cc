#include "machine/processor.h"

#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace whet {
namespace {

using P = Processor;

constexpr std::uint32_t kV2 = P::sse42 | P::popcnt;
constexpr std::uint32_t kV3 = kV2 | P::avx | P::avx2 | P::fma | P::bmi2 | P::f16c;
constexpr std::uint32_t kV4 = kV3 | P::avx512f | P::avx512bw | P::avx512cd | P::avx512dq | P::avx512vl;
constexpr std::uint32_t kIceLake = kV4 | P::avx512vnni | P::avx512vbmi2;

struct Rule {
  const char* name;
  const char* vendor;  ///< "" for any
  int family;          ///< 0 for any
  int least_model;
  std::uint32_t required;
};

/// Newest first within a vendor; the first rule that holds names the processor.
constexpr Rule kRules[] = {
    {"graniterapids", "GenuineIntel", 6, 0, kIceLake | P::avx512fp16 | P::amx_tile | P::amx_fp16},
    {"sapphirerapids", "GenuineIntel", 6, 0, kIceLake | P::avx512bf16 | P::avx512fp16 | P::amx_tile},
    {"tigerlake", "GenuineIntel", 6, 0, kIceLake | P::avx512vp2intersect},
    {"icelake-server", "GenuineIntel", 6, 0, kIceLake | P::wbnoinvd},
    {"icelake-client", "GenuineIntel", 6, 0, kIceLake},
    {"cooperlake", "GenuineIntel", 6, 0, kV4 | P::avx512vnni | P::avx512bf16},
    {"cascadelake", "GenuineIntel", 6, 0, kV4 | P::avx512vnni},
    {"skylake-avx512", "GenuineIntel", 6, 0, kV4 | P::clflushopt},
    {"alderlake", "GenuineIntel", 6, 0, kV3 | P::avxvnni},
    {"skylake", "GenuineIntel", 6, 0, kV3 | P::adx | P::clflushopt},
    {"broadwell", "GenuineIntel", 6, 0, kV3 | P::adx},
    {"haswell", "GenuineIntel", 6, 0, kV3},
    {"ivybridge", "GenuineIntel", 6, 0, kV2 | P::avx | P::f16c},
    {"sandybridge", "GenuineIntel", 6, 0, kV2 | P::avx},
    {"nehalem", "GenuineIntel", 6, 0, kV2},
    {"znver5", "AuthenticAMD", 26, 0, kIceLake | P::avx512bf16},
    {"znver4", "AuthenticAMD", 25, 0, kIceLake | P::avx512bf16},
    {"znver3", "AuthenticAMD", 25, 0, kV3 | P::adx},
    {"znver2", "AuthenticAMD", 23, 0x30, kV3 | P::adx},
    {"znver1", "AuthenticAMD", 23, 0, kV3 | P::adx},
    {"x86-64-v4", "", 0, 0, kV4},
    {"x86-64-v3", "", 0, 0, kV3},
    {"x86-64-v2", "", 0, 0, kV2},
};

#if defined(__x86_64__)
struct Registers {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

Registers cpuid(unsigned leaf, unsigned subleaf = 0) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d);
  return r;
}

/// Which register files the operating system saves (XCR0).
std::uint64_t saved_state() {
  std::uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<std::uint64_t>(high) << 32) | low;
}

/// `feature` where bit `bit` of `word` is set.
std::uint32_t bit(unsigned word, unsigned bit, std::uint32_t feature) { return (word >> bit) & 1 ? feature : 0; }

std::uint32_t read_features() {
  const Registers one = cpuid(1), seven = cpuid(7, 0), seven_one = cpuid(7, 1), amd = cpuid(0x80000008u);
  std::uint32_t found = bit(one.c, 20, P::sse42) | bit(one.c, 23, P::popcnt) | bit(seven.b, 8, P::bmi2) |
                        bit(seven.b, 19, P::adx) | bit(seven.b, 23, P::clflushopt) | bit(amd.b, 9, P::wbnoinvd);
  const std::uint64_t state = (one.c >> 27) & 1 ? saved_state() : 0;
  constexpr std::uint64_t kYmm = 0x6, kZmm = 0xe6, kTiles = 0x60000;
  if ((state & kYmm) == kYmm) {
    found |= bit(one.c, 28, P::avx) | bit(one.c, 12, P::fma) | bit(one.c, 29, P::f16c) | bit(seven.b, 5, P::avx2) |
             bit(seven_one.a, 4, P::avxvnni);
  }
  if ((state & kZmm) == kZmm) {
    found |= bit(seven.b, 16, P::avx512f) | bit(seven.b, 17, P::avx512dq) | bit(seven.b, 28, P::avx512cd) |
             bit(seven.b, 30, P::avx512bw) | bit(seven.b, 31, P::avx512vl) | bit(seven.c, 6, P::avx512vbmi2) |
             bit(seven.c, 11, P::avx512vnni) | bit(seven.d, 8, P::avx512vp2intersect) |
             bit(seven.d, 23, P::avx512fp16) | bit(seven_one.a, 5, P::avx512bf16);
  }
  if ((state & kTiles) == kTiles) found |= bit(seven.d, 24, P::amx_tile) | bit(seven_one.a, 21, P::amx_fp16);
  return found;
}

std::string read_brand() {
  char text[49] = {};
  if (cpuid(0x80000000u).a < 0x80000004u) return "";
  for (unsigned i = 0; i < 3; ++i) {
    const Registers r = cpuid(0x80000002u + i);
    std::memcpy(text + 16 * i, &r, sizeof r);
  }
  std::string brand = text;
  brand.erase(0, brand.find_first_not_of(' '));
  brand.erase(brand.find_last_not_of(' ') + 1);
  return brand;
}
#endif

}  // namespace

Processor read_processor() {
  Processor processor;
#if defined(__x86_64__)
  const Registers zero = cpuid(0), one = cpuid(1);
  char vendor[13] = {};
  std::memcpy(vendor, &zero.b, 4);
  std::memcpy(vendor + 4, &zero.d, 4);
  std::memcpy(vendor + 8, &zero.c, 4);
  processor.vendor = vendor;
  const unsigned family = (one.a >> 8) & 15, model = (one.a >> 4) & 15;
  processor.family = static_cast<int>(family == 15 ? family + ((one.a >> 20) & 255) : family);
  processor.model = static_cast<int>(model | ((one.a >> 12) & 0xf0));
  processor.features = read_features();
  processor.brand = read_brand();
#endif
  return processor;
}

std::string llvm_name(const Processor& processor) {
  for (const Rule& rule : kRules) {
    if (*rule.vendor && processor.vendor != rule.vendor) continue;
    if (rule.family && (processor.family != rule.family || processor.model < rule.least_model)) continue;
    if ((processor.features & rule.required) == rule.required) return rule.name;
  }
  return "x86-64";
}

}  // namespace whet
