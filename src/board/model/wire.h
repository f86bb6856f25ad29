#pragma once

#include <sys/socket.h>

#include <cerrno>

#include "board/model/bytes.h"
#include "runner/wire.h"

namespace whet {

/// How whet-model ends where the other end is gone, and where an order is none.
constexpr int kServed = 0, kBrokenOrder = 3;

/// Our end of the socket. Where the other end is gone, so is the program.
class Wire {
 public:
  explicit Wire(int socket) : socket_(socket) {}

  void send_head(FrameType type, std::uint64_t bytes) {
    GrowingBytes head;
    head.put(FrameHead{.type = type, .bytes = bytes});
    send_bytes(head.data(), head.size());
  }
  void send_bytes(const void* bytes, std::size_t count) {
    const char* at = static_cast<const char*>(bytes);
    while (count > 0) {
      const ssize_t n = send(socket_, at, count, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) _exit(kServed);
      at += n;
      count -= static_cast<std::size_t>(n);
    }
  }
  void send_frame(FrameType type, const GrowingBytes& payload) {
    send_head(type, payload.size());
    send_bytes(payload.data(), payload.size());
  }

  /// The payload of the next order.
  void receive_order(GrowingBytes& payload) {
    constexpr std::uint64_t kMostOrderBytes = std::uint64_t{1} << 20;
    char bytes[kFrameHeadBytes];
    receive_bytes(bytes, sizeof bytes);
    const auto head = Unpacker({bytes, sizeof bytes}).get<FrameHead>();
    const FrameHead wanted{.type = FrameType::model_order, .bytes = head.bytes};
    if (head != wanted || head.bytes > kMostOrderBytes) _exit(kBrokenOrder);
    payload.clear();
    receive_bytes(payload.grow(head.bytes), head.bytes);
  }
  /// A descriptor that is sent with one byte.
  int receive_file() {
    char byte;
    iovec part{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t n;
    while ((n = recvmsg(socket_, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
    }
    const cmsghdr* const header = n == 1 ? CMSG_FIRSTHDR(&message) : nullptr;
    if (header == nullptr || header->cmsg_type != SCM_RIGHTS) _exit(n == 0 ? kServed : kBrokenOrder);
    int file;
    std::memcpy(&file, CMSG_DATA(header), sizeof file);
    return file;
  }

 private:
  void receive_bytes(char* at, std::size_t count) {
    while (count > 0) {
      const ssize_t n = recv(socket_, at, count, 0);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) _exit(kServed);
      at += n;
      count -= static_cast<std::size_t>(n);
    }
  }

  int socket_;
};

}  // namespace whet
