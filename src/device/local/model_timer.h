#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/local/zygote.h"
#include "runner/wire.h"

namespace whet {

/// A process that opens compiled models and times them.
extern const Life kModelTimer;

/// Our end of a process that opens compiled models and times them, so that a model that crashes or hangs ends that
/// process alone. The process lives as long as it has models open.
class ModelTimer {
 public:
  /// When `interrupted` (may be empty) turns true, the run ends with an error before the next burst.
  ModelTimer(Zygote& zygote, std::function<bool()> interrupted)
      : zygote_(zygote), interrupted_(std::move(interrupted)) {}
  ~ModelTimer() { zygote_.end(process_, true); }
  ModelTimer(const ModelTimer&) = delete;

  /// As Device::time_models.
  Result<std::vector<ModelTimes>> time(const std::vector<ModelLibrary>&, const ModelRun&);

 private:
  /// Nothing where the process had died while it was idle, which is no fault of these models: a fresh one gets them.
  std::optional<Result<std::vector<ModelTimes>>> try_to_time(const std::string& order, std::size_t models, int bursts);
  Result<ReceiveResult> receive();
  Result<ModelBurst> burst_in(const ReceiveResult&);

  Zygote& zygote_;
  std::function<bool()> interrupted_;
  WorkerProcess process_;
};

}  // namespace whet
