#include "codegen/generators.h"

namespace whet {
namespace {

constexpr CodeGenerator kGenerators[] = {
    {"cpu", compile_for_cpu, disassemble_for_cpu, innermost_loops_for_cpu},
};

}  // namespace

std::span<const CodeGenerator> code_generators() { return kGenerators; }

}  // namespace whet
