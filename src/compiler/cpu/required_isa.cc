#include "compiler/cpu/required_isa.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/X86TargetParser.h>

#include "target/cpu_isa.h"

namespace whet {
Result<std::string> required_isa(const Target& target) {
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
    names += (names.empty() ? "" : ",") + std::string(row.name);
  }
  return names;
}

}  // namespace whet
