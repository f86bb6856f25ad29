#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/build.h"
#include "runner/cpu/kernel_call.h"
#include "runner/cpu/team.h"
#include "runner/messages.h"
#include "runtime/memory.h"

namespace whet {

/// Makes a team with a worker on each of the cpus.
Status make_team(Team& team, const std::vector<int>& cpus);

/// A compiled schedule: what is kept of each candidate.
struct CompiledKernel {
  ComputeDag dag;  ///< what it computes
  Built built;
  std::shared_ptr<LoadedKernel> loaded;
};
Result<CompiledKernel> compile_schedule(const ComputeDag&, const Steps&, const Target&);

/// A kernel with memory of its own to work on.
class PlacedKernel {
 public:
  /// `inputs`: contents of the DAG's placeholders. Packed constants get contents of the same kind, or with `right`
  /// those that the packing computes of the placeholders' (slow). `copies`: the number of copies of the constants; each
  /// run works on the next copy.
  static Result<std::unique_ptr<PlacedKernel>> make(const CompiledKernel&, const std::vector<ArgumentSpec>& inputs,
                                                    const Team&, bool right, std::size_t copies);
  ~PlacedKernel();
  PlacedKernel(const PlacedKernel&) = delete;

  /// Before a run, by one worker.
  void next();
  /// By every worker of the team; returns while others may still work.
  void run(std::uint32_t worker) { call_.run(worker); }
  /// A number other than 0 that the kernel gave since it was placed.
  std::int32_t failure() const { return call_.failure(); }
  /// Contents of the DAG's outputs.
  std::vector<std::string> outputs() const;
  std::size_t constant_bytes() const { return constant_bytes_; }

 private:
  PlacedKernel(const CompiledKernel& compiled, const Team& team);
  Status place_arguments(const std::vector<ArgumentSpec>& inputs, bool right, std::size_t copies);
  Status place_workspaces();

  const CompiledKernel& compiled_;
  KernelCall call_;
  Pages arena_;
  Workspaces workspaces_;
  std::vector<std::vector<void*>> buffers_;  ///< by copy of the constants
  std::size_t at_ = 0, constant_bytes_ = 0;
};

/// Runs the kernels one after the other, again and again: the median time of a round [s]; one round for no seconds.
/// Stops after the first round that takes longer than `hopeless` (infinite then).
double burst(const Team&, const std::vector<PlacedKernel*>&, double seconds, double hopeless);

}  // namespace whet
