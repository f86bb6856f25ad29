#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace whet {

/// A process that does our work: `fd` is our end of its socket.
struct WorkerProcess {
  pid_t pid = -1;
  int fd = -1;
  bool alive() const { return pid > 0; }
};

/// How a process ended.
struct ProcessEnd {
  bool by_signal = false;
  int number = 0;  ///< the signal, or the exit status
  /// "SIGSEGV", "exit status 3"
  std::string text() const;
};

/// What a forked process does. Give it static storage: the zygote gets its address.
struct Life {
  const char* name;  ///< of the process, 15 characters at most
  int (*run)(
      int fd);  ///< says hello (runner/hello.h), serves `fd` until its other end is closed, gives the exit status
  /// It runs foreign code, whose text nobody is to see: its standard output and errors are /dev/null.
  bool mute = false;
};

/// A process forked before LLVM or any thread exists, which forks others on request. They die with it, and it dies with
/// this process, however that ends. Interrupts and requests to end that reach the whole process group are left to this
/// process. Several threads may call it.
class Zygote {
 public:
  /// Call it first thing in main, from the main thread, while there is no other.
  static Result<Zygote> start();
  /// For a program that has threads already, or does not want to fork: starts a program that calls `serve_as_zygote`,
  /// from any thread. The program is of the same version as this one.
  ///   command  the program's path and its arguments
  static Result<Zygote> start_program(const std::vector<std::string>& command);

  Zygote(Zygote&&) noexcept;
  Zygote& operator=(Zygote&&) noexcept;
  ~Zygote();  ///< ends the zygote and all that it forked

  Result<WorkerProcess> spawn(const Life&);
  /// Waits for the process's end and closes its socket; with `kill_now` it is ended first, else it gets a moment to end
  /// alone. `worker` names nothing afterwards.
  ProcessEnd end(WorkerProcess& worker, bool kill_now);

  pid_t pid() const { return pid_; }

 private:
  Zygote(pid_t pid, int fd) : pid_(pid), fd_(fd), asking_(std::make_unique<std::mutex>()) {}
  pid_t pid_ = -1;
  int fd_ = -1;
  std::unique_ptr<std::mutex> asking_;  ///< one request at a time
};

/// A whole program as the zygote of another one, which started it by `start_program`: `fd` is its socket. Ends when the other
/// end is closed.
///   lives  what may be asked for, by their names
int serve_as_zygote(int fd, std::span<const Life* const> lives);

/// Bytes of resident memory of a process; 0 when it is gone.
std::int64_t resident_bytes(pid_t pid);
/// ThreadSanitizer has a thread of its own in each process.
#if defined(__SANITIZE_THREAD__)
constexpr int kSanitizerThreads = 1;
#elif defined(__has_feature)
constexpr int kSanitizerThreads = __has_feature(thread_sanitizer) ? 1 : 0;
#else
constexpr int kSanitizerThreads = 0;
#endif
/// Threads of a process; 0 when it is gone, or the system does not tell.
int threads_of(pid_t pid);

}  // namespace whet
