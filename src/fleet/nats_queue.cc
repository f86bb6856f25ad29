#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <thread>
#include <unordered_map>

#include "device/session/bounds.h"
#include "device/session/frames.h"
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
  AnswerParts parts;
  std::optional<FleetAnswer> answer;
  Clock::time_point heard = Clock::now(), looked = Clock::now();
  double look_after = kFirstLook;
};

class NatsQueue : public FleetQueue {
 public:
  NatsQueue(std::unique_ptr<NatsConnection> nats, NatsInbox answers, NatsInbox notes, FleetSession self,
            std::string owner)
      : nats_(std::move(nats)),
        answers_(std::move(answers)),
        notes_(std::move(notes)),
        self_(std::move(self)),
        owner_(std::move(owner)),
        receiver_([this] { receive(); }) {}

  ~NatsQueue() override {
    ends_ = true;
    receiver_.join();
    // Units drop the jobs of a tuner that has left.
    nats_->send(tuner_subject(self_), "");
  }

  Result<FleetAnswer> run(const std::string& key, Priority priority, FleetJob::Kind kind, const std::string& job,
                          const std::function<bool()>& interrupted) override {
    const auto open = std::make_shared<OpenJob>();
    open->name = {key, priority, self_, ++jobs_};
    open->payload = encode(FleetJob{kSessionHighest, owner_, job, kind});
    {
      const std::lock_guard<std::mutex> lock(mutex_);
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
  Result<std::vector<FleetQueueState>> queues(const std::vector<FleetUnit>&) override;

 private:
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

  std::unique_ptr<NatsConnection> nats_;
  NatsInbox answers_, notes_;
  FleetSession self_;
  std::string owner_;
  std::atomic<std::uint32_t> jobs_ = 0, asked_ = 0, kept_ = 0;
  std::atomic<bool> ends_ = false;
  std::mutex mutex_;  ///< of `open_`, and of what is in the jobs but their names and payloads
  std::condition_variable answered_;
  std::unordered_map<std::uint32_t, std::shared_ptr<OpenJob>> open_;
  std::thread receiver_;
};

/// Each submission has an id of its own: the broker takes an id once.
Status NatsQueue::store(OpenJob& job) {
  const std::string id = self_.session + "." + std::to_string(job.name.number) + "." + std::to_string(job.attempts);
  WHET_RETURN_IF_ERROR(nats_->store(job_subject(job.name), job.payload, id));
  const std::lock_guard<std::mutex> lock(mutex_);
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
  job.heard = Clock::now();
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
    job->second->heard = Clock::now();
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
    const auto stored = nats_->last(kAnswerStream, answer_subject(self_, job.name.number, part));
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
  const auto there = nats_->last(kJobStream, job_subject(job.name));
  if (!there.ok() || find_answer(job)) return;
  if (*there) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (since(job.heard) < kSilentSeconds) return;
    }
    const auto queue = nats_->queue(kJobStream, queue_name(job.name.key, job.name.priority));
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
  WHET_TRY(const std::optional<StoredMessage> stored, nats_->last(bucket_stream(kTunerBucket), subject));
  if (!stored) return Error{"the broker forgets what it stores", ErrorKind::io};
  return stored->time;
}

Result<std::vector<FleetUnit>> NatsQueue::units(const std::string& key) {
  WHET_TRY(const std::int64_t now, broker_time());
  const std::string stream = bucket_stream(kDeviceBucket),
                    filter = std::string("$KV.") + kDeviceBucket + "." + (key.empty() ? "" : key + ".") + ">";
  WHET_TRY(const std::vector<SubjectCount> subjects, nats_->subjects(stream, filter));
  std::vector<FleetUnit> units;
  for (const SubjectCount& subject : subjects) {
    const auto name = parse_unit_subject(subject.subject);
    if (!name) continue;
    WHET_TRY(const std::optional<StoredMessage> stored, nats_->last(stream, subject.subject));
    // An agent that has left, or that speaks another version, has no unit.
    auto presence = stored ? decode_presence(stored->bytes) : std::nullopt;
    if (!presence) continue;
    units.push_back({*name, std::move(*presence), std::max(0.0, static_cast<double>(now - stored->time) * 1e-9)});
  }
  std::ranges::sort(units, {}, [](const FleetUnit& unit) { return unit_subject(unit.name); });
  return units;
}

Result<std::vector<FleetQueueState>> NatsQueue::queues(const std::vector<FleetUnit>& units) {
  std::vector<FleetQueueState> states;
  for (const FleetUnit& unit : units) {
    const std::string& key = unit.name.key;
    if (!states.empty() && states.back().key == key) continue;
    states.push_back({key, {}, {}});
    for (const Priority priority : {Priority::high, Priority::low}) {
      WHET_TRY(const QueueState queue, nats_->queue(kJobStream, queue_name(key, priority)));
      auto& state = priority == Priority::high ? states.back().high : states.back().low;
      state = {queue.waiting, queue.taken, queue.redelivered, {}};
      std::map<std::string, std::uint64_t> users;
      WHET_TRY(const std::vector<SubjectCount> jobs, nats_->subjects(kJobStream, queue_subject(key, priority)));
      for (const SubjectCount& job : jobs)
        if (const auto name = parse_job_subject(job.subject)) users[name->from.user] += job.messages;
      state.users.assign(users.begin(), users.end());
    }
  }
  return states;
}

}  // namespace

Result<std::unique_ptr<FleetQueue>> join_fleet(const FleetAccess& access) {
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
  if (const Status told = nats->store(tuner_subject(self), owner, self.session); !told.ok())
    return Error{"this is no broker of a fleet, or its streams are missing (whet-agent makes them): " +
                 told.error().message};
  return std::unique_ptr<FleetQueue>(
      new NatsQueue(std::move(nats), std::move(answers), std::move(notes), self, std::move(owner)));
}

}  // namespace whet
