#pragma once

#include "base/result.h"
#include "program/program.h"

namespace whet {

/// The virtual threads of a thread run interleaved: their loop goes to the innermost statements.
///   virtual v { A(v); for k { fill; B(v, k) } }  =>  unroll v { A(v) }; for k { fill; unroll v { B(v, k) } }
/// Private buffers that live inside the loop get a first dimension for it. Statements that fill block memory are not repeated. Loops of
/// vectors and of an intrinsic of a thread stay whole.
/// Needs:  loops bound to virtual threads have constant extents and iterations that are independent.
/// Leaves: no loop bound to virtual threads; the same values computed.
/// Errors: a statement that all threads run together depends on the virtual thread; tiles of virtual threads overlap in sums.
Result<Program> sink_virtual(Program);

}  // namespace whet
