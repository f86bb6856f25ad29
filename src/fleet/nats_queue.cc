#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <set>
#include <thread>

#include "base/version.h"
#include "device/protocol/bounds.h"
#include "device/protocol/frames.h"
#include "fleet/nats.h"
#include "fleet/queue.h"

namespace whet {
namespace {

using Clock = std::chrono::steady_clock;

/// How often a tuner tells that it lives; the bucket forgets it after 30 s [s].
constexpr double kTellSeconds = 5;
/// When a job's fate is asked for, where no answer came by its own; doubled each time, up to the second [s].
constexpr double kFirstLook = 2, kLongestLook = 10;
/// A job that was handed out, and of which nothing is heard for so long, is submitted again [s].
constexpr double kSilentSeconds = 60;
/// A broker that is away for so long is lost [s].
constexpr double kBrokerPatience = 300;
/// What jobs wait for is said again where it changed, at most so often [s].
constexpr double kSayAgain = 60;
/// Submissions of one job before it is given up.
constexpr int kMostAttempts = 3;
constexpr double kReceiverTick = 0.05;
constexpr auto kWaiterTick = std::chrono::milliseconds(50);
constexpr auto kSubmitPause = std::chrono::milliseconds(200);

double since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

/// A job that has no answer yet.
struct OpenJob {
  JobName name;
  std::string payload;
  int attempts = 0;
  bool stored = false;  ///< the broker has taken it
  std::string refused;  ///< why it has not, so far
  AnswerParts parts;
  std::optional<FleetAnswer> answer;
  Clock::time_point heard = Clock::now(), looked = Clock::now();
  double look_after = kFirstLook;
};

class NatsQueue : public FleetQueue {
 public:
  NatsQueue(std::unique_ptr<NatsConnection> nats, NatsInbox answers, NatsInbox notes, FleetSession self,
            std::string owner, std::function<void(const std::string&)> waits)
      : nats_(std::move(nats)),
        answers_(std::move(answers)),
        notes_(std::move(notes)),
        self_(std::move(self)),
        owner_(std::move(owner)),
        waits_(std::move(waits)),
        receiver_([this] { receive(); }) {}

  ~NatsQueue() override {
    ends_ = true;
    receiver_.join();
    // Units drop the jobs of a tuner that has left.
    nats_->send(tuner_subject(self_), "");
  }

  Result<FleetAnswer> run(const std::string& key, Priority priority, FleetJob::Kind kind, const std::string& job,
                          const std::function<bool()>& interrupted) override {
    WHET_RETURN_IF_ERROR(find_queue(key, priority));
    const auto open = std::make_shared<OpenJob>();
    open->name = {key, priority, self_, ++jobs_};
    open->payload = encode(FleetJob{kSessionHighest, owner_, job, kind});
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (open_.empty()) heard_ = Clock::now();
      open_[open->name.number] = open;
    }
    const Status submitted = until_taken([&] { return store(*open); }, interrupted);
    Result<FleetAnswer> answer = submitted.ok() ? wait(*open, interrupted) : Result<FleetAnswer>(submitted.error());
    const std::lock_guard<std::mutex> lock(mutex_);
    open_.erase(open->name.number);
    return answer;
  }

  Status keep(const std::string& hash, std::uint32_t piece, const std::string& bytes,
              const std::function<bool()>& interrupted) override {
    const std::string subject = file_subject(self_.user, hash, piece),
                      id = self_.session + ".f" + std::to_string(++kept_);
    return until_taken([&] { return nats_->store(subject, bytes, id); }, interrupted);
  }

  Result<std::vector<FleetUnit>> units(const std::string& key) override;
  Result<std::vector<FleetQueueState>> queues(const std::string& key) override;

 private:
  Status find_queue(const std::string& key, Priority);
  Status add_queue(const std::string& user, const std::string& key, Priority, FleetQueueState::OfPriority&);
  Status store(OpenJob&);
  static Status until_taken(const std::function<Status()>& store, const std::function<bool()>& interrupted);
  Result<FleetAnswer> wait(OpenJob&, const std::function<bool()>& interrupted);
  void receive();
  void tell() { nats_->send(tuner_subject(self_), owner_); }
  void take_letter(const NatsInbox::Letter&);
  void take_note(const NatsInbox::Letter&);
  void look_after_open_jobs(bool all);
  void look_after(OpenJob&);
  bool find_answer(OpenJob&);
  void add_part(OpenJob&, std::uint32_t part, std::string_view bytes);
  Result<std::int64_t> broker_time();
  void say_what_is_awaited();
  std::string what_is_awaited_by(const OpenJob&);
  std::shared_ptr<OpenJob> oldest_open_job();

