#include "artifact/code_format.h"

namespace whet {

CodeFormat code_format(const Target& target) {
  const TargetCode* row = row_of(target_codes(), target);
  WHET_CHECK(row != nullptr, "no format of code for the target's kind");
  return row->format;
}

}  // namespace whet
