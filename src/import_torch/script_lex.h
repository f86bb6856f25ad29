#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace whet::torch {

struct ScriptToken {
  enum class Kind : std::uint8_t { name, integer, number, text, symbol, line_end, indent, dedent, end };
  Kind kind = Kind::end;
  std::string text;  ///< of texts: without quotation marks, escapes replaced
  int line = 0;
};

/// The tokens of a source, with the changes of its indentation; the last one is `end`. `what` begins messages.
Result<std::vector<ScriptToken>> script_tokens(std::string_view text, const std::string& what);

}  // namespace whet::torch