  std::unique_ptr<NatsConnection> nats_;
  NatsInbox answers_, notes_;
  FleetSession self_;
  std::string owner_;
  std::function<void(const std::string&)> waits_;
  std::atomic<std::uint32_t> jobs_ = 0, asked_ = 0, kept_ = 0;
  std::atomic<bool> ends_ = false;
  /// Of the members below, and of what is in the jobs but their names and payloads.
  std::mutex mutex_;
  std::condition_variable answered_;
  std::map<std::uint32_t, std::shared_ptr<OpenJob>> open_;
  std::set<std::string> found_queues_;
  Clock::time_point heard_ = Clock::now();  ///< of any job
  // of the receiver alone
  std::string said_;
  Clock::time_point said_at_ = Clock::now();
  std::thread receiver_;
};

/// The broker says nothing of a job for a key that it does not know.
Status NatsQueue::find_queue(const std::string& key, Priority priority) {
  const std::string name = queue_name(key, priority);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (found_queues_.contains(name)) return ok_status();
  }
  const auto queue = nats_->queue(job_stream(self_.user), name);
  if (!queue.ok() && queue.error().kind == ErrorKind::not_found)
    return Error{"there is no queue for jobs of " + self_.user + " and the key " + key +
                     " (whet-agent --join SETUP --key " + key + ", on the host of the setup, makes it)",
                 ErrorKind::not_found};
  const std::lock_guard<std::mutex> lock(mutex_);
  if (queue.ok()) found_queues_.insert(name);
  return ok_status();
}

/// Each submission has an id of its own: the broker takes an id once.
Status NatsQueue::store(OpenJob& job) {
  const std::string id = self_.session + "." + std::to_string(job.name.number) + "." + std::to_string(job.attempts);
  Status stored = nats_->store(job_subject(job.name), job.payload, id);
  const std::lock_guard<std::mutex> lock(mutex_);
  job.refused = stored.ok() ? "" : stored.error().message;
  if (!stored.ok()) return stored;
  job.stored = true;
  ++job.attempts;
  job.heard = Clock::now();
  return ok_status();
}

/// Stores again while the broker is away.
Status NatsQueue::until_taken(const std::function<Status()>& store, const std::function<bool()>& interrupted) {
  const Clock::time_point start = Clock::now();
  for (;;) {
    Status stored = store();
    if (stored.ok() || stored.error().kind != ErrorKind::io || since(start) > kBrokerPatience) return stored;
    if (interrupted && interrupted()) return Error{"interrupted", ErrorKind::interrupted};
    std::this_thread::sleep_for(kSubmitPause);
  }
}

Result<FleetAnswer> NatsQueue::wait(OpenJob& job, const std::function<bool()>& interrupted) {
  Clock::time_point connected = Clock::now();
  std::unique_lock<std::mutex> lock(mutex_);
  while (!job.answer) {
    answered_.wait_for(lock, kWaiterTick);
    if (job.answer) break;
    if (interrupted && interrupted()) return Error{"interrupted", ErrorKind::interrupted};
    if (nats_->is_connected()) connected = Clock::now();
    if (since(connected) > kBrokerPatience)
      return Error{"the broker at " + nats_->access().server + " is away", ErrorKind::io};
  }
  return std::move(*job.answer);
}

void NatsQueue::receive() {
  Clock::time_point told = Clock::now();
  int reconnected = 0;
  while (!ends_) {
    if (const auto letter = answers_.next(kReceiverTick)) take_letter(*letter);
    while (const auto note = notes_.next(0)) take_note(*note);
    if (waits_) say_what_is_awaited();
    if (since(told) >= kTellSeconds) {
      tell();
      told = Clock::now();
    }
    if (!nats_->is_connected()) continue;
    // What came while the connection was away was sent to nobody.
    const bool all = nats_->reconnected() != reconnected;
    reconnected = nats_->reconnected();
    if (all) tell();
    look_after_open_jobs(all);
  }
}

