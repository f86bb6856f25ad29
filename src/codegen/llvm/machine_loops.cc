#include "codegen/llvm/machine_loops.h"

#include <llvm/MC/MCInstrAnalysis.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "codegen/generators.h"
#include "codegen/llvm/backend.h"
#include "codegen/llvm/disassembler.h"

namespace whet {
namespace {

/// What LLVM and the architecture know about instructions.
class Knowledge {
 public:
  explicit Knowledge(Backend& backend)
      : architecture_(backend.architecture()),
        instructions_(*backend.machine().getMCInstrInfo()),
        registers_(*backend.machine().getMCRegisterInfo()),
        analysis_(backend.machine().getTarget().createMCInstrAnalysis(&instructions_)) {}

  /// Where a branch goes.
  std::optional<std::uint64_t> branches_to(const Decoded& i) const {
    std::uint64_t to = 0;
    const bool known = i.valid && analysis_->isBranch(i.instruction) &&
                       analysis_->evaluateBranch(i.instruction, i.at, i.end - i.at, to);
    return known ? std::optional(to) : std::nullopt;
  }

  /// Copies the stack pointer into the frame pointer.
  bool makes_frame(const Decoded& i) const {
    // Two registers, or with them a distance and its shift.
    const unsigned operands = i.instruction.getNumOperands();
    const llvm::MCInstrDesc& known = instructions_.get(i.instruction.getOpcode());
    return (operands == 2 || (operands == 4 && !known.mayLoad() && !known.mayStore())) &&
           is(i.instruction.getOperand(0), architecture_.frame_pointer) &&
           is(i.instruction.getOperand(1), architecture_.stack_pointer);
  }

  bool names_vector(const Decoded& i) const {
    return std::any_of(i.instruction.begin(), i.instruction.end(), [&](const llvm::MCOperand& operand) {
      return operand.isReg() && operand.getReg() != 0 && architecture_.is_vector_register(name(operand));
    });
  }

  bool multiplies_and_adds(const Decoded& i) const {
    return architecture_.is_multiply_add(instructions_.getName(i.instruction.getOpcode()));
  }

  /// `framed`: the frame pointer points into the stack.
  bool touches_stack(const Decoded& i, bool framed) const {
    const auto operands = instructions_.get(i.instruction.getOpcode()).operands();
    const auto memory = std::find_if(operands.begin(), operands.end(), [](const llvm::MCOperandInfo& operand) {
      return operand.OperandType == llvm::MCOI::OPERAND_MEMORY;
    });
    if (memory == operands.end()) return loads_or_stores(i) && names_stack(i, framed);
    const llvm::MCOperand& base = i.instruction.getOperand(static_cast<unsigned>(memory - operands.begin()));
    return is(base, architecture_.stack_pointer) || (framed && is(base, architecture_.frame_pointer));
  }

 private:
  bool loads_or_stores(const Decoded& i) const {
    const llvm::MCInstrDesc& known = instructions_.get(i.instruction.getOpcode());
    return known.mayLoad() || known.mayStore();
  }
  /// Where LLVM does not mark the operand that is an address: it is the one that may be the stack pointer.
  bool names_stack(const Decoded& i, bool framed) const {
    return std::any_of(i.instruction.begin(), i.instruction.end(), [&](const llvm::MCOperand& operand) {
      return is(operand, architecture_.stack_pointer) || (framed && is(operand, architecture_.frame_pointer));
    });
  }
  std::string_view name(const llvm::MCOperand& operand) const { return registers_.getName(operand.getReg()); }
  bool is(const llvm::MCOperand& operand, std::string_view wanted) const {
    return operand.isReg() && name(operand) == wanted;
  }

  const Architecture& architecture_;
  const llvm::MCInstrInfo& instructions_;
  const llvm::MCRegisterInfo& registers_;
  std::unique_ptr<llvm::MCInstrAnalysis> analysis_;
};

/// From the header to the last branch back to it.
struct Span {
  std::uint64_t first, last;
};

/// The loops without another one inside, in the order of the code.
std::vector<Span> innermost_spans(const std::vector<Decoded>& code, const Knowledge& knowledge) {
  std::vector<Span> spans;  // one a header
  for (const Decoded& i : code) {
    const std::optional<std::uint64_t> to = knowledge.branches_to(i);
    if (!to || *to > i.at) continue;
    const auto same = std::find_if(spans.begin(), spans.end(), [&](const Span& s) { return s.first == *to; });
    if (same == spans.end())
      spans.push_back({*to, i.at});
    else
      same->last = i.at;
  }
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.first < b.first; });
  std::vector<Span> innermost;
  for (const Span& span : spans)
    if (std::none_of(spans.begin(), spans.end(),
                     [&](const Span& other) { return other.first > span.first && other.last <= span.last; }))
      innermost.push_back(span);
  return innermost;
}

}  // namespace

Result<std::vector<MachineLoop>> loops_of_code(std::string_view code, const Target& target) {
  WHET_TRY(Backend * backend, Backend::get(target));
  const Disassembler disassembler(backend->machine());
  const Knowledge knowledge(*backend);
  const std::vector<Decoded> list = disassembler.decode(code);
  // The frame pointer is a register like others unless the function's frame is reached through it.
  const bool framed = std::any_of(list.begin(), list.end(), [&](const Decoded& i) { return knowledge.makes_frame(i); });
  std::vector<MachineLoop> loops;
  for (const Span& span : innermost_spans(list, knowledge)) {
    MachineLoop loop;
    for (const Decoded& i : list) {
      if (i.at < span.first || i.at > span.last) continue;
      const std::string text = disassembler.text(i);
      loop.text += text + "\n";
      if (!knowledge.names_vector(i)) continue;
      if (knowledge.multiplies_and_adds(i)) ++loop.multiply_adds;
      if (knowledge.touches_stack(i, framed)) loop.spills.push_back(text);
    }
    loops.push_back(std::move(loop));
  }
  return loops;
}

Result<std::vector<MachineLoop>> innermost_loops_for_cpu(const Kernel& kernel, const Target& target) {
  WHET_TRY(const std::vector<std::string_view> sections, text_sections(kernel));
  std::vector<MachineLoop> loops;
  for (const std::string_view section : sections) {
    WHET_TRY(std::vector<MachineLoop> found, loops_of_code(section, target));
    std::move(found.begin(), found.end(), std::back_inserter(loops));
  }
  return loops;
}

}  // namespace whet
