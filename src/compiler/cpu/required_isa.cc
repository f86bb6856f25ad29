#include "compiler/cpu/required_isa.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/AArch64TargetParser.h>
#include <llvm/TargetParser/X86TargetParser.h>

#include <algorithm>
#include <vector>

#include "target/cpu_isa.h"

namespace whet {
namespace {

Result<std::string> required_on_aarch64(const Target& target) {
  const std::string name = llvm_processor(target.cpu());
  const std::optional<llvm::AArch64::CpuInfo> processor = llvm::AArch64::parseCpu(name);
  if (!processor)
    return Error{"target: -mcpu is \"" + target.cpu().mcpu + "\"; expected an AArch64 processor that LLVM knows"};
  llvm::AArch64::ExtensionSet extensions;
  extensions.addCPUDefaults(*processor);
  std::vector<llvm::StringRef> features;  // "+neon"
  extensions.toLLVMFeatureList(features);
  // The parser has names of its own for switches; those of -mattr are LLVM's.
  std::string names;
  for (const IsaRow& row : kIsaTable) {
    const std::string on = std::string("+") + row.name;
    bool has = std::find(features.begin(), features.end(), on) != features.end();
    for (const std::string& attribute : target.cpu().mattr)
      if (attribute.substr(1) == row.name) has = attribute[0] == '+';
    if ((row.uses & kIsaRequire) != 0 && has) names += (names.empty() ? "" : ",") + std::string(row.name);
  }
  return names;
}

}  // namespace

Result<std::string> required_isa(const Target& target, IsaSet tiles) {
  if (target.cpu().isa == Isa::aarch64) return required_on_aarch64(target);
  if (llvm::X86::parseArchX86(target.cpu().mcpu, /*Only64Bit=*/true) == llvm::X86::CK_None) {
    return Error{"target: -mcpu is \"" + target.cpu().mcpu + "\"; expected an x86-64 processor that LLVM knows"};
  }
  llvm::SmallVector<llvm::StringRef, 64> of_processor;
  llvm::X86::getFeaturesForCPU(target.cpu().mcpu, of_processor);
  llvm::StringMap<bool> features;
  for (llvm::StringRef feature : of_processor) {  // the list leaves out what others imply
    features[feature] = true;
    llvm::X86::updateImpliedFeatures(feature, true, features);
  }
  for (const std::string& attribute : target.cpu().mattr) {
    const bool on = attribute[0] == '+';
    const std::string name = attribute.substr(1);
    features[name] = on;
    llvm::X86::updateImpliedFeatures(name, on, features);
  }
  std::string names;
  for (const IsaRow& row : kIsaTable) {
    const auto found = features.find(row.name);
    if ((row.uses & kIsaRequire) == 0 || found == features.end() || !found->second) continue;
    if (row.state == SavedState::tiles && !(tiles & (IsaSet{1} << (&row - kIsaTable)))) continue;
    names += (names.empty() ? "" : ",") + std::string(row.name);
  }
  return names;
}

}  // namespace whet
