#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "artifact/sized_model_plan.h"
#include "base/result.h"
#include "base/version.h"
#include "passes/fuse.h"
#include "ranges/ranges.h"
#include "schedule/steps.h"
#include "target/target.h"
#include "task/task.h"
#include "trial/candidate.h"
#include "trial/placement.h"

namespace whet {

class DesignSpace;
class PackedConstants;

/// A schedule that a measurement speaks for.
struct RecordedSchedule {
  std::string steps;   ///< text of schedule/steps.h
  double seconds = 0;  ///< measured; 0 where it says nothing about this target; of a range those expected
  std::string reason;  ///< what differs from what was asked for; "" for a record of exactly this target
  ProcessorPlacement placement = {};  ///< in which it was measured
  Candidate candidate = {};           ///< whose schedule it is; no sketch where that is not known
  SizeValues at = {};                 ///< of a task with sizes: those at which it was measured
};

/// What similar tasks, which were measured, say of one that was not.
struct TransferredSchedule {
  std::string steps;         ///< text of schedule/steps.h; "": the default schedule stays
  std::string from;          ///< the schedule and the nearest task that it was good for, for people
  double distance = 0;       ///< of that task
  double gain = 1;           ///< expected over the default schedule
  std::string why_not;       ///< why the default schedule stays; "" where `steps` are to be taken
  Candidate candidate = {};  ///< of `steps`
};

/// Where schedules come from, the best first. `recorded` is called by one thread, the others by several at once.
struct ScheduleSource {
  std::function<std::optional<RecordedSchedule>(const Task&)> recorded;
  std::function<Result<Steps>(const ComputeDag&)> fallback;
  /// Of a task without a record; nothing where there is nothing to learn. May be empty.
  std::function<std::optional<TransferredSchedule>(const Task&)> transferred = {};
  std::string base = {};  ///< what `transferred` knows tasks from; the library names it
  /// Other exact records of a task that took at most 3% longer than the recorded one, the fastest first. May be empty.
  std::function<std::vector<RecordedSchedule>(const Task&)> close = {};
  /// The space of the schedules. Empty: a schedule of one size is not fitted to another.
  std::function<DesignSpace(const ComputeDag&)> space = {};
};

struct CompileOptions {
  int jobs = 0;           ///< threads that compile; 0: one a processor
  bool emulated = false;  ///< for a GPU: the library also has code for the emulated device
  bool cubin = false;     ///< for a GPU: the library also has machine code, which opens without the driver's compiler
  /// For a library that is only timed: its large weights are made up, and need not travel to a device elsewhere. Its answers are wrong.
  bool made_weights = false;
  /// For a CPU: the output is a static archive that exports whet_NAME_v1 for this name of C. "": a shared library.
  std::string archive;
  std::string header;  ///< of an archive: also a C header at this path; "": none
  /// For a CPU: the weights are written to this file, and the library has none; "": they are in it.
  std::string weights_file;
  /// With `weights_file`: nothing else is written, and the weights are for this library, which has none; "": a library is written.
  std::string like;
  enum class Listing : std::uint8_t { none, instructions, intermediate };
  Listing listing = Listing::none;    ///< for a CPU: what of all kernels' code the report has
  PackedConstants* packed = nullptr;  ///< of other compiles of the same graph (compiler/packing.h); null: none
  std::string name;                   ///< the model's, for people; "": the graph's
  std::string compiler = "whet " + version();
  /// Kernels made, of all kernels: called after each, by several threads, one at a time; may be empty.
  std::function<void(int done, int all)> on_kernel;
};

/// What a task runs on in the compiled model.
struct TaskReport {
  enum class Source { record, near_record, transferred, default_schedule };
  std::string name;
  TaskLabel label = {};
  int weight = 0;
  Source source = Source::default_schedule;
  SizeValues at =
      {};  ///< of a range: the task's sizes at which its schedule was measured; empty: its largest ones, or none
  std::string note;  ///< why it is not an exact record; "" where it is, or where there is none
  std::optional<TransferredSchedule> transfer;  ///< what was good for similar tasks, where that was asked
  Precision precision =
      Precision::f32;            ///< of its products' operands, of f16 and bf16 tensors and weights too; f32 where none
  double predicted_seconds = 0;  ///< of one run; 0 where nothing was measured
  ProcessorPlacement placement;  ///< of the processors in that measurement
  double lower_seconds = 0, codegen_seconds = 0;
  std::int64_t object_bytes = 0;
};

/// What a library has for one choice of its sizes, or for boxes of them.
struct VariantReport {
  std::vector<std::int64_t> at;  ///< values of the sizes, the largest of a box
  std::vector<SizeBox> boxes;    ///< where sizes are ranges; one point: for these alone
  int kernels = 0;               ///< that no earlier variant has
  double predicted_seconds = 0;  ///< sum of weight x prediction; 0 unless every task has one
  std::int64_t arena_bytes = 0;
};

/// Of a library for several sizes, numbers that no line says otherwise are at the usual ones.
struct CompileReport {
  /// Kernels, in the order in which the model first needs them, from its largest size down; weights of all sizes.
  std::vector<TaskReport> tasks;
  std::vector<ModelSize> sizes;         ///< none where the library is for one
  std::vector<VariantReport> variants;  ///< one a choice of their values
  std::vector<int> steps;               ///< of the model, in order: the task whose kernel each runs; -1: it copies
  double predicted_seconds = 0;         ///< sum of weight x prediction; 0 unless every task has one
  double schedule_seconds = 0;          ///< wall time: tasks and their schedules,
  double kernel_seconds = 0;            ///< lowering and code generation, all threads together at once,
  double packing_seconds = 0;           ///< packing weights,
  double link_seconds = 0;              ///< writing and linking,
  double total_seconds = 0;             ///< everything
  std::string base;                     ///< ScheduleSource::base, where a task asked it; "" otherwise
  std::string plan;                     ///< of its kernels, which differ from the usual ones; "" where none does
  std::string plan_source;              ///< where that plan comes from; "" where there is none
  std::string ptx;                      ///< of a library for a GPU: the code of all kernels
  std::string listing;                  ///< as CompileOptions::listing asks
  std::int64_t arena_bytes = 0, peak_activation_bytes = 0;
  std::int64_t weights_bytes = 0, file_bytes = 0;  ///< of all sizes
};
/// "12 of 24 tasks from records, 12 by default schedules", with "; products of 9 tasks in tf32" where operands are rounded, and
/// "0 of 21 tasks from records, 12 transferred, 9 by default schedules · base cpu-512 2026.12 (41 networks)"; and "; timed at 78 ns there
/// and back", where the records know the placement of the processors
std::string summary(const CompileReport&);

/// Tasks whose records are of one placement of the processors.
struct TasksOfPlacement {
  ProcessorPlacement placement;
  std::int64_t tasks = 0;
};
/// Of the tasks that have one, in the order in which each placement comes first.
std::vector<TasksOfPlacement> tasks_by_placement(const CompileReport&);

/// Compiles the model into one shared library at `output` (include/whet/model.h opens it). Each distinct task is
/// compiled once; where a recorded or transferred schedule does not replay or lower, the report says why and the default one
/// is taken.
Result<CompileReport> compile_model(const FusedGraph&, const ScheduleSource&, const Target&, const std::string& output,
                                    const CompileOptions& = {});

/// Inputs by their names, and a dimension of each.
using InputDimensions = std::vector<std::pair<std::string, std::size_t>>;

/// A network that is read at several sizes.
struct SizedNetwork {
  std::vector<ModelSize> sizes;  ///< their inputs and dimensions are set when the library is written
  std::size_t usual = 0;         ///< the variant at which a session begins
  /// The network at the sizes of a variant (values_at). Called once each, from the last to the first.
  std::function<Result<FusedGraph>(std::size_t variant)> read;
  /// One list a size: the dimensions that are it. Empty: sizes have the names of dimensions ("x.0").
  std::vector<InputDimensions> dimensions = {};
};

/// Compiles a network into one library for all these sizes, each read, optimized and compiled as a model for one. Kernels
/// of equal tasks and equal weights are in it once. The largest size decides how weights are packed, the others follow
/// where that takes little time (compiler/share_constants.h). Errors are those of compile_model, with the sizes at which
/// they occur; a target whose libraries are for one size.
Result<CompileReport> compile_sizes(const SizedNetwork&, const ScheduleSource&, const Target&,
                                    const std::string& output, const CompileOptions& = {});

/// Sizes of a variant at which its tasks have kernels of their own.
struct VariantPiece {
  std::vector<SizeBox> boxes;  ///< parts of the variant's
  /// One list a task of the variant: what was measured at some of its sizes, the best for these first. Empty: there is none.
  std::vector<std::vector<RecordedSchedule>> schedules = {};
  /// Of the network: tasks of which nothing was measured have the schedules for these; empty: for the variant's largest ones.
  SizeValues at = {};
  /// Tasks have the kernels that they would have without records, whatever was measured.
  bool untuned = false;
};
/// One list a variant of a family, by their sizes: together they have all of its boxes.
using FamilyPieces = std::vector<std::vector<VariantPiece>>;
/// Each variant is one piece.
FamilyPieces whole_variants(const Family&);

/// Compiles a network for all sizes of ranges into one library: each piece of a variant of the family becomes a plan, whose kernels take
/// their sizes when they run. Schedules are those of the piece, else those of the task at one of its sizes (VariantPiece::at), made for all
/// sizes of the variant (schedule/steps_for_sizes.h). Weights are in it once where plans read them alike. A session begins at the least sizes.
///   family      read with concatenations in place that are so at all sizes, or none (FamilyOptions::in_place)
///   sizes       those of the family, as users have them: ranges, or the values that are listed
///   dimensions  as SizedNetwork has them
/// Errors are those of compile_model, with the sizes at which they occur; a target other than a CPU; a constant that is another one at
/// each size.
Result<CompileReport> compile_family(const Family& family, const std::vector<ModelSize>& sizes, const ScheduleSource&,
                                     const Target&, const std::string& output, const CompileOptions& = {},
                                     const std::vector<InputDimensions>& dimensions = {});
/// The same with several pieces a variant.
Result<CompileReport> compile_family(const Family& family, const FamilyPieces& pieces,
                                     const std::vector<ModelSize>& sizes, const ScheduleSource&, const Target&,
                                     const std::string& output, const CompileOptions& = {},
                                     const std::vector<InputDimensions>& dimensions = {});

}  // namespace whet
