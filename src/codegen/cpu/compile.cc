#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <memory>
#include <utility>

#include "codegen/cpu/analysis.h"
#include "codegen/cpu/emitter.h"
#include "codegen/generators.h"
#include "codegen/kernel_parts.h"
#include "codegen/llvm/backend.h"

namespace whet {
namespace {

/// Functions that only some processors have instructions for.
Status check_functions(const ExprTable& table, const CpuFeatures& features, const Target& target) {
  if (features.round) return ok_status();
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto* call = std::get_if<Call>(&table[ExprRef(static_cast<std::int64_t>(i))].expr->kind);
    if (call != nullptr && (call->fn == MathFn::floor || call->fn == MathFn::ceil || call->fn == MathFn::round))
      return Error{"-mcpu=" + target.cpu().mcpu +
                   " has no instruction for floor, ceil and round; expand_math must come before code generation"};
  }
  return ok_status();
}

Status check_buffers(const Program& program) {
  for (const Buffer& buffer : program.buffers) {
    const std::string what = "program `" + program.name + "`: ";
    if (buffer.scope == Scope::argument && buffer.argument < 0)
      return Error{what + "argument `" + buffer.name + "` has no position"};
    if (buffer.scope == Scope::block)
      return Error{what + "buffer `" + buffer.name + "` is memory of a block of threads, which a CPU does not have"};
  }
  return ok_status();
}

/// A kernel without its code, and the module that it is made of.
struct Emitted {
  Kernel kernel;
  Backend* backend = nullptr;
  std::unique_ptr<llvm::Module> module;
};

Result<Emitted> emit(const Program& program, const Target& target) {
  WHET_RETURN_IF_ERROR(check_buffers(program));
  Emitted emitted;
  WHET_TRY(emitted.backend, Backend::get(target));
  WHET_TRY(Analysis analysis, Analysis::of(program, target));
  WHET_RETURN_IF_ERROR(check_functions(analysis.table(), emitted.backend->features(), target));
  const std::string symbol = symbol_of(program.name);
  emitted.module = emitted.backend->make_module(symbol);
  Emitter emitter(program, analysis, *emitted.backend, *emitted.module);
  emitter.emit_function(symbol);
  Kernel& kernel = emitted.kernel;
  kernel.worker_workspace = emitter.worker_workspace();
  kernel.workspace = emitter.workspace();
  kernel.argument_bytes = argument_bytes(program);
  kernel.launches = {{symbol, analysis.has_parallel_loop()}};
  return emitted;
}

}  // namespace

Result<Kernel> compile_for_cpu(const Program& program, const Target& target) {
  WHET_TRY(Emitted emitted, emit(program, target));
  emitted.kernel.code = emitted.backend->emit_object(*emitted.module);
  return std::move(emitted.kernel);
}

Result<std::string> intermediate_code_for_cpu(const Program& program, const Target& target) {
  WHET_TRY(const Emitted emitted, emit(program, target));
  std::string text;
  llvm::raw_string_ostream out(text);
  emitted.module->print(out, nullptr);
  return out.str();
}

}  // namespace whet
