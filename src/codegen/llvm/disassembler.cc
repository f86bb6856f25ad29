#include "codegen/llvm/disassembler.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
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

#include <algorithm>

#include "codegen/generators.h"
#include "codegen/llvm/backend.h"

namespace whet {

Disassembler::Disassembler(const llvm::TargetMachine& machine)
    : cpu_(*machine.getMCSubtargetInfo()),
      context_(machine.getTargetTriple(), machine.getMCAsmInfo(), machine.getMCRegisterInfo(), &cpu_),
      decoder_(machine.getTarget().createMCDisassembler(cpu_, context_)),
      printer_(machine.getTarget().createMCInstPrinter(machine.getTargetTriple(), 1, *machine.getMCAsmInfo(),
                                                       *machine.getMCInstrInfo(), *machine.getMCRegisterInfo())) {
  printer_->setPrintBranchImmAsAddress(true);
}

Disassembler::~Disassembler() = default;

std::vector<Decoded> Disassembler::decode(std::string_view code) const {
  const llvm::ArrayRef<std::uint8_t> bytes = llvm::arrayRefFromStringRef(code);
  std::vector<Decoded> list;
  for (std::uint64_t at = 0; at < bytes.size(); at = list.back().end) {
    Decoded next;
    std::uint64_t size = 0;
    const auto status = decoder_->getInstruction(next.instruction, size, bytes.slice(at), at, llvm::nulls());
    next.valid = status == llvm::MCDisassembler::Success;
    if (!next.valid) next.instruction.clear();
    next.at = at, next.end = at + std::max<std::uint64_t>(size, 1);
    list.push_back(std::move(next));
  }
  return list;
}

std::string Disassembler::text(const Decoded& decoded) const {
  if (!decoded.valid) return "(bad)";
  std::string out;
  llvm::raw_string_ostream stream(out);
  printer_->printInst(&decoded.instruction, decoded.end, "", cpu_, stream);  // branches count from their end
  return out.substr(out.find_first_not_of('\t'));
}

Result<std::vector<std::string_view>> text_sections(const Kernel& kernel) {
  const std::string& entry = kernel.launches.at(0).entry;
  const auto refused = [&](llvm::Error error) {
    return Error{"kernel `" + entry + "`: " + llvm::toString(std::move(error))};
  };
  auto object = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(kernel.code, entry));
  if (!object) return refused(object.takeError());
  std::vector<std::string_view> list;
  for (const llvm::object::SectionRef& section : (*object)->sections()) {
    if (!section.isText() || section.getSize() == 0) continue;
    auto contents = section.getContents();
    if (!contents) return refused(contents.takeError());
    list.push_back(*contents);
  }
  return list;
}

Result<std::string> disassemble_for_cpu(const Kernel& kernel, const Target& target) {
  WHET_TRY(Backend * backend, Backend::get(target));
  WHET_TRY(const std::vector<std::string_view> sections, text_sections(kernel));
  const Disassembler disassembler(backend->machine());
  std::string out;
  for (const std::string_view section : sections) {
    out += kernel.launches.at(0).entry + ":\n";
    for (const Decoded& decoded : disassembler.decode(section))
      out += llvm::utohexstr(decoded.at, true) + ":\t" + disassembler.text(decoded) + "\n";
  }
  return out;
}

}  // namespace whet
