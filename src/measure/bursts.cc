#include "measure/bursts.h"

#include <algorithm>
#include <cmath>

#include "base/arithmetic.h"
#include "device/sane_reply.h"
#include "measure/jobs.h"
#include "measure/kernel_job.h"

namespace whet {
namespace {

MeasureReply sane(MeasureReply reply, const MeasureRequest& request, const Device& device, const MeasureTask& task) {
  return sane_reply(std::move(reply), request, device.info(), flops(task.dag), bytes(task.dag));
}

/// The kernels of one comparison on one device.
class Bursts {
 public:
  Bursts(Device& device, const std::string& name, const MeasureTask& task, const BuildResults& built,
         const MeasureOptions& options, const BurstPlan& plan)
      : device_(device),
        name_(name),
        task_(task),
        built_(built),
        options_(options),
        plan_(plan),
        policy_(options.policy) {
    policy_.classic = false;
    policy_.guard = false;
    policy_.incumbent_seconds = 0;
    policy_.min_seconds = plan.seconds > 0 ? plan.seconds : options.burst_seconds;
    for (const auto& each : built) outcomes_.push_back({each->code, each->message});
  }

  std::vector<Outcome> run() {
    std::vector<std::size_t> turns;  // whose burst is next
    for (int burst = 0; burst < plan_.bursts; ++burst)
      for (std::size_t i = 0; i < built_.size(); ++i)
        if (outcomes_[i].ok()) turns.push_back(i);
    const auto most = static_cast<std::size_t>(device_.info().job_candidates);
    if (turns.size() > 1 && most > 1)
      run_in_jobs(turns, most);
    else
      for (const std::size_t i : turns)
        if (outcomes_[i].ok() && !outcomes_[i].truncated) add(i, measured(i));
    return std::move(outcomes_);
  }

 private:
  /// Whichever machine takes a job, runs all of it.
  void run_in_jobs(const std::vector<std::size_t>& turns, std::size_t most) {
    const std::size_t all = built_.size();
    const std::size_t rounds = std::max(most, all) / all * all;  // of all, where they fit
    for (std::size_t first = 0, end = 0; first < turns.size(); first = end) {
      end = std::min(turns.size(), first + std::min(most, rounds));
      std::vector<std::size_t> asked(turns.begin() + static_cast<std::ptrdiff_t>(first),
                                     turns.begin() + static_cast<std::ptrdiff_t>(end));
      std::erase_if(asked, [&](std::size_t i) { return !outcomes_[i].ok(); });
      if (asked.empty()) continue;
      MeasureJob job;
      for (const std::size_t i : asked) job.requests.push_back(request(i));
      JobReply reply = device_.run(job);
      reply.replies.resize(asked.size(), {OutcomeCode::device_lost, "the device gave no answer"});
      for (std::size_t k = 0; k < asked.size(); ++k)
        if (outcomes_[asked[k]].ok())
          add(asked[k], outcome_of(sane(std::move(reply.replies[k]), job.requests[k], device_, task_), name_));
    }
  }

  bool is_new(std::size_t i) const { return plan_.first_look && outcomes_[i].seconds.empty(); }
  MeasureRequest request(std::size_t i) const {
    MeasureRequest request = request_of(task_, *built_[i], options_, policy_);
    request.policy.guard = is_new(i) && options_.policy.guard;
    return request;
  }
  Outcome measured(std::size_t i) const {
    if (options_.is_interrupted()) return {OutcomeCode::device_lost, "interrupted before it was compared"};
    MeasureRequest asked = request(i);
    if (is_new(i)) asked.policy.incumbent_seconds = fastest();
    return measure_on(device_, name_, task_, asked);
  }
  /// Of the kernels so far; 0: none was timed.
  double fastest() const {
    double best = kInfinity;
    for (const Outcome& outcome : outcomes_) best = std::min(best, outcome.best_seconds());
    return std::isfinite(best) ? best : 0;
  }
  /// The best of a burst, behind those before.
  void add(std::size_t i, Outcome seen) {
    if (seen.ok()) seen.seconds = {seen.best_seconds()};
    add_build(*built_[i], seen);
    seen.run_seconds += outcomes_[i].run_seconds;
    seen.seconds.insert(seen.seconds.begin(), outcomes_[i].seconds.begin(), outcomes_[i].seconds.end());
    outcomes_[i] = std::move(seen);
  }

  Device& device_;
  const std::string& name_;
  const MeasureTask& task_;
  const BuildResults& built_;
  const MeasureOptions& options_;
  const BurstPlan& plan_;
  TimingPolicy policy_;
  std::vector<Outcome> outcomes_;
};

}  // namespace

Outcome measure_on(Device& device, const std::string& name, const MeasureTask& task, const MeasureRequest& request) {
  return outcome_of(sane(device.measure(request), request, device, task), name);
}

std::vector<Outcome> compare_on(Device& device, const std::string& name, const MeasureTask& task,
                                const BuildResults& built, const MeasureOptions& options, const BurstPlan& plan) {
  return Bursts(device, name, task, built, options, plan).run();
}

}  // namespace whet
