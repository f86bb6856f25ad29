#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "artifact/cpu/object_loader.h"
#include "runner/cpu/team.h"
#include "runtime/memory.h"

namespace whet {

/// Offsets of arguments in one stretch of memory, as a model's arena has them: each begins on a cache line, at another
/// offset within its page.
struct Stretch {
  std::vector<std::size_t> offsets;
  std::size_t bytes = 0;  ///< of everything
};
Stretch line_up(const std::vector<std::size_t>& sizes);

/// Memory for a kernel's workspaces, kept from one kernel to the next.
class Workspaces {
 public:
  Workspaces() = default;
  Workspaces(const Workspaces&) = delete;
  ~Workspaces() { free_pages(&pages_); }

  /// Makes room for `workers` workers; false when there is no memory for `need(kernel, workers)` bytes.
  bool reserve(const Kernel&, std::uint32_t workers);
  static std::size_t need(const Kernel&, std::uint32_t workers);

  void* common() const { return pages_.data; }
  /// One a worker.
  std::vector<void*> own(const Kernel&, std::uint32_t workers) const;

 private:
  Pages pages_;
};

/// A loaded kernel with its buffers: runs it on the workers of a team. The team outlives the call.
class KernelCall {
 public:
  KernelCall(const LoadedKernel&, std::size_t arguments, const Team&);
  KernelCall(const KernelCall&) = delete;

  void set_workspaces(void* common, const std::vector<void*>& own);
  /// Called by every worker of the team; returns while others may still work.
  void run(std::uint32_t worker) {
    if (!parallel_ && worker != 0) return;
    if (const std::int32_t answer = entry_(&args_[worker]); answer != 0) answers_[worker] = answer;
  }
  /// A number other than 0 that the kernel gave, or 0.
  std::int32_t failure() const;
  const Team& team() const { return team_; }

  std::vector<void*> buffers;  ///< of the arguments; may be changed while no worker runs, but not in number

 private:
  whet_kernel entry_;
  bool parallel_;
  const Team& team_;
  std::vector<whet_kernel_args> args_;  ///< by worker
  std::vector<std::int32_t> answers_;
};

}  // namespace whet
