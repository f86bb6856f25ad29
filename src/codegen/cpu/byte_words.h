#pragma once

#include <unordered_map>
#include <vector>

#include "codegen/cpu/analysis.h"

namespace whet {

/// Vectors of bytes that four stores of one run write to every fourth byte, one to the first of each four, one to the second and
/// so on: together they write whole words.
struct ByteWord {
  Linear first;  ///< the index of the first byte
  int lanes = 1;
  const Store* last = nullptr;  ///< behind which all four are known
};
struct ByteWords {
  struct Part {
    std::size_t word = 0;
    int byte = 0;
  };
  std::vector<ByteWord> all;
  std::unordered_map<const Store*, Part> of;
};

/// The words of stores that run one after the other. What the run reads of their buffer, or writes to it in between where that is
/// not known to be another place, leaves them bytes.
ByteWords find_byte_words(const std::vector<const Store*>& run, Analysis&, const Program&);

}  // namespace whet
