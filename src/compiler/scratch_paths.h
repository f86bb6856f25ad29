#pragma once

#include <string>

namespace whet {

// The scratch directories that this process has, for who ends it at once.

/// Takes a slot before its directory is made, by a thread that holds signals back; -1 where all are taken.
int begin_scratch();
/// The directory is there.
void remember_scratch(int slot, const std::string& path);
void forget_scratch(int slot);
/// Removes them with the files in them, those too that are just being made. The process then ends: threads that would
/// make another wait for that. May be called by a handler of signals.
void remove_scratch();

}  // namespace whet
