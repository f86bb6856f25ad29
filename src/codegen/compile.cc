#include "codegen/compile.h"

#include "codegen/generators.h"
#include "codegen/machine_loops.h"

namespace whet {
namespace {

Result<const CodeGenerator*> generator_for(const Target& target) {
  const CodeGenerator* generator = row_of(code_generators(), target);
  if (generator == nullptr) return Error{"no code can be generated for \"" + to_string(target) + "\""};
  return generator;
}

}  // namespace

Result<Kernel> compile_kernel(const Program& program, const Target& target) {
  WHET_TRY(const CodeGenerator* generator, generator_for(target));
  return generator->compile(program, target);
}

Result<std::string> intermediate_code(const Program& program, const Target& target) {
  WHET_TRY(const CodeGenerator* generator, generator_for(target));
  if (generator->intermediate_code == nullptr)
    return Error{"there is no intermediate code for \"" + to_string(target) + "\""};
  return generator->intermediate_code(program, target);
}

Result<std::string> disassemble(const Kernel& kernel, const Target& target) {
  WHET_TRY(const CodeGenerator* generator, generator_for(target));
  return generator->disassemble(kernel, target);
}

Result<std::vector<MachineLoop>> innermost_loops(const Kernel& kernel, const Target& target) {
  WHET_TRY(const CodeGenerator* generator, generator_for(target));
  return generator->innermost_loops(kernel, target);
}

}  // namespace whet
