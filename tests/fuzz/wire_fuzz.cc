// Bytes from a socket: frames, then an end that is closed or broken. A frame that came is sent and received again.

#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "runner/wire.h"

using namespace whet;

namespace {

/// A socket's buffer holds this much, so that one process can be both ends.
constexpr std::size_t kMostBytes = 32 << 10;

struct Pair {
  int ends[2];
  Pair() { fuzz::require(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "a pair of sockets"); }
  ~Pair() {
    close(ends[0]);
    close(ends[1]);
  }
};

void resend(const Frame& frame) {
  Pair pair;
  fuzz::require(send_frame(pair.ends[0], frame.type, frame.payload), "a frame is sent");
  const ReceiveResult again = receive_frame(pair.ends[1], 1);
  fuzz::require(again.ok && again.frame.type == frame.type && again.frame.payload == frame.payload,
                "a frame comes as it was sent");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kMostBytes) return 0;
  Pair pair;
  fuzz::require(send(pair.ends[0], data, size, MSG_DONTWAIT) == static_cast<ssize_t>(size), "the bytes fit");
  shutdown(pair.ends[0], SHUT_WR);
  for (;;) {
    const ReceiveResult received = receive_frame(pair.ends[1], 1);
    if (received.ok) {
      resend(received.frame);
      continue;
    }
    fuzz::require(received.end != WireEnd::timed_out, "a closed socket is noticed");
    if (received.end == WireEnd::broken) fuzz::require_sentence(received.message);
    return 0;
  }
}
