#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/device.h"
#include "measure/builder_pool.h"
#include "measure/measurer.h"

namespace whet {

/// One result a schedule; none is null.
using BuildResults = std::vector<std::shared_ptr<const BuildResult>>;

/// What building took and found, written into an outcome.
void add_build(const BuildResult&, Outcome&);

/// Builders that remember what they built, until its objects take too much memory. For several threads: what two ask for at
/// the same time is built for each.
class Builds {
 public:
  ///   device       its kind of code is made
  ///   interrupted  as BuilderPool::build has it
  Builds(BuilderPool& builders, const DeviceInfo& device, std::function<bool()> interrupted)
      : builders_(builders),
        emulated_(device.code == CodeFormat::emulated),
        driver_(device.driver),
        interrupted_(std::move(interrupted)) {}

  /// One result for each of `steps`. What no builder could be had for is asked for again the next time.
  BuildResults of(const MeasureTask&, const std::vector<std::string>& steps);
  /// The naive schedule as the target's own code; nothing is remembered.
  BuildResult naive(const MeasureTask&);

  int builders() const { return builders_.size(); }
  std::int64_t builders_started() const { return builders_.started(); }
  /// In builders, of all results.
  double seconds() const;

 private:
  std::shared_ptr<const BuildResult> find(const std::string& key) const;
  void trim();
  void give_inputs(const MeasureTask&, BuildResult&);
  using Contents = std::shared_ptr<const std::string>;  ///< of a packed constant of integers; else null
  std::vector<Contents> packed_contents(const MeasureTask&, const BuildResult&);

  BuilderPool& builders_;
  const bool emulated_;
  const int driver_;
  const std::function<bool()> interrupted_;
  mutable std::mutex mutex_;  ///< of all below
  std::unordered_map<std::string, std::shared_ptr<const BuildResult>> results_;
  std::unordered_map<std::string, std::vector<Contents>> packed_;  ///< by the packing's text and the hash of the inputs
  std::size_t bytes_ = 0;                                          ///< of code and of contents
  double seconds_ = 0;
};

}  // namespace whet
