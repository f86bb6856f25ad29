#pragma once

#include "artifact/kernel.h"
#include "target/target.h"

namespace whet {

/// The format of the code that is generated for a target.
constexpr CodeFormat code_format(TargetKind kind) {
  switch (kind) {
    case TargetKind::cpu:
      break;
  }
  return CodeFormat::elf_object;
}
inline CodeFormat code_format(const Target& target) { return code_format(target.kind); }

}  // namespace whet
