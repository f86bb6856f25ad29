#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "device/protocol/link.h"
#include "device/protocol/messages.h"
#include "device/remote/child_stream.h"

namespace whet {

/// How a command says that the host has no whet-device: it ends with this status, and its last words are these and the
/// machine's name. The error is then `not_found`.
constexpr int kNoProgramStatus = 93;
constexpr const char* kNoProgramWords = "there is no whet-device yet for ";

/// The limits of a session's phases [s].
struct SessionClocks {
  double connect = 25;  ///< from the program's start to the device's hello
  double ping = 2;      ///< between our pings
  double dead = 10;     ///< without a byte after which the link is dead
  double margin = 10;   ///< a job's beyond the limits of its requests
};

/// A session with a whet-device at the other end of a program's standard input and output. Several threads may run jobs and
/// have conversations at the same time: the device does what it is asked for in order. It is long because all of it is behind one
/// mutex, and parts with their own would have to be locked in order.
class RemoteSession {
 public:
  /// Starts the program and greets the device. An error is one sentence: the program is not found, ends, prints other things,
  /// speaks other versions, or says nothing. When `interrupted` (may be empty) turns true, it ends with an error.
  static Result<RemoteSession> open(const std::vector<std::string>& argv, const SessionClocks&,
                                    const std::function<bool()>& interrupted);

  RemoteSession(RemoteSession&&) = default;
  ~RemoteSession();

  const DeviceDescription& device() const { return device_; }

  /// Whose the jobs are that come from now on: the device ends what ran those of another user before it runs them.
  void begin_for(const std::string& user);

  /// What became of a job.
  struct JobEnd {
    enum class Kind { done, lost, interrupted } kind = Kind::done;
    std::string message;                            ///< of `lost`
    std::vector<std::optional<SessionItem>> items;  ///< `SessionJob::items()`; nothing where no answer came
    int started = -1;                               ///< the last item that the device began with; -1: none
    bool was_behind = false;                        ///< of `lost`: the device was still at another conversation
  };
  /// Who hears, now and then, why the device lets a job or an order wait: "process 1234 has had the device for 5 s, for ann". From
  /// any thread; set it before anything is asked.
  void set_listener(std::function<void(const std::string&)> listener) { listener_ = std::move(listener); }
  /// Runs a job of at most `device().limits.kernels` requests. After `lost` the session is of no use.
  JobEnd run(const SessionJob&, const std::function<bool()>& interrupted);

  /// What became of a conversation: messages that share a number.
  struct TalkEnd {
    JobEnd::Kind kind = JobEnd::Kind::done;
    std::string message;  ///< of `lost`
  };
  /// What a message is in its conversation.
  enum class Heard { more, last, nonsense };
  /// The number of a conversation, for as long as it lasts. Messages of the device with that number are kept meanwhile.
  class Talk {
   public:
    explicit Talk(RemoteSession& session) : session_(session), id_(session.begin_talk()) {}
    ~Talk() { session_.end_talk(id_); }
    Talk(const Talk&) = delete;
    std::uint32_t id() const { return id_; }

   private:
    RemoteSession& session_;
    std::uint32_t id_;
  };
  /// False where the link is lost; `listen` says why.
  bool tell(SessionType type, std::uint32_t id, std::string payload);
  /// Hands the messages of a number to `hear` until one is the last. The link is lost where none comes for `seconds` and more; while
  /// the device says that it waits, they do not count. After `lost` the session is of no use.
  TalkEnd listen(std::uint32_t id, double seconds, const std::function<Heard(const SessionMessage&)>& hear,
                 const std::function<bool()>& interrupted);

  /// Reads what came and pings where it is time, without waiting; between jobs. False where the link is lost.
  bool keep_alive();

 private:
  using Clock = std::chrono::steady_clock;
  /// What the device said in a conversation, and nobody has heard yet.
  struct Inbox {
    std::deque<SessionMessage> messages;
    std::size_t bytes = 0;
  };
  /// What the threads of a session share.
  struct Shared {
    Shared(const ChildStream& child, double dead_seconds);
    std::mutex sending;  ///< of the link's sending end
    SessionLink link;
    std::mutex mutex;  ///< of all below, and of `child_`
    std::condition_variable heard;
    bool somebody_reads = false;  ///< a thread has the link's receiving end
    std::map<std::uint32_t, Inbox> inboxes;
    std::uint32_t talks = 0;
    std::string last_sentence;  ///< of the device's bye
    std::string lost;           ///< why the link is of no use
    Clock::time_point pinged = Clock::now();
    std::optional<Clock::time_point> told;  ///< when the listener heard
  };

  RemoteSession(ChildStream, const SessionClocks&);
  Status greet(const std::function<bool()>& interrupted);
  Status accept(const SessionMessage& hello);
  Error why_no_hello();
  std::string why_lost();
  bool is_dead() const { return shared_->link.ended() || shared_->link.silence() > clocks_.dead; }
  std::uint32_t begin_talk();
  void end_talk(std::uint32_t id);
  std::optional<SessionMessage> next(std::uint32_t id, std::string& lost);
  bool read_one(std::unique_lock<std::mutex>&, double seconds);
  void put_away(SessionMessage);
  void ping_if_due(std::unique_lock<std::mutex>&);
  bool is_behind(std::uint32_t id) const;
  std::string lose(std::string why);
  void tell_wait(const SessionMessage&);
  std::string collect(std::uint32_t id, const SessionJob&, const std::function<bool()>& interrupted, JobEnd&);
  bool take_item(const SessionMessage&, const SessionJob&, JobEnd&);

  SessionClocks clocks_;
  ChildStream child_;
  std::function<void(const std::string&)> listener_;
  std::unique_ptr<Shared> shared_;
  DeviceDescription device_;
};

}  // namespace whet
