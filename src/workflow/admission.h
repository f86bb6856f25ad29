#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/local/zygote.h"
#include "records/record_base.h"
#include "workflow/repro.h"

namespace whet {

/// An entry of a record base, measured again on the task that taught it.
struct ReplayedEntry {
  std::string task, sketch;     ///< for people
  double claimed = 1, now = 0;  ///< gain over the default schedule; 0: it has none
  /// Of a chain: its parts' times over its own, as the base claims and as kernels alone take now, each by the best schedule that the
  /// network taught; 0: it is none, or was not measured.
  double over_parts = 0, over_parts_now = 0;
  std::string out;  ///< why it goes out; "": it stays
};

/// What became of a network's entries.
struct Admission {
  std::vector<ReplayedEntry> entries;
  RecordBase admitted;       ///< the base without the entries that go out
  std::int64_t others = 0;   ///< entries of other networks and targets, which stay as they are
  bool interrupted = false;  ///< by the user; then nothing is admitted
  double seconds = 0;        ///< that it took
};

/// Sees a run while it goes on.
class AdmissionListener {
 public:
  virtual ~AdmissionListener() = default;
  virtual void started(const Prepared&, std::size_t /*entries*/) {}
  /// Those of a task of the base; `done` entries were measured so far.
  virtual void entries(const std::vector<ReplayedEntry>&, std::size_t /*done*/, std::size_t /*entries*/) {}
};

/// Replays each entry that `network` taught on this target, on its own task, alternately with the default schedule. It stays where its
/// gain is the one that it claims (why_not_admitted) and its answers are right, and that of a chain where the chain is no slower than its
/// parts, timed alternately (why_chain_not_admitted).
///   settings  `best` counts for nothing; entries that `seconds` leaves no time for go out
///   within    0.05: 5%
/// Errors: the network taught nothing on this target.
Result<Admission> repro_base(const ReproSettings&, const RecordBase&, const std::string& network, double within,
                             Workplace&, Zygote&, AdmissionListener&);

}  // namespace whet
