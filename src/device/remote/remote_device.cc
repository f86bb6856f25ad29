#include "device/remote/remote_device.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "artifact/code_format.h"
#include "device/remote/session_jobs.h"
#include "trial/outcome.h"

namespace whet {
namespace {

/// Links that may be lost over one request before its kernel is blamed.
constexpr int kLinksToLose = 2;
/// A device that could not be reached is not tried again sooner [s].
constexpr double kLostForSeconds = 5;
/// Of a job: as many as take a device about half a second.
constexpr int kMostCandidates = 16;
/// One runs, and one is there when it ends.
constexpr int kJobsAtOnce = 2;
constexpr auto kKeeperTick = std::chrono::milliseconds(500);
/// Sleeps of the back-off are no longer than this, so that an interrupt is seen [s].
constexpr double kNap = 0.05;

double seconds_passed(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

}  // namespace

Result<RemoteSession> RemoteDevice::open_session(const RemoteOptions& options) {
  const auto open = [&] {
    Result<RemoteSession> session = RemoteSession::open(options.argv, options.clocks, options.interrupted);
    if (session.ok() && options.tell)
      session->set_listener([tell = options.tell, address = options.address](const std::string& why) {
        tell(address + " waits: " + why);
      });
    return session;
  };
  Result<RemoteSession> session = open();
  if (session.ok() || !options.push || session.error().kind != ErrorKind::not_found) return session;
  WHET_RETURN_IF_ERROR(options.push(session.error()));
  return open();
}

Result<std::unique_ptr<RemoteDevice>> RemoteDevice::connect(RemoteOptions options) {
  Result<RemoteSession> session = open_session(options);
  if (!session.ok()) return session.error().at(options.address);
  const double longest = session->device().limits.kernel_seconds;
  if (options.run_timeout > longest) {
    char why[96];
    std::snprintf(why, sizeof why, "a kernel may take %g s; the device allows %g s", options.run_timeout, longest);
    return Error{why}.at(options.address);
  }
  return std::unique_ptr<RemoteDevice>(new RemoteDevice(std::move(options), std::move(*session)));
}

RemoteDevice::RemoteDevice(RemoteOptions options, RemoteSession session)
    : options_(std::move(options)),
      description_(session.device()),
      session_(std::make_shared<RemoteSession>(std::move(session))) {
  // The times of an emulator are no device's: records are marked as they are of the emulated device.
  info_.name = description_.emulator.empty() ? description_.name : std::string(kEmulatedDevice);
  info_.memory = description_.memory_bytes;
  info_.job_candidates = std::clamp(static_cast<int>(description_.limits.kernels) - 1, 1, kMostCandidates);
  info_.jobs_at_once = kJobsAtOnce;
  keeper_ = std::thread([this] { keep_alive(); });
}

RemoteDevice::~RemoteDevice() {
  ends_ = true;
  {
    const std::lock_guard<std::mutex> lock(busy_);
  }  // the keeper has seen it, or waits
  end_.notify_all();
  keeper_.join();
}

void RemoteDevice::set_target(const Target& target, bool beside_builders) {
  info_.beside_builders = beside_builders;
  info_.target = target;
  info_.code = code_format(target);
}

void RemoteDevice::keep_alive() {
  std::unique_lock<std::mutex> lock(busy_);
  while (!ends_) {
    if (const std::shared_ptr<RemoteSession> session = session_) {
      lock.unlock();
      const bool alive = session->keep_alive();
      if (!alive) lose(session);  // the next request connects again, or this thread
      lock.lock();
    }
    if (!session_ && options_.has_peers) come_back(lock);
    if (!ends_) end_.wait_for(lock, kKeeperTick);
  }
}

/// One attempt, where it is time for it. Requests meanwhile find the device lost.
void RemoteDevice::come_back(std::unique_lock<std::mutex>& busy) {
  const std::size_t last = options_.back_off.empty() ? 0 : std::min(attempts_, options_.back_off.size() - 1);
  if (!options_.back_off.empty() && seconds_passed(tried_) < options_.back_off[last]) return;
  busy.unlock();
  RemoteOptions options = options_;
  options.interrupted = [this] { return is_interrupted(); };
  Result<RemoteSession> session = open_session(options);
  busy.lock();
  tried_ = std::chrono::steady_clock::now();
  ++attempts_;
  if (!session.ok())
    why_lost_ = options_.address + ": " + session.error().message;
  else if (take(std::move(*session)).ok())
    attempts_ = 0;
}

Status RemoteDevice::take(RemoteSession session) {
  if (!(session.device().unit == description_.unit && session.device().machine == description_.machine))
    return Error{why_lost_ = options_.address + ": another device answers now"};
  session_ = std::make_shared<RemoteSession>(std::move(session));
  why_lost_.clear();
  return ok_status();
}

Status RemoteDevice::reconnect(bool has_peers) {
  if (session_) return ok_status();
  if (has_peers || (!why_lost_.empty() && seconds_passed(tried_) < kLostForSeconds))
    return Error{why_lost_.empty() ? options_.address + ": the link is lost" : why_lost_};
  for (const double pause : options_.back_off) {
    for (double slept = 0; slept < pause; slept += kNap) {
      if (is_interrupted()) return Error{"interrupted", ErrorKind::interrupted};
      std::this_thread::sleep_for(std::chrono::duration<double>(kNap));
    }
    Result<RemoteSession> session = open_session(options_);
    if (session.ok()) return take(std::move(*session));
    why_lost_ = options_.address + ": " + session.error().message;
    tried_ = std::chrono::steady_clock::now();
    if (session.error().kind == ErrorKind::interrupted) return session.error();
  }
  return Error{why_lost_.empty() ? options_.address + ": the device cannot be reached" : why_lost_};
}

/// A champion's second time is not worth another attempt.
bool RemoteDevice::Answers::is_complete(const SessionJob& job) const {
  return std::all_of(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(job.requests.size()),
                     [](const auto& item) { return item.has_value(); });
}

Result<std::shared_ptr<RemoteSession>> RemoteDevice::current_session(bool has_peers) {
  const std::lock_guard<std::mutex> lock(busy_);
  WHET_RETURN_IF_ERROR(reconnect(has_peers));
  return session_;
}

void RemoteDevice::lose(const std::shared_ptr<RemoteSession>& session) {
  const std::lock_guard<std::mutex> lock(busy_);
  if (session_ != session) return;
  session_.reset();
  tried_ = std::chrono::steady_clock::now();
}

RemoteDevice::Answers RemoteDevice::ask(const SessionJob& job) {
  Answers answers;
  answers.items.resize(job.items());
  answers.champion = job.champion;
  if (const std::size_t bytes = encode(job).size(); bytes > description_.limits.message_bytes) {
    answers.code = OutcomeCode::rejected;
    answers.why = "the request has " + std::to_string(bytes) + " bytes; the device takes " +
                  std::to_string(description_.limits.message_bytes);
    return answers;
  }
  std::vector<int> links_lost(job.items());
  while (!answers.is_complete(job)) {
    const Result<std::shared_ptr<RemoteSession>> session = current_session(options_.has_peers);
    if (!session.ok()) {
      answers.why = session.error().message;
      break;
    }
    const auto end = ask_once(**session, job, answers);
    if (end == RemoteSession::JobEnd::Kind::done) continue;
    if (end == RemoteSession::JobEnd::Kind::lost) lose(*session);
    if (end == RemoteSession::JobEnd::Kind::interrupted || options_.has_peers) break;
    if (answers.on_the_table < 0) continue;
    const auto culprit = static_cast<std::size_t>(answers.on_the_table);
    if (++links_lost[culprit] < kLinksToLose) continue;
    answers.items[culprit] =
        crashed_item(job.request(culprit), culprit, "two links to the device were lost while it ran: " + answers.why);
    answers.champion = answers.champion && culprit > 0;
  }
  return answers;
}

RemoteSession::JobEnd::Kind RemoteDevice::ask_once(RemoteSession& session, const SessionJob& job, Answers& answers) {
  using Kind = RemoteSession::JobEnd::Kind;
  std::vector<std::size_t> numbers;  // of the requests that are sent
  SessionJob left{job.kernel_seconds, {}, answers.champion};
  for (std::size_t i = 0; i < job.requests.size(); ++i) {
    if (answers.items[i] && !(i == 0 && answers.champion)) continue;
    numbers.push_back(i);
    left.requests.push_back(job.requests[i]);
  }
  numbers.push_back(job.requests.size());  // the champion's second
  RemoteSession::JobEnd end = session.run(left, options_.interrupted);
  for (std::size_t i = 0; i < end.items.size(); ++i)
    if (end.items[i]) answers.items[numbers[i]] = std::move(end.items[i]);
  if (answers.is_complete(job)) return Kind::done;
  if (end.kind == Kind::interrupted) {
    answers.why = "interrupted while it ran";
    return end.kind;
  }
  answers.why = end.kind == Kind::lost ? end.message : "the device gave a job back without an answer";
  const auto first = std::ranges::find_if(answers.items, [](const auto& item) { return !item.has_value(); });
  answers.on_the_table = end.started >= 0 && !answers.items[numbers[static_cast<std::size_t>(end.started)]]
                             ? static_cast<int>(numbers[static_cast<std::size_t>(end.started)])
                         : end.was_behind ? -1
                                          : static_cast<int>(first - answers.items.begin());
  return Kind::lost;
}

MeasureReply RemoteDevice::measure(const MeasureRequest& request) { return std::move(run({{request}}).replies[0]); }

JobReply RemoteDevice::run(const MeasureJob& job) {
  const SessionJob asked = session_job(job, options_.run_timeout);
  Answers answers = ask(asked);
  for (auto& item : answers.items)
    if (item) std::get<MeasureReply>(item->reply).conditions.unit = description_.unit;
  JobReply out;
  if (!answers.is_complete(asked)) out.on_the_table = answers.on_the_table;
  out.replies = measure_replies(std::move(answers.items), answers.code, answers.why);
  return out;
}

CheckReply RemoteDevice::check(const CheckRequest& request) {
  Answers answers = ask({options_.run_timeout, {request}});
  return check_reply(std::move(answers.items), answers.code, answers.why);
}

SpotsReply RemoteDevice::check_spots(const SpotsRequest& request) {
  Answers answers = ask({options_.run_timeout, {request}});
  return spots_reply(std::move(answers.items), answers.code, answers.why);
}

Result<std::vector<ModelAnswer>> RemoteDevice::run_models(const std::vector<ModelLibrary>& files,
                                                          const std::vector<Tensor>& inputs, ModelOrder order) {
  const std::lock_guard<std::mutex> lock(models_);
  WHET_TRY(const std::vector<BlobSource> sources, files_.name(*this, files, inputs));
  order.seconds = options_.model_timeout;
  name_in(order, sources, files.size());
  has_models_ = !files.empty();
  std::uint64_t most_there = 0;
  std::string why;
  for (int lost = 0; lost < kLinksToLose;) {
    WHET_TRY(const std::shared_ptr<RemoteSession> session, current_session(false));
    OrderEnd end;
    if (!sources.empty()) end = bring_blobs(*session, each_once(sources), options_.interrupted);
    // A link that brought something was worth it, and makes up for those before it: where a machine is busy, the answer that
    // tells of progress may be lost with its link, and the next one has it.
    const bool progress = end.kind == OrderEnd::Kind::lost && end.there > most_there;
    most_there = std::max(most_there, end.there);
    if (end.kind == OrderEnd::Kind::done) end = carry_out(*session, order, options_.interrupted);
    switch (end.kind) {
      case OrderEnd::Kind::interrupted:
        return Error{"interrupted while a compiled model ran", ErrorKind::interrupted};
      case OrderEnd::Kind::refused:
        return Error{options_.address + ": " + end.message};
      case OrderEnd::Kind::done:
        return without_failure(*this, files, std::move(end.answers));
      case OrderEnd::Kind::lost:
        why = end.message;
        lose(session);
        lost = progress ? 0 : lost + 1;
    }
  }
  return Error{options_.address + ": two links to the device were lost over a compiled model: " + why, ErrorKind::io};
}

Result<std::vector<ModelTimes>> RemoteDevice::time_models(const std::vector<ModelLibrary>& files, const ModelRun& run) {
  if (!files.empty()) return time_on(*this, files, run);
  if (has_models_) WHET_RETURN_IF_ERROR(run_models({}, {}, {}));
  return std::vector<ModelTimes>{};
}

}  // namespace whet
