#include "codegen/llvm/backend.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Pass.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

#include "codegen/llvm/accumulate.h"

namespace whet {
namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";
/// A context keeps every constant it ever saw; after so many kernels a fresh one is made.
constexpr int kModulesPerContext = 200;

/// What is left out of LLVM's list of passes, by the names that passes give themselves. The others are worth their time
/// in some kernel, or are needed.
constexpr const char* kLeftOut[] = {
    // Our addresses are pointers bumped once a loop already; the result is slower and takes several times the time.
    "Canonicalize Freeze Instructions in Loops",
    "Loop Strength Reduction",
    // Constants and addresses stand where they belong already.
    "Constant Hoisting",
    // Each block's repetitions are gone by then, and what several blocks need stands before them.
    "Machine Common Subexpression Elimination",
    // They look for what kernels do not hold: lifetimes of stack slots, tiles, integers in vectors that would be masks,
    // comparisons of memory, exceptions, thread-local variables, funclets.
    "Merge disjoint stack slots",
    "Tile Register Pre-configure",
    "X86 Domain Reassignment Pass",
    "X86 Partial Reduction",
    "Merge contiguous icmps into a memcmp",
    "Expand memcmp() to load/stores",
    "Exception handling preparation",
    "Prepare callbr",
    "TLS Variable Hoist",
    "Local Dynamic TLS Access Clean-up",
    "Contiguously Lay Out Funclets",
};

void initialize() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86Disassembler();
  });
}

std::string join(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& item : list) out += (out.empty() ? "" : ",") + item;
  return out;
}

Status check_names(const llvm::Target& llvm_target, const Target& target) {
  std::unique_ptr<llvm::MCSubtargetInfo> plain(llvm_target.createMCSubtargetInfo(kTriple, "", ""));
  if (!plain->isCPUStringValid(target.cpu().mcpu))
    return Error{"-mcpu=" + target.cpu().mcpu + ": LLVM knows no such x86-64 processor"};
  for (const std::string& feature : target.cpu().mattr) {
    const bool switched = feature.size() > 1 && (feature[0] == '+' || feature[0] == '-');
    bool known = false;
    for (const llvm::SubtargetFeatureKV& entry : plain->getAllProcessorFeatures())
      known |= switched && feature.substr(1) == entry.Key;
    if (!known) return Error{"-mattr=" + feature + ": LLVM knows no such feature; expected +name or -name"};
  }
  return ok_status();
}

}  // namespace

/// LLVM's passes from IR to an object file, used for one module after the other: to set them up takes as long as a
/// small kernel.
class Backend::Pipeline : public llvm::legacy::PassManager {
 public:
  explicit Pipeline(llvm::TargetMachine& machine) : stream_(bytes_) {
    const bool unsupported =
        machine.addPassesToEmitFile(*this, stream_, nullptr, llvm::CodeGenFileType::ObjectFile, true);
    WHET_CHECK(!unsupported, "this LLVM cannot write object files");
    for (std::size_t i = 0; i < met_.size(); ++i) WHET_CHECK(met_[i], kLeftOut[i]);  // does LLVM call it otherwise now?
  }

  void add(llvm::Pass* pass) override {
    const auto* found = std::find(std::begin(kLeftOut), std::end(kLeftOut), pass->getPassName());
    if (found != std::end(kLeftOut)) {
      met_[static_cast<std::size_t>(found - std::begin(kLeftOut))] = true;
      delete pass;
      return;
    }
    const bool removes_phis = pass->getPassID() == &llvm::PHIEliminationID;
    llvm::legacy::PassManager::add(pass);
    if (removes_phis) add(make_accumulate_pass());
  }

  std::string object_of(llvm::Module& module) {
    bytes_.clear();
    run(module);
    return std::string(bytes_.str());
  }

 private:
  llvm::SmallString<0> bytes_;
  llvm::raw_svector_ostream stream_;
  std::array<bool, std::size(kLeftOut)> met_ = {};
};

Backend::~Backend() = default;

std::string Backend::feature_string() const { return join(target_.cpu().mattr); }

Result<Backend*> Backend::get(const Target& target) {
  initialize();
  thread_local std::map<std::string, std::unique_ptr<Backend>> backends;
  const std::string key =
      target.cpu().mcpu + " " + join(target.cpu().mattr) + " " + std::to_string(target.cpu().vector_bytes);
  std::unique_ptr<Backend>& slot = backends[key];
  if (slot == nullptr) {
    WHET_TRY(slot, create(target));
  }
  if (++slot->modules_ % kModulesPerContext == 0) slot->renew();
  return slot.get();
}

Result<std::unique_ptr<Backend>> Backend::create(const Target& target) {
  std::string error;
  const llvm::Target* llvm_target = llvm::TargetRegistry::lookupTarget(kTriple, error);
  WHET_CHECK(llvm_target != nullptr, error.c_str());
  WHET_RETURN_IF_ERROR(check_names(*llvm_target, target));
  std::unique_ptr<Backend> out(new Backend);
  out->target_ = target;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  out->machine_.reset(llvm_target->createTargetMachine(kTriple, target.cpu().mcpu, out->feature_string(), options,
                                                       llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                                       llvm::CodeGenOptLevel::Less));
  out->renew();
  const llvm::MCSubtargetInfo& cpu = *out->machine_->getMCSubtargetInfo();
  out->features_.round = cpu.checkFeatures("+sse4.1");
  out->features_.half = cpu.checkFeatures("+f16c");
  out->features_.dot_products = cpu.checkFeatures("+avx512vnni");
  out->features_.masked_loads = cpu.checkFeatures("+avx2");
  return out;
}

void Backend::renew() {
  pipeline_.reset();
  context_ = std::make_unique<llvm::LLVMContext>();
  pipeline_ = std::make_unique<Pipeline>(*machine_);
}

std::unique_ptr<llvm::Module> Backend::make_module(const std::string& name) {
  auto module = std::make_unique<llvm::Module>(name, *context_);
  module->setTargetTriple(kTriple);
  module->setDataLayout(machine_->createDataLayout());
  module->setPICLevel(llvm::PICLevel::SmallPIC);
  return module;
}

std::string Backend::emit_object(llvm::Module& module) { return pipeline_->object_of(module); }

}  // namespace whet
