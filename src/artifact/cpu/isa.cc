#include "artifact/cpu/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace whet {

#if defined(__x86_64__)
namespace {

/// The register states that the system saves; 0 where it saves none.
std::uint64_t enabled_state() {
  std::uint32_t eax, ebx, ecx, edx;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & (1u << 27))) return 0;
  std::uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<std::uint64_t>(high) << 32) | low;
}

/// The rows of the table that are told where this one is.
IsaSet rows_beside(const IsaRow& first) {
  IsaSet rows = 0;
  for (int bit = 0; bit < kIsaX86Count; ++bit)
    if (kIsaTable[bit].leaf == first.leaf && kIsaTable[bit].subleaf == first.subleaf) rows |= IsaSet{1} << bit;
  return rows;
}

}  // namespace
#endif

IsaSet host_isa() {
  IsaSet set = 0;
#if defined(__x86_64__)
  const std::uint64_t state = enabled_state();
  const bool tiles = offers_tiles();
  // Each leaf is asked for once: a virtual machine takes microseconds to answer.
  for (IsaSet left = (IsaSet{1} << kIsaX86Count) - 1; left != 0;) {
    const IsaRow& first = kIsaTable[__builtin_ctzll(left)];
    const IsaSet rows = rows_beside(first);
    left &= ~rows;
    std::uint32_t registers[4] = {};
    if (!__get_cpuid_count(first.leaf, first.subleaf, &registers[0], &registers[1], &registers[2], &registers[3]))
      continue;
    for (int bit = 0; bit < kIsaX86Count; ++bit) {
      const IsaRow& row = kIsaTable[bit];
      if (row.state == SavedState::tiles && !tiles) continue;
      const bool offered = (rows >> bit) & (registers[static_cast<int>(row.reg)] >> row.bit) & 1;
      const auto needed = static_cast<std::uint32_t>(row.state);
      if (offered && (state & needed) == needed) set |= IsaSet{1} << bit;
    }
  }
#elif defined(__aarch64__)
  const unsigned long words[] = {getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
  for (int bit = kIsaX86Count; bit < kIsaCount; ++bit) {
    const IsaRow& row = kIsaTable[bit];
    if ((words[row.subleaf == 2] >> row.leaf) & 1) set |= IsaSet{1} << bit;
  }
#endif
  return set;
}

#if defined(__x86_64__)
namespace {

constexpr long kTileData = 18;  // XFEATURE_XTILEDATA: Linux's asm/fpu/types.h
/// Of Linux's asm/prctl.h: ARCH_GET_XCOMP_SUPP, ARCH_REQ_XCOMP_PERM.
constexpr long kOffered = 0x1021, kPermission = 0x1023;

}  // namespace

bool offers_tiles() {
  std::uint64_t features = 0;
  return syscall(SYS_arch_prctl, kOffered, &features) == 0 && ((features >> kTileData) & 1) != 0;
}
bool permit_tiles() { return syscall(SYS_arch_prctl, kPermission, kTileData) == 0; }
#else
bool offers_tiles() { return false; }
bool permit_tiles() { return false; }
#endif

}  // namespace whet
