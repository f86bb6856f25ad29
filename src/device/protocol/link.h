#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "device/protocol/frames.h"

namespace whet {

/// One end of a session over a stream of bytes: what comes in by one descriptor and goes out by another. The descriptors
/// stay their owner's. For one thread that sends, and one that receives and asks.
class SessionLink {
 public:
  ///   most_bytes    of a message that comes
  ///   dead_seconds  without progress after which sending gives up
  SessionLink(int in, int out, std::size_t most_bytes, double dead_seconds);

  /// False where the other end is gone or takes no bytes any more: the link has ended.
  bool send(SessionType, std::uint32_t id, std::string payload);
  /// The next message; waits for it `seconds` at most. Nothing where none came in time, or the link has ended.
  std::optional<SessionMessage> receive(double seconds);

  bool ended() const { return ended_; }
  /// Why it ended, where that is no plain end of the stream.
  const std::string& error() const { return ended_ && !not_taken_.empty() ? not_taken_ : reader_.error(); }
  const SessionReader& reader() const { return reader_; }
  /// Seconds since the last byte came, or since the link was made.
  double silence() const;
  void set_dead_seconds(double seconds) { dead_seconds_ = seconds; }

 private:
  void read_some(double seconds);

  int in_, out_;
  double dead_seconds_;
  SessionReader reader_;
  std::atomic<bool> ended_ = false;
  std::string not_taken_;  ///< what sending failed by; before `ended_`
  std::chrono::steady_clock::time_point last_byte_ = std::chrono::steady_clock::now();
};

}  // namespace whet
