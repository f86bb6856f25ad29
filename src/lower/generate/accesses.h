#pragma once

// Internal to generation: expressions over an op's axes become expressions over digit variables and buffers.

#include "lower/generate/storage.h"

namespace whet {

/// The index into the buffer of the tensor's element at `index`.
std::vector<Expr> place_in(const LoopTree&, const Stored&, const std::vector<Expr>& index);

/// The load of `reader` from the buffer that holds the tensor for this reader.
Expr lowered_load(const LoopTree&, const Storage&, OpId reader, const Load&, DType);

/// An expression over the op's axes and the DAG's tensors as one over digit variables and buffers.
Expr body_over_digits(const LoopTree&, const Storage&, OpId op, const Expr& body);

}  // namespace whet