void NatsQueue::add_part(OpenJob& job, std::uint32_t part, std::string_view bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (job.answer) return;
  job.heard = heard_ = Clock::now();
  job.answer = job.parts.add(part, bytes);
  if (job.answer) answered_.notify_all();
}

void NatsQueue::take_letter(const NatsInbox::Letter& letter) {
  const auto part = parse_answer_subject(letter.subject, self_);
  if (!part) return;
  std::shared_ptr<OpenJob> job;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const auto found = open_.find(part->number); found != open_.end()) job = found->second;
  }
  if (job) add_part(*job, part->part, letter.bytes);
}

void NatsQueue::take_note(const NatsInbox::Letter& letter) {
  const auto number = parse_note_subject(letter.subject, self_);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto job = number ? open_.find(*number) : open_.end(); job != open_.end())
    job->second->heard = heard_ = Clock::now();
}

std::shared_ptr<OpenJob> NatsQueue::oldest_open_job() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return open_.empty() || since(heard_) < kQuietSeconds ? nullptr : open_.begin()->second;
}

std::string NatsQueue::what_is_awaited_by(const OpenJob& job) {
  if (!nats_->is_connected()) return "the broker at " + nats_->access().server + " is away: the jobs wait for it";
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!job.stored && !job.refused.empty()) return "the jobs wait for room at the broker: " + job.refused;
  }
  const std::string& key = job.name.key;
  const auto units = this->units(key);
  const auto states = queues(key);
  if (!units.ok() || !states.ok()) return "";
  return what_is_awaited(key, *units, states->empty() ? FleetQueueState{key, {}, {}} : states->front());
}

/// Units at work tell of each job every two seconds.
void NatsQueue::say_what_is_awaited() {
  const std::shared_ptr<OpenJob> job = oldest_open_job();
  if (!job) {
    if (!said_.empty()) waits_("the fleet's units take the jobs again");
    return said_.clear();
  }
  if (since(said_at_) < (said_.empty() ? kTellSeconds : kSayAgain)) return;
  said_at_ = Clock::now();
  const std::string sentence = what_is_awaited_by(*job);
  if (sentence.empty() || sentence == said_) return;
  said_ = sentence;
  waits_(sentence);
}

void NatsQueue::look_after_open_jobs(bool all) {
  std::vector<std::shared_ptr<OpenJob>> due;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [number, job] : open_) {
      if (!job->stored || job->answer || !(all || since(job->looked) >= job->look_after)) continue;
      job->looked = Clock::now();
      job->look_after = std::min(2 * job->look_after, kLongestLook);
      due.push_back(job);
    }
  }
  for (const auto& job : due)
    if (!ends_ && nats_->is_connected()) look_after(*job);
}

bool NatsQueue::find_answer(OpenJob& job) {
  for (std::uint32_t part = 0, parts = 1; part < parts; ++part) {
    const auto stored = nats_->last(answer_stream(self_.user), answer_subject(self_, job.name.number, part));
    if (!stored.ok() || !*stored) return false;
    add_part(job, part, (*stored)->bytes);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (job.answer) return true;
    parts = job.parts.parts();
  }
  return false;
}

/// A job leaves its stream when its answer is stored: one that is in neither was lost, and is submitted again.
void NatsQueue::look_after(OpenJob& job) {
  const auto there = nats_->last(job_stream(self_.user), job_subject(job.name));
  if (!there.ok() || find_answer(job)) return;
  if (*there) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (since(job.heard) < kSilentSeconds) return;
    }
    const auto queue = nats_->queue(job_stream(self_.user), queue_name(job.name.key, job.name.priority));
    if (!queue.ok() || queue->last_taken < (*there)->sequence) return;  // it waits for a unit
  }
  if (job.attempts < kMostAttempts) {
    const Status again = store(job);  // where it fails, at the next look
    return void(again.ok());
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!job.answer) job.answer = FleetAnswer{FleetAnswer::Kind::lost, "", "every agent that took it was lost", -1, {}};
  answered_.notify_all();
}

