#include "device/remote/remote_session.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/version.h"
#include "device/protocol/bounds.h"

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

RemoteSession::Shared::Shared(const ChildStream& child, double dead_seconds)
    : link(child.in(), child.out(), kMostFromDevice, dead_seconds) {}

RemoteSession::RemoteSession(ChildStream child, const SessionClocks& clocks)
    : clocks_(clocks), child_(std::move(child)), shared_(std::make_unique<Shared>(child_, clocks.dead)) {}

RemoteSession::~RemoteSession() {
  if (shared_) shared_->link.send(SessionType::bye, 0, "");
}

Result<RemoteSession> RemoteSession::open(const std::vector<std::string>& argv, const SessionClocks& clocks,
                                          const std::function<bool()>& interrupted) {
  WHET_TRY(ChildStream child, ChildStream::start(argv));
  RemoteSession session(std::move(child), clocks);
  WHET_RETURN_IF_ERROR(session.greet(interrupted));
  return session;
}

Status RemoteSession::greet(const std::function<bool()>& interrupted) {
  shared_->link.send(SessionType::hello, 0, encode(SessionHello{.program = version()}));
  const auto start = std::chrono::steady_clock::now();
  std::optional<SessionMessage> message;
  while (!(message = shared_->link.receive(kSessionTick))) {
    if (interrupted && interrupted()) return Error{"interrupted", ErrorKind::interrupted};
    if (shared_->link.ended()) return why_no_hello();
    if (seconds_after(start) > clocks_.connect)
      return Error{"no whet-device answers within " + seconds_text(clocks_.connect), ErrorKind::io};
  }
  WHET_RETURN_IF_ERROR(accept(*message));
  shared_->link.send(SessionType::open, 0, encode(SessionOpen{own_name(), clocks_.dead}));
  while (!(message = shared_->link.receive(kSessionTick))) {
    if (interrupted && interrupted()) return Error{"interrupted", ErrorKind::interrupted};
    if (is_dead()) return Error{why_lost(), ErrorKind::io};
  }
  if (message->type == SessionType::opened) return ok_status();
  if (message->type == SessionType::bye) return Error{"the device refuses: " + printable(message->payload)};
  return Error{"the device answers what makes no sense"};
}

/// The device says that it did so to nobody who listens; what it is asked for later comes later.
void RemoteSession::begin_for(const std::string& user) {
  tell(SessionType::open, 0, encode(SessionOpen{user, clocks_.dead}));
}

Status RemoteSession::accept(const SessionMessage& message) {
  if (message.type == SessionType::bye) return Error{"the device refuses: " + printable(message.payload)};
  const auto hello = message.type == SessionType::hello ? decode<SessionHello>(message.payload) : std::nullopt;
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
  auto device = decode<DeviceDescription>(hello->details);
  if (!device) return Error{"what the device says of itself makes no sense"};
  device_ = std::move(*device);
  return ok_status();
}

/// After the end of the stream.
Error RemoteSession::why_no_hello() {
  const std::string& error = shared_->link.error();
  if (shared_->link.reader().began_with_text())
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
  if (!shared_->last_sentence.empty()) return "the device ended the session: " + shared_->last_sentence;
  if (!shared_->link.error().empty()) return "the link is broken: " + shared_->link.error();
  if (!shared_->link.ended()) return "the link is dead: no byte came for " + seconds_text(clocks_.dead);
  const std::string words = child_.last_words();
  return "the link is lost" + (words.empty() ? "" : ": " + words);
}

std::uint32_t RemoteSession::begin_talk() {
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  shared_->inboxes.emplace(++shared_->talks, Inbox{});
  return shared_->talks;
}
/// After the loss of the link the conversations stay as they were: those behind this one have yet to see that they were.
void RemoteSession::end_talk(std::uint32_t id) {
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  if (shared_->lost.empty()) shared_->inboxes.erase(id);
}

