#pragma once

#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCInst.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/kernel.h"
#include "base/result.h"

namespace llvm {
class MCDisassembler;
class MCInstPrinter;
class MCSubtargetInfo;
class TargetMachine;
}  // namespace llvm

namespace whet {

/// An instruction and its place.
struct Decoded {
  std::uint64_t at = 0, end = 0;  ///< bytes from the beginning of the code
  bool valid = false;             ///< else `instruction` is empty, and one byte was passed over or more
  llvm::MCInst instruction;
};

/// LLVM's disassembler and printer for one processor.
class Disassembler {
 public:
  /// `machine` must live as long.
  explicit Disassembler(const llvm::TargetMachine& machine);
  ~Disassembler();

  std::vector<Decoded> decode(std::string_view code) const;
  /// "vmovups zmm0, zmmword ptr [rsi]", with a tab behind the first word; branches name the place where they go.
  std::string text(const Decoded&) const;

 private:
  const llvm::MCSubtargetInfo& cpu_;
  llvm::MCContext context_;
  std::unique_ptr<llvm::MCDisassembler> decoder_;
  std::unique_ptr<llvm::MCInstPrinter> printer_;
};

/// The sections of a kernel's object file that hold instructions; they point into `kernel.code`.
/// Errors: the code is no object file.
Result<std::vector<std::string_view>> text_sections(const Kernel&);

}  // namespace whet
