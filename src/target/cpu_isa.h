#pragma once

// The one table of instruction sets. No standard library is used: the runtime of compiled models reads it too.

#include <cstddef>
#include <cstdint>

namespace whet {

/// Instruction sets, as bits of one set: bit i is row i of `kIsaTable`. Sets are stored by the names of their rows.
using IsaSet = std::uint64_t;

/// The CPUID register that has a feature's bit.
enum class CpuidRegister : std::uint8_t { eax, ebx, ecx, edx };
/// The registers that the system must save on a task switch before the feature may be used (bits of XCR0).
enum class SavedState : std::uint32_t { none = 0, ymm = 0x6, zmm = 0xe6, tiles = 0x60000 };

enum IsaUse : std::uint8_t {
  kIsaDetect = 0,   ///< tells processors apart; code generation is never told of it
  kIsaSwitch = 1,   ///< -mattr takes it
  kIsaRequire = 2,  ///< kernels may use it, so that a compiled model asks for it; for tiles where a kernel has some
};

/// One instruction set by LLVM's name.
struct IsaRow {
  const char* name;
  std::uint8_t uses;  ///< IsaUse
  // x86: where CPUID tells of it. AArch64: `leaf` is the bit of AT_HWCAP, or of AT_HWCAP2 where `subleaf` is 2 (Linux's
  // asm/hwcap.h).
  std::uint32_t leaf;
  std::uint32_t subleaf = 0;
  CpuidRegister reg = CpuidRegister::eax;
  std::uint8_t bit = 0;
  SavedState state = SavedState::none;
};

constexpr std::uint8_t kIsaBoth = kIsaSwitch | kIsaRequire;

constexpr IsaRow kIsaTable[] = {
    {"sse3", kIsaBoth, 1, 0, CpuidRegister::ecx, 0},
    {"ssse3", kIsaBoth, 1, 0, CpuidRegister::ecx, 9},
    {"sse4.1", kIsaBoth, 1, 0, CpuidRegister::ecx, 19},
    {"sse4.2", kIsaBoth, 1, 0, CpuidRegister::ecx, 20},
    {"popcnt", kIsaBoth, 1, 0, CpuidRegister::ecx, 23},
    {"movbe", kIsaRequire, 1, 0, CpuidRegister::ecx, 22},
    {"f16c", kIsaBoth, 1, 0, CpuidRegister::ecx, 29, SavedState::ymm},
    {"avx", kIsaBoth, 1, 0, CpuidRegister::ecx, 28, SavedState::ymm},
    {"avx2", kIsaBoth, 7, 0, CpuidRegister::ebx, 5, SavedState::ymm},
    {"fma", kIsaBoth, 1, 0, CpuidRegister::ecx, 12, SavedState::ymm},
    {"bmi", kIsaBoth, 7, 0, CpuidRegister::ebx, 3},
    {"bmi2", kIsaBoth, 7, 0, CpuidRegister::ebx, 8},
    {"lzcnt", kIsaBoth, 0x80000001, 0, CpuidRegister::ecx, 5},
    {"adx", kIsaDetect, 7, 0, CpuidRegister::ebx, 19},
    {"avx512f", kIsaBoth, 7, 0, CpuidRegister::ebx, 16, SavedState::zmm},
    {"avx512bw", kIsaBoth, 7, 0, CpuidRegister::ebx, 30, SavedState::zmm},
    {"avx512cd", kIsaBoth, 7, 0, CpuidRegister::ebx, 28, SavedState::zmm},
    {"avx512dq", kIsaBoth, 7, 0, CpuidRegister::ebx, 17, SavedState::zmm},
    {"avx512vl", kIsaBoth, 7, 0, CpuidRegister::ebx, 31, SavedState::zmm},
    {"avx512ifma", kIsaBoth, 7, 0, CpuidRegister::ebx, 21, SavedState::zmm},
    {"avx512vbmi", kIsaBoth, 7, 0, CpuidRegister::ecx, 1, SavedState::zmm},
    {"avx512vbmi2", kIsaBoth, 7, 0, CpuidRegister::ecx, 6, SavedState::zmm},
    {"avx512vnni", kIsaBoth, 7, 0, CpuidRegister::ecx, 11, SavedState::zmm},
    {"avx512bf16", kIsaBoth, 7, 1, CpuidRegister::eax, 5, SavedState::zmm},
    {"avx512fp16", kIsaBoth, 7, 0, CpuidRegister::edx, 23, SavedState::zmm},
    {"avx512bitalg", kIsaBoth, 7, 0, CpuidRegister::ecx, 12, SavedState::zmm},
    {"avx512vpopcntdq", kIsaBoth, 7, 0, CpuidRegister::ecx, 14, SavedState::zmm},
    {"avx512vp2intersect", kIsaDetect, 7, 0, CpuidRegister::edx, 8, SavedState::zmm},
    {"avxvnni", kIsaBoth, 7, 1, CpuidRegister::eax, 4, SavedState::ymm},
    {"gfni", kIsaBoth, 7, 0, CpuidRegister::ecx, 8},
    {"vaes", kIsaSwitch, 7, 0, CpuidRegister::ecx, 9, SavedState::ymm},
    {"vpclmulqdq", kIsaSwitch, 7, 0, CpuidRegister::ecx, 10, SavedState::ymm},
    {"amx-tile", kIsaBoth, 7, 0, CpuidRegister::edx, 24, SavedState::tiles},
    {"amx-int8", kIsaBoth, 7, 0, CpuidRegister::edx, 25, SavedState::tiles},
    {"amx-bf16", kIsaBoth, 7, 0, CpuidRegister::edx, 22, SavedState::tiles},
    {"amx-fp16", kIsaDetect, 7, 1, CpuidRegister::eax, 21, SavedState::tiles},
    {"clflushopt", kIsaDetect, 7, 0, CpuidRegister::ebx, 23},
    {"wbnoinvd", kIsaDetect, 0x80000008, 0, CpuidRegister::ebx, 9},
    // AArch64.
    {"neon", kIsaRequire, 1},
    {"dotprod", kIsaBoth, 20},
    {"fullfp16", kIsaBoth, 10},
    {"sve", kIsaBoth, 22},
    {"i8mm", kIsaBoth, 13, 2},
    {"bf16", kIsaBoth, 14, 2},
};
constexpr int kIsaCount = sizeof kIsaTable / sizeof kIsaTable[0];
constexpr int kIsaX86Count = kIsaCount - 6;
static_assert(kIsaCount <= 64);

/// The row of a name of `length` characters; -1 where there is none.
constexpr int isa_bit(const char* name, std::uint64_t length) {
  for (int bit = 0; bit < kIsaCount; ++bit) {
    const char* known = kIsaTable[bit].name;
    std::uint64_t same = 0;
    while (same < length && known[same] != 0 && known[same] == name[same]) ++same;
    if (same == length && known[same] == 0) return bit;
  }
  return -1;
}

/// The set of these names. Each must be in the table: a wrong one does not compile.
template <std::size_t... lengths>
consteval IsaSet isa_set(const char (&... names)[lengths]) {
  return (... | (IsaSet{1} << isa_bit(names, lengths - 1)));
}

}  // namespace whet