bool RemoteSession::tell(SessionType type, std::uint32_t id, std::string payload) {
  const std::lock_guard<std::mutex> lock(shared_->sending);
  return shared_->link.send(type, id, std::move(payload));
}

/// Not while another thread sends: bytes that go out say as much. The lock is of `mutex`, and not held while it sends, so that what
/// comes is read.
void RemoteSession::ping_if_due(std::unique_lock<std::mutex>& lock) {
  if (seconds_after(shared_->pinged) < clocks_.ping) return;
  const std::unique_lock<std::mutex> sending(shared_->sending, std::try_to_lock);
  if (!sending) return;
  shared_->pinged = Clock::now();
  const std::uint32_t number = shared_->talks;
  lock.unlock();
  shared_->link.send(SessionType::ping, 0, encode(std::uint64_t{number}));
  lock.lock();
}

void RemoteSession::put_away(SessionMessage message) {
  if (message.type == SessionType::bye) shared_->last_sentence = printable(message.payload);
  const auto inbox = shared_->inboxes.find(message.id);
  if (inbox == shared_->inboxes.end() || message.type == SessionType::bye) return;
  inbox->second.bytes += message.payload.size() + kSessionHeaderBytes;
  if (inbox->second.bytes > kMostFromDevice) shared_->lost = "the device says more than it was asked";
  inbox->second.messages.push_back(std::move(message));
}

/// The lock is of `mutex`, and nobody reads. False where nothing came.
bool RemoteSession::read_one(std::unique_lock<std::mutex>& lock, double seconds) {
  shared_->somebody_reads = true;
  lock.unlock();
  auto message = shared_->link.receive(seconds);
  lock.lock();
  shared_->somebody_reads = false;
  const bool came = message.has_value();
  if (came) put_away(std::move(*message));
  if (shared_->lost.empty() && (!shared_->last_sentence.empty() || is_dead())) shared_->lost = why_lost();
  shared_->heard.notify_all();
  return came;
}

/// The next message of a conversation; nothing where none came within a moment, or the link is lost: `lost` is then why. One of
/// the threads that wait reads for all.
std::optional<SessionMessage> RemoteSession::next(std::uint32_t id, std::string& lost) {
  std::unique_lock<std::mutex> lock(shared_->mutex);
  Inbox& inbox = shared_->inboxes.at(id);
  if (inbox.messages.empty() && shared_->lost.empty()) {
    if (shared_->somebody_reads)
      shared_->heard.wait_for(lock, std::chrono::duration<double>(kSessionTick));
    else
      read_one(lock, kSessionTick);
    ping_if_due(lock);
  }
  if (inbox.messages.empty()) return lost = shared_->lost, std::nullopt;
  SessionMessage message = std::move(inbox.messages.front());
  inbox.messages.pop_front();
  inbox.bytes -= message.payload.size() + kSessionHeaderBytes;
  return message;
}

bool RemoteSession::keep_alive() {
  std::unique_lock<std::mutex> lock(shared_->mutex);
  ping_if_due(lock);
  while (!shared_->somebody_reads && read_one(lock, 0)) {
  }
  return shared_->lost.empty();
}

/// Whether the device has to end older conversations before it comes to this one.
bool RemoteSession::is_behind(std::uint32_t id) const {
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  return shared_->inboxes.begin()->first < id;
}

/// Makes the link of no use to all.
std::string RemoteSession::lose(std::string why) {
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  if (shared_->lost.empty()) shared_->lost = why;
  return why;
}

/// Short waits are of no interest: sessions take turns.
void RemoteSession::tell_wait(const SessionMessage& message) {
  constexpr double kOfInterest = 3, kEvery = 30;
  const auto waiting = decode<SessionWaiting>(message.payload);
  if (!listener_ || !waiting || waiting->seconds < kOfInterest) return;
  {
    const std::lock_guard<std::mutex> lock(shared_->mutex);
    if (shared_->told && seconds_after(*shared_->told) < kEvery) return;
    shared_->told = Clock::now();
  }
  listener_(waiting->why);
}

