#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/access.h"
#include "fleet/messages.h"
#include "fleet/names.h"

namespace whet {

/// A unit of a fleet as its agent last told.
struct FleetUnit {
  UnitName name;
  Presence presence;
  double age = 0;  ///< seconds since then, by the broker's clock
  /// A unit that its agent does not reach, or whose agent is silent.
  bool is_lost() const;
};

/// The queues of a key.
struct FleetQueueState {
  std::string key;
  struct OfPriority {
    std::uint64_t waiting = 0, taken = 0, redelivered = 0;
    std::vector<std::pair<std::string, std::uint64_t>> users;  ///< how many jobs are whose; none of users without
  } high, low;
  std::uint64_t jobs() const { return high.waiting + high.taken + low.waiting + low.taken; }
};

/// A tuner's end of a fleet: jobs go to a key, and any of its units answers each. For several threads. A broker that is away
/// is waited for.
class FleetQueue {
 public:
  virtual ~FleetQueue() = default;

  /// Runs a job on a unit of the key: returns with its answer. An error is the broker's refusal, `interrupted`, or that the
  /// broker was away for minutes.
  ///   job   as FleetJob has it, of less than kMostJobBytes
  virtual Result<FleetAnswer> run(const std::string& key, Priority, FleetJob::Kind, const std::string& job,
                                  const std::function<bool()>& interrupted) = 0;
  /// Gives the broker an encoded piece of a file, for an hour or until there is no room for it. Errors as those of `run`.
  virtual Status keep(const std::string& hash, std::uint32_t piece, const std::string& bytes,
                      const std::function<bool()>& interrupted) = 0;
  /// The units of a key, or of all keys for "", by key, agent and name.
  virtual Result<std::vector<FleetUnit>> units(const std::string& key) = 0;
  /// The queues of a key, or of all keys for "", by key.
  virtual Result<std::vector<FleetQueueState>> queues(const std::string& key) = 0;
};

/// What the jobs of this key wait for, where none of them is at work: "fleet:pi5 has no unit just now (pi5-02 is lost: ...); ...".
std::string what_is_awaited(const std::string& key, const std::vector<FleetUnit>&, const FleetQueueState&);

/// How long nothing is heard of any job before `waits` says what they wait for [s].
constexpr double kQuietSeconds = 10;

/// Joins the fleet as a tuner. Fails where this whet was built without libnats.
///   waits  hears a sentence where jobs wait for long, and one when they go on; by a thread of the queue's
Result<std::unique_ptr<FleetQueue>> join_fleet(const FleetAccess&, std::function<void(const std::string&)> waits = {});

}  // namespace whet
