#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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
  std::uint64_t seed =
      0;  ///< shuffles, and decides which groups of asynchronous copies land at once and which when waited for
  int workers = 1;                             ///< of the host; each runs blocks alone
  std::span<const std::uint32_t> blocks = {};  ///< of each launch, those that exist; empty: all
};

using EmulatedEntry = std::int32_t (*)(whet_block*);

/// One launch: what its blocks have in common.
struct EmulatedGrid {
  EmulatedEntry entry;
  void* const* arguments;  ///< the kernel's, behind them its workspace, 256-byte aligned as those of a device are
  std::uint32_t blocks, threads;
  std::int64_t block_memory;  ///< bytes
};

/// Runs a launch, the threads of each block as fibers.
/// Block memory is NaN at first, and so is the target of a copy that has not landed.
/// Errors: not all threads of a block come to a barrier, or not all of a warp to an exchange; a thread ends with copies
/// that it never waited for.
Status run_emulated(const EmulatedGrid&, const EmulateOptions& = {});

/// Emulated code (artifact/emulated_module.h) in executable memory. Several threads may run it.
class EmulatedCode {
 public:
  static Result<EmulatedCode> load(std::string_view module);
  EmulatedCode(EmulatedCode&&) noexcept = default;
  EmulatedCode& operator=(EmulatedCode&&) = delete;
  ~EmulatedCode();

  struct Entry {
    std::string name;
    double seconds;            ///< of a launch, by the estimate; 0: unknown
    std::uint32_t parameters;  ///< pointers
    EmulatedEntry function;
  };
  /// Null where there is none of this name. Valid as long as the code is.
  const Entry* find(std::string_view name) const;

 private:
  EmulatedCode() = default;
  std::vector<Entry> entries_;
  std::vector<LoadedObject> objects_;  ///< one an entry
};

/// An emulated kernel (CodeFormat::emulated), ready to run.
class EmulatedKernel {
 public:
  static Result<EmulatedKernel> load(const Kernel&);

  /// Runs a launch on the kernel's arguments, behind them its workspace.
  Status run(std::size_t launch, std::span<void* const> arguments, const EmulateOptions& = {}) const;
  /// All launches, one after the other.
  Status run(std::span<void* const> arguments, const EmulateOptions& = {}) const;

 private:
  EmulatedKernel(EmulatedCode code, std::vector<Launch> launches)
      : code_(std::move(code)), launches_(std::move(launches)) {}
  EmulatedCode code_;
  std::vector<Launch> launches_;
};

}  // namespace whet
