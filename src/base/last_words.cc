#include "base/last_words.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>

namespace whet {
namespace {

constexpr const char* kNoMemory =
    "the system gives no more memory; free some, or raise the limit of this process (ulimit -v)";
const char* program_name = "";
int exit_code = 1;

/// Without memory of its own.
void say(const char* sentence) {
  for (const char* part : {program_name, ": ", sentence, "\n"})
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) return;
}

[[noreturn]] void leave() {
  if (const std::exception_ptr thrown = std::current_exception()) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
      say(kNoMemory);
      _exit(exit_code);
    } catch (const std::length_error&) {  // more than any memory
      say(kNoMemory);
      _exit(exit_code);
    } catch (const std::system_error& error) {  // a thread that could not start
      say(error.what());
      _exit(exit_code);
    } catch (const std::exception& error) {
      say(error.what());
    } catch (...) {
      say("an exception without a message");
    }
  }
  std::abort();
}

}  // namespace

Error no_memory() { return Error{kNoMemory}; }

void leave_with_a_sentence(const char* program, int code) {
  program_name = program;
  exit_code = code;
  std::set_terminate(leave);
}

}  // namespace whet
