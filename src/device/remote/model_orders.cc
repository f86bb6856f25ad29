#include "device/remote/model_orders.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <utility>

#include "artifact/made_weights.h"
#include "base/sha256.h"

namespace whet {
namespace {

using TalkKind = RemoteSession::JobEnd::Kind;
using Heard = RemoteSession::Heard;

/// A piece's bytes, and how many pieces may be out without an answer: on a slow link something comes back every few seconds.
constexpr std::size_t kSentPiece = std::size_t{64} << 10, kPiecesOut = 8;
static_assert(kSentPiece <= kBlobPiece);
/// The device reads a whole file to make its hash [s].
constexpr double kHaveSeconds = 60;

Error cannot_read(const std::string& path) {
  return {path + ": " + std::strerror(errno) + "; expected the path of a compiled model", ErrorKind::io};
}

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  OpenFile(const OpenFile&) = delete;
  ~OpenFile() {
    if (file_ >= 0) close(file_);
  }
  bool ok() const { return file_ >= 0; }
  /// Fewer where the file ends; nothing where it cannot be read.
  std::string read(std::uint64_t offset, std::size_t bytes) const {
    std::string text(bytes, '\0');
    const ssize_t n = pread(file_, text.data(), bytes, static_cast<off_t>(offset));
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    return text;
  }

 private:
  int file_;
};

OrderEnd ended(const RemoteSession::TalkEnd& talk) {
  OrderEnd end;
  end.kind = talk.kind == TalkKind::done          ? OrderEnd::Kind::done
             : talk.kind == TalkKind::interrupted ? OrderEnd::Kind::interrupted
                                                  : OrderEnd::Kind::lost;
  end.message = talk.message;
  return end;
}

/// Brings one file. Counts the bytes that the device reports to have.
class Bringing {
 public:
  Bringing(RemoteSession& session, std::uint32_t id, const BlobSource& source, std::uint64_t there, OrderEnd& end,
           const std::function<bool()>& interrupted)
      : session_(session),
        id_(id),
        source_(source),
        file_(source.path),
        sent_(there),
        there_(there),
        end_(end),
        interrupted_(interrupted) {}

  /// False where `end` says why.
  bool bring() {
    while (there_ < source_.name.bytes) {
      while (out_.size() < kPiecesOut && sent_ < source_.name.bytes)
        if (!send_piece()) return false;
      if (!hear_answer()) return false;
    }
    return true;
  }

 private:
  std::string read(std::uint64_t offset, std::size_t bytes) const {
    return source_.path.empty() ? read_blob(source_, offset, bytes) : file_.read(offset, bytes);
  }
  /// Whether the file has, at a place, the bytes that the device would make there.
  bool is_made(const std::string& bytes, std::size_t at, std::uint64_t offset) const {
    return at + kMadePage <= bytes.size() &&
           std::memcmp(bytes.data() + at, made_.data() + (offset + at) % kMadePage, kMadePage) == 0;
  }
  /// Cuts a piece before the first page that the device makes, and counts how many it makes then.
  void leave_out_made(SessionBlob& blob) {
    std::size_t at = 0;
    // Pages of a library are at multiples of their size; a piece may begin anywhere.
    if (!is_made(blob.bytes, 0, blob.offset))
      for (at = kMadePage - blob.offset % kMadePage; at < blob.bytes.size() && !is_made(blob.bytes, at, blob.offset);)
        at += kMadePage;
    if (at >= blob.bytes.size()) return;
    const std::uint64_t first = blob.offset + at;
    for (std::string more = blob.bytes.substr(at); is_made(more, 0, first + blob.made);) {
      while (more.size() >= kMadePage && is_made(more, 0, first + blob.made)) {
        more.erase(0, kMadePage);
        blob.made += kMadePage;
      }
      const std::uint64_t next = first + blob.made;
      if (blob.made + kSentPiece > kMadePiece || next >= source_.name.bytes) break;
      more = read(next, static_cast<std::size_t>(std::min<std::uint64_t>(kSentPiece, source_.name.bytes - next)));
    }
    blob.bytes.resize(at);
  }
  bool send_piece() {
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(kSentPiece, source_.name.bytes - sent_));
    SessionBlob blob{source_.name.hash, sent_, read(sent_, bytes)};
    if (blob.bytes.size() != bytes) {
      end_.kind = OrderEnd::Kind::refused;
      end_.message = source_.path + ": it was changed while it was sent";
      return false;
    }
    leave_out_made(blob);
    sent_ += blob.bytes.size() + blob.made;
    out_.push_back(blob.bytes.size());
    session_.tell(SessionType::blob, id_, encode(blob));  // where the link is lost, listening says why
    return true;
  }
  bool hear_answer() {
    const auto talk = session_.listen(
        id_, kHaveSeconds,
        [&](const SessionMessage& message) {
          const auto have = message.type == SessionType::have ? decode<SessionHave>(message.payload) : std::nullopt;
          if (!have) return Heard::nonsense;
          if (!have->refused.empty()) return refused_ = have->refused, Heard::last;
          if (have->bytes.size() != 1 || have->bytes[0] < there_ || have->bytes[0] > source_.name.bytes)
            return Heard::nonsense;
          end_.there += have->bytes[0] - there_;
          there_ = have->bytes[0];
          return Heard::last;
        },
        interrupted_);
    out_.pop_front();
    if (talk.kind == TalkKind::done && refused_.empty()) return true;
    const std::uint64_t there = end_.there;
    end_ = ended(talk);
    end_.there = there;
    if (!refused_.empty()) end_.kind = OrderEnd::Kind::refused, end_.message = refused_;
    return false;
  }

