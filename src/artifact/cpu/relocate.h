#pragma once

#include <cstdint>

namespace whet {

/// What a relocation of an object file asks for.
enum class Relocated : std::uint8_t { done, unknown, too_far, misaligned };

/// How the object files of a machine are put into memory.
struct MachineRelocations {
  const char* name;       ///< for messages: "x86-64"
  std::uint16_t machine;  ///< as an ELF header has it
  /// Code that jumps to the address in the 8 bytes behind it; 16 bytes together.
  const unsigned char* stub;
  std::uint64_t stub_bytes;
  /// Bytes that a relocation of the type changes; 0: the type is not known.
  std::uint64_t (*width)(std::uint64_t type);
  /// Writes the reference to `target` (the symbol's address and the addend) into the bytes at `bytes`, which will be at
  /// address `place` when the code runs. Needs: `width(type)` is not 0. Needs libc alone.
  Relocated (*apply)(std::uint64_t type, char* bytes, std::uint64_t place, std::uint64_t target);
};

extern const MachineRelocations kX86_64Relocations, kAArch64Relocations;

/// Those of this machine.
const MachineRelocations& host_relocations();

}  // namespace whet
