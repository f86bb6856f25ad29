#include "artifact/cpu/isa.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace whet {
namespace {

enum Register : std::uint8_t { kEax, kEbx, kEcx, kEdx };
/// What the system must save on a task switch before the registers may be used (bits of XCR0).
enum State : std::uint32_t { kNone = 0, kYmm = 0x6, kZmm = 0xe6, kTiles = 0x60000 };

/// Where cpuid says that a feature is there.
struct Feature {
  const char* name;
  std::uint32_t leaf, subleaf;
  Register reg;
  std::uint8_t bit;
  State state;
};

constexpr Feature kX86[] = {
    {"sse3", 1, 0, kEcx, 0, kNone},
    {"ssse3", 1, 0, kEcx, 9, kNone},
    {"sse4.1", 1, 0, kEcx, 19, kNone},
    {"sse4.2", 1, 0, kEcx, 20, kNone},
    {"popcnt", 1, 0, kEcx, 23, kNone},
    {"movbe", 1, 0, kEcx, 22, kNone},
    {"f16c", 1, 0, kEcx, 29, kYmm},
    {"avx", 1, 0, kEcx, 28, kYmm},
    {"avx2", 7, 0, kEbx, 5, kYmm},
    {"fma", 1, 0, kEcx, 12, kYmm},
    {"bmi", 7, 0, kEbx, 3, kNone},
    {"bmi2", 7, 0, kEbx, 8, kNone},
    {"lzcnt", 0x80000001, 0, kEcx, 5, kNone},
    {"adx", 7, 0, kEbx, 19, kNone},
    {"avx512f", 7, 0, kEbx, 16, kZmm},
    {"avx512bw", 7, 0, kEbx, 30, kZmm},
    {"avx512cd", 7, 0, kEbx, 28, kZmm},
    {"avx512dq", 7, 0, kEbx, 17, kZmm},
    {"avx512vl", 7, 0, kEbx, 31, kZmm},
    {"avx512ifma", 7, 0, kEbx, 21, kZmm},
    {"avx512vbmi", 7, 0, kEcx, 1, kZmm},
    {"avx512vbmi2", 7, 0, kEcx, 6, kZmm},
    {"avx512vnni", 7, 0, kEcx, 11, kZmm},
    {"avx512bf16", 7, 1, kEax, 5, kZmm},
    {"avx512fp16", 7, 0, kEdx, 23, kZmm},
    {"avx512bitalg", 7, 0, kEcx, 12, kZmm},
    {"avx512vpopcntdq", 7, 0, kEcx, 14, kZmm},
    {"avx512vp2intersect", 7, 0, kEdx, 8, kZmm},
    {"avxvnni", 7, 1, kEax, 4, kYmm},
    {"gfni", 7, 0, kEcx, 8, kNone},
    {"vaes", 7, 0, kEcx, 9, kYmm},
    {"vpclmulqdq", 7, 0, kEcx, 10, kYmm},
    {"amx-tile", 7, 0, kEdx, 24, kTiles},
    {"amx-int8", 7, 0, kEdx, 25, kTiles},
    {"amx-bf16", 7, 0, kEdx, 22, kTiles},
};
constexpr int kX86Count = sizeof kX86 / sizeof kX86[0];

/// AArch64's names; their bits follow those of x86.
constexpr const char* kArmNames[] = {"neon", "dotprod", "fullfp16", "sve"};
constexpr int kArmCount = sizeof kArmNames / sizeof kArmNames[0];
static_assert(kX86Count + kArmCount <= 64);

#if defined(__x86_64__)
/// The register states that the system saves; 0 where it saves none.
std::uint64_t enabled_state() {
  std::uint32_t eax, ebx, ecx, edx;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & (1u << 27))) return 0;
  std::uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<std::uint64_t>(high) << 32) | low;
}
#endif

}  // namespace

int isa_count() { return kX86Count + kArmCount; }

const char* isa_name(int bit) { return bit < kX86Count ? kX86[bit].name : kArmNames[bit - kX86Count]; }

int isa_bit(const char* name, std::uint64_t length) {
  for (int bit = 0; bit < isa_count(); ++bit) {
    if (strlen(isa_name(bit)) == length && memcmp(isa_name(bit), name, length) == 0) return bit;
  }
  return -1;
}

IsaSet host_isa() {
  IsaSet set = 0;
#if defined(__x86_64__)
  const std::uint64_t state = enabled_state();
  for (int bit = 0; bit < kX86Count; ++bit) {
    const Feature& feature = kX86[bit];
    std::uint32_t registers[4] = {};
    if (!__get_cpuid_count(feature.leaf, feature.subleaf, &registers[0], &registers[1], &registers[2], &registers[3])) {
      continue;
    }
    const bool offered = (registers[feature.reg] >> feature.bit) & 1;
    if (offered && (state & feature.state) == feature.state) set |= IsaSet{1} << bit;
  }
#elif defined(__aarch64__)
  constexpr std::uint8_t kHwcapBits[kArmCount] = {1, 20, 10, 22};
  const unsigned long hwcap = getauxval(AT_HWCAP);
  for (int i = 0; i < kArmCount; ++i) {
    if ((hwcap >> kHwcapBits[i]) & 1) set |= IsaSet{1} << (kX86Count + i);
  }
#endif
  return set;
}

}  // namespace whet
