#pragma once

#include "base/result.h"

namespace whet {

/// What is said where the system gives no more memory.
Error no_memory();

/// From now on an exception that nobody catches, in any thread of this process and of its children, ends it. Where memory is
/// lacking, or what else the system gives, it ends with `code` and a sentence on stderr behind "program: "; a bug aborts as ever.
/// `program` must live as long as the process.
void leave_with_a_sentence(const char* program, int code);

}  // namespace whet
