#pragma once

#include <unordered_map>
#include <vector>

#include "codegen/cpu/analysis.h"

namespace whet {

/// Products of vectors of bytes, u8 by i8, that stores of one run add to the same sums in registers: the taps of a depthwise
/// convolution. One instruction multiplies and adds up several of them.
struct ByteSum {
  std::vector<ExprRef> x, w;  ///< the loads of u8, of i8
  const Store* last = nullptr;
};
struct ByteSums {
  std::vector<ByteSum> all;
  std::unordered_map<const Store*, std::size_t> of;  ///< the sum that a store is a part of
};

/// The sums of stores that run one after the other, of vectors of `lanes`, at most `most` products each. Their inputs are as
/// far apart as the first two of all: those of a column of taps, which neighbouring pixels share.
ByteSums find_byte_sums(const std::vector<const Store*>& run, Analysis&, const Program&, int lanes, std::size_t most);

}  // namespace whet
