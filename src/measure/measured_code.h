#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "measure/kernel_job.h"

namespace whet {

/// Of a request: the same code on the same data under the same policy takes the same time.
std::uint64_t identity_of(const MeasureTask&, MeasureRequest);

/// What became of the code that ran, so that equal code is measured once. For several threads.
class MeasuredCode {
 public:
  /// Of code that ran before, in no other placement than this; nothing where none did.
  std::optional<Outcome> find(const MeasureTask&, std::uint64_t identity, const ProcessorPlacement& = {});
  /// Keeps an outcome that tells of the code, and counts its seconds.
  void add(const MeasureTask&, std::uint64_t identity, const Outcome&);
  /// All of a task.
  void forget(const MeasureTask&);

  /// How often `find` found something.
  std::int64_t found() const;
  /// Of all outcomes.
  double run_seconds() const;

 private:
  mutable std::mutex mutex_;                                                              ///< of all below
  std::unordered_map<std::string, std::unordered_map<std::uint64_t, Outcome>> outcomes_;  ///< by task, then by code
  std::int64_t found_ = 0;
  double run_seconds_ = 0;
};

}  // namespace whet
