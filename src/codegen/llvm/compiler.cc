#include "codegen/llvm/compiler.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/IR/PassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Pass.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/Transforms/Scalar/Scalarizer.h>
#include <llvm/Transforms/Utils/Mem2Reg.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "base/check.h"

namespace whet {
namespace {

/// Kernels that one context compiles. It keeps every constant that it ever saw, so it is replaced then.
constexpr int kModulesPerContext = 200;

/// Some vector of bytes is computed, or one of bits or halves is used in another block than its own.
bool has_small_lanes(const llvm::Function& function) {
  for (const llvm::BasicBlock& block : function)
    for (const llvm::Instruction& instruction : block) {
      const llvm::Type* type = instruction.getType();
      if (!type->isVectorTy() || type->getScalarSizeInBits() >= 32) continue;
      if (type->getScalarSizeInBits() == 8 && !llvm::isa<llvm::LoadInst>(instruction)) return true;
      for (const llvm::User* user : instruction.users())
        if (llvm::cast<llvm::Instruction>(user)->getParent() != &block) return true;
    }
  return false;
}

}  // namespace

/// LLVM's passes from IR to code, used for one module after the other: to set them up takes as long as a
/// small kernel.
class LlvmCompiler::Pipeline : public llvm::legacy::PassManager {
 public:
  Pipeline(llvm::TargetMachine& machine, const LlvmTarget& target)
      : target_(target), stream_(bytes_), met_(target.left_out.size()) {
    const auto type = target.text ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
    const bool unsupported = machine.addPassesToEmitFile(*this, stream_, nullptr, type, true);
    WHET_CHECK(!unsupported, "this LLVM cannot write such files");
    for (std::size_t i = 0; i < met_.size(); ++i)
      WHET_CHECK(met_[i], target.left_out[i]);  // does LLVM call it otherwise now?
  }

  void add(llvm::Pass* pass) override {
    const auto left_out = target_.left_out;
    const auto found = std::find(left_out.begin(), left_out.end(), pass->getPassName());
    if (found != left_out.end()) {
      met_[static_cast<std::size_t>(found - left_out.begin())] = true;
      delete pass;
      return;
    }
    const bool removes_phis = pass->getPassID() == &llvm::PHIEliminationID;
    llvm::legacy::PassManager::add(pass);
    if (removes_phis && target_.make_last_pass != nullptr) add(target_.make_last_pass());
  }

  std::string emit(llvm::Module& module) {
    bytes_.clear();
    run(module);
    return std::string(bytes_.str());
  }

 private:
  const LlvmTarget& target_;
  llvm::SmallString<0> bytes_;
  llvm::raw_svector_ostream stream_;
  std::vector<bool> met_;  ///< by the number of the pass in left_out
};

LlvmCompiler::~LlvmCompiler() = default;

LlvmCompiler& LlvmCompiler::get(const LlvmTarget& target) {
  using Key = std::tuple<std::string, std::string, std::string, bool>;
  thread_local std::map<Key, std::unique_ptr<LlvmCompiler>> compilers;
  std::unique_ptr<LlvmCompiler>& slot = compilers[{target.triple, target.processor, target.features, target.promote}];
  if (slot == nullptr) slot.reset(new LlvmCompiler(target));
  if (++slot->modules_ % kModulesPerContext == 0) slot->renew();
  return *slot;
}

LlvmCompiler::LlvmCompiler(const LlvmTarget& target) : target_(target) {
  std::string error;
  const llvm::Target* llvm_target = llvm::TargetRegistry::lookupTarget(target.triple, error);
  WHET_CHECK(llvm_target != nullptr, error.c_str());
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  machine_.reset(llvm_target->createTargetMachine(target.triple, target.processor, target.features, options,
                                                  llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                                  llvm::CodeGenOptLevel::Less));
  renew();
}

void LlvmCompiler::renew() {
  pipeline_.reset();
  context_ = std::make_unique<llvm::LLVMContext>();
  pipeline_ = std::make_unique<Pipeline>(*machine_, target_);
}

std::unique_ptr<llvm::Module> LlvmCompiler::make_module(const std::string& name) {
  auto module = std::make_unique<llvm::Module>(name, *context_);
  module->setTargetTriple(target_.triple);
  module->setDataLayout(machine_->createDataLayout());
  module->setPICLevel(llvm::PICLevel::SmallPIC);
  return module;
}

std::string LlvmCompiler::emit(llvm::Module& module) {
  if (target_.promote) prepare(module);
  return pipeline_->emit(module);
}

void LlvmCompiler::prepare(llvm::Module& module) {
  llvm::FunctionAnalysisManager analyses;
  analyses.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
  analyses.registerPass([] { return llvm::DominatorTreeAnalysis(); });
  analyses.registerPass([] { return llvm::AssumptionAnalysis(); });
  analyses.registerPass([&] { return machine_->getTargetIRAnalysis(); });
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    llvm::PromotePass().run(function, analyses);
    if (target_.splits_small_lanes && has_small_lanes(function)) llvm::ScalarizerPass().run(function, analyses);
  }
}

}  // namespace whet
