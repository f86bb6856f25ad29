#pragma once

#include <functional>
#include <optional>

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

  /// Whatever happens becomes a code: crash, run_timeout, ... in the reply.
  MeasureReply measure(const MeasureRequest&);
  CheckReply check(const CheckRequest&);

  std::int64_t started() const { return started_; }
  const WorkerProcess& process() const { return process_; }

 private:
  struct Exchange {
    OutcomeCode code = OutcomeCode::ok;
    std::string message, payload;
  };
  Exchange ask(FrameType type, const std::string& payload, FrameType answer, double timeout);
  std::optional<Exchange> try_to_ask(FrameType type, const std::string& payload, FrameType answer, double timeout);
  bool wait_for_answer(double timeout);
  Exchange ended(const std::string& last_words);
  void recycle_if_large(const KernelJob&);

  Zygote& zygote_;
  const Life& life_;
  double timeout_;
  std::int64_t recycle_, started_ = 0;
  std::function<bool()> interrupted_;
  WorkerProcess process_;
};

}  // namespace whet
