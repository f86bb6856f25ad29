#include "fleet/tally.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "base/hash.h"
#include "device/job.h"

namespace whet {

void FleetTally::count(const FleetAnswer& answer, const SessionJob& job, const std::vector<const SessionItem*>& items) {
  const std::lock_guard<std::mutex> lock(mutex_);
  UnitShare& share = shares_[answer.unit];
  share.unit = answer.unit;
  ++share.jobs;
  share.losses += answer.kind == FleetAnswer::Kind::lost;
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    const auto* reply = items[i] ? std::get_if<MeasureReply>(&items[i]->reply) : nullptr;
    if (!reply) continue;
    const bool is_champion = job.champion && (i == 0 || i == job.requests.size());
    const double seconds = incumbent_after(*reply);
    if (!is_champion) {
      ++share.candidates;
      share.failed += reply->code != OutcomeCode::ok;
    } else if (seconds > 0) {
      Times& times = champions_[hash_bytes(std::get<MeasureRequest>(job.requests[0]).job.kernel.code)][answer.unit];
      times.sum += std::log(seconds);
      ++times.count;
    }
  }
}

std::vector<UnitShare> FleetTally::shares() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::map<std::string, Times> differences;
  for (const auto& [kernel, units] : champions_) {
    if (units.size() < 2) continue;  // it compares nothing
    double all = 0;
    for (const auto& [unit, times] : units) all += times.mean() / static_cast<double>(units.size());
    for (const auto& [unit, times] : units) {
      differences[unit].sum += (times.mean() - all) * times.count;
      differences[unit].count += times.count;
    }
  }
  std::vector<UnitShare> shares;
  for (const auto& [name, share] : shares_) {
    shares.push_back(share);
    if (const auto found = differences.find(name); found != differences.end())
      shares.back().factor = std::exp(found->second.mean());
  }
  return shares;
}

}  // namespace whet
