#include "device/local/runner_client.h"

#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "device/protocol/bounds.h"
#include "runner/given.h"
#include "runner/loop.h"

namespace whet {
namespace {

constexpr double kReplyTickMilliseconds = 50;
/// Looks at the threads of a runner, a millisecond apart.
constexpr int kMomentsToEnd = 50;
constexpr std::size_t kMostMessage = 2000;
constexpr const char *kInterrupted = "interrupted while it ran", *kNoSense = "its answer makes no sense";
/// After an interrupt a kernel that runs has this long to end; then its runner is killed [s].
constexpr double kPatience = 0.5;

double left(double timeout, std::chrono::steady_clock::time_point since) {
  const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
  return std::max(0.0, timeout - spent);
}

std::uint64_t random_ticket() {
  std::uint64_t ticket = 0;
  if (getrandom(&ticket, sizeof ticket, GRND_NONBLOCK) == sizeof ticket) return ticket;
  return hash_combine(static_cast<std::uint64_t>(getpid()),
                      static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()));
}

}  // namespace

const Life kRunner{"whet-runner", run_runner, true};

RunnerClient::Exchange RunnerClient::ask(const Question& question) {
  for (int attempt = 0; attempt < 2; ++attempt)
    if (auto exchange = try_to_ask(question)) return std::move(*exchange);
  return {OutcomeCode::device_lost, "no runner could be reached", {}};
}

/// Nothing where the runner had died while it was idle, which is no fault of this request: a fresh one gets it.
std::optional<RunnerClient::Exchange> RunnerClient::try_to_ask(const Question& question) {
  if (!has_given(question.job) || (question.packing && !has_given(*question.packing)))
    return Exchange{OutcomeCode::unknown, "an argument has contents that were given to nobody here", {}};
  if (const Status there = ensure_runner(); !there.ok())
    return Exchange{OutcomeCode::device_lost, there.error().message, {}};
  const std::uint64_t ticket = random_ticket();
  const auto asked = Clock::now();
  const auto goes_on = [&] { return left(timeout_, asked) > 0 && !is_interrupted(asked); };
  if (!give(question.job, goes_on) || (question.packing && !give(*question.packing, goes_on)) ||
      !send_frame(process_.fd, question.type, with_ticket(ticket, question.message), goes_on)) {
    zygote_.end(process_, true);
    if (is_interrupted(asked)) return Exchange{OutcomeCode::device_lost, kInterrupted, {}};
    return std::nullopt;
  }
  FrameAssembler frames(question.most_bytes);
  const Waited waited = wait_for_answer(frames, asked);
  if (waited != Waited::came) return without_answer(waited, frames);
  return answered(question, ticket, frames.take());
}

/// Contents of arguments that are given and that this runner does not have.
bool RunnerClient::give(const KernelJob& job, const std::function<bool()>& goes_on) {
  for (const ArgumentSpec& spec : job.arguments)
    if (spec.is_given() && given_.insert(spec.seed).second &&
        !send_frame(process_.fd, FrameType::given, given_message(spec.seed), goes_on))
      return false;
  return true;
}

/// A runner to whom nobody has spoken yet, or one that waits. What a kernel of an earlier request sends late is no answer to
/// this one.
Status RunnerClient::ensure_runner() {
  if (process_.alive() && has_bytes(process_.fd)) zygote_.end(process_, true);
  if (process_.alive()) return ok_status();
  WHET_TRY(process_, zygote_.spawn(life_));
  ++started_;
  given_.clear();
  threads_at_start_ = threads_of(process_.pid);
  return ok_status();
}

/// The user's interrupt, or the other end of a session, is asked for all the time: also while an answer comes slowly.
RunnerClient::Waited RunnerClient::wait_for_answer(FrameAssembler& frames, Clock::time_point asked) const {
  for (;;) {
    const double rest = left(timeout_, asked) * 1e3 + 1;
    pollfd wait{process_.fd, POLLIN, 0};
    ::poll(&wait, 1, static_cast<int>(std::min(rest, interrupted_ ? kReplyTickMilliseconds : 1e9)));
    if (frames.poll(process_.fd)) return Waited::came;
    if (frames.failed()) return Waited::ended;
    if (left(timeout_, asked) <= 0) return Waited::late;
    if (is_interrupted(asked)) return Waited::interrupted;
  }
}

