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
#include <set>

#include "device/protocol/bounds.h"
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
  if (access_.role == FleetAccess::Role::tuner) wait.Prefix = kTunerApi;
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
  const ErrorKind kind = status == NATS_NOT_FOUND ? ErrorKind::not_found
                         : away && !refused       ? ErrorKind::io
                                                  : ErrorKind::unsupported;
  return {what + ": " + (sentence.empty() ? text_of(status) : sentence), kind};
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

namespace {

/// The names that libnats gives a list of: it calls an empty list "not found".
template <typename List, typename Ask>
Result<std::vector<std::string>> names_of(NatsConnection& nats, const std::string& what, Ask ask) {
  const auto list = made<List>(nats, what, ask);
  if (!list.ok() && list.error().kind != ErrorKind::not_found) return list.error();
  std::vector<std::string> names;
  for (int i = 0; list.ok() && i < (*list)->Count; ++i) names.emplace_back((*list)->List[i]);
  return names;
}

}  // namespace

Result<std::vector<std::string>> NatsConnection::users() {
  WHET_TRY(const std::vector<std::string> streams,
           names_of<jsStreamNamesList>(*this, "the broker does not name its streams", [&](jsStreamNamesList** names) {
             return js_StreamNames(names, streams_.get(), nullptr, nullptr);
           }));
  std::vector<std::string> users;
  for (const std::string& stream : streams)
    if (auto user = user_of_job_stream(stream)) users.push_back(std::move(*user));
  return users;
}

