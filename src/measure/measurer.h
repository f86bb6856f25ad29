#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "compute/dag.h"
#include "target/precision.h"
#include "target/target.h"
#include "trial/outcome.h"
#include "trial/task_inputs.h"

namespace whet {

/// What is measured: a task's computation on a target (whose `threads` run every kernel).
struct MeasureTask {
  std::string key;   ///< workload key: references and measurements are kept by it
  std::string name;  ///< for messages
  ComputeDag dag;
  Target target;
  Shape within = {};       ///< of the tensor that the only output is a part of; empty: the output is whole itself
  TaskInputs inputs = {};  ///< a user's tensors, which no device elsewhere has
  /// Printed once: every candidate's builder gets it. The DAG does not change afterwards.
  std::string dag_text = to_text(dag);
  std::uint64_t dag_hash = hash_bytes(dag_text);
};

/// A candidate's outcome, and what building it brought to light.
struct Measured {
  Outcome outcome;
  std::string tree_hash;  ///< hexadecimal; empty when the steps could not be replayed
};

/// A task for all sizes of ranges, whose kernels take their sizes when they run.
struct RangedTask {
  MeasureTask task;                  ///< its DAG has sizes
  std::vector<SizeValues> timed;     ///< the sizes at which kernels are timed
  std::vector<SizeValues> checked;   ///< those at which their answers are compared before
  std::function<bool()> ended = {};  ///< asked between sizes; what has not begun then is device_lost. May be empty
};

/// How a measurer measures, which all its outcomes carry.
struct MeasureSetting {
  std::string device;          ///< the name of the device that decides
  std::string cache = "warm";  ///< where constants are before a timed run: network, warm, cold
};

/// What candidates have to beat.
struct Incumbent {
  Incumbent(double seconds = 0, std::optional<std::string> steps = {}) : seconds(seconds), steps(std::move(steps)) {}
  double seconds;                    ///< [s]; 0: unknown
  std::optional<std::string> steps;  ///< the schedule that takes them; a measurer in jobs runs it beside the candidates
};

/// Builds and times candidates. It never fails as a whole because of a candidate: what becomes of one is its Outcome,
/// which carries the device and the cache mode. It knows no strategy, no pace of a machine, and writes no records.
class Measurer {
 public:
  virtual ~Measurer() = default;

  /// The same as long as the measurer lives.
  virtual MeasureSetting setting() const = 0;
  /// Whether it measures in jobs, because devices are several or far away: `measure` is then best asked for many
  /// candidates at once, and gives each outcome its pace by the incumbent's schedule. Where its seconds are unknown,
  /// the pace is against the deciding device now.
  virtual bool in_jobs() const { return false; }
  /// How many tasks are best tuned side by side. Where it is more than one, several threads may call.
  virtual int concurrent_tasks() const { return 1; }

  /// Builds candidates that are measured next, all cores at once. It only saves time. Another thread may `check` meanwhile.
  virtual void prepare(const MeasureTask&, const std::vector<std::string>& /*steps*/) {}

  /// One answer a candidate (the schedule's steps as text), in order. Those that a run shows to be clearly slower than
  /// the incumbent end early and are `truncated`. Code that was measured before is not
  /// measured again: its outcome is the first one's. Candidates not tried, because the user interrupted or no process
  /// or device could be had, have the code device_lost: they go back to the queue.
  virtual std::vector<Measured> measure(const MeasureTask&, const std::vector<std::string>& steps,
                                        const Incumbent&) = 0;
  /// Code of this task that was measured before is measured again: the machine's speed has changed.
  virtual void forget(const MeasureTask&) {}

  /// Compares the candidate's answers with the task's reference: ok, wrong_answer with the largest difference, or what
  /// else happened. Every would-be new best is checked before it counts. `seconds` stays empty.
  ///   precision  of the schedule: by how much its answers may be off
  virtual Outcome check(const MeasureTask&, const std::string& steps, Precision precision = Precision::f32) = 0;

  /// Times candidates in interleaved bursts, a b c a b c ..., which cancels drift of clock and placement. One outcome a
  /// candidate; its `seconds` are the best of each of the `bursts`.
  virtual std::vector<Outcome> compare(const MeasureTask&, const std::vector<std::string>& steps, int bursts = 2) = 0;
  /// The same in two bursts so short that they only tell apart what differs by some percent. Those that are clearly slower than one
  /// before them have one burst, which ends early, and are `truncated`.
  virtual std::vector<Measured> glance(const MeasureTask&, const std::vector<std::string>& steps) = 0;

  /// Builds each schedule once, for all sizes of the task, and times it at some of them, as `glance` does: a kernel that is clearly
  /// slower than another one there is `truncated`. One list a schedule, with an outcome for each of the timed sizes. Kernels that were not
  /// built, or whose answers are wrong at one of the sizes, have that outcome at all. What was not tried is device_lost.
  virtual std::vector<std::vector<Outcome>> ladder(const RangedTask& task, const std::vector<std::string>& steps) {
    const Outcome refused{OutcomeCode::rejected, "this measurer has no kernels for ranges"};
    return std::vector(steps.size(), std::vector(task.timed.size(), refused));
  }
};

}  // namespace whet
