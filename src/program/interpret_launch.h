#pragma once

#include "program/interpret.h"

namespace whet {

/// Interprets a program of launches. A block runs collectively: its threads run each statement together, before the next
/// one. A loop or branch that differs between threads runs for the participating threads only.
/// Block memory, local memory and registers begin unwritten in each block. An interval is the time between two barriers of
/// threads. Errors, which do not depend on the order in which threads of an interval, or blocks, run:
///   read            of an element that an asynchronous copy is about to write; that another thread has written in the
///                   same interval; that nothing has written (except arguments; a buffer with gaps gives NaN or -1)
///   store           to an element of a copy under way, or to its source; to an element that another thread has written
///                   with other bits, or read, in the same interval. The start of a copy counts as a store, and as a read
///                   of its source; its landing (CopyGroup::wait) as a store in the interval in which the thread waits
///   barrier         that not all threads of the block reach
///   end of block    with a copy for which no thread has waited
///   between blocks  (also those of launches without a grid barrier between them): a read of an element that another block
///                   writes; two blocks that write other bits to an element
///   cross           a store of another thread's value where only a part of the warp participates
///   and the errors of `interpret`. A message names both statements by their lines in the text of the program's body.
/// `arguments` fit the program's (as `interpret` checks).
Status interpret_launches(const Program&, std::vector<Tensor>& arguments, const InterpretOptions&);

}  // namespace whet
