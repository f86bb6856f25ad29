#include "codegen/gpu/compile.h"

#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/TargetSelect.h>

#include <mutex>

#include "artifact/emulated_module.h"
#include "codegen/generators.h"
#include "codegen/gpu/analysis.h"
#include "codegen/gpu/emitter.h"
#include "codegen/gpu/host_hooks.h"
#include "codegen/gpu/nvptx_hooks.h"
#include "codegen/kernel_parts.h"
#include "codegen/llvm/architecture.h"
#include "codegen/llvm/compiler.h"

namespace whet {
namespace {

/// A processor that LLVM knows, with the least version of PTX that has it (and sm_75's tiles of bytes): drivers refuse versions newer
/// than they are.
struct Processor {
  int arch;
  const char *name, *version;
};
constexpr Processor kProcessors[] = {
    {75, "sm_75", "+ptx65"}, {80, "sm_80", "+ptx70"}, {86, "sm_86", "+ptx71"},
    {87, "sm_87", "+ptx74"}, {89, "sm_89", "+ptx78"}, {90, "sm_90", "+ptx78"},
};

/// The newest that is not above `arch`: PTX for older processors runs on newer ones.
const Processor& processor_of(int arch) {
  const Processor* found = &kProcessors[0];
  for (const Processor& row : kProcessors)
    if (row.arch <= arch) found = &row;
  return *found;
}

// Addresses are made for loops already; strengths were reduced with no gain in registers.
constexpr const char* kLeftOutForGpus[] = {"Loop Strength Reduction"};

LlvmCompiler& nvptx_compiler(const GpuTarget& target) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  const Processor& processor = processor_of(target.arch);
  return LlvmCompiler::get({.triple = "nvptx64-nvidia-cuda",
                            .processor = processor.name,
                            .features = processor.version,
                            .text = true,
                            .promote = true,
                            .splits_small_lanes = true,
                            .left_out = kLeftOutForGpus});
}

/// Without what reads and writes registers, which is gone when they are SSA values.
std::int64_t instructions_of(const llvm::Module& module) {
  std::int64_t count = 0;
  for (const llvm::Function& function : module)
    for (const llvm::BasicBlock& block : function)
      for (const llvm::Instruction& instruction : block) {
        const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&instruction);
        count += pointer == nullptr || !llvm::isa<llvm::AllocaInst>(pointer);
      }
  return count;
}

Result<Kernel> compile(const Program& program, const Target& target, CodeFormat format, GpuHooks& hooks,
                       LlvmCompiler& compiler) {
  WHET_TRY(GpuAnalysis analysis, GpuAnalysis::of(program, limits_of(target.gpu())));
  Kernel kernel;
  kernel.format = format;
  std::vector<std::string> entries;
  const std::string symbol = symbol_of(program.name);
  for (const GpuLaunch& launch : analysis.launches()) {
    const bool alone = analysis.launches().size() == 1;
    entries.push_back(alone ? symbol : symbol + "_" + std::to_string(entries.size()));
    kernel.launches.push_back({.entry = entries.back(),
                               .grid = {static_cast<std::uint32_t>(launch.nest.grid)},
                               .block = {static_cast<std::uint32_t>(launch.nest.size)},
                               .block_memory = launch.block_memory});
  }
  const std::unique_ptr<llvm::Module> module = compiler.make_module(symbol);
  GpuEmitter emitter(program, analysis, hooks, *module);
  WHET_RETURN_IF_ERROR(emitter.emit_launches(entries));
  const std::int64_t instructions = instructions_of(*module);
  const std::int64_t most = format == CodeFormat::ptx ? kMaxGpuInstructions : kMaxEmulatedInstructions;
  if (instructions > most)
    return Error{"program `" + program.name + "`: " + std::to_string(instructions) +
                     " instructions, more than the limit of " + std::to_string(most) + "; unroll less",
                 ErrorKind::limit};
  kernel.code = compiler.emit(*module);
  if (kernel.format == CodeFormat::ptx && !analysis.has_local_memory() &&
      kernel.code.find(".local") != std::string::npos)
    return Error{"program `" + program.name + "`: LLVM has put registers into memory", ErrorKind::internal};
  kernel.workspace = emitter.workspace();
  kernel.argument_bytes = argument_bytes(program);
  return kernel;
}

}  // namespace

bool waits_first(std::string_view ptx) {
  for (std::size_t entry = ptx.find(".entry "); entry != ptx.npos; entry = ptx.find(".entry ", entry + 1)) {
    const std::string_view body = ptx.substr(ptx.find('{', entry));
    const std::string_view before = body.substr(0, body.find("griddepcontrol.wait;"));
    for (const char* access : {"ld.global", "st.global", "cp.async", "griddepcontrol.launch", ".entry "})
      if (before.find(access) != before.npos) return false;
  }
  return true;
}

bool kernels_start_early(const GpuTarget& target) { return limits_of(target).dependent_launch; }

Result<Kernel> compile_for_gpu(const Program& program, const Target& target) {
  const bool early = kernels_start_early(target.gpu());
  WHET_TRY(Kernel kernel, compile(program, target, CodeFormat::ptx, *make_nvptx_hooks(limits_of(target.gpu()), early),
                                  nvptx_compiler(target.gpu())));
  if (early && !waits_first(kernel.code))
    return Error{"program `" + program.name + "`: LLVM has moved an access in front of the wait for other launches",
                 ErrorKind::internal};
  return kernel;
}

Result<Kernel> compile_emulated(const Program& program, const Target& target, std::span<const double> seconds) {
  WHET_TRY(Kernel kernel, compile(program, target, CodeFormat::emulated, *make_host_hooks(), emulation_compiler()));
  WHET_CHECK(seconds.empty() || seconds.size() == kernel.launches.size(), "the estimate has a time for each launch");
  EmulatedModule module{{}, {std::move(kernel.code)}};
  const auto parameters = static_cast<std::uint32_t>(kernel.argument_bytes.size()) + 1;  // and the workspace
  for (std::size_t i = 0; i < kernel.launches.size(); ++i)
    module.entries.push_back({kernel.launches[i].entry, seconds.empty() ? 0 : seconds[i], 0, parameters});
  kernel.code = write_emulated_module(module);
  return kernel;
}

Result<std::string> disassemble_for_gpu(const Kernel& kernel, const Target&) { return kernel.code; }

Result<std::vector<MachineLoop>> innermost_loops_for_gpu(const Kernel&, const Target&) {
  return Error{"PTX is no machine code: its loops are not known", ErrorKind::unsupported};
}

}  // namespace whet
