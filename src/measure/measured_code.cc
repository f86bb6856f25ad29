#include "measure/measured_code.h"

#include "base/hash.h"

namespace whet {
namespace {

/// A truncated time tells only "slower than that incumbent was"; a runner that was killed from outside tells nothing.
bool tells_of_the_code(const Outcome& outcome) {
  switch (outcome.code) {
    case OutcomeCode::device_lost:
    case OutcomeCode::out_of_memory:
    case OutcomeCode::unknown:
      return false;
    default:
      return !outcome.truncated;
  }
}

}  // namespace

std::uint64_t identity_of(const MeasureTask& task, MeasureRequest request) {
  request.policy.incumbent_seconds = 0;
  std::uint64_t h = hash_bytes(task.key);
  h = hash_combine(h, static_cast<std::uint64_t>(request.policy.cache));
  h = hash_combine(h, static_cast<std::uint64_t>(request.policy.network_bytes));
  return hash_combine(h, hash_bytes(encode(request.job)));
}

std::optional<Outcome> MeasuredCode::find(const MeasureTask& task, std::uint64_t identity,
                                          const ProcessorPlacement& here) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto& of_task = outcomes_[id_of(task)];
  const auto it = of_task.find(identity);
  if (it == of_task.end() || differ(it->second.placement, here)) return std::nullopt;
  ++found_;
  return it->second;
}

void MeasuredCode::add(const MeasureTask& task, std::uint64_t identity, const Outcome& outcome) {
  const std::lock_guard<std::mutex> lock(mutex_);
  run_seconds_ += outcome.run_seconds;
  if (!tells_of_the_code(outcome)) return;
  Outcome& kept = outcomes_[id_of(task)].emplace(identity, outcome).first->second;
  if (differ(kept.placement, outcome.placement)) kept = outcome;
}

void MeasuredCode::forget(const MeasureTask& task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  outcomes_.erase(id_of(task));
}

std::int64_t MeasuredCode::found() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return found_;
}

double MeasuredCode::run_seconds() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return run_seconds_;
}

}  // namespace whet
