#include "codegen/x86/accumulate.h"

#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>

namespace whet {
namespace {

/// `x = y * z + w`, all of them whole vectors in registers: operand 0 is the result, tied to operand 1.
bool is_multiply_add(const llvm::MachineInstr& i, llvm::StringRef name) {
  return (name.starts_with("VFMADD213P") || name.starts_with("VFMADD231P")) && i.getNumExplicitOperands() == 4 &&
         !i.mayLoad() && i.getOperand(2).isReg() && i.getOperand(3).isReg();
}

class Accumulate : public llvm::MachineFunctionPass {
 public:
  static char ID;
  Accumulate() : MachineFunctionPass(ID) {}
  llvm::StringRef getPassName() const override { return "tie multiply-adds to their addends"; }

  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    const llvm::TargetInstrInfo& info = *function.getSubtarget().getInstrInfo();
    bool changed = false;
    for (llvm::MachineBasicBlock& block : function)
      for (llvm::MachineInstr& i : block) changed |= tie(i, info);
    return changed;
  }

 private:
  static bool tie(llvm::MachineInstr& i, const llvm::TargetInstrInfo& info) {
    const llvm::StringRef name = info.getName(i.getOpcode());
    if (!is_multiply_add(i, name)) return false;
    if (name.starts_with("VFMADD213P")) {  // the addend is operand 3
      if (!i.killsRegister(i.getOperand(3).getReg(), nullptr)) return false;
      if (info.commuteInstruction(i, false, 1, 3) == nullptr) return false;
    }
    // Factors that do not die here are never preferred to the addend afterwards. To leave out that a register dies is
    // allowed; register allocation computes it anew.
    i.getOperand(2).setIsKill(false);
    i.getOperand(3).setIsKill(false);
    return true;
  }
};

char Accumulate::ID = 0;

}  // namespace

llvm::MachineFunctionPass* make_accumulate_pass() { return new Accumulate; }

}  // namespace whet
