#pragma once

#include "base/result.h"
#include "program/program.h"
#include "tensor/tensor.h"

namespace whet {

/// Interprets a lowered program, statement by statement: the slow reference. `arguments` has the tensor of argument k
/// at place k, with the buffer's dtype and element count. Arguments that the program writes are written in place, so
/// they must not share their bytes. Accesses may be flat (one index) or have one index for each dimension. Arithmetic
/// of f32 is rounded to f32 after each operation (no contraction), f16 is computed as f32, and integers wrap around.
/// `workers` take contiguous shares of parallel loops, one worker after another.
/// Errors: an access outside its buffer; a read of an element that nothing has written (except arguments; padding gives
/// NaN or -1); a store to an argument that is not `written`; a division by zero; a read of a value that another worker
/// has written since the last barrier.
Status interpret(const Program&, std::vector<Tensor>& arguments, int workers = 1);

}  // namespace whet
