#include "codegen/llvm/backend.h"

#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetMachine.h>

#include <map>
#include <mutex>
#include <set>

namespace whet {
namespace {

std::string join(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& item : list) out += (out.empty() ? "" : ",") + item;
  return out;
}

Status check_names(const llvm::Target& llvm_target, const Architecture& architecture, const CpuTarget& target) {
  std::unique_ptr<llvm::MCSubtargetInfo> plain(llvm_target.createMCSubtargetInfo(architecture.triple, "", ""));
  if (!plain->isCPUStringValid(llvm_processor(target)))
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

void initialize(const Architecture& architecture) {
  static std::mutex mutex;
  static std::set<const Architecture*> done;
  const std::lock_guard lock(mutex);
  if (done.insert(&architecture).second) architecture.initialize();
}

std::string Backend::feature_string() const { return join(target_.cpu().mattr); }

std::unique_ptr<llvm::Module> Backend::make_module(const std::string& name) { return compiler_->make_module(name); }

std::string Backend::emit_object(llvm::Module& module) { return compiler_->emit(module); }

Result<Backend*> Backend::get(const Target& target) {
  const Architecture& architecture = architecture_of(target.cpu());
  initialize(architecture);
  thread_local std::map<std::string, Backend> backends;
  const std::string key = code_key(target.cpu());
  auto found = backends.find(key);
  if (found == backends.end()) {
    WHET_TRY(Backend made, create(target, architecture));
    found = backends.emplace(key, std::move(made)).first;
  }
  Backend& backend = found->second;
  backend.compiler_ = &LlvmCompiler::get({.triple = architecture.triple,
                                          .processor = llvm_processor(target.cpu()),
                                          .features = backend.feature_string(),
                                          .left_out = architecture.left_out,
                                          .make_last_pass = architecture.make_accumulate_pass});
  backend.features_ = architecture.features(*backend.machine().getMCSubtargetInfo());
  return &backend;
}

Result<Backend> Backend::create(const Target& target, const Architecture& architecture) {
  std::string error;
  const llvm::Target* llvm_target = llvm::TargetRegistry::lookupTarget(architecture.triple, error);
  WHET_CHECK(llvm_target != nullptr, error.c_str());
  WHET_RETURN_IF_ERROR(check_names(*llvm_target, architecture, target.cpu()));
  Backend out;
  out.target_ = target;
  out.architecture_ = &architecture;
  return out;
}

}  // namespace whet
