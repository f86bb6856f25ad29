#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/kernel.h"
#include "base/result.h"
#include "codegen/machine_loops.h"
#include "program/program.h"
#include "target/target.h"

namespace whet {

/// Makes code for one kind of target; compile.h and machine_loops.h have the contracts.
struct CodeGenerator {
  std::string_view kind;
  Result<Kernel> (*compile)(const Program&, const Target&);
  Result<std::string> (*disassemble)(const Kernel&, const Target&);
  Result<std::vector<MachineLoop>> (*innermost_loops)(const Kernel&, const Target&);
  Result<std::string> (*intermediate_code)(const Program&, const Target&) = nullptr;  ///< null: it has none
};
/// One row a kind of target.
std::span<const CodeGenerator> code_generators();

// cpu/compile.cc, llvm/disassembler.cc and llvm/machine_loops.cc
Result<Kernel> compile_for_cpu(const Program&, const Target&);
Result<std::string> intermediate_code_for_cpu(const Program&, const Target&);
Result<std::string> disassemble_for_cpu(const Kernel&, const Target&);
Result<std::vector<MachineLoop>> innermost_loops_for_cpu(const Kernel&, const Target&);

// gpu/compile.cc
Result<Kernel> compile_for_gpu(const Program&, const Target&);
Result<std::string> disassemble_for_gpu(const Kernel&, const Target&);
Result<std::vector<MachineLoop>> innermost_loops_for_gpu(const Kernel&, const Target&);

}  // namespace whet
