#include "measure/jobs.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "device/sane_reply.h"

namespace whet {
namespace {

/// Devices of this machine are asked for one kernel at a time, but share a champion.
constexpr int kMostOfLocalJob = 16;
/// Fewer candidates are not worth a champion beside them.
constexpr std::size_t kLeastOfJob = 8;
/// The most that a job is to take [s].
constexpr double kJobSeconds = 1;
/// Measuring a kernel takes about six times as long as the kernel.
constexpr double kRunsOfCandidate = 6;

/// The jobs of one call, and what becomes of their candidates.
class Jobs {
 public:
  Jobs(Units& units, const JobsOfTask& task)
      : units_(units),
        task_(task),
        outcomes_(task.candidates.size()),
        champions_(task.candidates.size()),
        lost_on_(task.candidates.size()) {
    for (Outcome& outcome : outcomes_) outcome = {OutcomeCode::device_lost, "no device measured it"};
  }

  std::vector<Outcome> run() {
    const std::size_t all = task_.candidates.size();
    const int taken = units_.device(task_.deciding).info().job_candidates;
    const std::size_t each = job_size(all, units_.size(), taken > 1 ? taken : kMostOfLocalJob, task_.champion_seconds);
    std::vector<Units::Work> works;
    for (std::size_t begin = 0; begin < all; begin += each) {
      std::vector<std::size_t> numbers;
      for (std::size_t i = begin; i < std::min(all, begin + each); ++i) numbers.push_back(i);
      works.emplace_back([this, numbers](Device& device, std::size_t unit) mutable {
        numbers = measure(numbers, device, unit);
        return numbers.empty();
      });
    }
    units_.anywhere(works);
    if (task_.champion) set_paces();
    return std::move(outcomes_);
  }

 private:
  MeasureReply sane(MeasureReply reply, const MeasureRequest& request, const Device& device, double incumbent) const {
    MeasureRequest as_run = request;
    if (task_.champion) as_run.policy.incumbent_seconds = incumbent;
    return sane_reply(std::move(reply), as_run, device.info(), task_.flops, task_.bytes);
  }

  /// Runs candidates as one job; gives those that were not tried.
  std::vector<std::size_t> measure(const std::vector<std::size_t>& numbers, Device& device, std::size_t unit) {
    MeasureJob job;
    job.champion = task_.champion.has_value();
    if (job.champion) job.requests.push_back(*task_.champion);
    const std::size_t first = job.requests.size();
    for (const std::size_t i : numbers) job.requests.push_back(task_.candidates[i]);
    JobReply reply = device.run(job);
    reply.replies.resize(job.replies(), {OutcomeCode::device_lost, "the device gave no answer"});

    double incumbent = 0, champion = 0;
    if (job.champion) {
      incumbent = incumbent_after(sane(std::move(reply.replies.front()), *task_.champion, device, 0));
      const double last = incumbent_after(sane(std::move(reply.replies.back()), *task_.champion, device, 0));
      champion = last > 0 ? (incumbent + last) / 2 : incumbent;
    }
    std::vector<std::size_t> left;
    std::int64_t tried = 0, failed = 0;
    std::string machine;
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      const std::size_t i = numbers[k];
      Outcome outcome = outcome_of(sane(std::move(reply.replies[first + k]), task_.candidates[i], device, incumbent),
                                   units_.name(unit));
      if (outcome.code == OutcomeCode::device_lost) {
        if (reply.on_the_table == static_cast<int>(first + k)) lost_on_[i].insert(unit);
        if (lost_on_[i].size() < 2) {
          outcomes_[i] = std::move(outcome);
          left.push_back(i);
          continue;
        }
        outcome = {OutcomeCode::crash, "two devices were lost while it ran: " + outcome.message};
        outcome.device = units_.name(unit);
      }
      if (!outcome.conditions.unit.empty()) machine = outcome.conditions.unit;
      ++tried;
      failed += !outcome.ok();
      champions_[i] = champion;
      outcomes_[i] = std::move(outcome);
    }
    units_.note(unit, [&](UnitReport& report) {
      if (!machine.empty()) report.unit = machine;
      ++report.jobs;
      report.candidates += tried;
      report.failed += failed;
    });
    if (champion > 0 && task_.champion_seconds > 0) units_.note_pace(unit, champion / task_.champion_seconds);
    return left;
  }

  /// Where nobody knows what the champion takes, the deciding unit's time now counts.
  void set_paces() {
    double seconds = task_.champion_seconds;
    if (seconds <= 0)
      units_.on(task_.deciding, [&](Device& device) {
        seconds = incumbent_after(sane(device.measure(*task_.champion), *task_.champion, device, 0));
      });
    for (std::size_t i = 0; i < outcomes_.size(); ++i)
      if (outcomes_[i].ok() && seconds > 0 && champions_[i] > 0) outcomes_[i].pace = champions_[i] / seconds;
  }

  Units& units_;
  const JobsOfTask& task_;
  std::vector<Outcome> outcomes_;
  std::vector<double> champions_;               ///< the champion's time beside each [s]; 0: unknown
  std::vector<std::set<std::size_t>> lost_on_;  ///< the units that were lost while each ran
};

}  // namespace

Outcome outcome_of(MeasureReply reply, const std::string& device) {
  Outcome o;
  o.code = reply.code;
  o.message = std::move(reply.message);
  o.seconds = std::move(reply.seconds);
  o.truncated = reply.truncated;
  o.run_seconds = reply.run_seconds;
  o.conditions = std::move(reply.conditions);
  o.device = device;
  return o;
}

std::size_t job_size(std::size_t candidates, std::size_t units, int most, double champion_seconds) {
  std::size_t size = std::max(kLeastOfJob, (candidates + units - 1) / units);
  if (champion_seconds > 0)
    size = std::min(size, static_cast<std::size_t>(std::max(1.0, kJobSeconds / (kRunsOfCandidate * champion_seconds))));
  return std::clamp(size, std::size_t{1}, static_cast<std::size_t>(std::max(1, most)));
}

std::vector<Outcome> measure_in_jobs(Units& units, const JobsOfTask& task) { return Jobs(units, task).run(); }

}  // namespace whet
