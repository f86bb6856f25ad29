#include "artifact/cpu/relocate.h"

#include <elf.h>
#include <string.h>

namespace whet {
namespace {

constexpr unsigned char kX86Stub[] = {0xff, 0x25, 0, 0, 0, 0};      // jmp [the next 8 bytes]
constexpr unsigned char kAArch64Stub[] = {0x50, 0x00, 0x00, 0x58,   // ldr x16, the next 8 bytes
                                          0x00, 0x02, 0x1f, 0xd6};  // br x16

bool fits(std::int64_t value, int bits) {
  return value >= -(std::int64_t{1} << (bits - 1)) && value < std::int64_t{1} << (bits - 1);
}

std::uint64_t width_on_x86(std::uint64_t type) {
  switch (type) {
    case R_X86_64_64:
    case R_X86_64_PC64:
      return 8;
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
    case R_X86_64_32S:
      return 4;
    default:
      return 0;
  }
}

Relocated apply_on_x86(std::uint64_t type, char* bytes, std::uint64_t place, std::uint64_t target) {
  const bool relative = type == R_X86_64_PC32 || type == R_X86_64_PLT32 || type == R_X86_64_PC64;
  const std::uint64_t value = target - (relative ? place : 0);
  const std::uint64_t width = width_on_x86(type);
  if (width == 4 && !fits(static_cast<std::int64_t>(value), 32)) return Relocated::too_far;
  memcpy(bytes, &value, width);
  return Relocated::done;
}

std::uint64_t width_on_aarch64(std::uint64_t type) {
  switch (type) {
    case R_AARCH64_ABS64:
    case R_AARCH64_PREL64:
      return 8;
    case R_AARCH64_PREL32:
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26:
    case R_AARCH64_CONDBR19:
    case R_AARCH64_TSTBR14:
    case R_AARCH64_ADR_PREL_LO21:
    case R_AARCH64_ADR_PREL_PG_HI21:
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC:
    case R_AARCH64_LDST16_ABS_LO12_NC:
    case R_AARCH64_LDST32_ABS_LO12_NC:
    case R_AARCH64_LDST64_ABS_LO12_NC:
    case R_AARCH64_LDST128_ABS_LO12_NC:
      return 4;
    default:
      return 0;
  }
}

/// The instruction with `bits` bits of `value` from bit `at` on, in place of its own.
void put(char* bytes, std::uint64_t value, int at, int bits) {
  std::uint32_t word;
  memcpy(&word, bytes, 4);
  const std::uint32_t mask = ((std::uint32_t{1} << bits) - 1) << at;
  word = (word & ~mask) | ((static_cast<std::uint32_t>(value) << at) & mask);
  memcpy(bytes, &word, 4);
}

/// Puts the distance of a branch, in instructions, into the `bits` bits from bit `at` on.
Relocated branch(char* bytes, std::int64_t distance, int at, int bits) {
  if ((distance & 3) != 0) return Relocated::misaligned;
  if (!fits(distance, bits + 2)) return Relocated::too_far;
  put(bytes, static_cast<std::uint64_t>(distance) >> 2, at, bits);
  return Relocated::done;
}

/// ADR's distance: its two lowest bits are a field of their own.
Relocated address(char* bytes, std::int64_t distance) {
  if (!fits(distance, 21)) return Relocated::too_far;
  put(bytes, static_cast<std::uint64_t>(distance) & 3, 29, 2);
  put(bytes, static_cast<std::uint64_t>(distance) >> 2, 5, 19);
  return Relocated::done;
}

/// Where an address lies in its 4 KiB, in units of what is loaded or stored.
Relocated low_bits(char* bytes, std::uint64_t target, int unit_bits) {
  const std::uint64_t low = target & 0xfff;
  if ((low & ((std::uint64_t{1} << unit_bits) - 1)) != 0) return Relocated::misaligned;
  put(bytes, low >> unit_bits, 10, 12);
  return Relocated::done;
}

Relocated apply_on_aarch64(std::uint64_t type, char* bytes, std::uint64_t place, std::uint64_t target) {
  const auto distance = static_cast<std::int64_t>(target - place);
  switch (type) {
    case R_AARCH64_ABS64:
      return memcpy(bytes, &target, 8), Relocated::done;
    case R_AARCH64_PREL64:
      return memcpy(bytes, &distance, 8), Relocated::done;
    case R_AARCH64_PREL32:
      return fits(distance, 32) ? (memcpy(bytes, &distance, 4), Relocated::done) : Relocated::too_far;
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26:
      return branch(bytes, distance, 0, 26);
    case R_AARCH64_CONDBR19:
      return branch(bytes, distance, 5, 19);
    case R_AARCH64_TSTBR14:
      return branch(bytes, distance, 5, 14);
    case R_AARCH64_ADR_PREL_LO21:
      return address(bytes, distance);
    case R_AARCH64_ADR_PREL_PG_HI21:  // in units of 4 KiB, whatever the system's pages are
      return address(
          bytes, static_cast<std::int64_t>((target & ~std::uint64_t{0xfff}) - (place & ~std::uint64_t{0xfff})) >> 12);
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC:
      return low_bits(bytes, target, 0);
    case R_AARCH64_LDST16_ABS_LO12_NC:
      return low_bits(bytes, target, 1);
    case R_AARCH64_LDST32_ABS_LO12_NC:
      return low_bits(bytes, target, 2);
    case R_AARCH64_LDST64_ABS_LO12_NC:
      return low_bits(bytes, target, 3);
    case R_AARCH64_LDST128_ABS_LO12_NC:
      return low_bits(bytes, target, 4);
    default:
      return Relocated::unknown;
  }
}

}  // namespace

const MachineRelocations kX86_64Relocations = {"x86-64",        EM_X86_64,    kX86Stub,
                                               sizeof kX86Stub, width_on_x86, apply_on_x86};
const MachineRelocations kAArch64Relocations = {"AArch64",           EM_AARCH64,       kAArch64Stub,
                                                sizeof kAArch64Stub, width_on_aarch64, apply_on_aarch64};

const MachineRelocations& host_relocations() {
#if defined(__aarch64__)
  return kAArch64Relocations;
#else
  return kX86_64Relocations;
#endif
}

}  // namespace whet
