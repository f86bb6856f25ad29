#pragma once

#include "schedule/loop_tree.h"

namespace whet {

/// parallel, vectorize, unroll — says how a loop runs.
///   for i in 0..N { S(i) }  =>  parallel / vector / unroll i in 0..N { S(i) }
///   loop    serial; parallel: the outermost loop of a root, spatial; vectorized: innermost, over one digit, spatial or
///           rfactored; unrolled: at most kMaxUnroll iterations
///   errors  no such loop; already annotated; a condition above does not hold
struct Annotate {
  LoopId loop;
  LoopKind kind;
};
constexpr std::int64_t kMaxUnroll = 64;
constexpr std::int64_t kMaxVector = 256;
Status apply(LoopTree&, const Annotate&);

}  // namespace whet
