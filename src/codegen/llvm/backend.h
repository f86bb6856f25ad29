#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "codegen/llvm/architecture.h"
#include "target/target.h"

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
}  // namespace llvm

namespace whet {

/// LLVM for one target, in one thread: a target machine, a context and the passes. All kernels of the thread reuse them.
class Backend {
 public:
  /// This thread's backend for the target, a CPU. Errors: LLVM does not know the processor or a feature.
  static Result<Backend*> get(const Target&);
  ~Backend();

  llvm::LLVMContext& context() { return *context_; }
  llvm::TargetMachine& machine() { return *machine_; }
  const Architecture& architecture() const { return *architecture_; }
  const CpuFeatures& features() const { return features_; }
  std::string feature_string() const;
  const Target& target() const { return target_; }

  /// An empty module for this target.
  std::unique_ptr<llvm::Module> make_module(const std::string& name);
  /// Machine code of the module as a relocatable object file.
  std::string emit_object(llvm::Module&);

 private:
  class Pipeline;

  Backend() = default;
  void renew();
  static Result<std::unique_ptr<Backend>> create(const Target&);

  Target target_;
  const Architecture* architecture_ = nullptr;
  CpuFeatures features_;
  std::unique_ptr<llvm::LLVMContext> context_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  std::unique_ptr<Pipeline> pipeline_;  ///< of this machine and context
  int modules_ = 0;
};

}  // namespace whet
