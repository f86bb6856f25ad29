#include "cli/interrupt.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "cli/command.h"
#include "compiler/scratch_paths.h"

namespace whet {
namespace {

/// With the work before and behind it, ^C is answered within a second.
constexpr suseconds_t kPatienceMicroseconds = 700'000;

std::atomic<bool> interrupted{false};
std::atomic<pid_t> owner{0};  ///< children inherit the handlers, and no scratch directory
char last_words[4096];
std::atomic<std::size_t> last_words_bytes{0};

void on_requests_to_end(void (*handler)(int)) {
  for (int number : {SIGINT, SIGTERM}) signal(number, handler);
}

/// What handlers may do alone.
extern "C" void end_now(int) {
  if (getpid() == owner) {
    remove_scratch();
    (void)!::write(STDERR_FILENO, last_words, last_words_bytes);
  }
  _exit(kInterrupted);
}

extern "C" void on_interrupt(int number) {
  if (interrupted.exchange(true)) end_now(number);
  if (number != SIGINT) return;  // nobody waits at a terminal
  const itimerval patience{{}, {0, kPatienceMicroseconds}};
  setitimer(ITIMER_REAL, &patience, nullptr);
}

void remember(const std::string& sentence) {
  owner = getpid();
  last_words_bytes = 0;
  const std::string line = "\n" + sentence + "\n";
  const std::size_t begin = isatty(STDERR_FILENO) ? 0 : 1;  // the terminal has echoed "^C"
  const std::size_t bytes = std::min(line.size() - begin, sizeof last_words);
  std::copy_n(line.begin() + static_cast<std::ptrdiff_t>(begin), bytes, last_words);
  last_words_bytes = bytes;
}

}  // namespace

bool is_interrupted() { return interrupted; }

void end_at_interrupts(const std::string& sentence) {
  remember(sentence);
  on_requests_to_end(end_now);
}

void end_at_interrupts() {
  remember("Interrupted");
  for (int number : {SIGINT, SIGTERM})
    if (signal(number, end_now) == SIG_IGN) signal(number, SIG_IGN);
}

void await_interrupts(const std::string& sentence) {
  remember(sentence);
  signal(SIGALRM, end_now);
  on_requests_to_end(on_interrupt);
}

}  // namespace whet
