#pragma once

#include <span>
#include <string_view>

#include "artifact/kernel.h"
#include "target/target.h"

namespace whet {

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