/// Whether the message is an answer to one of the job's requests that has none.
bool RemoteSession::take_item(const SessionMessage& message, const SessionJob& job, JobEnd& end) {
  auto item = decode<SessionItem>(message.payload);
  if (!item || item->number >= job.items() || !fits(*item, job.request(item->number))) return false;
  auto& place = end.items[item->number];
  if (place) return false;
  place = std::move(*item);
  return true;
}

RemoteSession::JobEnd RemoteSession::run(const SessionJob& job, const std::function<bool()>& interrupted) {
  JobEnd end;
  end.items.resize(job.items());
  const Talk talk(*this);
  if (!tell(SessionType::job, talk.id(), encode(job))) keep_alive();  // reads the device's last sentence
  end.message = collect(talk.id(), job, interrupted, end);
  if (!end.message.empty()) end.kind = JobEnd::Kind::lost;
  return end;
}

/// Until the job is done, or given up; "" or why the link is of no use.
std::string RemoteSession::collect(std::uint32_t id, const SessionJob& job, const std::function<bool()>& interrupted,
                                   JobEnd& end) {
  const double limit = job.most_seconds() + clocks_.margin;
  auto since = Clock::now();
  const auto started = since;
  bool begun = false;
  std::optional<Clock::time_point> cancelled;
  for (std::string lost;;) {
    const auto message = next(id, lost);
    if (message) {
      begun = begun || message->type != SessionType::waiting;
      if (message->type == SessionType::done) return "";
      if (message->type == SessionType::item && !take_item(*message, job, end))
        return lose("the device answers what it was not asked");
      if (message->type == SessionType::starting)
        if (const auto number = decode<std::uint64_t>(message->payload); number && *number < job.items())
          end.started = static_cast<int>(*number);
      if (message->type == SessionType::waiting) {
        since = Clock::now();
        tell_wait(*message);
      }
    }
    const bool behind = !begun && is_behind(id);
    if (behind) since = Clock::now();
    if (!lost.empty()) return end.was_behind = behind, lost;
    if (seconds_after(since) > limit) return lose("the device did not finish a job within " + seconds_text(limit));
    if (cancelled && seconds_after(*cancelled) > kCancelSeconds) return "";
    if (!cancelled && interrupted && seconds_after(started) > kSessionPatience && interrupted()) {
      cancelled = Clock::now();
      end.kind = JobEnd::Kind::interrupted;
      tell(SessionType::cancel, id, "");
    }
  }
}

RemoteSession::TalkEnd RemoteSession::listen(std::uint32_t id, double seconds,
                                             const std::function<Heard(const SessionMessage&)>& hear,
                                             const std::function<bool()>& interrupted) {
  using Kind = JobEnd::Kind;
  const double limit = seconds + clocks_.margin;
  auto since = Clock::now();
  std::optional<Clock::time_point> cancelled;
  for (std::string lost;;) {
    const auto message = next(id, lost);
    if (message) {
      since = Clock::now();
      if (message->type == SessionType::waiting) tell_wait(*message);
      const Heard heard = message->type == SessionType::waiting ? Heard::more : hear(*message);
      if (heard == Heard::last) return {cancelled ? Kind::interrupted : Kind::done, ""};
      if (heard == Heard::nonsense) return {Kind::lost, lose("the device answers what it was not asked")};
    }
    if (is_behind(id)) since = Clock::now();
    if (!lost.empty()) return {Kind::lost, lost};
    if (seconds_after(since) > limit)
      return {Kind::lost, lose("the device did not answer within " + seconds_text(limit))};
    if (cancelled && seconds_after(*cancelled) > kCancelSeconds) return {Kind::interrupted, ""};
    if (!cancelled && interrupted && interrupted()) {
      cancelled = Clock::now();
      tell(SessionType::cancel, id, "");
    }
  }
}

}  // namespace whet
