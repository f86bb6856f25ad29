#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "cli/command.h"

namespace whet {
namespace {

std::atomic<bool> interrupted{false};

void on_requests_to_end(void (*handler)(int)) {
  for (int number : {SIGINT, SIGTERM}) signal(number, handler);
}

extern "C" void on_interrupt(int) {
  interrupted = true;
  on_requests_to_end(SIG_DFL);  // a second one ends the program at once: the records are safe
}

/// Before the record file is open there is nothing to wait for.
extern "C" void on_early_interrupt(int) {
  constexpr char kText[] = "Interrupted before anything was measured\n";
  (void)!::write(STDERR_FILENO, kText, sizeof kText - 1);
  _exit(kInterrupted);
}

}  // namespace

bool is_interrupted() { return interrupted; }
void end_at_interrupts() { on_requests_to_end(on_early_interrupt); }
void await_interrupts() { on_requests_to_end(on_interrupt); }

}  // namespace whet
