#include "fleet/agent/serve.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "base/version.h"
#include "device/protocol/bounds.h"
#include "device/remote/remote_session.h"
#include "device/remote/ssh.h"
#include "fleet/agent/orders.h"
#include "fleet/messages.h"
#include "fleet/names.h"
#include "fleet/nats.h"

namespace whet {
namespace {

using AgentClock = std::chrono::steady_clock;

/// How often a running job is held and its tuner hears of it, and how often a unit tells that it is there [s].
constexpr double kHoldSeconds = 2, kPresenceSeconds = 5, kPresenceOfChange = 1;
/// How often it is looked up whether the tuner of a long job is still there [s].
constexpr double kLookSeconds = 10;
/// How long a unit waits at the queue that its last job came from before it looks at the other: soon after a job, and later [s].
constexpr double kShortWait = 0.2, kLongWait = 1, kRecently = 10;
/// How often it is looked up which users there are [s].
constexpr double kFindUsersSeconds = 10;
/// Before each attempt to reach a device again; the last one for ever [s].
constexpr double kAgainSeconds[] = {0.2, 0.5, 1, 2, 5};
constexpr double kAgentNap = 0.05;
/// An acknowledgment that did not arrive is sent again; where none does, the answer is found when the job comes again.
constexpr int kAcknowledgments = 3;

double age(AgentClock::time_point then) { return std::chrono::duration<double>(AgentClock::now() - then).count(); }
void nap(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

std::uint64_t random_number() {
  std::random_device random;
  return (std::uint64_t{random()} << 32) | random();
}

std::vector<std::string> command_of(const DeviceName& device) {
  if (device.kind == DeviceName::Kind::exec) return {"sh", "-c", device.command};
  return ssh_command_of_installed(device);
}

/// Names of units: words, each once.
class UnitNames {
 public:
  std::string claim(std::string_view host) {
    std::string word(host.substr(0, 32));
    for (char& c : word)
      if (!is_fleet_word({&c, 1})) c = '-';
    if (word.empty()) word = "unit";
    const std::lock_guard<std::mutex> lock(mutex_);
    std::string name = word;
    for (int i = 2; !taken_.insert(name).second; ++i) name = word + "-" + std::to_string(i);
    return name;
  }

 private:
  std::mutex mutex_;
  std::set<std::string> taken_;
};

/// The queues of a key, one pair a user. Users take turns, so that nobody's jobs wait behind all of another's.
class JobQueues {
 public:
  /// Fails where no user has a queue of the key.
  static Result<JobQueues> open(NatsConnection&, const std::string& key);
  /// The next job, an urgent one of any user first. Waits where the last one came from, for `seconds` at most.
  std::optional<TakenMessage> take(double seconds);

 private:
  struct OfUser {
    std::string user;
    QueueEnd high, low;
    QueueEnd& of(Priority priority) { return priority == Priority::high ? high : low; }
  };
  JobQueues(NatsConnection& nats, std::string key) : nats_(&nats), key_(std::move(key)) {}
  /// Users who came since, and without those who left.
  Status find();
  Status add(const std::string& user);

  NatsConnection* nats_;
  std::string key_;
  std::vector<OfUser> users_;
  std::size_t last_ = 0;  ///< the user whose job was taken last
  Priority favourite_ = Priority::high;
  AgentClock::time_point found_ = AgentClock::now();
};

Result<JobQueues> JobQueues::open(NatsConnection& nats, const std::string& key) {
  JobQueues queues(nats, key);
  WHET_RETURN_IF_ERROR(queues.find());
  if (!queues.users_.empty()) return queues;
  return Error{"there is no queue for the key " + key + " (whet-agent --join SETUP --key " + key +
                   ", on the host of the setup, makes it)",
               ErrorKind::not_found};
}

Status JobQueues::add(const std::string& user) {
  const std::string stream = job_stream(user);
  Result<QueueEnd> high = QueueEnd::open(*nats_, stream, queue_name(key_, Priority::high));
  if (!high.ok()) return high.error().kind == ErrorKind::not_found ? ok_status() : Status(high.error());
  WHET_TRY(QueueEnd low, QueueEnd::open(*nats_, stream, queue_name(key_, Priority::low)));
  users_.push_back({user, std::move(*high), std::move(low)});
  return ok_status();
}

Status JobQueues::find() {
  found_ = AgentClock::now();
  WHET_TRY(const std::vector<std::string> there, nats_->users());
  std::erase_if(users_, [&](const OfUser& each) { return std::ranges::find(there, each.user) == there.end(); });
  for (const std::string& user : there)
    if (std::ranges::find(users_, user, &OfUser::user) == users_.end()) WHET_RETURN_IF_ERROR(add(user));
  return ok_status();
}

std::optional<TakenMessage> JobQueues::take(double seconds) {
  // Where the broker does not say who is there, those who were are served.
  if (age(found_) > kFindUsersSeconds && !find().ok() && users_.empty()) return nap(seconds), std::nullopt;
  for (const Priority priority : {Priority::high, Priority::low})
    for (std::size_t i = 1; i <= users_.size(); ++i) {
      const std::size_t at = (last_ + i) % users_.size();
      if (auto job = users_[at].of(priority).take(0)) return last_ = at, favourite_ = priority, std::move(job);
    }
  if (users_.empty()) return nap(seconds), std::nullopt;
  return users_[last_ % users_.size()].of(favourite_).take(seconds);
}

/// A device in the fleet.
class ServedUnit {
 public:
  ServedUnit(NatsConnection& nats, const FleetUnitOptions& options, const DeviceName& device, UnitNames& names,
             const std::atomic<bool>& ends, JobQueues queues)
      : nats_(nats),
        options_(options),
        address_(to_string(device)),
        argv_(command_of(device)),
        names_(names),
        ends_(ends),
        queues_(std::move(queues)) {}

  void run() {
    while (!ends_) {
      if (!session_ && !connect()) continue;
      if (!session_->keep_alive()) {
        lose("the link was lost while it was idle");
        continue;
      }
      tell(Presence::State::idle);
      if (!nats_.is_connected())
        nap(kAgentNap);
      else if (auto job = next())
        work(*job);
    }
    if (!name_.unit.empty()) nats_.send(unit_subject(name_), "");
  }

 private:
  bool connect();
  void lose(const std::string& why);
  void say(const std::string& sentence);
  void tell(Presence::State);
  void remember(const RunConditions& conditions) {
    presence_.ghz = conditions.ghz;
    presence_.celsius = std::max(0.0, conditions.celsius);
    presence_.throttled = conditions.throttled;
  }
  std::optional<TakenMessage> next() { return queues_.take(age(worked_) < kRecently ? kShortWait : kLongWait); }
  void work(TakenMessage&);
  FleetAnswer answer_to(TakenMessage&, const JobName&, bool& interrupted);
  bool hold(TakenMessage&, const JobName&);
  void run_kernels(const SessionJob&, const std::function<bool()>& stops, FleetAnswer&, bool& interrupted);
  void run_models(const std::string& user, const std::string& order, const std::function<bool()>& stops, FleetAnswer&,
                  bool& interrupted);
  std::string why_refused(const std::optional<FleetJob>&, const std::optional<SessionJob>&) const;
  bool has_left(const FleetSession&);
  bool is_answered(const JobName&);
  bool store(TakenMessage&, const JobName&, const FleetAnswer&);

  NatsConnection& nats_;
  const FleetUnitOptions& options_;
  std::string address_;
  std::vector<std::string> argv_;
  UnitNames& names_;
  const std::atomic<bool>& ends_;
  JobQueues queues_;

  std::optional<RemoteSession> session_;
  UnitName name_;
  Presence presence_;
  std::string said_;
  Presence::State told_state_ = Presence::State::lost;
  AgentClock::time_point told_{}, worked_{}, held_{}, looked_{};
  std::size_t attempts_ = 0;
};

void ServedUnit::say(const std::string& sentence) {
  if (sentence == said_) return;
  said_ = sentence;
  std::fprintf(stderr, "%s: %s\n", name_.unit.empty() ? address_.c_str() : name_.unit.c_str(), sentence.c_str());
}

void ServedUnit::tell(Presence::State state) {
  if (name_.unit.empty() || age(told_) < (state == told_state_ ? kPresenceSeconds : kPresenceOfChange)) return;
  told_ = AgentClock::now();
  presence_.state = told_state_ = state;
  if (state == Presence::State::idle) presence_.owner.clear();
  nats_.send(unit_subject(name_), encode(presence_));
}

void ServedUnit::lose(const std::string& why) {
  session_.reset();
  presence_.owner.clear();
  presence_.why = printable(why);
  say("lost: " + why);
  told_ = {};
  tell(Presence::State::lost);
}

bool ServedUnit::connect() {
  const double pause = kAgainSeconds[std::min(attempts_, std::size(kAgainSeconds) - 1)];
  for (double waited = 0; attempts_ > 0 && waited < pause && !ends_; waited += kAgentNap) {
    nap(kAgentNap);
    tell(Presence::State::lost);
  }
  ++attempts_;
  if (ends_) return false;
  Result<RemoteSession> session = RemoteSession::open(argv_, {}, [this] { return ends_.load(); });
  if (!session.ok()) {
    const bool is_bare = !missing_machine(session.error()).empty();
    if (!ends_)
      lose(session.error().message + (is_bare ? "; `whet target --device " + address_ + "` copies it there" : ""));
    return false;
  }
  // Its jobs were told what the fleet's units are: another kind of device is none of it.
  if (!name_.unit.empty() && session->device().unit != presence_.device.unit) {
    lose("another device answers now");
    return false;
  }
  session_.emplace(std::move(*session));
  presence_.device = session_->device();
  presence_.agent = version();
  presence_.why.clear();
  if (name_.unit.empty()) name_ = {options_.key, options_.access.user, names_.claim(presence_.device.name)};
  attempts_ = 0;
  told_ = {};
  say("takes jobs of " + options_.key);
  return true;
}

/// A tuner whose entry the broker has forgotten. Where the broker cannot be asked it counts as there.
bool ServedUnit::has_left(const FleetSession& tuner) {
  const auto entry = nats_.last(tuner_stream(tuner.user), tuner_subject(tuner));
  return entry.ok() && (!*entry || (*entry)->bytes.empty());
}

bool ServedUnit::is_answered(const JobName& job) {
  const auto answer = nats_.last(answer_stream(job.from.user), answer_subject(job.from, job.number, 0));
  if (!answer.ok() || !*answer) return false;
  const auto first = decode<FleetPart>((*answer)->bytes);
  // Parts are stored in order, so that the last one shows the others.
  const auto last =
      first ? nats_.last(answer_stream(job.from.user), answer_subject(job.from, job.number, first->parts - 1)) : answer;
  const auto end = last.ok() && *last ? decode<FleetPart>((*last)->bytes) : std::nullopt;
  return first && end && end->run == first->run;
}

void ServedUnit::work(TakenMessage& message) {
  const auto job = parse_job_subject(message.subject());
  if (!job || has_left(job->from)) return message.drop();
  if (message.deliveries() == 1 || !is_answered(*job)) {
    bool interrupted = false;
    const FleetAnswer answer = answer_to(message, *job, interrupted);
    if (interrupted) return ends_ ? message.give_back() : message.drop();
    if (!store(message, *job, answer)) return;
    ++presence_.jobs;
  }
  worked_ = AgentClock::now();
  for (int i = 0; i < kAcknowledgments && !message.acknowledge().ok(); ++i) nap(kAgentNap);
}

std::string ServedUnit::why_refused(const std::optional<FleetJob>& job,
                                    const std::optional<SessionJob>& session_job) const {
  if (!job) return "the job makes no sense to whet-agent " + version();
  if (job->session != kSessionHighest)
    return "the job is of version " + std::to_string(job->session) +
           " of device sessions; this whet-agent runs version " + std::to_string(kSessionHighest);
  const DeviceLimits& limits = session_->device().limits;
  if (job->kind == FleetJob::Kind::models) return "";  // serve_order looks at it
  if (!session_job) return "the job makes no sense to whet-agent " + version();
  if (job->job.size() > limits.message_bytes)
    return "the job has " + std::to_string(job->job.size()) + " bytes; the device takes " +
           std::to_string(limits.message_bytes);
  if (!(session_job->kernel_seconds <= limits.kernel_seconds))
    return "a kernel may take " + std::to_string(session_job->kernel_seconds) + " s; the device allows " +
           std::to_string(limits.kernel_seconds) + " s";
  return "";
}

FleetAnswer ServedUnit::answer_to(TakenMessage& message, const JobName& name, bool& interrupted) {
  FleetAnswer answer;
  answer.unit = name_.unit;
  answer.device = presence_.device.unit;
  const auto job = decode<FleetJob>(message.bytes());
  const bool of_kernels = job && job->kind == FleetJob::Kind::kernels;
  const auto session_job = of_kernels ? decode_session_job(job->job, session_->device().limits.kernels) : std::nullopt;
  answer.message = why_refused(job, session_job);
  if (!answer.message.empty()) {
    answer.kind = FleetAnswer::Kind::refused;
    return answer;
  }
  presence_.owner = job->owner;
  session_->begin_for(name.from.user);
  tell(Presence::State::busy);
  held_ = looked_ = AgentClock::now();
  const auto stops = [&] { return hold(message, name); };
  of_kernels ? run_kernels(*session_job, stops, answer, interrupted)
             : run_models(name.from.user, job->job, stops, answer, interrupted);
  return answer;
}

/// Asked while a job runs, as long as the device answers pings. True where nobody waits for its answer.
bool ServedUnit::hold(TakenMessage& message, const JobName& name) {
  if (age(held_) >= kHoldSeconds) {
    held_ = AgentClock::now();
    message.hold();
    nats_.send(note_subject(name.from, name.number), name_.unit);
  }
  tell(Presence::State::busy);
  if (age(looked_) >= kLookSeconds) {
    looked_ = AgentClock::now();
    if (has_left(name.from)) return true;
  }
  return ends_;
}

void ServedUnit::run_models(const std::string& user, const std::string& order, const std::function<bool()>& stops,
                            FleetAnswer& answer, bool& interrupted) {
  ServedOrder served = serve_order(nats_, *session_, user, order, stops);
  interrupted = served.interrupted;
  answer.kind = served.answer.kind;
  answer.message = std::move(served.answer.message);
  answer.items = std::move(served.answer.items);
  if (answer.kind != FleetAnswer::Kind::lost) return;
  const std::string why = answer.message;
  answer.message = printable(name_.unit + ": " + why);
  lose(why);
}

void ServedUnit::run_kernels(const SessionJob& job, const std::function<bool()>& stops, FleetAnswer& answer,
                             bool& interrupted) {
  const RemoteSession::JobEnd end = session_->run(job, stops);
  interrupted = end.kind == RemoteSession::JobEnd::Kind::interrupted;
  answer.started = end.started;
  for (const auto& item : end.items) {
    if (!item) continue;
    answer.items.push_back(encode(*item));
    if (const auto* timed = std::get_if<MeasureReply>(&item->reply)) remember(timed->conditions);
  }
  if (end.kind == RemoteSession::JobEnd::Kind::lost) {
    answer.kind = FleetAnswer::Kind::lost;
    answer.message = printable(name_.unit + ": " + end.message);
    lose(end.message);
  }
}

/// Stores an answer, as long as that takes. False where it cannot be: the job is then another unit's.
bool ServedUnit::store(TakenMessage& message, const JobName& job, const FleetAnswer& answer) {
  const std::uint64_t run = random_number();
  const std::vector<std::string> parts = parts_of(answer, run);
  if (parts.size() > kMostAnswerParts)
    return store(message, job,
                 {FleetAnswer::Kind::refused, answer.unit, "the answer is longer than a fleet carries", -1, {}, {}});
  for (std::uint32_t part = 0; part < parts.size(); ++part) {
    const std::string id = std::to_string(run) + "." + std::to_string(part);
    for (;;) {
      const Status stored = nats_.store(answer_subject(job.from, job.number, part), parts[part], id);
      if (stored.ok()) break;
      say(stored.error().message);
      if (ends_ || stored.error().kind != ErrorKind::io) return message.give_back(), false;
      message.hold();
      nap(kAgentNap);
    }
  }
  return true;
}

}  // namespace

Status serve_fleet(const FleetUnitOptions& options, const std::atomic<bool>& ends) {
  WHET_TRY(const std::unique_ptr<NatsConnection> nats, NatsConnection::open(options.access));
  UnitNames names;
  std::vector<std::unique_ptr<ServedUnit>> units;
  for (const DeviceName& device : options.devices) {
    WHET_TRY(JobQueues queues, JobQueues::open(*nats, options.key));
    units.push_back(std::make_unique<ServedUnit>(*nats, options, device, names, ends, std::move(queues)));
  }
  std::vector<std::thread> threads;
  for (const auto& unit : units) threads.emplace_back([&unit = *unit] { unit.run(); });
  for (std::thread& thread : threads) thread.join();
  return ok_status();
}

}  // namespace whet