std::optional<RunnerClient::Exchange> RunnerClient::without_answer(Waited waited, const FrameAssembler& frames) {
  if (waited == Waited::ended && frames.unread()) return zygote_.end(process_, true), std::nullopt;
  if (waited == Waited::ended) return frames.error().empty() ? ended("") : broken(kNoSense);
  zygote_.end(process_, true);
  if (waited == Waited::interrupted) return Exchange{OutcomeCode::device_lost, kInterrupted, {}};
  char limit[32];
  std::snprintf(limit, sizeof limit, "%g s", timeout_);
  return Exchange{OutcomeCode::run_timeout, "the kernel did not finish within " + std::string(limit), {}};
}

RunnerClient::Exchange RunnerClient::answered(const Question& question, std::uint64_t ticket, Frame frame) {
  if (frame.type == FrameType::fault) return ended(frame.payload);
  std::string_view message = frame.payload;
  if (frame.type != question.answer || take_ticket(message) != ticket) return broken(kNoSense);
  if (has_bytes(process_.fd)) return broken("it sends what nobody asked for");
  if (const int more = threads_beyond(question.job); more > 0)
    return broken("it has " + std::to_string(more) + " threads more than before");
  frame.payload.erase(0, kTicketBytes);
  return {OutcomeCode::ok, "", std::move(frame.payload)};
}

bool RunnerClient::is_interrupted(Clock::time_point asked) const {
  return interrupted_ && left(kPatience, asked) <= 0 && interrupted_();
}

/// Those of the runner's process that are neither its own nor workers of the job. (Code of a real GPU makes none here, but its
/// driver does.)
int RunnerClient::threads_beyond(const KernelJob& job) const {
  const CodeFormat format = job.kernel.format;
  if (threads_at_start_ == 0 || (format != CodeFormat::native_object && format != CodeFormat::emulated)) return 0;
  const int most = threads_at_start_ + kSanitizerThreads + std::max(1, static_cast<int>(job.threads)) - 1;
  int more = threads_of(process_.pid) - most;
  // A thread that was joined just now may still be counted for a moment.
  for (int attempt = 0; attempt < kMomentsToEnd && more > 0; ++attempt) {
    usleep(1000);
    more = threads_of(process_.pid) - most;
  }
  return more;
}

/// The kernel has done something to its runner, which ends with it.
RunnerClient::Exchange RunnerClient::broken(const std::string& why) {
  zygote_.end(process_, true);
  return {OutcomeCode::crash, "the kernel broke its runner: " + why, {}};
}

RunnerClient::Exchange RunnerClient::ended(const std::string& last_words) {
  const ProcessEnd end = zygote_.end(process_, false);
  if (end.by_signal && end.number == SIGKILL && last_words.empty())
    return {OutcomeCode::out_of_memory,
            "the runner was killed from outside (SIGKILL), as the system does when memory ends",
            {}};
  return {OutcomeCode::crash, "the kernel crashed: " + (last_words.empty() ? end.text() : printable(last_words)), {}};
}

/// What the task needs is no leak; what is resident beyond it is.
void RunnerClient::recycle_if_large(const KernelJob& job) {
  std::int64_t needed = 2 * (job.kernel.workspace + job.threads * job.kernel.worker_workspace);
  for (const ArgumentSpec& a : job.arguments) needed += 3 * a.bytes;
  if (process_.alive() && resident_bytes(process_.pid) > recycle_ + needed) zygote_.end(process_, true);
}

MeasureReply RunnerClient::measure(const MeasureRequest& request) {
  Exchange e =
      ask({FrameType::measure, FrameType::measured, encode(request), most_answer_bytes(request), request.job, nullptr});
  auto decoded = e.code == OutcomeCode::ok ? decode<MeasureReply>(e.payload) : std::nullopt;
  if (!decoded && e.code == OutcomeCode::ok) e = broken(kNoSense);
  if (!decoded) return {e.code, std::move(e.message)};
  recycle_if_large(request.job);
  decoded->message = printable(decoded->message, kMostMessage);
  return std::move(*decoded);
}

CheckReply RunnerClient::check(const CheckRequest& request) {
  Exchange e = ask({FrameType::check, FrameType::checked, encode(request), most_answer_bytes(request), request.job,
                    request.packing ? &*request.packing : nullptr});
  auto decoded = e.code == OutcomeCode::ok ? decode<CheckReply>(e.payload) : std::nullopt;
  if (!decoded && e.code == OutcomeCode::ok) e = broken(kNoSense);
  if (!decoded) return {e.code, std::move(e.message), {}};
  decoded->message = printable(decoded->message, kMostMessage);
  return std::move(*decoded);
}

}  // namespace whet
