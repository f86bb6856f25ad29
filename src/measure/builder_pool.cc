#include "measure/builder_pool.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/parallel.h"
#include "runner/wire.h"

namespace whet {
namespace {

constexpr const char* kNonsense = "the builder's answer makes no sense";
constexpr int kTickMilliseconds = 20;
/// How often a request is handed to a builder that had died before.
constexpr int kAttempts = 2;
/// After an interrupt a build has this long to end; then its builder is killed [s].
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
  WorkerProcess process;
  FrameAssembler assembler;
};

/// One request, and the builder that it has for itself.
class BuilderPool::Job {
 public:
  Job(BuilderPool& pool, const BuildRequest& request, const std::function<bool()>& interrupted)
      : pool_(pool), request_(request), interrupted_(interrupted), builder_(pool.take()) {}
  ~Job() { pool_.give_back(builder_); }
  Job(const Job&) = delete;

  BuildResult run() {
    if (is_interrupted()) return failed(OutcomeCode::device_lost, "interrupted before it was built", 0);
    for (int attempt = 0; attempt < kAttempts; ++attempt)
      if (std::optional<BuildResult> result = try_to_build()) return std::move(*result);
    return failed(OutcomeCode::device_lost, "no builder could be reached", 0);
  }

 private:
  bool is_interrupted() const { return interrupted_ && interrupted_(); }

  /// Nothing where the builder had died while it was idle, which is no fault of this request: a fresh one gets it.
  std::optional<BuildResult> try_to_build() {
    if (!builder_.process.alive()) {
      auto process = pool_.zygote_.spawn(pool_.builder_);
      if (!process.ok()) return failed(OutcomeCode::device_lost, process.error().message, 0);
      builder_.process = *process;
      builder_.assembler = {};
      ++pool_.started_;
    }
    if (!send_frame(builder_.process.fd, FrameType::build, encode(request_))) return end_builder(), std::nullopt;
    for (const double since = seconds_now();;) {
      pollfd waited{builder_.process.fd, POLLIN, 0};
      ::poll(&waited, 1, kTickMilliseconds);
      const double spent = seconds_now() - since;
      if (builder_.assembler.poll(builder_.process.fd)) return answered(spent);
      if (!builder_.assembler.error().empty()) return stopped(OutcomeCode::unknown, kNonsense, spent);
      if (builder_.assembler.failed() && builder_.assembler.unread()) return end_builder(), std::nullopt;
      if (builder_.assembler.failed()) return died(spent);
      if (std::optional<BuildResult> stop = at_its_limits(spent)) return stop;
    }
  }

  /// What ends a builder that has not answered yet.
  std::optional<BuildResult> at_its_limits(double spent) {
    if (spent > pool_.limits_.timeout) {
      char limit[32];
      std::snprintf(limit, sizeof limit, "%g s", pool_.limits_.timeout);
      return stopped(OutcomeCode::build_timeout, "building took longer than " + std::string(limit), spent);
    }
    if (spent > kPatience && is_interrupted())
      return stopped(OutcomeCode::device_lost, "interrupted while it was built", spent);
    const std::int64_t memory = resident_bytes(builder_.process.pid);
    if (memory <= pool_.limits_.memory) return std::nullopt;
    return stopped(OutcomeCode::out_of_memory,
                   "building needed " + in_mib(memory) + ", more than the limit of " + in_mib(pool_.limits_.memory),
                   spent);
  }

  BuildResult answered(double spent) {
    const Frame frame = builder_.assembler.take();
    auto result = decode<BuildResult>(frame.payload);
    if (frame.type != FrameType::built || !result) return stopped(OutcomeCode::unknown, kNonsense, spent);
    if (resident_bytes(builder_.process.pid) > pool_.limits_.recycle) end_builder();
    return std::move(*result);
  }

  BuildResult died(double spent) {
    const ProcessEnd end = pool_.zygote_.end(builder_.process, false);
    // Nobody but the system, when memory ends, sends this signal.
    if (end.by_signal && end.number == SIGKILL)
      return failed(OutcomeCode::out_of_memory,
                    "the builder was killed from outside (SIGKILL), as the system does when memory ends", spent);
    return failed(OutcomeCode::crash, "the builder died: " + end.text(), spent);
  }

  BuildResult stopped(OutcomeCode code, std::string message, double spent) {
    end_builder();
    return failed(code, std::move(message), spent);
  }
  void end_builder() { pool_.zygote_.end(builder_.process, true); }

  BuilderPool& pool_;
  const BuildRequest& request_;
  const std::function<bool()>& interrupted_;
  Builder& builder_;
};

BuilderPool::BuilderPool(Zygote& zygote, int builders, BuilderLimits limits, const Life& builder)
    : zygote_(zygote),
      builder_(builder),
      limits_(limits),
      builders_(static_cast<std::size_t>(builders > 0 ? builders : usable_cpus())) {
  for (Builder& b : builders_) free_.push_back(&b);
}

int BuilderPool::size() const { return static_cast<int>(builders_.size()); }

BuilderPool::~BuilderPool() {
  for (Builder& b : builders_) zygote_.end(b.process, true);
}

BuilderPool::Builder& BuilderPool::take() {
  std::unique_lock<std::mutex> lock(mutex_);
  const std::int64_t number = asked_++;
  freed_.wait(lock, [&] { return number == answered_ && !free_.empty(); });
  ++answered_;
  Builder& builder = *free_.back();
  free_.pop_back();
  if (!free_.empty()) freed_.notify_all();
  return builder;
}

void BuilderPool::give_back(Builder& builder) {
  const std::lock_guard<std::mutex> lock(mutex_);
  free_.push_back(&builder);
  freed_.notify_all();
}

std::vector<BuildResult> BuilderPool::build(const std::vector<BuildRequest>& requests,
                                            const std::function<bool()>& interrupted) {
  std::vector<BuildResult> results(requests.size());
  parallel_for(static_cast<int>(requests.size()), size(), [&](int i) {
    const auto number = static_cast<std::size_t>(i);
    results[number] = Job(*this, requests[number], interrupted).run();
  });
  return results;
}

}  // namespace whet
