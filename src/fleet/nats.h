#pragma once

#include <nats/nats.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "fleet/access.h"

namespace whet {

/// Frees what libnats gave.
struct NatsFree {
  void operator()(natsConnection* p) const { natsConnection_Destroy(p); }
  void operator()(natsOptions* p) const { natsOptions_Destroy(p); }
  void operator()(jsCtx* p) const { jsCtx_Destroy(p); }
  void operator()(natsMsg* p) const { natsMsg_Destroy(p); }
  void operator()(natsSubscription* p) const { natsSubscription_Destroy(p); }
  void operator()(jsStreamInfo* p) const { jsStreamInfo_Destroy(p); }
  void operator()(jsConsumerInfo* p) const { jsConsumerInfo_Destroy(p); }
  void operator()(jsStreamNamesList* p) const { jsStreamNamesList_Destroy(p); }
  void operator()(jsConsumerNamesList* p) const { jsConsumerNamesList_Destroy(p); }
};
template <typename T>
using NatsOwned = std::unique_ptr<T, NatsFree>;

/// A message that a stream holds.
struct StoredMessage {
  std::string bytes;
  std::uint64_t sequence = 0;
  std::int64_t time = 0;  ///< when it was stored, by the broker's clock [ns]
};

/// How many messages of a subject a stream holds.
struct SubjectCount {
  std::string subject;
  std::uint64_t messages = 0;
};

/// What a queue of jobs looks like.
struct QueueState {
  std::uint64_t waiting = 0, taken = 0, redelivered = 0;
  std::uint64_t last_taken = 0;  ///< sequence in the stream of the newest job that was handed out
};

/// A user's connection with a fleet's broker, by TLS and the user's certificate. It connects again by its own, for ever. For
/// several threads. Errors have the broker's own sentence where it sent one; a broker that is away for a moment is `io`.
class NatsConnection {
 public:
  ///   patience  how long the broker may take to answer [s]
  static Result<std::unique_ptr<NatsConnection>> open(const FleetAccess&, double patience = 3);
  ~NatsConnection();
  NatsConnection(const NatsConnection&) = delete;

  /// To whoever listens; nobody says whether it arrived.
  void send(const std::string& subject, std::string_view bytes);
  /// Into the stream that has the subject, once for each id (for the stream's time); returns when the broker has it.
  Status store(const std::string& subject, std::string_view bytes, const std::string& id);
  /// The last message of a subject; nothing where there is none.
  Result<std::optional<StoredMessage>> last(const std::string& stream, const std::string& subject);
  /// The subjects that match, with a message each at least.
  Result<std::vector<SubjectCount>> subjects(const std::string& stream, const std::string& filter);
  /// `not_found` where there is none.
  Result<QueueState> queue(const std::string& stream, const std::string& consumer);
  /// The users whose jobs the broker keeps, and the keys that have queues for one of them.
  Result<std::vector<std::string>> users();
  Result<std::vector<std::string>> keys(const std::string& user);

  bool is_connected() const { return natsConnection_Status(connection_.get()) == NATS_CONN_STATUS_CONNECTED; }
  /// How often the connection came up again.
  int reconnected() const { return reconnected_; }
  /// An error with what libnats and the broker say about the last call of this thread.
  Error error(const std::string& what, natsStatus);

  natsConnection* get() const { return connection_.get(); }
  jsCtx* streams() const { return streams_.get(); }
  const FleetAccess& access() const { return access_; }

 private:
  explicit NatsConnection(FleetAccess access) : access_(std::move(access)) {}
  Status connect(double patience);
  Status set_options(natsOptions*);
  static void on_error(natsConnection*, natsSubscription*, natsStatus, void* self);
  static void on_reconnected(natsConnection*, void* self);

  FleetAccess access_;
  std::mutex mutex_;      ///< of `sentence_`
  std::string sentence_;  ///< of the broker, since the last error
  std::atomic<int> reconnected_ = 0;
  NatsOwned<natsConnection> connection_;
  NatsOwned<jsCtx> streams_;
};

/// What is sent to a subject. For one thread.
class NatsInbox {
 public:
  static Result<NatsInbox> open(NatsConnection&, const std::string& subject);
  struct Letter {
    std::string subject, bytes;
  };
  /// The next letter, after `seconds` at most.
  std::optional<Letter> next(double seconds);

 private:
  explicit NatsInbox(natsSubscription* s) : subscription_(s) {}
  NatsOwned<natsSubscription> subscription_;
};

/// A job that a queue handed out. It is another's again when it is neither acknowledged nor held for the queue's time.
class TakenMessage {
 public:
  TakenMessage(NatsConnection& nats, NatsOwned<natsMsg> message) : nats_(&nats), message_(std::move(message)) {}
  std::string subject() const { return natsMsg_GetSubject(message_.get()); }
  std::string_view bytes() const {
    return {natsMsg_GetData(message_.get()), static_cast<std::size_t>(natsMsg_GetDataLength(message_.get()))};
  }
  /// How often it was handed out, this time included.
  std::uint64_t deliveries() const;
  void hold() { tell("+WPI"); }
  /// Another unit gets it at once.
  void give_back() { tell("-NAK"); }
  /// Nobody gets it any more.
  void drop() { tell("+TERM"); }
  /// It is done; returns when the broker knows.
  Status acknowledge();

 private:
  void tell(const char* word) { nats_->send(natsMsg_GetReply(message_.get()), word); }

  NatsConnection* nats_;
  NatsOwned<natsMsg> message_;
};

/// One end of a queue of jobs that exists at the broker. For one thread.
class QueueEnd {
 public:
  static Result<QueueEnd> open(NatsConnection&, const std::string& stream, const std::string& queue);
  /// The next job, after `seconds` at most; 0: without waiting.
  std::optional<TakenMessage> take(double seconds);

 private:
  QueueEnd(NatsConnection& nats, std::string next, std::string inbox, natsSubscription* replies)
      : nats_(&nats), next_(std::move(next)), inbox_(std::move(inbox)), replies_(replies) {}
  NatsConnection* nats_;
  std::string next_, inbox_;  ///< subjects of requests and of what comes
  NatsOwned<natsSubscription> replies_;
};

/// 16 hexadecimal digits that nobody else has.
std::string random_word();

/// Makes the streams of a fleet and of its users, and for each of these the queues of this key and of all that there are. What
/// is there already gets these limits. For an admin.
Status make_streams(NatsConnection&, const std::vector<std::string>& users, const std::string& key);

/// The version of the broker at an address, by the first line that it sends to everyone: "2.9.10"; "" where none came.
std::string broker_version(const std::string& host, int port);
/// Whether a broker of this version has known holes that strangers can use who reach it: before 2.11.16, and 2.12 before 2.12.7.
bool has_known_holes(std::string_view version);

}  // namespace whet
