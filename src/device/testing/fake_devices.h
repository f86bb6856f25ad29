#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/rng.h"
#include "device/device.h"

namespace whet::testing {

/// A device that answers at once by a formula: `seconds` of a kernel, `model_seconds` of a compiled model's path. Runs
/// nothing: `check` gives what `outputs` says, or zeros.
class FormulaDevice : public Device {
 public:
  using Seconds = std::function<double(const KernelJob&)>;
  using Outputs = std::function<CheckReply(const CheckRequest&)>;

  explicit FormulaDevice(Seconds seconds, Outputs outputs = {}, std::string name = "formula");

  const DeviceInfo& info() const override { return info_; }
  MeasureReply measure(const MeasureRequest&) override;
  CheckReply check(const CheckRequest&) override;
  Result<std::vector<ModelTimes>> time_models(const std::vector<ModelLibrary>&, const ModelRun&) override;

  std::function<double(const std::string& path)> model_seconds = [](const std::string&) { return 1e-3; };
  int requests = 0;
  void set_jobs_at_once(int jobs) { info_.jobs_at_once = jobs; }

 private:
  DeviceInfo info_;
  Seconds seconds_;
  Outputs outputs_;
};

/// Counts how often its models were opened anew.
class ReopeningDevice : public FormulaDevice {
 public:
  using FormulaDevice::FormulaDevice;
  Result<std::vector<ModelTimes>> time_models(const std::vector<ModelLibrary>& files, const ModelRun& run) override {
    processes += files.empty();
    return FormulaDevice::time_models(files, run);
  }
  int processes = 0;
};

/// A device that is lost at request number `at` (from 0) and for `lost` requests; then it is back.
class DyingDevice : public Device {
 public:
  DyingDevice(Device& inner, int at, int lost = 1 << 30) : inner_(inner), at_(at), lost_(lost) {}

  const DeviceInfo& info() const override { return inner_.info(); }
  MeasureReply measure(const MeasureRequest&) override;
  CheckReply check(const CheckRequest&) override;
  Result<std::vector<ModelTimes>> time_models(const std::vector<ModelLibrary>&, const ModelRun&) override;

 private:
  bool is_lost() { return number_ >= at_ && number_ < at_ + lost_; }
  /// True where this request is lost.
  bool next() {
    const bool lost = is_lost();
    ++number_;
    return lost;
  }

  Device& inner_;
  int at_, lost_, number_ = 0;
};

/// False answers that a device may give.
enum class Lie {
  not_a_number,
  infinite,
  negative,
  zero,
  nanosecond,
  no_time,
  failed_with_times,
  unknown_code,
  truncated_for_nothing,
  wall_time,
  long_text,
};
constexpr int kLies = 11;

/// A device that lies about times, codes and outputs: with `lie`, or without one with any, every `every`th time by
/// chance.
class LyingDevice : public Device {
 public:
  LyingDevice(Device& inner, std::uint64_t seed, int every) : inner_(inner), rng_(seed), every_(every) {}
  LyingDevice(Device& inner, Lie lie) : inner_(inner), rng_(0), every_(1), lie_(static_cast<int>(lie)) {}

  const DeviceInfo& info() const override { return inner_.info(); }
  MeasureReply measure(const MeasureRequest&) override;
  CheckReply check(const CheckRequest&) override;
  Result<std::vector<ModelTimes>> time_models(const std::vector<ModelLibrary>&, const ModelRun&) override;

 private:
  bool tells_the_truth() { return rng_.below(every_) != 0; }

  Device& inner_;
  Rng rng_;
  int every_, lie_ = -1;
};

}  // namespace whet::testing
