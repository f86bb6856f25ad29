#pragma once

// NVIDIA's assembler, for tests; where it is not installed they skip with a line.

#include <gtest/gtest.h>

#include <string>

#include "codegen/gpu/ptxas.h"
#include "codegen/testing/sass.h"

namespace whet::testing {

/// The most that an entry takes, and the machine code of the first.
struct Assembled {
  int registers = -1, spills = -1;
  std::string text, remarks = {};
};

/// Needs: the assembler is installed (installed_ptxas).
inline Assembled assemble(const std::string& ptx, int arch) {
  const Result<AssembledPtx> assembled = assemble_ptx(installed_ptxas(), ptx, arch);
  EXPECT_TRUE(assembled.ok()) << assembled.error().message;
  if (!assembled.ok()) return {};
  return {assembled->report.registers, static_cast<int>(assembled->report.spill_bytes), text_of_entry(assembled->cubin),
          assembled->remarks};
}

}  // namespace whet::testing
