#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/cpu/opened_model.h"
#include "device/job.h"
#include "device/spots.h"
#include "runner/messages.h"
#include "runner/wire.h"
#include "target/machine_rates.h"
#include "target/target.h"
#include "tensor/tensor.h"

namespace whet {

/// A device's description. It stays the same as long as the device lives.
struct DeviceInfo {
  std::string name;         ///< which machine: records of its outcomes carry it
  Target target;            ///< what its kernels are compiled for
  CodeFormat code{};        ///< what it runs
  int driver = 0;           ///< release of CUDA that a GPU's driver is of, like 13; 0: none, or unknown
  MachineRates rates;       ///< zeros where nobody has measured them
  std::int64_t memory = 0;  ///< bytes that kernels may use; 0: unknown
  std::uint16_t wire = kWireVersion;
  /// Candidates that are best measured by one job: 1 where asking costs nothing.
  int job_candidates = 1;
  /// Jobs that are best asked for at the same time, by as many threads: the device runs one after the other, and the next one
  /// is there when one ends.
  int jobs_at_once = 1;
  /// Whether its kernels run on the processors that build them: nothing is built while something is timed.
  bool beside_builders = true;
};

/// A compiled model. A path names one content as long as the device lives, which may keep the file open.
struct ModelLibrary {
  std::string path;
};

/// How compiled models are timed.
struct ModelRun {
  OpenModelOptions open;
  std::vector<Tensor>
      inputs;  ///< one an input of the models, in order; models for several sizes run at those of their shapes
  double burst_seconds = 0.1;  ///< of inferences in a row; at least one
  int bursts = 1;              ///< of each model
};

/// One burst of inferences. An inference before it, which is not timed, finds the caches as another model left them.
struct ModelBurst {
  double median = 0, fastest = 0;  ///< [s]
};
struct ModelTimes {
  std::vector<ModelBurst> bursts;
};

/// A machine that runs kernels. `jobs_at_once` requests at a time; several devices at once, each on threads of its own. A device
/// never fails as a whole: what becomes of a request is a value, and the next request finds a device that works, or is
/// told that it is lost. Callers do not trust the answers of `measure`, `run`, `check` and `check_spots`: see
/// device/sane_reply.h.
class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;
  /// Times a kernel. The code says what became of it; seconds are there exactly when the code is ok.
  virtual MeasureReply measure(const MeasureRequest&) = 0;
  /// Times the kernels of a job.
  virtual JobReply run(const MeasureJob& job) {
    return run_job(job, [this](const MeasureRequest& request) { return measure(request); });
  }
  /// Runs a kernel once and gives the bytes of its outputs.
  virtual CheckReply check(const CheckRequest&) = 0;
  /// Runs a kernel once and tells about its outputs.
  virtual SpotsReply check_spots(const SpotsRequest& request) {
    return look_at_spots(request, [this](const CheckRequest& check_request) { return check(check_request); });
  }
  /// Times compiled models alternately: a b c a b c ... One answer a model, in order. The device keeps these models open
  /// until the next call, which closes those that it does not name; call it with none to free the memory. An error names
  /// the model that cannot be opened or run, or says that the device is lost or that the user interrupted.
  virtual Result<std::vector<ModelTimes>> time_models(const std::vector<ModelLibrary>&, const ModelRun&) = 0;
};

}  // namespace whet
