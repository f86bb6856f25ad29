#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "artifact/kernel.h"
#include "base/result.h"
#include "lower/lower.h"
#include "schedule/steps.h"
#include "target/target.h"

namespace whet {

struct BuildOptions {
  Shape within = {};      ///< as `lower` has it
  std::string name = {};  ///< of the kernel's symbols; "": as `lower` names it
  /// For a GPU: the kernel is also made for the emulated device, whose launches take these seconds; null: it is not.
  std::vector<double> (*emulated_seconds)(const LoopTree&, const Target&) = nullptr;
};

/// A schedule of a task as it runs.
struct Built {
  LoopTree tree;
  Lowered lowered;
  Kernel kernel;
  std::optional<Kernel> emulated = {};
  double replay_seconds = 0, lower_seconds = 0, codegen_seconds = 0;
};

enum class BuildPart : std::uint8_t { replay, lower, codegen };

/// How far a build came, also where it failed.
struct BuildProgress {
  BuildPart part = BuildPart::replay;  ///< that was begun last
  std::uint64_t tree_hash = 0;         ///< once `replay` is done
};

/// Replays, lowers and compiles a schedule: the one way from steps to code, for what is timed and for what is compiled.
/// The emulated device refuses what the target's own generator refuses.
///   Errors   those of `replay`, `lower` and `compile_kernel`; `progress` tells them apart
///   Threads  safe to call from several threads
Result<Built> build(const ComputeDag&, const Steps&, const Target&, const BuildOptions& = {},
                    BuildProgress* progress = nullptr);

}  // namespace whet
