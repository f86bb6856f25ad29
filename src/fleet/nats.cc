#include "fleet/nats.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <random>

#include "device/session/bounds.h"
#include "fleet/messages.h"
#include "fleet/names.h"

namespace whet {
namespace {

constexpr std::int64_t kConnectMilliseconds = 5000, kPingMilliseconds = 2000, kAgainMilliseconds = 200,
                       kJitterMilliseconds = 200, kConfirmMilliseconds = 2000;
constexpr std::int64_t kSecond = 1'000'000'000;
/// A job that nobody answers for so long is another unit's [ns].
constexpr std::int64_t kLease = 6 * kSecond;
/// Agents that a job may cost: only a dead agent leaves one without an answer.
constexpr std::int64_t kMostDeliveries = 3;
constexpr int kUnlimited = -1;

std::int64_t milliseconds_of(double seconds) { return static_cast<std::int64_t>(std::ceil(seconds * 1e3)); }

/// A sentence for what people meet often.
const char* text_of(natsStatus status) {
  switch (status) {
    case NATS_NO_SERVER:
      return "no broker answers";
    case NATS_TIMEOUT:
      return "the broker does not answer";
    default:
      return natsStatus_GetText(status);
  }
}

/// libnats's sentences begin with a place in its sources: "(conn.c:1905): ".
std::string_view without_place(std::string_view sentence) {
  const std::size_t end = sentence.find("): ");
  return sentence.starts_with('(') && end != sentence.npos ? sentence.substr(end + 3) : sentence;
}

template <typename T, typename Make>
Result<NatsOwned<T>> made(NatsConnection& nats, const std::string& what, Make make) {
  T* made = nullptr;
  const natsStatus status = make(&made);
  if (status != NATS_OK) return nats.error(what, status);
  return NatsOwned<T>(made);
}

}  // namespace

std::string random_word() {
  std::random_device random;
  char text[24];
  std::snprintf(text, sizeof text, "%08x%08x", random(), random());
  return text;
}

Result<std::unique_ptr<NatsConnection>> NatsConnection::open(const FleetAccess& access, double patience) {
  std::unique_ptr<NatsConnection> nats(new NatsConnection(access));
  WHET_RETURN_IF_ERROR(nats->connect(patience));
  return nats;
}

NatsConnection::~NatsConnection() {
  streams_.reset();
  if (connection_) natsConnection_FlushTimeout(connection_.get(), kAgainMilliseconds);
  if (connection_) natsConnection_Close(connection_.get());
}

Status NatsConnection::set_options(natsOptions* options) {
  const std::string ca = access_.folder + "/ca.pem", certificate = access_.folder + "/cert.pem",
                    key = access_.folder + "/key.pem", inbox = "_INBOX." + access_.user,
                    name = std::string("whet ") + name_of(access_.role);
  WHET_TRY(const HostAndPort server, parse_address(access_.server.substr(access_.server.find("//") + 2)));
  natsStatus status = natsOptions_SetURL(options, access_.server.c_str());
  const auto set = [&](natsStatus next) {
    if (status == NATS_OK) status = next;
  };
  set(natsOptions_SetSecure(options, true));
  set(natsOptions_LoadCATrustedCertificates(options, ca.c_str()));
  if (status != NATS_OK) return error("cannot read " + ca, status);
  set(natsOptions_LoadCertificatesChain(options, certificate.c_str(), key.c_str()));
  if (status != NATS_OK) return error("cannot read " + certificate + " and " + key, status);
  set(natsOptions_SetExpectedHostname(options, server.host.c_str()));
  set(natsOptions_SetCustomInboxPrefix(options, inbox.c_str()));
  set(natsOptions_SetName(options, name.c_str()));
  set(natsOptions_SetTimeout(options, kConnectMilliseconds));
  set(natsOptions_SetMaxReconnect(options, -1));
  set(natsOptions_SetReconnectWait(options, kAgainMilliseconds));
  set(natsOptions_SetReconnectJitter(options, kJitterMilliseconds, kJitterMilliseconds));
  set(natsOptions_SetPingInterval(options, kPingMilliseconds));
  set(natsOptions_SetMaxPingsOut(options, 2));
  set(natsOptions_SetSendAsap(options, true));
  set(natsOptions_SetFailRequestsOnDisconnect(options, true));
  set(natsOptions_SetIgnoreDiscoveredServers(options, true));
  set(natsOptions_SetErrorHandler(options, on_error, this));
  set(natsOptions_SetReconnectedCB(options, on_reconnected, this));
  return status == NATS_OK ? ok_status() : Status(error("libnats takes no such settings", status));
}

Status NatsConnection::connect(double patience) {
  WHET_TRY(const NatsOwned<natsOptions> options,
           made<natsOptions>(*this, "libnats does not start", [](natsOptions** o) { return natsOptions_Create(o); }));
  WHET_RETURN_IF_ERROR(set_options(options.get()));
  const std::string broker = "the broker at " + access_.server;
  WHET_TRY(connection_, made<natsConnection>(*this, broker, [&](natsConnection** c) {
             return natsConnection_Connect(c, options.get());
           }));
  jsOptions wait;
  jsOptions_Init(&wait);
  wait.Wait = milliseconds_of(patience);
  WHET_TRY(streams_, made<jsCtx>(*this, broker,
                                 [&](jsCtx** js) { return natsConnection_JetStream(js, connection_.get(), &wait); }));
  return ok_status();
}

void NatsConnection::on_error(natsConnection* connection, natsSubscription*, natsStatus, void* self) {
  auto& nats = *static_cast<NatsConnection*>(self);
  const char* text = nullptr;
  natsConnection_GetLastError(connection, &text);
  const std::lock_guard<std::mutex> lock(nats.mutex_);
  nats.sentence_ = text ? printable(text) : "";
}
void NatsConnection::on_reconnected(natsConnection*, void* self) { ++static_cast<NatsConnection*>(self)->reconnected_; }

Error NatsConnection::error(const std::string& what, natsStatus status) {
  std::string sentence;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    sentence.swap(sentence_);
  }
  const bool refused = !sentence.empty();
  if (!refused && status != NATS_TIMEOUT && status != NATS_NO_SERVER) {
    natsStatus last = NATS_OK;
    const char* text = nats_GetLastError(&last);
    if (text && last == status) sentence = printable(without_place(text));
  }
  const bool away = status == NATS_TIMEOUT || status == NATS_NO_SERVER || status == NATS_NO_RESPONDERS ||
                    status == NATS_CONNECTION_DISCONNECTED || status == NATS_CONNECTION_CLOSED ||
                    status == NATS_IO_ERROR || status == NATS_INSUFFICIENT_BUFFER;
  return {what + ": " + (sentence.empty() ? text_of(status) : sentence),
          away && !refused ? ErrorKind::io : ErrorKind::unsupported};
}

