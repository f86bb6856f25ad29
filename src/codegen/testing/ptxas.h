#pragma once

// NVIDIA's assembler, for tests; where it is not installed they skip with a line.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "codegen/gpu/ptxas.h"

namespace whet::testing {

/// The most that an entry takes, and the machine code of the first.
struct Assembled {
  int registers = -1, spills = -1;
  std::string text;
};

/// The section of the entry in an ELF file.
inline std::string text_of_entry(const std::string& cubin) {
  const auto field = [&](std::uint64_t at, std::size_t bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, cubin.data() + at, bytes);
    return value;
  };
  const std::uint64_t headers = field(40, 8), count = field(60, 2), names = headers + 64 * field(62, 2);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t header = headers + 64 * i;
    const std::string name = cubin.c_str() + field(names + 24, 8) + field(header, 4);
    if (name.starts_with(".text.")) return cubin.substr(field(header + 24, 8), field(header + 32, 8));
  }
  return "";
}

/// Needs: the assembler is installed (installed_ptxas).
inline Assembled assemble(const std::string& ptx, int arch) {
  const Result<AssembledPtx> assembled = assemble_ptx(installed_ptxas(), ptx, arch);
  EXPECT_TRUE(assembled.ok()) << assembled.error().message;
  if (!assembled.ok()) return {};
  return {assembled->report.registers, static_cast<int>(assembled->report.spill_bytes),
          text_of_entry(assembled->cubin)};
}

}  // namespace whet::testing
