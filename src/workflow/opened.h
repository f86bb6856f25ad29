#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "compiler/compile.h"
#include "compiler/scratch.h"
#include "device/cpu/opened_model.h"
#include "device/remote/model_host.h"
#include "records/digest.h"
#include "workflow/base.h"
#include "workflow/fleet.h"
#include "workflow/model.h"
#include "workflow/options.h"
#include "workflow/rounding.h"
#include "workflow/tuning_sizes.h"

namespace whet {

/// The records that a model is compiled with.
struct RecordOptions {
  std::string file;  ///< written by `whet tune`; "": none
  BaseOptions base;  ///< for tasks without records
  RoundingOptions rounding;
  bool emulated = false;           ///< records of the emulated device count too
  bool any_inputs = false;         ///< records that were measured with other inputs count too
  std::string gpu;                 ///< as Records::prefer_device has it
  TuningSizeOptions tuning_sizes;  ///< of ranges: for which sizes schedules are chosen
  Tell tell;
};

/// A model that is to be run: a compiled library, or a file that is compiled first.
struct RunnableOptions {
  ModelOptions model;
  TargetOptions place;
  RecordOptions records;
  std::string device;  ///< as `parse_device_name` reads it
  FleetOptions fleet;
  std::string launches;      ///< a word of the help text; "": as usual
  std::string weights_file;  ///< of a library that has none; "": it has them
  bool no_pin = false, map_weights = false, allow_emulated = false;
  bool times_alone = false;  ///< as OpenModelOptions has it
  Tell tell;
};

/// The heading of the times of the emulated device.
inline constexpr const char* kEstimates = "Emulated: the times are estimates, no GPU was timed";

/// A model ready to run.
struct Runnable {
  OpenedModel model;
  std::optional<CompileReport> report;      ///< where it was compiled just now
  std::optional<ScratchDirectory> scratch;  ///< where its library then lies
  bool emulator = false;                    ///< it runs on a device elsewhere that an emulator runs
};

/// Where a model runs, and what it is compiled for.
struct RunPlace {
  TargetOnCores on;
  DeviceName device;                     ///< of a GPU
  std::shared_ptr<ModelHost> elsewhere;  ///< null: this machine
  bool emulator = false;                 ///< which an emulator runs
};
/// For a model that is compiled now: the device that is named, and its target where none is.
Result<RunPlace> choose_place(const RunnableOptions&);
/// Opens a library in its place.
Result<OpenedModel> open_in(const RunPlace&, const std::string& library, OpenModelOptions);

/// Opens a compiled library, or compiles the model to one and opens that, here or on a device elsewhere. Where neither an
/// option nor the machine decided the number of threads, a note names the reason.
Result<Runnable> open_runnable(const RunnableOptions&, const InputFiles&);

/// The device that `--device` names, for code of this target.
Result<DeviceName> device_for(const std::string& device, const Target&);

/// Compiles with the best records, and where there are none with what the base knows of similar tasks. What is strange about their
/// files becomes notes.
Result<CompileReport> compile_with_records(const FusedGraph&, const RecordOptions&, const Target&,
                                           const std::string& output, const CompileOptions& = {});

/// How a model with ranges is read at its sizes.
struct RangesReading {
  const Family* known = nullptr;  ///< it has been read, and is not again; null: it is read
  std::function<void(std::int64_t read, std::int64_t all)> told = {};  ///< now and then, and at the end; may be empty
};

/// The same of a model for several sizes, in one library; a session begins at the smallest. Where all are listed each choice is compiled
/// for itself; kernels of ranges take their sizes when they run, by the schedules that records promise most of over all sizes
/// (workflow/range_choice.h), and plans of records and chains of kernels are left out. Notes on records that serve no task are left out.
Result<CompileReport> compile_sizes_with_records(const ModelOptions&, const InputFiles&, const RecordOptions&,
                                                 const Target&, const std::string& output, const CompileOptions& = {},
                                                 const RangesReading& = {});

/// Gives a library for several sizes the shapes that `--shape` and the files of inputs say; without them it keeps its usual
/// ones. `--shape` is refused for other libraries.
Status choose_shapes(OpenedModel&, const ModelOptions&, const InputFiles&);
/// "x.0 = 4, n = 32": the sizes that are set; "" where there are none.
std::string sizes_text(const OpenedModel&);
/// The sizes of a library for several, as requests for it have them.
std::vector<WantedSize> wanted_sizes(const OpenedModel&);
/// The choices of sizes of a library for several, as set_sizes takes them; one without values where it is for one. Of ranges both ends
/// and the powers of two between, of several ranges with many both ends and the middle.
std::vector<std::vector<std::int64_t>> choices_of(const OpenedModel&);
/// At which a library is checked: all listed choices, of ranges both ends and some seeded sizes. Sizes that `entries` name, as `--sizes`
/// has it or as "n=all", have these values instead. Errors: a size or a value that the library has not; more than a million choices.
Result<std::vector<std::vector<std::int64_t>>> choices_to_check(const OpenedModel&, std::uint64_t seed,
                                                                const std::vector<std::string>& entries = {});

/// Why records of a file serve no task of a network: a sentence for each reason, which begins with the file's name.
std::vector<std::string> strangers_of(const std::string& file, const Records&, const FusedGraph&, const Target&,
                                      TargetUse);

/// The model's inputs, filled from files and `--fill`.
Result<std::vector<Tensor>> inputs_of(const OpenedModel&, const ModelOptions&, const InputFiles&);

/// "2 threads on cores 0,1" and how that agrees with what it was tuned for; of a model for a GPU, the device and its code.
std::string threads_text(const OpenedModel&);
/// The processors of its workers; empty where they are not pinned.
std::vector<int> cores_of(const OpenedModel&);
/// Where these lie now; not known of one processor, of threads that are not pinned, and elsewhere. A probe.
ProcessorPlacement placement_of(const OpenedModel&);
/// Record and network differ by more than a tenth: their placements are worth a line.
bool is_off_record(double seconds, double recorded);
/// "The processors are at 330 ns there and back now; 12 of 12 tasks from records; timed at 78 ns there and back"; "" where it is not known
std::string placement_line(const ProcessorPlacement&, std::string_view records);
/// "core 0", or "thread 0" where it is not pinned, of each worker.
std::vector<std::string> worker_names(const OpenedModel&);

}  // namespace whet
