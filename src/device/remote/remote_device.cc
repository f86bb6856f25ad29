#include "device/remote/remote_device.h"

#include <cstdio>
#include <utility>

#include "artifact/code_format.h"
#include "trial/outcome.h"

namespace whet {
namespace {

/// Links that may be lost over one request before its kernel is blamed.
constexpr int kLinksToLose = 2;
/// A device that could not be reached is not tried again sooner [s].
constexpr double kLostForSeconds = 5;
constexpr auto kKeeperTick = std::chrono::milliseconds(500);
/// Sleeps of the back-off are no longer than this, so that an interrupt is seen [s].
constexpr double kNap = 0.05;

MeasureReply failed_reply(OutcomeCode code, std::string message, const MeasureReply*) {
  return {code, std::move(message)};
}
CheckReply failed_reply(OutcomeCode code, std::string message, const CheckReply*) {
  return {code, std::move(message), {}};
}

double seconds_passed(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

}  // namespace

Result<RemoteSession> RemoteDevice::open_session(const RemoteOptions& options) {
  Result<RemoteSession> session = RemoteSession::open(options.argv, options.clocks, options.interrupted);
  if (session.ok() || !options.push || session.error().kind != ErrorKind::not_found) return session;
  WHET_RETURN_IF_ERROR(options.push(session.error()));
  return RemoteSession::open(options.argv, options.clocks, options.interrupted);
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
    : options_(std::move(options)), description_(session.device()), session_(std::move(session)) {
  // The times of an emulator are no device's: records are marked as they are of the emulated device.
  info_.name = description_.emulator.empty() ? description_.name : std::string(kEmulatedDevice);
  info_.memory = description_.memory_bytes;
  keeper_ = std::thread([this] { keep_alive(); });
}

RemoteDevice::~RemoteDevice() {
  {
    const std::lock_guard<std::mutex> lock(busy_);
    ends_ = true;
  }
  end_.notify_all();
  keeper_.join();
}

void RemoteDevice::set_target(const Target& target) {
  info_.target = target;
  info_.code = code_format(target);
}

void RemoteDevice::keep_alive() {
  std::unique_lock<std::mutex> lock(busy_);
  while (!ends_) {
    if (session_ && !session_->keep_alive()) session_.reset();  // the next request connects again
    end_.wait_for(lock, kKeeperTick);
  }
}

Status RemoteDevice::reconnect() {
  if (session_) return ok_status();
  if (!why_lost_.empty() && seconds_passed(tried_) < kLostForSeconds) return Error{why_lost_};
  for (const double pause : options_.back_off) {
    for (double slept = 0; slept < pause; slept += kNap) {
      if (is_interrupted()) return Error{"interrupted", ErrorKind::interrupted};
      std::this_thread::sleep_for(std::chrono::duration<double>(kNap));
    }
    Result<RemoteSession> session = open_session(options_);
    if (session.ok()) {
      if (!(session->device().unit == description_.unit && session->device().machine == description_.machine))
        return Error{why_lost_ = options_.address + ": another device answers now"};
      session_.emplace(std::move(*session));
      why_lost_.clear();
      return ok_status();
    }
    why_lost_ = options_.address + ": " + session.error().message;
    tried_ = std::chrono::steady_clock::now();
    if (session.error().kind == ErrorKind::interrupted) return session.error();
  }
  return Error{why_lost_.empty() ? options_.address + ": the device cannot be reached" : why_lost_};
}

template <typename Reply>
Reply RemoteDevice::ask(SessionRequest request) {
  const auto failed = [](OutcomeCode code, std::string message) {
    return failed_reply(code, std::move(message), static_cast<const Reply*>(nullptr));
  };
  const std::lock_guard<std::mutex> lock(busy_);
  const SessionJob job{options_.run_timeout, {std::move(request)}};
  if (const std::size_t bytes = encode(job).size(); bytes > description_.limits.message_bytes)
    return failed(OutcomeCode::rejected, "the request has " + std::to_string(bytes) + " bytes; the device takes " +
                                             std::to_string(description_.limits.message_bytes));
  std::string why;
  for (int lost = 0; lost < kLinksToLose; ++lost) {
    if (const Status connected = reconnect(); !connected.ok())
      return failed(OutcomeCode::device_lost, connected.error().message);
    RemoteSession::JobEnd end = session_->run(job, options_.interrupted);
    if (end.items.front()) return std::get<Reply>(std::move(end.items.front()->reply));
    if (end.kind == RemoteSession::JobEnd::Kind::interrupted)
      return failed(OutcomeCode::device_lost, "interrupted while it ran");
    why = end.kind == RemoteSession::JobEnd::Kind::lost ? end.message : "the device gave a job back without an answer";
    session_.reset();
  }
  return failed(OutcomeCode::crash, "two links to the device were lost while it ran: " + why);
}

MeasureReply RemoteDevice::measure(const MeasureRequest& request) { return ask<MeasureReply>(request); }
CheckReply RemoteDevice::check(const CheckRequest& request) { return ask<CheckReply>(request); }

Result<std::vector<ModelTimes>> RemoteDevice::time_models(const std::vector<ModelLibrary>& files, const ModelRun&) {
  if (files.empty()) return std::vector<ModelTimes>{};
  return Error{"compiled models are not run on remote devices yet", ErrorKind::unsupported};
}

}  // namespace whet
