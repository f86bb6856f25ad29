#include "device/protocol/link.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <string_view>

namespace whet {
namespace {

constexpr std::size_t kLinkReadBytes = std::size_t{64} << 10;

double seconds_from(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}
int milliseconds(double seconds) { return static_cast<int>(std::ceil(std::clamp(seconds, 0.0, 1e6) * 1e3)); }

/// Without SIGPIPE where that can be had. (The board's program ignores it.)
ssize_t write_some(int fd, std::string_view bytes) {
  const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return n < 0 && errno == ENOTSOCK ? ::write(fd, bytes.data(), bytes.size()) : n;
}

}  // namespace

SessionLink::SessionLink(int in, int out, std::size_t most_bytes, double dead_seconds)
    : in_(in), out_(out), dead_seconds_(dead_seconds), reader_(most_bytes) {
  for (const int fd : {in, out}) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

double SessionLink::silence() const { return seconds_from(last_byte_); }

bool SessionLink::send(SessionType type, std::uint32_t id, std::string payload) {
  if (ended_) return false;
  const std::string frames = frames_of({type, id, std::move(payload)});
  std::string_view rest = frames;
  while (!rest.empty()) {
    const ssize_t n = write_some(out_, rest);
    if (n > 0) {
      rest.remove_prefix(static_cast<std::size_t>(n));
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK) return ended_ = true, false;
    pollfd wait{out_, POLLOUT, 0};
    if (::poll(&wait, 1, milliseconds(dead_seconds_)) == 0) {
      not_taken_ = "no byte was taken for " + std::to_string(static_cast<int>(dead_seconds_)) + " s";
      return ended_ = true, false;
    }
  }
  return true;
}

void SessionLink::read_some(double seconds) {
  pollfd wait{in_, POLLIN, 0};
  if (::poll(&wait, 1, milliseconds(seconds)) <= 0) return;
  char bytes[kLinkReadBytes];
  const ssize_t n = ::read(in_, bytes, sizeof bytes);
  if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return;
  if (n <= 0) {
    ended_ = true;
    return;
  }
  last_byte_ = std::chrono::steady_clock::now();
  reader_.add({bytes, static_cast<std::size_t>(n)});
}

std::optional<SessionMessage> SessionLink::receive(double seconds) {
  const auto start = std::chrono::steady_clock::now();
  for (bool waited = false;; waited = true) {
    if (auto message = reader_.next()) return message;
    if (!reader_.error().empty()) ended_ = true;
    const double left = seconds - seconds_from(start);
    if (ended_ || (waited && left <= 0)) return std::nullopt;
    read_some(left);
  }
}

}  // namespace whet