void NatsConnection::send(const std::string& subject, std::string_view bytes) {
  natsConnection_Publish(connection_.get(), subject.c_str(), bytes.data(), static_cast<int>(bytes.size()));
}

Status NatsConnection::store(const std::string& subject, std::string_view bytes, const std::string& id) {
  jsPubOptions options;
  jsPubOptions_Init(&options);
  options.MsgId = id.c_str();
  jsErrCode code{};
  const natsStatus status = js_Publish(nullptr, streams_.get(), subject.c_str(), bytes.data(),
                                       static_cast<int>(bytes.size()), &options, &code);
  if (status == NATS_OK) return ok_status();
  Error why = error("the broker does not take " + subject, status);
  // A full stream has room again when jobs are done.
  if (code == JSStreamStoreFailedErr) why.kind = ErrorKind::io;
  return why;
}

Result<std::optional<StoredMessage>> NatsConnection::last(const std::string& stream, const std::string& subject) {
  jsDirectGetMsgOptions options;
  jsDirectGetMsgOptions_Init(&options);
  options.LastBySubject = subject.c_str();
  natsMsg* found = nullptr;
  const natsStatus status = js_DirectGetMsg(&found, streams_.get(), stream.c_str(), nullptr, &options);
  if (status == NATS_NOT_FOUND) return std::optional<StoredMessage>{};
  if (status != NATS_OK) return error("the broker does not give " + subject, status);
  const NatsOwned<natsMsg> message(found);
  return std::optional(StoredMessage{{natsMsg_GetData(found), static_cast<std::size_t>(natsMsg_GetDataLength(found))},
                                     natsMsg_GetSequence(found),
                                     natsMsg_GetTime(found)});
}