/// The broker's clock counts, no host's: this is when the broker stores a message.
Result<std::int64_t> NatsQueue::broker_time() {
  const std::string subject = tuner_subject(self_);
  WHET_RETURN_IF_ERROR(nats_->store(subject, owner_, self_.session + ".time." + std::to_string(++asked_)));
  WHET_TRY(const std::optional<StoredMessage> stored, nats_->last(tuner_stream(self_.user), subject));
  if (!stored) return Error{"the broker forgets what it stores", ErrorKind::io};
  return stored->time;
}

Result<std::vector<FleetUnit>> NatsQueue::units(const std::string& key) {
  WHET_TRY(const std::int64_t now, broker_time());
  const std::string stream = kDeviceStream, filter = "$KV.whet_devices." + (key.empty() ? "" : key + ".") + ">";
  WHET_TRY(const std::vector<SubjectCount> subjects, nats_->subjects(stream, filter));
  std::vector<FleetUnit> units;
  for (const SubjectCount& subject : subjects) {
    const auto name = parse_unit_subject(subject.subject);
    if (!name) continue;
    WHET_TRY(const std::optional<StoredMessage> stored, nats_->last(stream, subject.subject));
    // An agent that has left, or that speaks another version, has no unit.
    auto presence = stored ? decode<Presence>(stored->bytes) : std::nullopt;
    if (!presence) continue;
    units.push_back({*name, std::move(*presence), std::max(0.0, static_cast<double>(now - stored->time) * 1e-9)});
  }
  std::ranges::sort(units, {}, [](const FleetUnit& unit) { return unit_subject(unit.name); });
  return units;
}

Result<std::vector<FleetQueueState>> NatsQueue::queues(const std::string& key) {
  std::map<std::string, FleetQueueState> states;
  WHET_TRY(const std::vector<std::string> users, nats_->users());
  for (const std::string& user : users) {
    WHET_TRY(const std::vector<std::string> keys, nats_->keys(user));
    for (const std::string& each : keys) {
      if (!key.empty() && each != key) continue;
      FleetQueueState& state = states[each];
      state.key = each;
      WHET_RETURN_IF_ERROR(add_queue(user, each, Priority::high, state.high));
      WHET_RETURN_IF_ERROR(add_queue(user, each, Priority::low, state.low));
    }
  }
  std::vector<FleetQueueState> out;
  for (auto& [name, state] : states) out.push_back(std::move(state));
  return out;
}

Status NatsQueue::add_queue(const std::string& user, const std::string& key, Priority priority,
                            FleetQueueState::OfPriority& to) {
  WHET_TRY(const QueueState queue, nats_->queue(job_stream(user), queue_name(key, priority)));
  to.waiting += queue.waiting;
  to.taken += queue.taken;
  to.redelivered += queue.redelivered;
  if (queue.waiting + queue.taken > 0) to.users.emplace_back(user, queue.waiting + queue.taken);
  return ok_status();
}

}  // namespace

Result<std::unique_ptr<FleetQueue>> join_fleet(const FleetAccess& access,
                                               std::function<void(const std::string&)> waits) {
  if (access.role == FleetAccess::Role::agent)
    return Error{access.folder + " is an agent's; expected the folder of a user who tunes"};
  WHET_TRY(std::unique_ptr<NatsConnection> nats, NatsConnection::open(access));
  const FleetSession self{access.user, random_word()};
  const std::string rest = "." + self.user + "." + self.session + ".>";
  WHET_TRY(NatsInbox answers, NatsInbox::open(*nats, "whet.done" + rest));
  WHET_TRY(NatsInbox notes, NatsInbox::open(*nats, "whet.note" + rest));
  char host[65] = {};
  gethostname(host, sizeof host - 1);
  std::string owner = access.user + "@" + printable(host, sizeof host);
  // Before the first job: units drop jobs of tuners that they do not know.
  Status told = nats->store(tuner_subject(self), owner, self.session);
  if (const auto users = nats->users(); told.ok() && !users.ok()) told = users.error();
  if (!told.ok())
    return Error{
        "this is no broker of a fleet of whet " + version() +
        ", or its streams are missing (whet-agent --setup SETUP writes its configuration anew, and whet-agent --join "
        "SETUP --key KEY makes them): " +
        told.error().message};
  return std::unique_ptr<FleetQueue>(
      new NatsQueue(std::move(nats), std::move(answers), std::move(notes), self, std::move(owner), std::move(waits)));
}

}  // namespace whet