  RemoteSession& session_;
  std::uint32_t id_;
  const BlobSource& source_;
  OpenFile file_;
  const std::array<char, 2 * kMadePage> made_ = made_weights();
  std::uint64_t sent_, there_;
  std::deque<std::size_t> out_;
  std::string refused_;
  OrderEnd& end_;
  const std::function<bool()>& interrupted_;
};

/// Whether an order may have this answer behind `before` others that bring something: devices are not believed to end.
bool is_answer_to(const ModelOrder& order, const ModelAnswer& answer, std::size_t before) {
  using Kind = ModelAnswerKind;
  switch (order.work) {
    case ModelWork::describe:
      return answer.kind == Kind::opened && before < order.models.size();
    case ModelWork::run:
      return answer.kind == Kind::outputs && before == 0;
    case ModelWork::time:
      return answer.kind == Kind::times;
    case ModelWork::profile:
      return (answer.kind == Kind::profile && before == 0) || (answer.kind == Kind::times && answer.seconds.empty());
    case ModelWork::bursts:
      return answer.kind == Kind::burst && before < order.models.size() * order.runs;
  }
  return false;
}

}  // namespace

Result<BlobName> name_blob(const std::string& path) {
  const OpenFile file(path);
  if (!file.ok()) return cannot_read(path);
  Sha256 hash;
  BlobName name;
  for (std::string bytes; !(bytes = file.read(name.bytes, std::size_t{1} << 20)).empty(); name.bytes += bytes.size())
    hash.add(bytes);
  name.hash = hash.digits();
  return name;
}

std::string read_blob(const BlobSource& source, std::uint64_t offset, std::size_t bytes) {
  if (source.read) return source.read(offset, bytes);
  if (!source.path.empty()) return OpenFile(source.path).read(offset, bytes);
  return std::string(
      source.bytes.substr(static_cast<std::size_t>(std::min<std::uint64_t>(offset, source.bytes.size())), bytes));
}

OrderEnd bring_blobs(RemoteSession& session, const std::vector<BlobSource>& sources,
                     const std::function<bool()>& interrupted) {
  const RemoteSession::Talk conversation(session);
  const std::uint32_t id = conversation.id();
  SessionNeed need;
  for (const BlobSource& source : sources) need.blobs.push_back(source.name);
  session.tell(SessionType::need, id, encode(need));
  SessionHave have;
  OrderEnd end = ended(session.listen(
      id, kHaveSeconds,
      [&](const SessionMessage& message) {
        auto answer = message.type == SessionType::have ? decode<SessionHave>(message.payload) : std::nullopt;
        if (!answer || (answer->refused.empty() && answer->bytes.size() != sources.size())) return Heard::nonsense;
        have = std::move(*answer);
        return Heard::last;
      },
      interrupted));
  if (end.kind != OrderEnd::Kind::done) return end;
  if (!have.refused.empty()) return end.kind = OrderEnd::Kind::refused, end.message = have.refused, end;
  for (std::size_t i = 0; i < sources.size(); ++i) end.there += std::min(have.bytes[i], sources[i].name.bytes);
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (have.bytes[i] < sources[i].name.bytes &&
        !Bringing(session, id, sources[i], have.bytes[i], end, interrupted).bring())
      return end;
  return end;
}

OrderEnd carry_out(RemoteSession& session, const ModelOrder& order, const std::function<bool()>& interrupted) {
  const RemoteSession::Talk conversation(session);
  const std::uint32_t id = conversation.id();
  session.tell(SessionType::order, id, encode(order));
  std::vector<ModelAnswer> answers;
  bool over = false;
  OrderEnd end = ended(session.listen(
      id, order.seconds,
      [&](const SessionMessage& message) {
        if (message.type == SessionType::done) return Heard::last;
        auto answer = message.type == SessionType::answer ? decode<ModelAnswer>(message.payload) : std::nullopt;
        if (!answer || over) return Heard::nonsense;
        over = answer->kind == ModelAnswerKind::over || answer->kind == ModelAnswerKind::failed;
        if (!over && !is_answer_to(order, *answer, answers.size())) return Heard::nonsense;
        if (answer->kind == ModelAnswerKind::times && answer->seconds.empty()) return Heard::more;
        if (answer->kind != ModelAnswerKind::over) answers.push_back(std::move(*answer));
        return Heard::more;
      },
      interrupted));
  end.answers = std::move(answers);
  if (end.kind == OrderEnd::Kind::done && !over) {
    end.kind = OrderEnd::Kind::lost;
    end.message = "the device gave an order back without an answer";
  }
  return end;
}

}  // namespace whet
