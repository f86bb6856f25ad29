#pragma once

#include <sys/wait.h>
#include <unistd.h>

namespace whet::testing {

/// What `work` gives in a child of this process: a small number, or whether it holds. Negative where the child ended otherwise: by a signal,
/// by a sanitizer, or because it took a minute.
template <typename Work>
int in_a_child(Work work) {
  constexpr int kAnswers = 7;  // failures have other numbers
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(kAnswers + static_cast<int>(work()));
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -kAnswers;
  return WEXITSTATUS(status) - kAnswers;
}

}  // namespace whet::testing
