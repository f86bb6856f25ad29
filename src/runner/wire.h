#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/message.h"
#include "base/result.h"

namespace whet {

/// Version of every frame; both ends must have the same (docs/formats/wire.md).
constexpr std::uint16_t kWireVersion = 6;
/// A longer payload is taken for garbage, whoever sends it.
constexpr std::uint64_t kMaxFrameBytes = std::uint64_t{4} << 30;

/// The meaning of a frame's payload. Stored in no file, but a board may run an older runner: never renumber.
enum class FrameType : std::uint16_t {
  measure = 1,
  measured = 2,  ///< parent to runner, and its answer
  check = 3,
  checked = 4,  ///< parent to runner, and its answer
  fault = 5,    ///< the runner's last words when a signal ends it
  build = 6,
  built = 7,  ///< parent to builder, and its answer
  hello = 8,  ///< runner or builder to parent, before anything else
  time_models = 9,
  models_timed = 10,  ///< parent to the process that times models, and its answer: one a burst
  gpus = 11,          ///< the process that looks for GPUs to parent
  model_order = 12,
  model_answer = 13,  ///< whet-device to whet-model, and its answers
  given = 14,         ///< parent to runner: contents of arguments; no answer
};

/// What a frame begins with.
struct FrameHead {
  std::uint32_t magic = 0x54454857;  ///< "WHET"
  std::uint16_t version = kWireVersion;
  FrameType type{};
  std::uint64_t bytes = 0;  ///< of the payload
  friend bool operator==(const FrameHead&, const FrameHead&) = default;
};
constexpr std::size_t kFrameHeadBytes = 16;
template <>
inline constexpr auto kLast<FrameType> = FrameType{0xffff};  // unknown ones are refused by who takes the frame
template <>
inline constexpr auto kRow<FrameHead> =
    row<&FrameHead::magic, &FrameHead::version, &FrameHead::type, &FrameHead::bytes>;

struct Frame {
  FrameType type{};
  std::string payload;
};

/// Why no frame came.
enum class WireEnd { closed, timed_out, broken };
struct ReceiveResult {
  bool ok = false;
  Frame frame;
  WireEnd end = WireEnd::closed;  ///< when not ok
  bool unread = false;            ///< when `closed`: the other end had not read all that was sent to it
  std::string message;            ///< when `broken`: what was found
};

/// Writes one frame; false when the other end is gone (SIGPIPE is not raised on sockets).
///   goes_on  asked every `kSendTickMilliseconds` while the other end takes nothing; false: it is waited for no more, and part of a
///            frame may have gone out. Empty: it is waited for as long as it lives
bool send_frame(int fd, FrameType type, std::string_view payload, const std::function<bool()>& goes_on = {});
constexpr int kSendTickMilliseconds = 50;
/// Reads one whole frame; waits for `timeout_seconds` at most, for ever when negative. A payload of more than `most_bytes` is
/// none.
ReceiveResult receive_frame(int fd, double timeout_seconds = -1, std::uint64_t most_bytes = kMaxFrameBytes);

/// Whether bytes of the other end wait to be read.
bool has_bytes(int fd);

/// Collects a frame's bytes as they come, for ends that wait on several sockets at once.
class FrameAssembler {
 public:
  /// A frame whose header claims a payload of more than `most_bytes` is garbage.
  explicit FrameAssembler(std::uint64_t most_bytes) : most_(most_bytes) {}
  FrameAssembler() = default;
  /// Takes what is there without waiting, some megabytes at most; true: a frame is complete, for `take()`. `failed()` when the
  /// other end is gone or sent garbage.
  bool poll(int fd);
  bool failed() const { return failed_; }
  const std::string& error() const { return error_; }
  /// When the other end is gone: it had not read all that was sent to it.
  bool unread() const { return unread_; }
  /// The complete frame; the assembler is ready for the next.
  Frame take();

 private:
  bool parse_header();

  std::uint64_t most_ = kMaxFrameBytes;
  std::string bytes_;
  std::uint64_t need_ = 0;  ///< of the whole frame; 0 while the header is not there
  FrameType type_{};
  bool failed_ = false, unread_ = false;
  std::string error_;
};

}  // namespace whet
