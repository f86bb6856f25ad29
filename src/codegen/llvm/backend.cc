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
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

namespace whet {
namespace {

/// A context keeps every constant it ever saw; after so many kernels a fresh one is made.
constexpr int kModulesPerContext = 200;

void initialize(const Architecture& architecture) {
  static std::mutex mutex;
  static std::set<const Architecture*> done;
  const std::lock_guard lock(mutex);
  if (done.insert(&architecture).second) architecture.initialize();
}

std::string join(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& item : list) out += (out.empty() ? "" : ",") + item;
  return out;
}

Status check_names(const llvm::Target& llvm_target, const Architecture& architecture, const CpuTarget& target) {
  std::unique_ptr<llvm::MCSubtargetInfo> plain(llvm_target.createMCSubtargetInfo(architecture.triple, "", ""));
  if (!plain->isCPUStringValid(target.mcpu))
    return Error{"-mcpu=" + target.mcpu + ": LLVM knows no such " + architecture.name + " processor"};
  for (const std::string& feature : target.mattr) {
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
  Pipeline(llvm::TargetMachine& machine, const Architecture& architecture)
      : architecture_(architecture), stream_(bytes_), met_(architecture.left_out.size()) {
    const bool unsupported =
        machine.addPassesToEmitFile(*this, stream_, nullptr, llvm::CodeGenFileType::ObjectFile, true);
    WHET_CHECK(!unsupported, "this LLVM cannot write object files");
    for (std::size_t i = 0; i < met_.size(); ++i)
      WHET_CHECK(met_[i], architecture.left_out[i]);  // does LLVM call it otherwise now?
  }

  void add(llvm::Pass* pass) override {
    const auto left_out = architecture_.left_out;
    const auto found = std::find(left_out.begin(), left_out.end(), pass->getPassName());
    if (found != left_out.end()) {
      met_[static_cast<std::size_t>(found - left_out.begin())] = true;
      delete pass;
      return;
    }
    const bool removes_phis = pass->getPassID() == &llvm::PHIEliminationID;
    llvm::legacy::PassManager::add(pass);
    if (removes_phis) add(architecture_.make_accumulate_pass());
  }

  std::string object_of(llvm::Module& module) {
    bytes_.clear();
    run(module);
    return std::string(bytes_.str());
  }

 private:
  const Architecture& architecture_;
  llvm::SmallString<0> bytes_;
  llvm::raw_svector_ostream stream_;
  std::vector<bool> met_;  ///< by the number of the pass in left_out
};

Backend::~Backend() = default;

std::string Backend::feature_string() const { return join(target_.cpu().mattr); }

Result<Backend*> Backend::get(const Target& target) {
  initialize(architecture_of(target.cpu()));
  thread_local std::map<std::string, std::unique_ptr<Backend>> backends;
  std::unique_ptr<Backend>& slot = backends[code_key(target.cpu())];
  if (slot == nullptr) {
    WHET_TRY(slot, create(target));
  }
  if (++slot->modules_ % kModulesPerContext == 0) slot->renew();
  return slot.get();
}

Result<std::unique_ptr<Backend>> Backend::create(const Target& target) {
  std::string error;
  const Architecture& architecture = architecture_of(target.cpu());
  const llvm::Target* llvm_target = llvm::TargetRegistry::lookupTarget(architecture.triple, error);
  WHET_CHECK(llvm_target != nullptr, error.c_str());
  WHET_RETURN_IF_ERROR(check_names(*llvm_target, architecture, target.cpu()));
  std::unique_ptr<Backend> out(new Backend);
  out->target_ = target;
  out->architecture_ = &architecture;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  out->machine_.reset(llvm_target->createTargetMachine(architecture.triple, target.cpu().mcpu, out->feature_string(),
                                                       options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                                       llvm::CodeGenOptLevel::Less));
  out->renew();
  out->features_ = architecture.features(*out->machine_->getMCSubtargetInfo());
  return out;
}

void Backend::renew() {
  pipeline_.reset();
  context_ = std::make_unique<llvm::LLVMContext>();
  pipeline_ = std::make_unique<Pipeline>(*machine_, *architecture_);
}

std::unique_ptr<llvm::Module> Backend::make_module(const std::string& name) {
  auto module = std::make_unique<llvm::Module>(name, *context_);
  module->setTargetTriple(architecture_->triple);
  module->setDataLayout(machine_->createDataLayout());
  module->setPICLevel(llvm::PICLevel::SmallPIC);
  return module;
}

std::string Backend::emit_object(llvm::Module& module) { return pipeline_->object_of(module); }

}  // namespace whet
