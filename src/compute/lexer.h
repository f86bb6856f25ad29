#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace whet {

/// One word of the DAG notation.
struct DagToken {
  /// word: a plain name; quoted: a name in quotes; number: digits with their suffix; sign: an operator or
  /// bracket; comment: everything after #; end: the end of the line.
  enum class Kind { word, quoted, number, sign, comment, end } kind = Kind::end;
  std::string text;
  std::size_t column = 0;  ///< counted from 1
};

/// The tokens of one line; the last is `end`.
Result<std::vector<DagToken>> tokenize_dag(std::string_view line);

}  // namespace whet
