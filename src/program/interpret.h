#pragma once

#include "base/result.h"
#include "program/program.h"
#include "tensor/tensor.h"

namespace whet {

/// The slow truth of a lowered program: runs it statement by statement on `arguments` (the tensor of argument k at
/// place k, with the buffer's dtype and element count; those that the program writes are written in place, so they must
/// not share their bytes). Accesses may be flat (one index) or have one index a dimension. Arithmetic of f32 is rounded
/// to f32 after each operation (no contraction), f16 is computed as f32, integers wrap around. `workers` take
/// contiguous shares of parallel loops, one after another. An Error names what went wrong: an access outside its
/// buffer, a read of an element that nothing has written (of no argument; padding gives NaN or -1), a store to an
/// argument that is not `written`, a division by zero, a read of what another worker wrote since the last barrier.
Status interpret(const Program&, std::vector<Tensor>& arguments, int workers = 1);

}  // namespace whet
