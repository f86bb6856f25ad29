#pragma once

#include <span>
#include <string>
#include <string_view>

#include "artifact/kernel.h"
#include "base/result.h"
#include "program/program.h"
#include "target/target.h"

namespace whet {

/// Makes code for one kind of target; compile.h has the contracts.
struct CodeGenerator {
  std::string_view kind;
  Result<Kernel> (*compile)(const Program&, const Target&);
  Result<std::string> (*disassemble)(const Kernel&, const Target&);
};
/// One row a kind of target.
std::span<const CodeGenerator> code_generators();

// cpu/compile.cc and llvm/disassemble.cc
Result<Kernel> compile_for_cpu(const Program&, const Target&);
Result<std::string> disassemble_for_cpu(const Kernel&, const Target&);

}  // namespace whet
