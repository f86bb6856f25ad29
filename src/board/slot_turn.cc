#include "board/slot_turn.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace whet {

bool SlotTurn::take(const std::string& slot) {
  if (socket_ >= 0) return true;
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) return true;  // a system without such sockets has no turns
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "whet-slot-" + slot;
  const std::size_t length = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), length);  // a first byte of zero: no file
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  if (bind(made, reinterpret_cast<const sockaddr*>(&address), bytes) != 0) {
    const bool taken = errno == EADDRINUSE;
    close(made);
    return !taken;  // else nobody would ever give it back
  }
  socket_ = made;
  return true;
}

void SlotTurn::give_back() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
}

}  // namespace whet
