#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "artifact/cpu/conditions.h"
#include "artifact/outcome_code.h"
#include "base/shared_text.h"
#include "target/precision.h"
#include "tensor/shape.h"
#include "trial/candidate.h"
#include "trial/placement.h"

namespace whet {

/// The name of the device whose times are the analytic estimate's.
inline constexpr std::string_view kEmulatedDevice = "emulated";

/// What tells several devices of one name apart while they measure: "pi", "pi #2", ... Records have the name alone.
std::string numbered_device(const std::string& name, int number);
/// The name alone.
std::string_view without_number(std::string_view device);

/// The times that a kernel can take [s]: no device starts one and sees its end in less, and nobody waits for longer (11 days).
/// What else a file or a device says is no time.
constexpr double kLeastKernelSeconds = 2e-9, kMostKernelSeconds = 1e6;
constexpr bool is_kernel_time(double seconds) {
  return seconds >= kLeastKernelSeconds && seconds <= kMostKernelSeconds;
}

/// What became of a trial.
struct Outcome {
  OutcomeCode code = OutcomeCode::unknown;
  std::string message;          ///< why, when code is not ok
  std::vector<double> seconds;  ///< each timed run [s]; empty unless ok
  bool truncated =
      false;  ///< ended early because it was clearly slower than the incumbent; `seconds` holds what was seen
  double build_seconds = 0, run_seconds = 0;  ///< wall time of the steps themselves, queueing excluded
  /// How much longer the schedule to beat took just then than when it won: machines that are shared change their speed,
  /// and `seconds` of different hours compare only by it.
  double pace = 1;
  std::string cache = "warm";    ///< where constants were before a timed run: network, warm, cold
  RunConditions conditions;      ///< of a machine elsewhere
  ProcessorPlacement placement;  ///< of this machine's processors, where it ran on several of them
  std::string device;            ///< the name of the machine that it ran on, or was to run on; with a number: see above
  int registers = 0;             ///< of a GPU's thread, by the assembler; 0: nothing assembled it where it was built
  std::int64_t spill_bytes = 0;  ///< of a thread's registers, by the assembler
  bool emulated() const { return without_number(device) == kEmulatedDevice; }

  bool ok() const { return code == OutcomeCode::ok; }
  /// The figure that ranks: the minimum of `seconds`, by `pace`; infinity when there is none, or that is no time.
  double best_seconds() const;
  /// Wall-clock time of the best run. It predicts latency. Rank by best_seconds(), which is divided by the pace.
  double clock_seconds() const { return best_seconds() * pace; }
};

/// One line of a record file: everything needed to understand, replay and reuse a measurement. Device, cache mode and pace
/// are the outcome's, which knows them.
struct Record {
  int version = 1;
  SharedText key;   ///< workload key of the task
  SharedText task;  ///< its readable name
  /// The shape of the tensor that the kernel wrote a part of; empty where it wrote a whole one.
  Shape within;
  SharedText inputs;  ///< hash of the user's tensors that it was measured with; "": they were made from the seed
  SharedText target;  ///< text form of the target
  Candidate candidate;
  std::string steps;      ///< the schedule's primitives, compact (schedule::to_text of Steps): what compile replays
  Numerics numerics;      ///< of these steps: whoever makes the record says so, and the reader of its line
  std::string tree_hash;  ///< hexadecimal hash of the loop tree
  int codegen = 0;        ///< version of the code generator
  Outcome outcome;
  std::uint64_t seed = 0;
  int round = 0;         ///< of its task in its run, from 1; 0: unknown
  double predicted = 0;  ///< share of the task's best speed that the model expected when it was proposed; 0: none did
  /// Where it was faster in the whole network than a schedule that is faster alone: the time of that schedule [s]; 0: none.
  double ranks_as = 0;
  SharedText whet;  ///< version of the program
  SharedText at;    ///< time in UTC (ISO 8601)

  /// The figure that ranks schedules of a task.
  double ranked_seconds() const { return ranks_as > 0 ? ranks_as : outcome.best_seconds(); }
};

}  // namespace whet
