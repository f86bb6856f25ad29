#include "measure/builder_pool.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>

#include "base/parallel.h"
#include "runner/wire.h"

namespace whet {
namespace {

constexpr const char* kNonsense = "the builder's answer makes no sense";
constexpr int kTickMilliseconds = 20;
/// How often a request is handed to a builder that had died before.
constexpr int kAttempts = 2;
/// What is being built when the user interrupts may take so long to end by itself.
constexpr double kPatience = 0.5;

int usable_cpus() {
  cpu_set_t mask;
  return sched_getaffinity(0, sizeof mask, &mask) == 0 ? std::max(1, CPU_COUNT(&mask)) : 1;
}

BuildResult failed(OutcomeCode code, std::string message, double seconds) {
  BuildResult result;
  result.code = code;
  result.message = std::move(message);
  result.seconds = seconds;
  return result;
}

std::string in_mib(std::int64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

struct BuilderPool::Builder {
  static constexpr std::size_t kIdle = ~std::size_t{0};
  WorkerProcess process;
  FrameAssembler assembler;
  std::size_t job = kIdle;
  int attempts = 0;  ///< to hand `job` over
  double since = 0;

  bool idle() const { return job == kIdle; }
};

/// One call of `build`: hands requests to idle builders and collects what becomes of them.
class BuilderPool::Batch {
 public:
  Batch(BuilderPool& pool, const std::vector<BuildRequest>& requests, const std::function<bool()>& interrupted)
      : pool_(pool), requests_(requests), interrupted_(interrupted), results_(requests.size()) {}

  std::vector<BuildResult> run() {
    while (finished_ < requests_.size()) {
      if (interrupted_ && interrupted_()) give_back_the_rest();
      for (Builder& b : pool_.builders_)
        if (b.idle() && next_ < requests_.size()) {
          b.attempts = 0;
          begin(b, next_++);
        }
      wait();
      for (Builder& b : pool_.builders_)
        if (!b.idle()) look_at(b);
    }
    return std::move(results_);
  }

 private:
  void give_back_the_rest() {
    for (; next_ < requests_.size(); ++next_, ++finished_)
      results_[next_] = failed(OutcomeCode::device_lost, "interrupted before it was built", 0);
  }

  void begin(Builder& b, std::size_t job) {
    // A builder that died while idle is no fault of this request: a fresh one gets it.
    while (b.attempts++ < kAttempts) {
      if (!b.process.alive()) {
        auto process = pool_.zygote_.spawn(pool_.builder_);
        if (!process.ok()) return finish(job, failed(OutcomeCode::device_lost, process.error().message, 0));
        b.process = *process;
        b.assembler = {};
        ++pool_.started_;
      }
      if (send_frame(b.process.fd, FrameType::build, encode(requests_[job]))) {
        b.job = job;
        b.since = seconds_now();
        return;
      }
      pool_.zygote_.end(b.process, true);
    }
    finish(job, failed(OutcomeCode::device_lost, "no builder could be reached", 0));
  }

  void wait() {
    std::vector<pollfd> fds;
    for (const Builder& b : pool_.builders_)
      if (!b.idle()) fds.push_back({b.process.fd, POLLIN, 0});
    if (!fds.empty()) ::poll(fds.data(), fds.size(), kTickMilliseconds);
  }

  void look_at(Builder& b) {
    const double spent = seconds_now() - b.since;
    if (b.assembler.poll(b.process.fd)) return take(b);
    if (!b.assembler.error().empty()) return stop(b, failed(OutcomeCode::unknown, kNonsense, spent));
    if (b.assembler.failed()) return died(b, spent);
    if (spent > pool_.limits_.timeout) {
      char limit[32];
      std::snprintf(limit, sizeof limit, "%g s", pool_.limits_.timeout);
      return stop(b, failed(OutcomeCode::build_timeout, "building took longer than " + std::string(limit), spent));
    }
    if (spent > kPatience && interrupted_ && interrupted_())
      return stop(b, failed(OutcomeCode::device_lost, "interrupted while it was built", spent));
    const std::int64_t memory = resident_bytes(b.process.pid);
    if (memory > pool_.limits_.memory)
      stop(b, failed(OutcomeCode::out_of_memory,
                     "building needed " + in_mib(memory) + ", more than the limit of " + in_mib(pool_.limits_.memory),
                     spent));
  }

  void take(Builder& b) {
    const Frame frame = b.assembler.take();
    auto result = decode_build_result(frame.payload);
    if (frame.type != FrameType::built || !result)
      return stop(b, failed(OutcomeCode::unknown, kNonsense, seconds_now() - b.since));
    finish(std::exchange(b.job, Builder::kIdle), std::move(*result));
    if (resident_bytes(b.process.pid) > pool_.limits_.recycle) pool_.zygote_.end(b.process, true);
  }

  void died(Builder& b, double spent) {
    if (b.assembler.unread()) {
      pool_.zygote_.end(b.process, true);
      return begin(b, std::exchange(b.job, Builder::kIdle));
    }
    const ProcessEnd end = pool_.zygote_.end(b.process, false);
    // Nobody but the system, when memory ends, sends this signal.
    const bool memory = end.by_signal && end.number == SIGKILL;
    finish(std::exchange(b.job, Builder::kIdle),
           failed(memory ? OutcomeCode::out_of_memory : OutcomeCode::crash,
                  memory ? "the builder was killed from outside (SIGKILL), as the system does when memory ends"
                         : "the builder died: " + end.text(),
                  spent));
  }

  void stop(Builder& b, BuildResult result) {
    pool_.zygote_.end(b.process, true);
    finish(std::exchange(b.job, Builder::kIdle), std::move(result));
  }

  void finish(std::size_t job, BuildResult result) {
    results_[job] = std::move(result);
    ++finished_;
  }

  BuilderPool& pool_;
  const std::vector<BuildRequest>& requests_;
  const std::function<bool()>& interrupted_;
  std::vector<BuildResult> results_;
  std::size_t next_ = 0, finished_ = 0;
};

BuilderPool::BuilderPool(Zygote& zygote, int builders, BuilderLimits limits, const Life& builder)
    : zygote_(zygote),
      builder_(builder),
      limits_(limits),
      builders_(static_cast<std::size_t>(builders > 0 ? builders : usable_cpus())) {}

int BuilderPool::size() const { return static_cast<int>(builders_.size()); }

BuilderPool::~BuilderPool() {
  for (Builder& b : builders_) zygote_.end(b.process, true);
}

std::vector<BuildResult> BuilderPool::build(const std::vector<BuildRequest>& requests,
                                            const std::function<bool()>& interrupted) {
  return Batch(*this, requests, interrupted).run();
}

}  // namespace whet
