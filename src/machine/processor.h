#pragma once

#include <cstdint>
#include <string>

#include "target/cpu_isa.h"

namespace whet {

/// The facts about a processor that decide LLVM's name of it. A feature is on only where the operating system saves its
/// registers too.
struct Processor {
  std::string vendor;  ///< "GenuineIntel", "AuthenticAMD", ...
  int family = 0, model = 0;
  IsaSet features = 0;
  std::string brand;  ///< for people: "AMD EPYC 9555"
};

/// This machine's.
Processor read_processor();

/// LLVM's name of the newest processor whose features are all there. Features decide, never the model number alone:
/// virtual machines mask features and lie about models.
std::string llvm_name(const Processor&);
/// The name of the AArch64 processor that a core's MIDR_EL1 tells of; "aarch64", the architecture's baseline, where it
/// is none of those that targets know. (Linux's arch/arm64/include/asm/cputype.h.)
std::string arm_name(std::uint32_t midr);

}  // namespace whet
