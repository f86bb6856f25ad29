#include "measure/builds.h"

#include <algorithm>

namespace whet {
namespace {

/// Built kernels kept for checks, confirmations and repeats.
constexpr std::size_t kKeptObjectBytes = std::size_t{32} << 20;

}  // namespace

void add_build(const BuildResult& built, Outcome& outcome) {
  outcome.build_seconds = built.seconds;
  outcome.registers = built.report.registers;
  outcome.spill_bytes = built.report.spill_bytes;
}

BuildResults Builds::of(const MeasureTask& task, const std::vector<std::string>& steps) {
  const std::string target = to_string(task.target);
  const std::string prefix = std::to_string(task.dag_hash) + '\n' + to_string(task.within) + '\n' + target + '\n';
  BuildResults out;
  std::vector<BuildRequest> missing;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    trim();
    for (const std::string& s : steps) {
      out.push_back(find(prefix + s));
      if (!out.back() && std::ranges::find(missing, s, &BuildRequest::steps) == missing.end())
        missing.push_back({task.dag_text, s, target, task.within, emulated_, driver_});
    }
  }
  std::vector<BuildResult> results = builders_.build(missing, interrupted_);
  const std::lock_guard<std::mutex> lock(mutex_);
  for (std::size_t i = 0; i < missing.size(); ++i) {
    seconds_ += results[i].seconds;
    const auto result = std::make_shared<const BuildResult>(std::move(results[i]));
    if (result->code != OutcomeCode::device_lost && results_.try_emplace(prefix + missing[i].steps, result).second)
      bytes_ += result->kernel.code.size();
    for (std::size_t k = 0; k < steps.size(); ++k)
      if (!out[k] && steps[k] == missing[i].steps) out[k] = result;
  }
  return out;
}

BuildResult Builds::naive(const MeasureTask& task) {
  return std::move(builders_.build({{task.dag_text, "", to_string(task.target)}})[0]);
}

double Builds::seconds() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return seconds_;
}

std::shared_ptr<const BuildResult> Builds::find(const std::string& key) const {
  const auto it = results_.find(key);
  return it == results_.end() ? nullptr : it->second;
}

/// Drops all at once.
void Builds::trim() {
  if (bytes_ <= kKeptObjectBytes) return;
  results_.clear();
  bytes_ = 0;
}

}  // namespace whet
