#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/protocol/messages.h"
#include "device/remote/model_host.h"
#include "fleet/queue.h"
#include "fleet/tally.h"

namespace whet {

struct FleetDeviceOptions {
  std::shared_ptr<FleetQueue> queue;
  std::string key;
  Priority priority = Priority::high;
  double run_timeout = 10;       ///< seconds for one kernel
  bool beside_builders = false;  ///< whether some unit of the key is this machine
  double model_timeout = 600;    ///< seconds without an answer of a compiled model
  std::function<bool()> interrupted;
  /// Several devices of a key may share one.
  std::shared_ptr<FleetTally> tally = std::make_shared<FleetTally>();
};

/// The units of a key as a device: any of them takes a request, so that its name is "fleet:KEY". As many of these as there are
/// units keep all of them busy. The times of a job with a champion are of one unit. A request over which two units were lost
/// is a crash of its kernel; where the broker stays away, or refuses, it is `device_lost`.
class FleetDevice : public Device, public ModelHost {
 public:
  ///   unit    any unit of the key: all are of one kind
  ///   target  what kernels are compiled for
  FleetDevice(FleetDeviceOptions, const DeviceDescription& unit, const Target& target);

  const DeviceInfo& info() const override { return info_; }
  MeasureReply measure(const MeasureRequest&) override;
  JobReply run(const MeasureJob&) override;
  CheckReply check(const CheckRequest&) override;
  SpotsReply check_spots(const SpotsRequest&) override;
  /// All of them by one unit. None stays open.
  Result<std::vector<ModelTimes>> time_models(const std::vector<ModelLibrary>&, const ModelRun&) override;

  const DeviceDescription& description() const override { return unit_; }
  const std::string& address() const override { return address_; }
  /// One unit does the whole order. The broker gets the files that the unit turns out to lack.
  Result<std::vector<ModelAnswer>> run_models(const std::vector<ModelLibrary>&, const std::vector<Tensor>& inputs,
                                              ModelOrder order) override;

 private:
  /// What came of a job.
  struct Answers {
    std::vector<std::optional<SessionItem>> items;  ///< as many as the job's
    OutcomeCode code = OutcomeCode::device_lost;    ///< of requests without one, and why
    std::string why;
  };
  Answers ask(const SessionJob&);
  Status keep_file(const BlobSource&);
  Status keep_lacking(const FleetAnswer&, const std::vector<BlobSource>&, std::map<std::string, int>& kept);

  FleetDeviceOptions options_;
  std::string address_;     ///< "fleet:KEY"
  DeviceDescription unit_;  ///< of any unit, but by the fleet's name
  DeviceInfo info_;
  std::mutex models_;  ///< of `files_`
  ModelFiles files_;
  std::uint64_t most_bytes_;
};

}  // namespace whet
