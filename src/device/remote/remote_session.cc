#include "device/remote/remote_session.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/version.h"
#include "device/session/bounds.h"

namespace whet {
namespace {

/// How often a user's interrupt is asked for while a device works [s].
constexpr double kSessionTick = 0.05;
/// What runs when the user interrupts may take so long to end [s]; as long again to say that it was cancelled.
constexpr double kSessionPatience = 0.5, kCancelSeconds = 1;
/// Of a message that comes: outputs of the largest kernels.
constexpr std::size_t kMostFromDevice = std::size_t{1} << 30;

double seconds_after(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", seconds);
  return text;
}

std::string own_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? printable(name, 200) : "unknown";
}

bool fits(const SessionItem& item, const SessionRequest& request) { return item.reply.index() == request.index(); }

}  // namespace

RemoteSession::RemoteSession(ChildStream child, const SessionClocks& clocks)
    : clocks_(clocks),
      child_(std::move(child)),
      link_(child_.in(), child_.out(), kMostFromDevice, clocks.dead),
      pinged_(std::chrono::steady_clock::now()) {}

RemoteSession::~RemoteSession() {
  if (child_.out() >= 0) link_.send(SessionType::bye, 0, "");
}

Result<RemoteSession> RemoteSession::open(const std::vector<std::string>& argv, const SessionClocks& clocks,
                                          const std::function<bool()>& interrupted) {
  WHET_TRY(ChildStream child, ChildStream::start(argv));
  RemoteSession session(std::move(child), clocks);
  WHET_RETURN_IF_ERROR(session.greet(interrupted));
  return session;
}

Status RemoteSession::greet(const std::function<bool()>& interrupted) {
  link_.send(SessionType::hello, 0, encode(SessionHello{.program = version()}));
  const auto start = std::chrono::steady_clock::now();
  std::optional<SessionMessage> message;
  while (!(message = link_.receive(kSessionTick))) {
    if (interrupted && interrupted()) return Error{"interrupted", ErrorKind::interrupted};
    if (link_.ended()) return why_no_hello();
    if (seconds_after(start) > clocks_.connect)
      return Error{"no whet-device answers within " + seconds_text(clocks_.connect), ErrorKind::io};
  }
  WHET_RETURN_IF_ERROR(accept(*message));
  link_.send(SessionType::open, 0, encode(SessionOpen{own_name(), clocks_.dead}));
  while (!(message = link_.receive(kSessionTick))) {
    if (interrupted && interrupted()) return Error{"interrupted", ErrorKind::interrupted};
    if (is_dead()) return Error{why_lost(), ErrorKind::io};
  }
  if (message->type == SessionType::opened) return ok_status();
  if (message->type == SessionType::bye) return Error{"the device refuses: " + printable(message->payload)};
  return Error{"the device answers what makes no sense"};
}

Status RemoteSession::accept(const SessionMessage& message) {
  if (message.type == SessionType::bye) return Error{"the device refuses: " + printable(message.payload)};
  const auto hello = message.type == SessionType::hello ? decode_session_hello(message.payload) : std::nullopt;
  if (!hello) return Error{"the device's first message is no hello"};
  if (hello->highest < kSessionLowest || hello->lowest > kSessionHighest)
    return Error{"the whet-device there is " + hello->program + " and speaks versions " +
                 std::to_string(hello->lowest) + " to " + std::to_string(hello->highest) +
                 " of device sessions; this whet speaks " + std::to_string(kSessionHighest)};
  if (hello->details.empty()) return Error{"what answers is no whet-device: it sends back what it gets"};
  if (hello->kernel_args != WHET_KERNEL_ARGS_VERSION)
    return Error{"the whet-device there is " + hello->program + " and calls kernels by version " +
                 std::to_string(hello->kernel_args) + " of their arguments; this whet makes version " +
                 std::to_string(WHET_KERNEL_ARGS_VERSION)};
  auto device = decode_device_description(hello->details);
  if (!device) return Error{"what the device says of itself makes no sense"};
  device_ = std::move(*device);
  return ok_status();
}

/// After the end of the stream.
Error RemoteSession::why_no_hello() {
  const std::string& error = link_.error();
  if (link_.reader().began_with_text())
    return {"something prints text before whet-device: " + error.substr(error.find('"')), ErrorKind::io};
  if (!error.empty()) return {error, ErrorKind::io};
  child_.has_ended(kSessionPatience);
  const std::string words = child_.last_words();
  if (child_.exit_status() == kNoProgramStatus && words.starts_with(kNoProgramWords))
    return {words, ErrorKind::not_found};
  std::string sentence = "the command ended before a whet-device answered";
  if (child_.exit_status() >= 0) sentence += ", with status " + std::to_string(child_.exit_status());
  return {sentence + (words.empty() ? "" : ": " + words), ErrorKind::io};
}

