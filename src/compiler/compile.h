#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/version.h"
#include "passes/fuse.h"
#include "schedule/steps.h"
#include "target/target.h"
#include "task/task.h"

namespace whet {

/// A schedule that a measurement speaks for.
struct RecordedSchedule {
  std::string steps;   ///< text of schedule/steps.h
  double seconds = 0;  ///< measured; 0 where it says nothing about this target
  std::string reason;  ///< what differs from what was asked for; "" for a record of exactly this target
};

/// Where schedules come from. Called by one thread.
struct ScheduleSource {
  std::function<std::optional<RecordedSchedule>(const Task&)> recorded;
  std::function<Result<Steps>(const ComputeDag&)> fallback;
};

class PackedConstants;

struct CompileOptions {
  int jobs = 0;           ///< threads that compile; 0: one a processor
  bool emulated = false;  ///< for a GPU: the library also has code for the emulated device
  bool cubin = false;     ///< for a GPU: the library also has machine code, which opens without the driver's compiler
  /// For a library that is only timed: its large weights are made up, and need not travel to a device elsewhere. Its answers are wrong.
  bool made_weights = false;
  PackedConstants* packed = nullptr;  ///< of other compiles of the same graph (compiler/packing.h); null: none
  std::string name;                   ///< the model's, for people; "": the graph's
  std::string compiler = "whet " + version();
  /// Kernels made, of all kernels: called after each, by several threads, one at a time; may be empty.
  std::function<void(int done, int all)> on_kernel;
};

/// What a task runs on in the compiled model.
struct TaskReport {
  enum class Source { record, near_record, default_schedule };
  std::string name;
  int weight = 0;
  Source source = Source::default_schedule;
  std::string note;                      ///< why it is not an exact record; "" where it is, or where there is none
  Precision precision = Precision::f32;  ///< of its products' operands, of f16 tensors too; f32 where any stay so
  double predicted_seconds = 0;          ///< of one run; 0 where nothing was measured
  double lower_seconds = 0, codegen_seconds = 0;
  std::int64_t object_bytes = 0;
};

struct CompileReport {
  std::vector<TaskReport> tasks;  ///< kernels, in the order in which the model first needs them
  double predicted_seconds = 0;   ///< sum of weight x prediction; 0 unless every task has one
  double schedule_seconds = 0;    ///< wall time: tasks and their schedules,
  double kernel_seconds = 0;      ///< lowering and code generation, all threads together at once,
  double packing_seconds = 0;     ///< packing weights,
  double link_seconds = 0;        ///< writing and linking,
  double total_seconds = 0;       ///< everything
  std::string plan;               ///< of its kernels, which differ from the usual ones; "" where none does
  std::string plan_source;        ///< where that plan comes from; "" where there is none
  std::string ptx;                ///< of a library for a GPU: the code of all kernels
  std::int64_t arena_bytes = 0, weights_bytes = 0, peak_activation_bytes = 0, file_bytes = 0;
};
/// "12 of 24 tasks from records, 12 by default schedules", and "; products of 9 tasks in tf32" where operands are rounded
std::string summary(const CompileReport&);

/// Compiles the model into one shared library at `output` (include/whet/model.h opens it). Each distinct task is
/// compiled once; where a recorded schedule does not replay or lower, the report says why and the default one is taken.
Result<CompileReport> compile_model(const FusedGraph&, const ScheduleSource&, const Target&, const std::string& output,
                                    const CompileOptions& = {});

}  // namespace whet
