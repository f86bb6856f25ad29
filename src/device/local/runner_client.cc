#include "device/local/runner_client.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "runner/loop.h"

namespace whet {
namespace {

constexpr int kReplyTickMilliseconds = 50;
/// What runs when the user interrupts may take so long to end by itself.
constexpr double kPatience = 0.5;

double left(double timeout, std::chrono::steady_clock::time_point since) {
  const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
  return std::max(0.0, timeout - spent);
}

}  // namespace

const Life kRunner{"whet-runner", run_runner};

RunnerClient::Exchange RunnerClient::ask(FrameType type, const std::string& payload, FrameType answer, double timeout) {
  for (int attempt = 0; attempt < 2; ++attempt)
    if (auto exchange = try_to_ask(type, payload, answer, timeout)) return std::move(*exchange);
  return {OutcomeCode::device_lost, "no runner could be reached", {}};
}

/// Nothing where the runner had died while it was idle, which is no fault of this request: a fresh one gets it.
std::optional<RunnerClient::Exchange> RunnerClient::try_to_ask(FrameType type, const std::string& payload,
                                                               FrameType answer, double timeout) {
  const auto died_idle = [&] { return zygote_.end(process_, true), std::nullopt; };
  if (!process_.alive()) {
    auto process = zygote_.spawn(life_);
    if (!process.ok()) return Exchange{OutcomeCode::device_lost, process.error().message, {}};
    process_ = *process;
    ++started_;
  }
  if (!send_frame(process_.fd, type, payload)) return died_idle();

  const auto asked = std::chrono::steady_clock::now();
  if (!wait_for_answer(timeout)) {
    zygote_.end(process_, true);
    return Exchange{OutcomeCode::device_lost, "interrupted while it ran", {}};
  }
  ReceiveResult received = receive_frame(process_.fd, left(timeout, asked));
  if (!received.ok && received.end == WireEnd::timed_out) {
    zygote_.end(process_, true);
    char limit[32];
    std::snprintf(limit, sizeof limit, "%g s", timeout);
    return Exchange{OutcomeCode::run_timeout, "the kernel did not finish within " + std::string(limit), {}};
  }
  if (received.unread) return died_idle();
  if (!received.ok && received.end == WireEnd::closed) return ended("");
  if (received.ok && received.frame.type == FrameType::fault) return ended(received.frame.payload);
  if (!received.ok || received.frame.type != answer) {
    zygote_.end(process_, true);
    return Exchange{OutcomeCode::unknown, "the runner's answer makes no sense", {}};
  }
  return Exchange{OutcomeCode::ok, "", std::move(received.frame.payload)};
}

/// Until the answer begins or time is up; false when the user interrupts and it still does not come.
bool RunnerClient::wait_for_answer(double timeout) {
  if (!interrupted_) return true;
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    pollfd wait{process_.fd, POLLIN, 0};
    if (::poll(&wait, 1, kReplyTickMilliseconds) > 0) return true;
    const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (spent > timeout) return true;
    if (spent > kPatience && interrupted_()) return false;
  }
}

RunnerClient::Exchange RunnerClient::ended(const std::string& last_words) {
  const ProcessEnd end = zygote_.end(process_, false);
  if (end.by_signal && end.number == SIGKILL && last_words.empty())
    return {OutcomeCode::out_of_memory,
            "the runner was killed from outside (SIGKILL), as the system does when memory ends",
            {}};
  return {OutcomeCode::crash, "the kernel crashed: " + (last_words.empty() ? end.text() : last_words), {}};
}

/// What the task needs is no leak; what is resident beyond it is.
void RunnerClient::recycle_if_large(const KernelJob& job) {
  std::int64_t needed = 2 * (job.kernel.workspace + job.threads * job.kernel.worker_workspace);
  for (const ArgumentSpec& a : job.arguments) needed += 3 * a.bytes;
  if (process_.alive() && resident_bytes(process_.pid) > recycle_ + needed) zygote_.end(process_, true);
}

MeasureReply RunnerClient::measure(const MeasureRequest& request) {
  const Exchange e = ask(FrameType::measure, encode(request), FrameType::measured, timeout_);
  MeasureReply reply;
  reply.code = e.code;
  reply.message = e.message;
  if (e.code != OutcomeCode::ok) return reply;
  if (auto decoded = decode_measure_reply(e.payload); decoded) {
    recycle_if_large(request.job);
    return std::move(*decoded);
  }
  zygote_.end(process_, true);
  return {OutcomeCode::unknown, "the runner's answer makes no sense"};
}

CheckReply RunnerClient::check(const CheckRequest& request) {
  const Exchange e = ask(FrameType::check, encode(request), FrameType::checked, timeout_);
  CheckReply reply;
  reply.code = e.code;
  reply.message = e.message;
  if (e.code != OutcomeCode::ok) return reply;
  if (auto decoded = decode_check_reply(e.payload); decoded) return std::move(*decoded);
  zygote_.end(process_, true);
  return {OutcomeCode::unknown, "the runner's answer makes no sense"};
}

}  // namespace whet
