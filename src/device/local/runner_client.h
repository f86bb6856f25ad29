#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "device/local/zygote.h"
#include "runner/messages.h"
#include "runner/wire.h"
#include "trial/outcome.h"

namespace whet {

/// A runner without a sandbox.
extern const Life kRunner;

/// Our end of the runner: starts it when needed and again after each candidate that ends it.
class RunnerClient {
 public:
  /// `timeout`: seconds for one request. `recycle`: resident bytes at which the runner is replaced. When `interrupted`
  /// (may be empty) turns true, a request that takes long gets device_lost.
  RunnerClient(Zygote& zygote, double timeout, std::int64_t recycle, std::function<bool()> interrupted = {},
               const Life& life = kRunner)
      : zygote_(zygote), life_(life), timeout_(timeout), recycle_(recycle), interrupted_(std::move(interrupted)) {}
  ~RunnerClient() { zygote_.end(process_, true); }
  RunnerClient(const RunnerClient&) = delete;

  /// Whatever happens becomes a code: crash, run_timeout, ... in the reply. A runner in which a kernel has left a thread, or has
  /// written what nobody asked for, ends with that kernel, whose outcome is a crash.
  MeasureReply measure(const MeasureRequest&);
  CheckReply check(const CheckRequest&);
  /// The next request gets a fresh runner: what kernels of one user have left in this one is no other's.
  void renew() { zygote_.end(process_, true); }

  std::int64_t started() const { return started_; }
  const WorkerProcess& process() const { return process_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Question {
    FrameType type, answer;
    std::string message;
    std::uint64_t most_bytes;  ///< of the answer's payload
    const KernelJob& job;
    const KernelJob* packing;  ///< that runs before; null: none
  };
  struct Exchange {
    OutcomeCode code = OutcomeCode::ok;
    std::string message, payload;  ///< without the ticket
  };
  enum class Waited { came, ended, late, interrupted };

  Exchange ask(const Question&);
  std::optional<Exchange> try_to_ask(const Question&);
  Status ensure_runner();
  bool give(const KernelJob&, const std::function<bool()>& goes_on);
  Waited wait_for_answer(FrameAssembler&, Clock::time_point asked) const;
  std::optional<Exchange> without_answer(Waited, const FrameAssembler&);
  Exchange answered(const Question&, std::uint64_t ticket, Frame);
  bool is_interrupted(Clock::time_point asked) const;
  int threads_beyond(const KernelJob&) const;
  Exchange broken(const std::string& why);
  Exchange ended(const std::string& last_words);
  void recycle_if_large(const KernelJob&);

  Zygote& zygote_;
  const Life& life_;
  double timeout_;
  std::int64_t recycle_, started_ = 0;
  std::function<bool()> interrupted_;
  WorkerProcess process_;
  std::set<std::uint64_t> given_;  ///< contents that the process has
  int threads_at_start_ = 0;       ///< of the process; 0: unknown
};

}  // namespace whet
