#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "compiler/compile.h"
#include "compiler/scratch.h"
#include "device/cpu/opened_model.h"
#include "device/remote/model_host.h"
#include "records/digest.h"
#include "workflow/fleet.h"
#include "workflow/model.h"
#include "workflow/options.h"
#include "workflow/rounding.h"

namespace whet {

/// The records that a model is compiled with.
struct RecordOptions {
  std::string file;  ///< written by `whet tune`; "": default schedules
  RoundingOptions rounding;
  bool emulated = false;  ///< records of the emulated device count too
  std::string gpu;        ///< as Records::prefer_device has it
  Tell tell;
};

/// A model that is to be run: a compiled library, or a file that is compiled first.
struct RunnableOptions {
  ModelOptions model;
  TargetOptions place;
  RecordOptions records;
  std::string device;  ///< as `parse_device_name` reads it
  FleetOptions fleet;
  std::string launches;  ///< a word of the help text; "": as usual
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

/// Compiles with the best records. What is strange about their file becomes notes.
Result<CompileReport> compile_with_records(const FusedGraph&, const RecordOptions&, const Target&,
                                           const std::string& output, const CompileOptions& = {});

/// Why records of a file serve no task of a network: a sentence for each reason, which begins with the file's name.
std::vector<std::string> strangers_of(const std::string& file, const Records&, const FusedGraph&, const Target&,
                                      TargetUse);

/// The model's inputs, filled from files and `--fill`.
Result<std::vector<Tensor>> inputs_of(const OpenedModel&, const ModelOptions&, const InputFiles&);

/// "2 threads on cores 0,1" and how that agrees with what it was tuned for; of a model for a GPU, the device and its code.
std::string threads_text(const OpenedModel&);
/// The processors of its workers; empty where they are not pinned.
std::vector<int> cores_of(const OpenedModel&);
/// "core 0", or "thread 0" where it is not pinned, of each worker.
std::vector<std::string> worker_names(const OpenedModel&);

}  // namespace whet
