#pragma once

#include <string>

namespace whet {

// ^C, and what `kill`, `timeout` and service managers send. A program that ends at once has the exit code 130, and leaves no
// scratch directory.

/// From now on an interrupt ends the program at once with a sentence.
void end_at_interrupts(const std::string& sentence);
/// The same for commands that wait for nothing, unless whoever started the program ignores ^C.
void end_at_interrupts();
/// From now on the first interrupt is seen by `is_interrupted`. A second one ends the program at once with the sentence; so
/// does ^C that `is_interrupted` has not ended in time.
void await_interrupts(const std::string& sentence);
/// Whether one came since `await_interrupts`.
bool is_interrupted();

}  // namespace whet
