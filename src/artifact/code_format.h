#pragma once

#include <span>
#include <string_view>

#include "artifact/kernel.h"
#include "target/target.h"

namespace whet {

/// A format of code, by its name.
struct CodeFormatRow {
  CodeFormat format;
  const char* name;
  int codegen_version;  ///< see codegen_version
};
/// One row a format.
std::span<const CodeFormatRow> code_formats();

/// The format of the code that is generated for a kind of target.
struct TargetCode {
  std::string_view kind;
  CodeFormat format;
};
/// One row a kind of target.
std::span<const TargetCode> target_codes();

/// The format of the code that is generated for a target. Needs: a row for its kind.
CodeFormat code_format(const Target&);

}  // namespace whet
