#include <llvm/ADT/StringExtras.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "codegen/generators.h"
#include "codegen/llvm/backend.h"

namespace whet {
namespace {

/// LLVM's disassembler and printer for one processor.
struct Disassembler {
  explicit Disassembler(const llvm::TargetMachine& machine)
      : cpu(*machine.getMCSubtargetInfo()),
        context(machine.getTargetTriple(), machine.getMCAsmInfo(), machine.getMCRegisterInfo(), &cpu),
        decoder(machine.getTarget().createMCDisassembler(cpu, context)),
        printer(machine.getTarget().createMCInstPrinter(machine.getTargetTriple(), 1, *machine.getMCAsmInfo(),
                                                        *machine.getMCInstrInfo(), *machine.getMCRegisterInfo())) {
    printer->setPrintBranchImmAsAddress(true);
  }

  /// One line an instruction: "offset: text", offsets hexadecimal.
  std::string run(llvm::ArrayRef<std::uint8_t> code) const {
    std::string out;
    llvm::raw_string_ostream stream(out);
    for (std::uint64_t at = 0; at < code.size();) {
      llvm::MCInst instruction;
      std::uint64_t size = 0;
      const auto status = decoder->getInstruction(instruction, size, code.slice(at), at, llvm::nulls());
      stream << llvm::format_hex_no_prefix(at, 1) << ":";
      if (status == llvm::MCDisassembler::Success) {
        printer->printInst(&instruction, at + size, "", cpu, stream);  // branches count from their end
      } else {
        stream << "\t(bad)";
      }
      stream << "\n";
      at += size == 0 ? 1 : size;
    }
    return out;
  }

  const llvm::MCSubtargetInfo& cpu;
  mutable llvm::MCContext context;
  std::unique_ptr<llvm::MCDisassembler> decoder;
  std::unique_ptr<llvm::MCInstPrinter> printer;
};

}  // namespace

Result<std::string> disassemble_for_cpu(const Kernel& kernel, const Target& target) {
  WHET_TRY(Backend * backend, Backend::get(target));
  const std::string& entry = kernel.launches.at(0).entry;
  const llvm::MemoryBufferRef bytes(kernel.code, entry);
  auto object = llvm::object::ObjectFile::createObjectFile(bytes);
  if (!object) return Error{"kernel `" + entry + "`: " + llvm::toString(object.takeError())};
  const Disassembler disassembler(backend->machine());
  std::string out;
  for (const llvm::object::SectionRef& section : (*object)->sections()) {
    if (!section.isText() || section.getSize() == 0) continue;
    auto contents = section.getContents();
    if (!contents) return Error{"kernel `" + entry + "`: " + llvm::toString(contents.takeError())};
    out += entry + ":\n" + disassembler.run(llvm::arrayRefFromStringRef(*contents));
  }
  return out;
}

}  // namespace whet
