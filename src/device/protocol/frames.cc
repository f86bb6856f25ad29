#include "device/protocol/frames.h"

#include <algorithm>
#include <utility>

#include "base/message.h"

namespace whet {
namespace {

constexpr std::string_view kSessionMagic = "WHDV";
/// How much of a line that is no frame is quoted.
constexpr std::size_t kQuoted = 80;

void add_frame(std::string& out, SessionType type, std::uint32_t id, std::string_view payload) {
  Packer p;
  p.add(kSessionMagic);
  p.put(kSessionHighest);
  p.put(type);
  p.put(id);
  p.put(static_cast<std::uint32_t>(payload.size()));
  out += p.take();
  out += payload;
}

/// The first line with letters in it, without what a terminal would act on.
std::string first_line(std::string_view bytes) {
  std::string line;
  for (const char c : bytes) {
    const bool ends = c == '\n' || c == '\r';
    if ((ends && !line.empty()) || line.size() == kQuoted) break;
    if (!ends) line += c >= ' ' && c <= '~' ? c : '?';
  }
  return line;
}

}  // namespace

std::string frames_of(const SessionMessage& message, std::size_t part_bytes) {
  part_bytes = std::clamp<std::size_t>(part_bytes, 1, kMaxSessionFrame);
  std::string out;
  std::string_view rest = message.payload;
  for (; rest.size() > part_bytes; rest.remove_prefix(part_bytes))
    add_frame(out, SessionType::part, message.id, rest.substr(0, part_bytes));
  add_frame(out, message.type, message.id, rest);
  return out;
}

void SessionReader::fail(std::string sentence) {
  error_ = std::move(sentence);
  bytes_.clear();
  parts_.clear();
}

void SessionReader::add(std::string_view bytes) {
  if (error_.empty()) bytes_ += bytes;
}

bool SessionReader::take_header() {
  if (!kSessionMagic.starts_with(std::string_view(bytes_).substr(0, kSessionMagic.size()))) {
    text_ = first_;
    return fail("the bytes are no frame of a session: \"" + first_line(bytes_) + "\""), false;
  }
  if (bytes_.size() < kSessionHeaderBytes) return false;
  Unpacker u(std::string_view(bytes_).substr(kSessionMagic.size()));
  const auto version = u.get<std::uint16_t>();
  type_ = static_cast<SessionType>(u.get<std::uint16_t>());
  id_ = u.get<std::uint32_t>();
  length_ = u.get<std::uint32_t>();
  // A hello is read whatever its version: it says which versions its sender speaks.
  if ((version < kSessionLowest || version > kSessionHighest) && type_ != SessionType::hello) {
    strange_version_ = version;
    return fail("the frame has version " + std::to_string(version) + " of the session; this program speaks " +
                std::to_string(kSessionHighest)),
           false;
  }
  if (length_ > kMaxSessionFrame || parts_.size() + length_ > most_)
    return fail("the message claims " + std::to_string(parts_.size() + length_) + " bytes; at most " +
                std::to_string(std::min<std::size_t>(kMaxSessionFrame, most_)) + " are taken"),
           false;
  bytes_.erase(0, kSessionHeaderBytes);
  first_ = false;
  return true;
}

std::optional<SessionMessage> SessionReader::next() {
  while (error_.empty()) {
    if (!in_frame_ && (bytes_.empty() || !take_header())) return std::nullopt;
    in_frame_ = true;
    if (bytes_.size() < length_) return std::nullopt;
    in_frame_ = false;
    std::string payload = bytes_.substr(0, length_);
    bytes_.erase(0, length_);
    if (type_ == SessionType::part) {
      if (!parts_.empty() && parts_id_ != id_) return fail("parts of two messages are mixed"), std::nullopt;
      parts_id_ = id_;
      parts_ += payload;
      continue;
    }
    // What comes between the parts of a message is short and whole: a ping, or a cancel.
    if (parts_.empty() || parts_id_ != id_) return SessionMessage{type_, id_, std::move(payload)};
    return SessionMessage{type_, id_, std::exchange(parts_, {}) + payload};
  }
  return std::nullopt;
}

}  // namespace whet
