#include "artifact/cpu/relocate.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/rng.h"

namespace whet::relocate_test {
namespace {

/// The instruction after relocation on AArch64, which ends as `wanted`.
std::uint32_t relocated(std::uint64_t type, std::uint32_t instruction, std::uint64_t place, std::uint64_t target,
                        Relocated wanted = Relocated::done) {
  char bytes[4];
  std::memcpy(bytes, &instruction, 4);
  EXPECT_EQ(kAArch64Relocations.width(type), 4u);
  EXPECT_EQ(kAArch64Relocations.apply(type, bytes, place, target), wanted);
  std::memcpy(&instruction, bytes, 4);
  return instruction;
}

// The wanted instructions are those of llvm-mc 19.

TEST(RelocateAArch64, PutsDistancesIntoBranches) {
  EXPECT_EQ(relocated(R_AARCH64_CALL26, 0x94000000, 0x1000, 0x1010), 0x94000004u);    // bl #16
  EXPECT_EQ(relocated(R_AARCH64_JUMP26, 0x14000000, 0x1000, 0x0ffc), 0x17ffffffu);    // b #-4
  EXPECT_EQ(relocated(R_AARCH64_CONDBR19, 0x54000001, 0x1000, 0x1008), 0x54000041u);  // b.ne #8
  EXPECT_EQ(relocated(R_AARCH64_TSTBR14, 0x36000000, 0x1000, 0x0ff8), 0x3607ffc0u);   // tbz w0, #0, #-8
}
TEST(RelocateAArch64, PutsPagesAndPlacesInThemIntoAddresses) {
  EXPECT_EQ(relocated(R_AARCH64_ADR_PREL_PG_HI21, 0x90000000, 0x1ffc, 0x5010), 0x90000020u);  // adrp x0, 4 pages on
  EXPECT_EQ(relocated(R_AARCH64_ADR_PREL_PG_HI21, 0x90000000, 0x2000, 0x1fff), 0xf0ffffe0u);  // adrp x0, a page back
  EXPECT_EQ(relocated(R_AARCH64_ADR_PREL_LO21, 0x10000000, 0x1000, 0x1009), 0x30000040u);     // adr x0, #9
  EXPECT_EQ(relocated(R_AARCH64_ADD_ABS_LO12_NC, 0x91000000, 0, 0x5013), 0x91004c00u);        // add x0, x0, #19
  EXPECT_EQ(relocated(R_AARCH64_LDST32_ABS_LO12_NC, 0xbd400000, 0, 0x5014), 0xbd401400u);     // ldr s0, [x0, #20]
  EXPECT_EQ(relocated(R_AARCH64_LDST64_ABS_LO12_NC, 0xf9400000, 0, 0x5018), 0xf9400c00u);     // ldr x0, [x0, #24]
  EXPECT_EQ(relocated(R_AARCH64_LDST128_ABS_LO12_NC, 0x3dc00000, 0, 0x5020), 0x3dc00800u);    // ldr q0, [x0, #32]
}
TEST(RelocateAArch64, RefusesWhatIsTooFarOrNotAligned) {
  relocated(R_AARCH64_CALL26, 0x94000000, 0, 1 << 27, Relocated::too_far);
  relocated(R_AARCH64_CALL26, 0x94000000, 0, 2, Relocated::misaligned);
  relocated(R_AARCH64_CONDBR19, 0x54000001, 0, 1 << 20, Relocated::too_far);
  relocated(R_AARCH64_ADR_PREL_PG_HI21, 0x90000000, 0, std::uint64_t{1} << 33, Relocated::too_far);
  relocated(R_AARCH64_LDST128_ABS_LO12_NC, 0x3dc00000, 0, 0x5028, Relocated::misaligned);
  EXPECT_EQ(kAArch64Relocations.width(R_AARCH64_TLSDESC), 0u);
}
TEST(RelocateAArch64, WritesWholeAddresses) {
  char bytes[8];
  EXPECT_EQ(kAArch64Relocations.apply(R_AARCH64_ABS64, bytes, 8, 0x123456789a), Relocated::done);
  std::uint64_t value;
  std::memcpy(&value, bytes, 8);
  EXPECT_EQ(value, 0x123456789au);
  EXPECT_EQ(kAArch64Relocations.apply(R_AARCH64_PREL64, bytes, 0x20, 0x10), Relocated::done);
  std::memcpy(&value, bytes, 8);
  EXPECT_EQ(static_cast<std::int64_t>(value), -0x10);
}

/// The number in `bits` bits from bit `at` on, which has a sign.
std::int64_t field(std::uint32_t instruction, int at, int bits) {
  const std::uint32_t value = (instruction >> at) & ((1u << bits) - 1);
  return static_cast<std::int64_t>(value) - (value >> (bits - 1) != 0 ? std::int64_t{1} << bits : 0);
}

TEST(RelocateAArch64, PutsAnyDistanceInReachIntoTheFieldAndLeavesTheRest) {
  struct Branch {
    std::uint64_t type;
    int at, bits;
  };
  Rng rng(5);
  for (const Branch& b : {Branch{R_AARCH64_CALL26, 0, 26}, Branch{R_AARCH64_JUMP26, 0, 26},
                          Branch{R_AARCH64_CONDBR19, 5, 19}, Branch{R_AARCH64_TSTBR14, 5, 14}})
    for (int round = 0; round < 2000; ++round) {
      const std::int64_t reach = std::int64_t{1} << (b.bits - 1), steps = rng.between(-2 * reach, 2 * reach - 1);
      const std::uint64_t place = static_cast<std::uint64_t>(rng.below(std::int64_t{1} << 40)) * 4;
      const std::uint64_t target = place + 4 * static_cast<std::uint64_t>(steps);
      const auto before = static_cast<std::uint32_t>(rng.next());
      const bool reached = steps >= -reach && steps < reach;
      const std::uint32_t after =
          relocated(b.type, before, place, target, reached ? Relocated::done : Relocated::too_far);
      const std::uint32_t mask = ((1u << b.bits) - 1) << b.at;
      EXPECT_EQ(after & ~mask, before & ~mask);
      EXPECT_EQ(field(after, b.at, b.bits), reached ? steps : field(before, b.at, b.bits));
    }
}
TEST(RelocateAArch64, PutsAnyPlaceInAPageIntoLoadsOfEverySize) {
  const std::uint64_t types[] = {R_AARCH64_LDST8_ABS_LO12_NC, R_AARCH64_LDST16_ABS_LO12_NC,
                                 R_AARCH64_LDST32_ABS_LO12_NC, R_AARCH64_LDST64_ABS_LO12_NC,
                                 R_AARCH64_LDST128_ABS_LO12_NC};
  Rng rng(6);
  for (int size = 0; size < 5; ++size)
    for (int round = 0; round < 1000; ++round) {
      const auto before = static_cast<std::uint32_t>(rng.next());
      const std::uint64_t target = rng.next();
      const bool aligned = target % (1u << size) == 0;
      const std::uint32_t after =
          relocated(types[size], before, 0, target, aligned ? Relocated::done : Relocated::misaligned);
      EXPECT_EQ(after & ~0x3ffc00u, before & ~0x3ffc00u);
      if (aligned) {
        EXPECT_EQ(static_cast<std::uint64_t>((after >> 10) & 0xfff) << size, target & 0xfff);
      }
    }
}

}  // namespace
}  // namespace whet::relocate_test
