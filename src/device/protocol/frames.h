#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace whet {

/// The versions of device sessions that this program speaks (docs/formats/device.md).
constexpr std::uint16_t kSessionLowest = 3, kSessionHighest = 3;
/// Bytes of a frame's header, and the most of its payload.
constexpr std::size_t kSessionHeaderBytes = 16;
constexpr std::uint32_t kMaxSessionFrame = std::uint32_t{16} << 20;

/// The meaning of a frame's payload. A board may run another version: numbers are never given anew.
enum class SessionType : std::uint16_t {
  hello = 1,
  open = 2,
  opened = 3,
  need = 4,  ///< this to `order` and `answer`: device/protocol/cpu/model_messages.h
  have = 5,
  part = 6,  ///< the beginning of the payload of the next frame of this number
  blob = 7,
  job = 8,
  item = 9,
  done = 10,
  starting = 11,
  waiting = 12,
  ping = 13,
  pong = 14,
  cancel = 15,
  bye = 16,
  order = 17,
  answer = 18,
};

/// One message of a session, however many frames carry it.
struct SessionMessage {
  SessionType type{};
  std::uint32_t id = 0;  ///< the job's number; 0 where there is none
  std::string payload;
};

/// The frames of a message: parts of `part_bytes` at most, then the frame of its type.
std::string frames_of(const SessionMessage&, std::size_t part_bytes = std::size_t{1} << 20);

/// Makes messages of the bytes of a stream. Whatever the bytes are, it keeps no more than `most_bytes` of a message.
class SessionReader {
 public:
  explicit SessionReader(std::size_t most_bytes) : most_(most_bytes) {}

  /// Bytes that came. None count after an error.
  void add(std::string_view bytes);
  /// The next whole message; nothing where more bytes are needed, or after an error.
  std::optional<SessionMessage> next();
  /// "" while all is well. An error is a sentence.
  const std::string& error() const { return error_; }
  /// Whether the stream began with bytes that are no frame: text that something printed before the session.
  bool began_with_text() const { return text_; }
  /// The version of the frame that the error is about, where that is the reason; else 0.
  std::uint16_t strange_version() const { return strange_version_; }

 private:
  bool take_header();
  void fail(std::string sentence);

  std::size_t most_;
  std::string bytes_, parts_;
  std::uint32_t parts_id_ = 0, id_ = 0, length_ = 0;
  SessionType type_{};
  std::uint16_t strange_version_ = 0;
  bool in_frame_ = false, text_ = false, first_ = true;
  std::string error_;
};

}  // namespace whet
