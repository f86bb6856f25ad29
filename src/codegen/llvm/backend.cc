#include "codegen/llvm/backend.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>

#include <map>
#include <mutex>

#include "codegen/compile.h"

namespace whet {
namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";
/// A context keeps every constant it ever saw; after so many kernels a fresh one is made.
constexpr int kModulesPerContext = 200;

llvm::cl::opt<bool>* disable_lsr() {
  auto& options = llvm::cl::getRegisteredOptions();
  const auto found = options.find("disable-lsr");
  return found == options.end() ? nullptr : static_cast<llvm::cl::opt<bool>*>(found->second);
}

void initialize() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86Disassembler();
    const char* arguments[] = {"whet", "-disable-lsr"};
    llvm::cl::ParseCommandLineOptions(2, arguments);
  });
  WHET_CHECK(loop_strength_reduction_is_off(), "something reset LLVM's options in this process");
}

std::string join(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& item : list) out += (out.empty() ? "" : ",") + item;
  return out;
}

Status check_names(const llvm::Target& llvm_target, const Target& target) {
  std::unique_ptr<llvm::MCSubtargetInfo> plain(llvm_target.createMCSubtargetInfo(kTriple, "", ""));
  if (!plain->isCPUStringValid(target.mcpu))
    return Error{"-mcpu=" + target.mcpu + ": LLVM knows no such x86-64 processor"};
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

bool loop_strength_reduction_is_off() {
  const llvm::cl::opt<bool>* option = disable_lsr();
  return option != nullptr && option->getValue();
}

Backend::~Backend() = default;

std::string Backend::feature_string() const { return join(target_.mattr); }

Result<Backend*> Backend::get(const Target& target) {
  initialize();
  thread_local std::map<std::string, std::unique_ptr<Backend>> backends;
  const std::string key = target.mcpu + " " + join(target.mattr) + " " + std::to_string(target.vector_bytes);
  std::unique_ptr<Backend>& slot = backends[key];
  if (slot == nullptr) {
    WHET_TRY(slot, create(target));
  }
  if (++slot->modules_ % kModulesPerContext == 0) slot->context_ = std::make_unique<llvm::LLVMContext>();
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
  out->machine_.reset(llvm_target->createTargetMachine(kTriple, target.mcpu, out->feature_string(), options,
                                                       llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                                       llvm::CodeGenOptLevel::Less));
  out->context_ = std::make_unique<llvm::LLVMContext>();
  const llvm::MCSubtargetInfo& cpu = *out->machine_->getMCSubtargetInfo();
  out->features_.round = cpu.checkFeatures("+sse4.1");
  out->features_.half = cpu.checkFeatures("+f16c");
  out->features_.masked_loads = cpu.checkFeatures("+avx2");
  return out;
}

std::unique_ptr<llvm::Module> Backend::make_module(const std::string& name) {
  auto module = std::make_unique<llvm::Module>(name, *context_);
  module->setTargetTriple(kTriple);
  module->setDataLayout(machine_->createDataLayout());
  module->setPICLevel(llvm::PICLevel::SmallPIC);
  return module;
}

std::string Backend::emit_object(llvm::Module& module) {
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  const bool unsupported =
      machine_->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile, true);
  WHET_CHECK(!unsupported, "this LLVM cannot write object files");
  passes.run(module);
  return std::string(bytes.str());
}

}  // namespace whet
