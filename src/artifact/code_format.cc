#include "artifact/code_format.h"

#include "base/check.h"

namespace whet {
namespace {

const CodeFormatRow* row_of(CodeFormat format) {
  for (const CodeFormatRow& row : code_formats())
    if (row.format == format) return &row;
  return nullptr;
}

const CodeFormatRow& known_row_of(CodeFormat format) {
  const CodeFormatRow* row = row_of(format);
  WHET_CHECK(row != nullptr, "a format of code without a row");
  return *row;
}

}  // namespace

bool is_code_format(std::uint8_t number) { return row_of(static_cast<CodeFormat>(number)) != nullptr; }

const char* name_of(CodeFormat format) { return known_row_of(format).name; }

int codegen_version(CodeFormat format) { return known_row_of(format).codegen_version; }

CodeFormat code_format(const Target& target) {
  const TargetCode* row = row_of(target_codes(), target);
  WHET_CHECK(row != nullptr, "no format of code for the target's kind");
  return row->format;
}

}  // namespace whet
