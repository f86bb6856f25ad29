#pragma once

#include <string>

namespace whet {

// The scratch directories that this process has, for who ends it at once.

/// Gives a slot; -1 where all are taken.
int remember_scratch(const std::string& path);
void forget_scratch(int slot);
/// Removes them with the files in them. May be called by a handler of signals.
void remove_scratch();

}  // namespace whet
