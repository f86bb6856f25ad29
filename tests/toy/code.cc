#include "program_text.h"
#include "toy.h"

namespace whet::toy {

Result<Kernel> compile(const Program& program, const Target&) {
  Kernel kernel;
  kernel.format = kFormat;
  kernel.code = write_program(program);
  kernel.launches = {{program.name}};
  for (const Buffer& b : program.buffers) {
    if (b.scope != Scope::argument) continue;
    const auto position = static_cast<std::size_t>(b.argument);
    if (kernel.argument_bytes.size() <= position) kernel.argument_bytes.resize(position + 1);
    kernel.argument_bytes[position] = num_elements(b.extents) * size_of(b.dtype);
  }
  return kernel;
}

Result<std::string> disassemble(const Kernel& kernel, const Target&) { return kernel.code; }

Result<std::vector<MachineLoop>> innermost_loops(const Kernel&, const Target&) { return std::vector<MachineLoop>(); }

}  // namespace whet::toy
