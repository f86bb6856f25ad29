#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "artifact/cpu/object_loader.h"
#include "artifact/emulated_block.h"
#include "artifact/kernel.h"
#include "base/result.h"

namespace whet {

/// In which order the blocks of a grid, and between two meetings the threads of a block, run. Right kernels give the same
/// results in every order.
enum class EmulatedOrder : std::uint8_t { forward, backward, shuffled };

struct EmulateOptions {
  EmulatedOrder order = EmulatedOrder::forward;
  std::uint64_t seed = 0;  ///< shuffles, and decides which asynchronous copies land at once and which when waited for
  int workers = 1;         ///< of the host; each runs blocks alone
  std::span<const std::uint32_t> blocks = {};  ///< of each launch, those that exist; empty: all
};

/// An emulated kernel (CodeFormat::emulated) in executable memory.
class EmulatedKernel {
 public:
  static Result<EmulatedKernel> load(const Kernel&);
  EmulatedKernel(EmulatedKernel&&) noexcept = default;
  EmulatedKernel& operator=(EmulatedKernel&&) = delete;
  ~EmulatedKernel();

  /// Runs a launch, the threads of each block as fibers. `arguments`: pointers to the kernel's arguments, behind them its
  /// workspace, 256-byte aligned as those of a device are.
  /// Block memory is NaN at first, and so is the target of a copy that has not landed.
  /// Errors: not all threads of a block come to a barrier, or not all of a warp to an exchange; a thread ends with copies
  /// that it never waited for.
  Status run(std::size_t launch, std::span<void* const> arguments, const EmulateOptions& = {}) const;
  /// All launches, one after the other.
  Status run(std::span<void* const> arguments, const EmulateOptions& = {}) const;

 private:
  EmulatedKernel() = default;
  std::vector<Launch> launches_;
  std::vector<LoadedObject> objects_;  ///< one a launch
};

}  // namespace whet
