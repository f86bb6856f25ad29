#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "device/device.h"
#include "device/remote/model_host.h"
#include "device/remote/remote_session.h"

namespace whet {

struct RemoteOptions {
  std::string address;            ///< as the user wrote it, for messages
  std::vector<std::string> argv;  ///< the program that carries the session
  /// Brings whet-device to a host that has none, by its error; may be empty. The session is then tried once more.
  std::function<Status(const Error&)> push;
  double run_timeout = 10;     ///< seconds for one kernel
  double model_timeout = 600;  ///< seconds without an answer of a compiled model
  SessionClocks clocks;
  std::vector<double> back_off = {0.2, 0.5, 1, 2, 5};  ///< before each attempt to connect again [s]
  /// Where other devices do the same work: a request whose link is lost is `device_lost` at once, and the device comes
  /// back in its own time.
  bool has_peers = false;
  std::function<bool()> interrupted;  ///< asked while a request runs; may be empty
  /// Hears now and then why a request waits on the device, from any thread; may be empty.
  std::function<void(const std::string&)> tell;
};

/// A device at the other end of a session. A lost link costs the request that was out once: it is sent again over a new
/// session. A request over which two links were lost is a crash of its kernel; where no link comes up again, it is
/// `device_lost`. A thread of its own keeps the session alive between requests. Several threads may ask: the device gets the next
/// request while it is at one.
class RemoteDevice : public Device, public ModelHost {
 public:
  /// Connects. The device's target is set later (`set_target`): it follows from the description. Errors begin with the address.
  static Result<std::unique_ptr<RemoteDevice>> connect(RemoteOptions);
  ~RemoteDevice() override;

  /// As the first session's hello said.
  const DeviceDescription& description() const override { return description_; }
  const std::string& address() const override { return options_.address; }
  /// What its kernels are compiled for, and whether it is this very machine; before any request.
  void set_target(const Target&, bool beside_builders = false);

  const DeviceInfo& info() const override { return info_; }
  MeasureReply measure(const MeasureRequest&) override;
  JobReply run(const MeasureJob&) override;
  CheckReply check(const CheckRequest&) override;
  SpotsReply check_spots(const SpotsRequest&) override;
  Result<std::vector<ModelTimes>> time_models(const std::vector<ModelLibrary>&, const ModelRun&) override;
  /// The models stay open until the next order. A link that is lost meanwhile costs no bytes that had arrived.
  Result<std::vector<ModelAnswer>> run_models(const std::vector<ModelLibrary>&, const std::vector<Tensor>& inputs,
                                              ModelOrder order) override;

 private:
  RemoteDevice(RemoteOptions, RemoteSession);

  static Result<RemoteSession> open_session(const RemoteOptions&);
  /// What came of a job.
  struct Answers {
    std::vector<std::optional<SessionItem>> items;  ///< as many as the job's
    OutcomeCode code = OutcomeCode::device_lost;    ///< of requests without one, and why
    std::string why;
    int on_the_table = -1;  ///< the item that the device was at when it was lost; -1: it was at another request
    bool champion = false;  ///< whether the first request is still one
    bool is_complete(const SessionJob&) const;
  };
  Answers ask(const SessionJob&);
  /// Sends what has no answer yet.
  RemoteSession::JobEnd::Kind ask_once(RemoteSession&, const SessionJob&, Answers&);
  /// A session, made anew where there is none.
  Result<std::shared_ptr<RemoteSession>> current_session(bool has_peers);
  /// That session is of no use any more.
  void lose(const std::shared_ptr<RemoteSession>&);
  /// `has_peers`: the link is left lost, another device does the work.
  Status reconnect(bool has_peers);
  Status take(RemoteSession);
  void keep_alive();
  void come_back(std::unique_lock<std::mutex>& busy);
  bool is_interrupted() const { return ends_ || (options_.interrupted && options_.interrupted()); }

  RemoteOptions options_;
  DeviceInfo info_;
  DeviceDescription description_;
  std::mutex busy_;  ///< of all below; not held while a session is at work
  std::shared_ptr<RemoteSession> session_;
  std::string why_lost_;  ///< while no session could be had
  std::chrono::steady_clock::time_point tried_{};
  std::size_t attempts_ = 0;  ///< to come back, since the session was lost
  std::atomic<bool> ends_ = false;
  std::mutex models_;  ///< of all below
  ModelFiles files_;
  bool has_models_ = false;  ///< which may be open there
  std::condition_variable end_;
  std::thread keeper_;
};

}  // namespace whet
