#pragma once

#include <memory>
#include <string>

#include "runner/messages.h"

namespace whet {

/// Runs kernels in this process and times them. A kernel that misbehaves takes the process with it: see `run_runner`.
/// Keeps inputs, threads and the pool of constants from one request to the next. Not for several threads at once.
class KernelBench {
 public:
  KernelBench();
  ~KernelBench();

  MeasureReply measure(const MeasureRequest&);
  CheckReply check(const CheckRequest&);

  /// Where `address` lies in the buffers of the kernel that runs now; async-signal-safe (see GuardedBuffer::describe).
  std::size_t describe(std::uintptr_t address, char* text, std::size_t capacity) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace whet
