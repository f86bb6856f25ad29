#include "codegen/generators.h"

namespace whet {
namespace {

constexpr CodeGenerator kGenerators[] = {
    {"cpu", compile_for_cpu, disassemble_for_cpu, innermost_loops_for_cpu, intermediate_code_for_cpu},
    {"cuda", compile_for_gpu, disassemble_for_gpu, innermost_loops_for_gpu},
};

}  // namespace

std::span<const CodeGenerator> code_generators() { return kGenerators; }

}  // namespace whet
