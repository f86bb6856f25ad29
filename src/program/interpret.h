#pragma once

#include "base/result.h"
#include "program/program.h"
#include "tensor/tensor.h"

namespace whet {

struct InterpretOptions {
  int workers = 1;  ///< of a CPU's program

  /// Of a program of launches.
  enum class BlockOrder : std::uint8_t { forward, backward, shuffled } blocks = BlockOrder::forward;
  std::uint64_t seed = 0;  ///< the order of shuffled blocks, the order of threads, and when asynchronous copies land
};

/// Interprets a lowered program, statement by statement: the slow reference. `arguments` has the tensor of argument k
/// at place k, with the buffer's dtype and element count. Arguments that the program writes are written in place, so
/// they must not share their bytes. Accesses may be flat (one index) or have one index for each dimension. Arithmetic
/// of f32 is rounded to f32 after each operation (no contraction), f16 is computed as f32, and integers wrap around.
/// The values of sizes are read from argument 0; arguments whose extents change with them have as many elements as they then have.
/// A program whose first statement is a launch runs as launches (interpret_launch.h). Every other one runs as a CPU's:
/// `workers` take contiguous shares of parallel loops, one worker after another.
/// Errors: a size outside of its range; an access outside its buffer; a read of an element that nothing has written (except
/// arguments; padding gives NaN or -1); a store to an argument that is not `written`; a division by zero; a read of a value
/// that another worker has written since the last barrier, or a store of another value there; the errors of
/// `interpret_launches`.
Status interpret(const Program&, std::vector<Tensor>& arguments, const InterpretOptions& = {});

}  // namespace whet