Result<std::vector<SubjectCount>> NatsConnection::subjects(const std::string& stream, const std::string& filter) {
  jsOptions options;
  jsOptions_Init(&options);
  options.Stream.Info.SubjectsFilter = filter.c_str();
  WHET_TRY(const NatsOwned<jsStreamInfo> info,
           made<jsStreamInfo>(*this, "the broker does not describe " + stream, [&](jsStreamInfo** i) {
             return js_GetStreamInfo(i, streams_.get(), stream.c_str(), &options, nullptr);
           }));
  std::vector<SubjectCount> found;
  const jsStreamStateSubjects* subjects = info->State.Subjects;
  for (int i = 0; subjects && i < subjects->Count; ++i)
    found.push_back({subjects->List[i].Subject, subjects->List[i].Msgs});
  return found;
}

Result<QueueState> NatsConnection::queue(const std::string& stream, const std::string& consumer) {
  WHET_TRY(const NatsOwned<jsConsumerInfo> info,
           made<jsConsumerInfo>(*this, "the broker does not describe the queue " + consumer, [&](jsConsumerInfo** i) {
             return js_GetConsumerInfo(i, streams_.get(), stream.c_str(), consumer.c_str(), nullptr, nullptr);
           }));
  return QueueState{info->NumPending, static_cast<std::uint64_t>(info->NumAckPending),
                    static_cast<std::uint64_t>(info->NumRedelivered), info->Delivered.Stream};
}

Result<NatsInbox> NatsInbox::open(NatsConnection& nats, const std::string& subject) {
  natsSubscription* subscription = nullptr;
  const natsStatus status = natsConnection_SubscribeSync(&subscription, nats.get(), subject.c_str());
  if (status != NATS_OK) return nats.error("cannot listen to " + subject, status);
  NatsInbox inbox(subscription);
  natsSubscription_SetPendingLimits(subscription, -1, -1);
  return inbox;
}

std::optional<NatsInbox::Letter> NatsInbox::next(double seconds) {
  natsMsg* found = nullptr;
  if (natsSubscription_NextMsg(&found, subscription_.get(), milliseconds_of(seconds)) != NATS_OK) return std::nullopt;
  const NatsOwned<natsMsg> message(found);
  return Letter{natsMsg_GetSubject(found),
                {natsMsg_GetData(found), static_cast<std::size_t>(natsMsg_GetDataLength(found))}};
}

/// Of "$JS.ACK.STREAM.QUEUE.DELIVERIES...", or from version 2.10 on of "$JS.ACK.DOMAIN.ACCOUNT.STREAM.QUEUE.DELIVERIES...".
std::uint64_t TakenMessage::deliveries() const {
  constexpr std::ptrdiff_t kDotsOfShort = 8;
  std::string_view reply = natsMsg_GetReply(message_.get());
  const std::ptrdiff_t dots = std::ranges::count(reply, '.');
  for (int words = dots <= kDotsOfShort ? 4 : 6; words > 0; --words)
    reply.remove_prefix(std::min(reply.size(), reply.find('.') + 1));
  std::uint64_t deliveries = 1;
  std::from_chars(reply.data(), reply.data() + reply.size(), deliveries);
  return deliveries;
}

Status TakenMessage::acknowledge() {
  natsMsg* confirmation = nullptr;
  const natsStatus status = natsConnection_RequestString(&confirmation, nats_->get(), natsMsg_GetReply(message_.get()),
                                                         "+ACK", kConfirmMilliseconds);
  const NatsOwned<natsMsg> freed(confirmation);
  return status == NATS_OK ? ok_status() : Status(nats_->error("the broker does not know that a job is done", status));
}

