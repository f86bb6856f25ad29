#pragma once

namespace whet {

/// Whether ^C came, or what `kill`, `timeout` and service managers send, since `await_interrupts`.
bool is_interrupted();
/// From now on an interrupt ends the program at once with a sentence: nothing was measured yet.
void end_at_interrupts();
/// From now on the first interrupt is seen by `is_interrupted`; a second one ends the program at once.
void await_interrupts();

}  // namespace whet