Result<std::vector<std::string>> NatsConnection::keys(const std::string& user) {
  const std::string stream = job_stream(user);
  WHET_TRY(const std::vector<std::string> queues,
           names_of<jsConsumerNamesList>(
               *this, "the broker does not name the queues of " + stream, [&](jsConsumerNamesList** names) {
                 return js_ConsumerNames(names, streams_.get(), stream.c_str(), nullptr, nullptr);
               }));
  std::set<std::string> keys;
  for (const std::string& queue : queues)
    if (auto key = key_of_queue(queue)) keys.insert(std::move(*key));
  return std::vector<std::string>(keys.begin(), keys.end());
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

constexpr std::int64_t kHour = 3600 * kSecond, kDay = 24 * kHour, kMiB = std::int64_t{1} << 20;

/// A stream whose messages nobody deletes: they end by their age, by the limits, and jobs when they are done. A header of a message
/// rolls nothing up.
jsStreamConfig stream_of(const std::string& name, std::int64_t bytes, std::int64_t age) {
  jsStreamConfig config;
  jsStreamConfig_Init(&config);
  config.Name = name.c_str();
  config.Storage = js_FileStorage;
  config.MaxBytes = bytes;
  config.MaxAge = age;
  config.Duplicates = std::min(120 * kSecond, age);
  config.AllowDirect = true;
  config.AllowRollup = false;
  config.DenyDelete = config.DenyPurge = true;
  return config;
}

/// Makes a stream, or gives one that is there this configuration.
Status keep_stream(NatsConnection& nats, jsStreamConfig config, const std::vector<std::string>& subjects) {
  std::vector<const char*> texts;
  for (const std::string& subject : subjects) texts.push_back(subject.c_str());
  config.Subjects = texts.data();
  config.SubjectsLen = static_cast<int>(texts.size());
  jsStreamInfo* found = nullptr;
  const bool is_there = js_GetStreamInfo(&found, nats.streams(), config.Name, nullptr, nullptr) == NATS_OK;
  const NatsOwned<jsStreamInfo> there(found);
  const natsStatus status = is_there ? js_UpdateStream(nullptr, nats.streams(), &config, nullptr, nullptr)
                                     : js_AddStream(nullptr, nats.streams(), &config, nullptr, nullptr);
  if (status == NATS_OK) return ok_status();
  return nats.error(std::string(is_there ? "cannot change the stream " : "cannot make the stream ") + config.Name,
                    status);
}

/// Of entries: the last of each subject counts.
jsStreamConfig bucket_of(const std::string& name, std::int64_t bytes, std::int64_t age) {
  jsStreamConfig config = stream_of(name, bytes, age);
  config.Discard = js_DiscardNew;
  config.MaxMsgsPerSubject = 1;
  config.MaxMsgSize = 64 << 10;
  return config;
}

Status make_jobs(NatsConnection& nats, const std::string& user, const std::set<std::string>& keys) {
  const std::string name = job_stream(user);
  jsStreamConfig jobs = stream_of(name, 128 * kMiB, kDay);
  jobs.Retention = js_WorkQueuePolicy;
  jobs.Discard = js_DiscardNew;
  jobs.MaxMsgSize = kMostJobBytes + 1024;
  jobs.MaxMsgs = kMostJobsOfUser;
  std::vector<std::string> subjects;
  for (const std::string& key : keys) subjects.push_back(key_subject(user, key));
  return keep_stream(nats, jobs, subjects);
}

Status make_streams_of(NatsConnection& nats, const std::string& user, const std::set<std::string>& keys) {
  WHET_RETURN_IF_ERROR(make_jobs(nats, user, keys));
  const std::string answers = answer_stream(user), files = file_stream(user), tuners = tuner_stream(user);
  jsStreamConfig last = stream_of(answers, 512 * kMiB, kHour);
  last.MaxMsgsPerSubject = 1;
  WHET_RETURN_IF_ERROR(keep_stream(nats, last, {"whet.done." + user + ".*.*.*"}));
  last = stream_of(files, 384 * kMiB, kHour);
  last.MaxMsgsPerSubject = 1;
  last.MaxMsgSize = kFilePieceBytes + 4096;
  WHET_RETURN_IF_ERROR(keep_stream(nats, last, {"whet.file." + user + ".*.*"}));
  constexpr std::int64_t kTunerAge = 30 * kSecond;
  return keep_stream(nats, bucket_of(tuners, kMiB, kTunerAge), {"$KV.whet_tuners." + user + ".*"});
}

Status make_queue(NatsConnection& nats, const std::string& user, const std::string& key, Priority priority) {
  const std::string stream = job_stream(user), name = queue_name(key, priority),
                    subject = queue_subject(user, key, priority);
  if (nats.queue(stream, name).ok()) return ok_status();
  jsConsumerConfig config;
  jsConsumerConfig_Init(&config);
  config.Durable = name.c_str();
  config.FilterSubject = subject.c_str();
  config.AckPolicy = js_AckExplicit;
  config.AckWait = kLease;
  config.MaxDeliver = kMostDeliveries;
  config.MaxAckPending = kUnlimited;
  const natsStatus status = js_AddConsumer(nullptr, nats.streams(), stream.c_str(), &config, nullptr, nullptr);
  return status == NATS_OK ? ok_status() : Status(nats.error("cannot make the queue " + name, status));
}

/// Those that any user has queues of.
Result<std::set<std::string>> keys_there(NatsConnection& nats) {
  std::set<std::string> keys;
  WHET_TRY(const std::vector<std::string> users, nats.users());
  for (const std::string& user : users) {
    WHET_TRY(std::vector<std::string> of_user, nats.keys(user));
    keys.insert(of_user.begin(), of_user.end());
  }
  return keys;
}

/// Before version 4 all users had one stream of jobs, and no account of their own.
Status is_of_this_layout(NatsConnection& nats) {
  jsStreamInfo* found = nullptr;
  const natsStatus status = js_GetStreamInfo(&found, nats.streams(), "WHET_JOBS", nullptr, nullptr);
  const NatsOwned<jsStreamInfo> there(found);
  if (status == NATS_NOT_FOUND) return ok_status();
  if (status != NATS_OK) return nats.error("the broker does not describe its streams", status);
  return Error{
      "the broker's configuration is of an earlier whet, by which users could harm each other: whet-agent --setup "
      "FOLDER writes it anew; then start nats-server again with it"};
}

}  // namespace

Status make_streams(NatsConnection& nats, const std::vector<std::string>& users, const std::string& key) {
  WHET_RETURN_IF_ERROR(is_of_this_layout(nats));
  WHET_TRY(std::set<std::string> keys, keys_there(nats));
  keys.insert(key);
  constexpr std::int64_t kDevices = 16 * kMiB;
  WHET_RETURN_IF_ERROR(keep_stream(nats, bucket_of(kDeviceStream, kDevices, kDay), {"$KV.whet_devices.>"}));
  for (const std::string& user : users) {
    WHET_RETURN_IF_ERROR(make_streams_of(nats, user, keys));
    for (const std::string& each : keys)
      for (const Priority priority : {Priority::high, Priority::low})
        WHET_RETURN_IF_ERROR(make_queue(nats, user, each, priority));
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