Result<QueueEnd> QueueEnd::open(NatsConnection& nats, const std::string& stream, const std::string& queue) {
  WHET_RETURN_IF_ERROR(nats.queue(stream, queue));
  const std::string inbox = "_INBOX." + nats.access().user + ".queue." + random_word();
  natsSubscription* replies = nullptr;
  const natsStatus status = natsConnection_SubscribeSync(&replies, nats.get(), inbox.c_str());
  if (status != NATS_OK) return nats.error("cannot listen to " + inbox, status);
  return QueueEnd(nats, "$JS.API.CONSUMER.MSG.NEXT." + stream + "." + queue, inbox, replies);
}

/// By requests of its own: libnats's fetches that are not to wait do, or leave the answer for the next. What comes late is taken
/// by the next call.
std::optional<TakenMessage> QueueEnd::take(double seconds) {
  const std::string request =
      seconds > 0 ? "{\"batch\":1,\"expires\":" +
                        std::to_string(static_cast<std::int64_t>(seconds * static_cast<double>(kSecond))) + "}"
                  : R"({"batch":1,"no_wait":true})";
  natsConnection_PublishRequestString(nats_->get(), next_.c_str(), inbox_.c_str(), request.c_str());
  natsMsg* found = nullptr;
  if (natsSubscription_NextMsg(&found, replies_.get(), milliseconds_of(seconds) + kConfirmMilliseconds) != NATS_OK)
    return std::nullopt;
  NatsOwned<natsMsg> message(found);
  const char* no_job = nullptr;
  if (natsMsgHeader_Get(found, "Status", &no_job) == NATS_OK || !natsMsg_GetReply(found)) {
    if (natsMsg_IsNoResponders(found)) nats_Sleep(kAgainMilliseconds);  // a broker that comes up has no queues at first
    return std::nullopt;
  }
  return TakenMessage(*nats_, std::move(message));
}

namespace {

/// One that is there, maybe made by another version, is left as it is.
Status add_stream(NatsConnection& nats, jsStreamConfig config, const char* subject) {
  jsStreamInfo* there = nullptr;
  if (js_GetStreamInfo(&there, nats.streams(), config.Name, nullptr, nullptr) == NATS_OK)
    return jsStreamInfo_Destroy(there), ok_status();
  std::array<const char*, 1> subjects = {subject};
  config.Subjects = subjects.data();
  config.SubjectsLen = 1;
  config.Storage = js_FileStorage;
  config.AllowDirect = true;
  const natsStatus status = js_AddStream(nullptr, nats.streams(), &config, nullptr, nullptr);
  if (status == NATS_OK) return ok_status();
  return nats.error(std::string("cannot make the stream ") + config.Name, status);
}

Status add_bucket(NatsConnection& nats, const char* name, std::int64_t seconds) {
  kvConfig config;
  kvConfig_Init(&config);
  config.Bucket = name;
  config.History = 1;
  config.TTL = seconds * kSecond;
  config.MaxBytes = std::int64_t{16} << 20;
  config.MaxValueSize = 64 << 10;
  kvStore* store = nullptr;
  if (js_KeyValue(&store, nats.streams(), name) == NATS_OK) return kvStore_Destroy(store), ok_status();
  const natsStatus status = js_CreateKeyValue(&store, nats.streams(), &config);
  const NatsOwned<kvStore> made(store);
  return status == NATS_OK ? ok_status() : Status(nats.error(std::string("cannot make the bucket ") + name, status));
}

}  // namespace

