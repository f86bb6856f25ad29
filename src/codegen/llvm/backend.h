#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "codegen/llvm/architecture.h"
#include "codegen/llvm/compiler.h"
#include "target/target.h"

namespace whet {

/// LLVM for one CPU, in one thread.
class Backend {
 public:
  /// This thread's backend for the target, a CPU. Errors: LLVM does not know the processor or a feature.
  static Result<Backend*> get(const Target&);

  llvm::LLVMContext& context() { return compiler_->context(); }
  llvm::TargetMachine& machine() { return compiler_->machine(); }
  const Architecture& architecture() const { return *architecture_; }
  const CpuFeatures& features() const { return features_; }
  std::string feature_string() const;
  const Target& target() const { return target_; }

  /// An empty module for this target.
  std::unique_ptr<llvm::Module> make_module(const std::string& name);
  /// Machine code of the module as a relocatable object file.
  std::string emit_object(llvm::Module& module);

 private:
  static Result<Backend> create(const Target&, const Architecture&);

  Target target_;
  const Architecture* architecture_ = nullptr;
  CpuFeatures features_;
  LlvmCompiler* compiler_ = nullptr;
};

}  // namespace whet
