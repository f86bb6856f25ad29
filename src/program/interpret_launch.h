#pragma once

#include "program/interpret.h"

namespace whet {

/// Interprets a program of launches. A block runs collectively: its threads run each statement together, before the next
/// one. A loop or branch that differs between threads runs for the participating threads only.
/// Block memory, local memory and registers begin unwritten in each block. Between two barriers of threads lies an
/// interval. Errors do not depend on the order in which threads of an interval, or blocks, happen to run:
///   read            of an element that an asynchronous copy is about to write; that another thread has written in the
///                   same interval; that nothing has written (except arguments;
///                   a buffer with gaps gives NaN or -1)
///   store           to an element of a copy under way, or to its source; to an element that another thread has written
///                   with other bits, or read, in the same interval. A copy's start counts as a store and as a read of
///                   its source, its landing (CopyGroup::wait) as a store of the interval in which the thread waits
///   barrier         that not all threads of the block reach
///   end of block    copies for which nobody has waited
///   between blocks  (also those of launches without a grid barrier in between): a read of what another block writes, and
///                   two blocks that write other bits to an element
///   cross           a store of another thread's value where a part of a warp takes part
///   and what `interpret` refuses. A message names both statements by their lines in the text of the program's body.
/// `arguments` fit the program's (as `interpret` checks).
Status interpret_launches(const Program&, std::vector<Tensor>& arguments, const InterpretOptions&);

}  // namespace whet
