#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "measure/build.h"

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

/// The zygote: a process forked before LLVM or any thread exists, which forks builders and runners on request. They die
/// with it, and it dies with this process, however that ends. Interrupts and requests to end that
/// reach the whole process group are left to this process.
class MeasureHost {
 public:
  enum class Kind : std::uint32_t { builder = 0, runner = 1 };

  /// Call it first thing in main, from the main thread, while there is no other. Builders call `build` on every
  /// request.
  static Result<MeasureHost> start(BuildFunction build = build_candidate);

  MeasureHost(MeasureHost&&) noexcept;
  MeasureHost& operator=(MeasureHost&&) noexcept;
  ~MeasureHost();  ///< ends the zygote and all workers

  Result<WorkerProcess> spawn(Kind);
  /// Waits for the process's end and closes its socket; with `kill_now` it is ended first, else it gets a moment to end
  /// by itself. `worker` names nothing afterwards.
  ProcessEnd end(WorkerProcess& worker, bool kill_now);

  pid_t zygote() const { return pid_; }

 private:
  MeasureHost(pid_t pid, int fd) : pid_(pid), fd_(fd) {}
  pid_t pid_ = -1;
  int fd_ = -1;
};

/// Bytes of resident memory of a process; 0 when it is gone.
std::int64_t resident_bytes(pid_t pid);

}  // namespace whet
