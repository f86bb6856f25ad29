#include "runner/wire.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace whet {
namespace {

/// How much is read at once; frames grow by it, so that a lying length costs no memory.
constexpr std::size_t kReadBytes = std::size_t{1} << 18;
/// The most that one `poll` reads: who fills the socket without end holds up nobody who waits for others too.
constexpr std::size_t kPolledBytes = std::size_t{16} << 20;

}  // namespace

bool send_frame(int fd, FrameType type, std::string_view payload, const std::function<bool()>& goes_on) {
  const std::string head = encode(FrameHead{.type = type, .bytes = payload.size()});
  std::string_view parts[2] = {head, payload};
  while (!parts[0].empty() || !parts[1].empty()) {
    iovec vectors[2];
    for (int i = 0; i < 2; ++i) vectors[i] = {const_cast<char*>(parts[i].data()), parts[i].size()};
    msghdr message{};
    message.msg_iov = vectors;
    message.msg_iovlen = 2;
    const ssize_t n = sendmsg(fd, &message, MSG_NOSIGNAL | (goes_on ? MSG_DONTWAIT : 0));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      pollfd wait{fd, POLLOUT, 0};
      if (::poll(&wait, 1, goes_on ? kSendTickMilliseconds : -1) == 0 && goes_on && !goes_on()) return false;
      continue;
    }
    if (n <= 0) return false;
    auto left = static_cast<std::size_t>(n);
    for (auto& part : parts) {
      const std::size_t taken = std::min(left, part.size());
      part.remove_prefix(taken);
      left -= taken;
    }
  }
  return true;
}

bool FrameAssembler::parse_header() {
  if (bytes_.size() < kFrameHeadBytes) return true;
  const auto head = Unpacker(bytes_).get<FrameHead>();
  if (head.magic != FrameHead{}.magic) return error_ = "the bytes are no frame", false;
  if (head.version != kWireVersion)
    return error_ = "the frame has version " + std::to_string(head.version) + "; this program needs " +
                    std::to_string(kWireVersion),
           false;
  if (head.bytes > most_)
    return error_ = "the frame claims " + std::to_string(head.bytes) + " bytes; at most " + std::to_string(most_) +
                    " are taken",
           false;
  type_ = head.type;
  need_ = kFrameHeadBytes + head.bytes;
  return true;
}

bool FrameAssembler::poll(int fd) {
  for (std::size_t taken = 0; !failed_ && taken < kPolledBytes;) {
    if (need_ != 0 && bytes_.size() == need_) return true;
    // Never beyond this frame: what follows belongs to the next.
    const std::size_t want = static_cast<std::size_t>((need_ != 0 ? need_ : kFrameHeadBytes) - bytes_.size());
    const std::size_t old = bytes_.size(), chunk = std::min(want, kReadBytes);
    bytes_.resize(old + chunk);
    const ssize_t n = recv(fd, bytes_.data() + old, chunk, MSG_DONTWAIT);
    bytes_.resize(old + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    taken += bytes_.size() - old;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    if (n <= 0) {
      failed_ = true;
      unread_ = n < 0 && errno == ECONNRESET;  // the system's answer to bytes that nobody read
    } else if (need_ == 0 && !parse_header()) {
      failed_ = true;
    }
  }
  return !failed_ && need_ != 0 && bytes_.size() == need_;
}

bool has_bytes(int fd) {
  char byte;
  return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

Frame FrameAssembler::take() {
  bytes_.erase(0, kFrameHeadBytes);
  need_ = 0;
  return {type_, std::exchange(bytes_, {})};
}

ReceiveResult receive_frame(int fd, double timeout_seconds, std::uint64_t most_bytes) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  FrameAssembler assembler(most_bytes);
  ReceiveResult result;
  while (!assembler.poll(fd)) {
    if (assembler.failed()) {
      result.end = assembler.error().empty() ? WireEnd::closed : WireEnd::broken;
      result.message = assembler.error();
      result.unread = assembler.unread();
      return result;
    }
    int wait_ms = -1;
    if (timeout_seconds >= 0) {
      const double left = timeout_seconds - std::chrono::duration<double>(Clock::now() - start).count();
      if (left <= 0) return result.end = WireEnd::timed_out, result;
      wait_ms = static_cast<int>(std::min(left * 1e3 + 1, 1e9));
    }
    pollfd wait{fd, POLLIN, 0};
    ::poll(&wait, 1, wait_ms);
  }
  result.ok = true;
  result.frame = assembler.take();
  return result;
}

}  // namespace whet