std::string RemoteSession::why_lost() {
  if (!last_sentence_.empty()) return "the device ended the session: " + last_sentence_;
  if (!link_.error().empty()) return "the link is broken: " + link_.error();
  if (!link_.ended()) return "the link is dead: no byte came for " + seconds_text(clocks_.dead);
  const std::string words = child_.last_words();
  return "the link is lost" + (words.empty() ? "" : ": " + words);
}

void RemoteSession::ping_if_due() {
  if (seconds_after(pinged_) < clocks_.ping) return;
  pinged_ = std::chrono::steady_clock::now();
  link_.send(SessionType::ping, 0, encode_number(jobs_));
}

bool RemoteSession::keep_alive() {
  ping_if_due();
  while (const auto message = link_.receive(0))
    if (message->type == SessionType::bye) last_sentence_ = printable(message->payload);
  return !is_dead() && last_sentence_.empty();
}

/// Whether the message is an answer to one of the job's requests that has none.
bool RemoteSession::take_item(const SessionMessage& message, const SessionJob& job, JobEnd& end) {
  auto item = decode_session_item(message.payload);
  if (!item || item->number >= job.items() || !fits(*item, job.request(item->number))) return false;
  auto& place = end.items[item->number];
  if (place) return false;
  place = std::move(*item);
  return true;
}

RemoteSession::JobEnd RemoteSession::run(const SessionJob& job, const std::function<bool()>& interrupted) {
  JobEnd end;
  end.items.resize(job.items());
  const std::uint32_t id = ++jobs_;
  if (link_.send(SessionType::job, id, encode(job))) {
    end.message = collect(id, job, interrupted, end);
  } else {
    keep_alive();  // reads the device's last sentence, where there is one
    end.message = why_lost();
  }
  if (!end.message.empty()) end.kind = JobEnd::Kind::lost;
  return end;
}

/// Until the job is done, or given up; "" or why the link is of no use.
std::string RemoteSession::collect(std::uint32_t id, const SessionJob& job, const std::function<bool()>& interrupted,
                                   JobEnd& end) {
  const double limit = static_cast<double>(job.items()) * job.kernel_seconds + clocks_.margin;
  auto since = std::chrono::steady_clock::now();
  const auto started = since;
  std::optional<std::chrono::steady_clock::time_point> cancelled;
  for (;;) {
    const auto message = link_.receive(kSessionTick);
    if (message && message->id == id) {
      if (message->type == SessionType::done) return "";
      if (message->type == SessionType::item && !take_item(*message, job, end))
        return "the device answers what it was not asked";
      if (message->type == SessionType::starting)
        if (const auto number = decode_number(message->payload); number && *number < job.items())
          end.started = static_cast<int>(*number);
      if (message->type == SessionType::waiting) since = std::chrono::steady_clock::now();
    }
    if (message && message->type == SessionType::bye) last_sentence_ = printable(message->payload);
    if (!last_sentence_.empty() || is_dead()) return why_lost();
    if (seconds_after(since) > limit) return "the device did not finish a job within " + seconds_text(limit);
    ping_if_due();
    if (cancelled && seconds_after(*cancelled) > kCancelSeconds) return "";
    if (!cancelled && interrupted && seconds_after(started) > kSessionPatience && interrupted()) {
      cancelled = std::chrono::steady_clock::now();
      end.kind = JobEnd::Kind::interrupted;
      link_.send(SessionType::cancel, id, "");
    }
  }
}

RemoteSession::TalkEnd RemoteSession::listen(std::uint32_t id, double seconds,
                                             const std::function<Heard(const SessionMessage&)>& hear,
                                             const std::function<bool()>& interrupted) {
  using Kind = JobEnd::Kind;
  const double limit = seconds + clocks_.margin;
  auto since = std::chrono::steady_clock::now();
  std::optional<std::chrono::steady_clock::time_point> cancelled;
  for (;;) {
    const auto message = link_.receive(kSessionTick);
    if (message && message->id == id && message->type != SessionType::bye) {
      since = std::chrono::steady_clock::now();
      const Heard heard = message->type == SessionType::waiting ? Heard::more : hear(*message);
      if (heard == Heard::last) return {cancelled ? Kind::interrupted : Kind::done, ""};
      if (heard == Heard::nonsense) return {Kind::lost, "the device answers what it was not asked"};
    }
    if (message && message->type == SessionType::bye) last_sentence_ = printable(message->payload);
    if (!last_sentence_.empty() || is_dead()) return {Kind::lost, why_lost()};
    if (seconds_after(since) > limit) return {Kind::lost, "the device did not answer within " + seconds_text(limit)};
    ping_if_due();
    if (cancelled && seconds_after(*cancelled) > kCancelSeconds) return {Kind::interrupted, ""};
    if (!cancelled && interrupted && interrupted()) {
      cancelled = std::chrono::steady_clock::now();
      link_.send(SessionType::cancel, id, "");
    }
  }
}

}  // namespace whet
