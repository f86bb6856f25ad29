#pragma once

#include <memory>
#include <span>
#include <string>

namespace llvm {
class LLVMContext;
class MachineFunctionPass;
class Module;
class TargetMachine;
}  // namespace llvm

namespace whet {

/// What LLVM compiles for, in its own words, and how.
struct LlvmTarget {
  std::string triple, processor, features;
  bool text = false;     ///< gives assembly, else an object file
  bool promote = false;  ///< first makes SSA values of what the stack holds
  /// With `promote`: takes vectors apart in functions that compute some of bytes, or where one of less than 32 bits a lane
  /// lives through several blocks. LLVM would hand on their lanes through memory.
  bool splits_small_lanes = false;
  std::span<const char* const> left_out = {};  ///< passes that are not run, by the names that they give themselves
  llvm::MachineFunctionPass* (*make_last_pass)() = nullptr;  ///< runs when phis have been removed; null: none
};

/// LLVM for one target, in one thread: a target machine, a context and the passes. All kernels of the thread reuse them.
class LlvmCompiler {
 public:
  /// This thread's. Needs: LLVM's back end is initialized and knows processor and features.
  static LlvmCompiler& get(const LlvmTarget&);
  ~LlvmCompiler();

  llvm::LLVMContext& context() { return *context_; }
  llvm::TargetMachine& machine() { return *machine_; }

  /// An empty module for the target.
  std::unique_ptr<llvm::Module> make_module(const std::string& name);
  /// The module as a relocatable object file or as assembly.
  std::string emit(llvm::Module&);

 private:
  class Pipeline;

  explicit LlvmCompiler(const LlvmTarget&);
  void renew();
  void prepare(llvm::Module&);

  LlvmTarget target_;
  std::unique_ptr<llvm::LLVMContext> context_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  std::unique_ptr<Pipeline> pipeline_;  ///< of this machine and context
  int modules_ = 0;
};

/// This thread's compiler of emulated kernels for the host (x86/emulation.cc).
LlvmCompiler& emulation_compiler();

}  // namespace whet