Status make_streams(NatsConnection& nats) {
  constexpr std::int64_t kHour = 3600 * kSecond;
  jsStreamConfig jobs, answers;
  jsStreamConfig_Init(&jobs);
  jobs.Name = kJobStream;
  jobs.Retention = js_WorkQueuePolicy;
  jobs.Discard = js_DiscardNew;
  jobs.MaxBytes = std::int64_t{512} << 20;
  jobs.MaxMsgSize = kMostJobBytes + 1024;
  jobs.MaxAge = 24 * kHour;
  jobs.Duplicates = 120 * kSecond;
  WHET_RETURN_IF_ERROR(add_stream(nats, jobs, "whet.job.*.*.*.*.*"));
  jsStreamConfig_Init(&answers);
  answers.Name = kAnswerStream;
  answers.Discard = js_DiscardOld;
  answers.MaxBytes = std::int64_t{1} << 30;
  answers.MaxMsgsPerSubject = 1;
  answers.MaxAge = kHour;
  answers.Duplicates = 120 * kSecond;
  WHET_RETURN_IF_ERROR(add_stream(nats, answers, "whet.done.*.*.*.*"));
  jsStreamConfig files;
  jsStreamConfig_Init(&files);
  files.Name = kFileStream;
  files.Discard = js_DiscardOld;
  files.MaxBytes = std::int64_t{384} << 20;
  files.MaxMsgSize = kFilePieceBytes + 4096;
  files.MaxMsgsPerSubject = 1;
  files.MaxAge = kHour;
  files.Duplicates = 120 * kSecond;
  WHET_RETURN_IF_ERROR(add_stream(nats, files, "whet.file.*.*.*"));
  constexpr std::int64_t kDeviceSeconds = 86400, kTunerSeconds = 30;
  WHET_RETURN_IF_ERROR(add_bucket(nats, kDeviceBucket, kDeviceSeconds));
  return add_bucket(nats, kTunerBucket, kTunerSeconds);
}

Status make_queues(NatsConnection& nats, const std::string& key) {
  for (const Priority priority : {Priority::high, Priority::low}) {
    const std::string name = queue_name(key, priority), subject = queue_subject(key, priority);
    jsConsumerInfo* there = nullptr;
    if (js_GetConsumerInfo(&there, nats.streams(), kJobStream, name.c_str(), nullptr, nullptr) == NATS_OK) {
      jsConsumerInfo_Destroy(there);
      continue;
    }
    jsConsumerConfig config;
    jsConsumerConfig_Init(&config);
    config.Durable = name.c_str();
    config.FilterSubject = subject.c_str();
    config.AckPolicy = js_AckExplicit;
    config.AckWait = kLease;
    config.MaxDeliver = kMostDeliveries;
    config.MaxAckPending = kUnlimited;
    const natsStatus status = js_AddConsumer(nullptr, nats.streams(), kJobStream, &config, nullptr, nullptr);
    if (status != NATS_OK) return nats.error("cannot make the queue " + name, status);
  }
  return ok_status();
}

std::string broker_version(const std::string& host, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return "";
  std::string line;
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0) {
    constexpr int kGreetingMilliseconds = 2000;
    pollfd wait{fd, POLLIN, 0};
    char bytes[4096];
    while (line.find('\n') == line.npos && line.size() < sizeof bytes && poll(&wait, 1, kGreetingMilliseconds) > 0) {
      const ssize_t n = read(fd, bytes, sizeof bytes);
      if (n <= 0) break;
      line.append(bytes, static_cast<std::size_t>(n));
    }
  }
  if (fd >= 0) close(fd);
  freeaddrinfo(found);
  constexpr std::string_view kField = "\"version\":\"";
  const std::size_t at = line.find(kField);
  if (!line.starts_with("INFO ") || at == line.npos) return "";
  const std::string_view rest = std::string_view(line).substr(at + kField.size());
  return printable(rest.substr(0, rest.find('"')), 32);
}

bool has_known_holes(std::string_view version) {
  std::array<int, 3> numbers{};
  for (int& number : numbers) {
    const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), number);
    if (error != std::errc()) return true;
    version.remove_prefix(static_cast<std::size_t>(end - version.data()));
    if (version.starts_with('.')) version.remove_prefix(1);
  }
  constexpr std::array<int, 3> kFixed = {2, 11, 16}, kNext = {2, 12, 0}, kNextFixed = {2, 12, 7};
  return numbers < kFixed || (numbers >= kNext && numbers < kNextFixed);
}

}  // namespace whet
