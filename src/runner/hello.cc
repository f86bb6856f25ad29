#include "runner/hello.h"

#include "base/message.h"
#include "runner/wire.h"

namespace whet {

bool send_hello(int fd, const Hello& hello) {
  Packer p;
  p.put(hello.kernel_args);
  return send_frame(fd, FrameType::hello, p.take());
}

Status receive_hello(int fd, double timeout_seconds) {
  constexpr std::uint64_t kMostHelloBytes = 64;
  const ReceiveResult received = receive_frame(fd, timeout_seconds, kMostHelloBytes);
  if (!received.ok && received.end == WireEnd::broken) return Error{received.message};
  if (!received.ok)
    return Error{received.end == WireEnd::closed ? "it ended before it said which versions it speaks"
                                                 : "it did not say which versions it speaks"};
  Unpacker u(received.frame.payload);
  const Hello hello{u.get<std::uint32_t>()};
  if (received.frame.type != FrameType::hello || !u.done()) return Error{"its first frame is no hello"};
  if (hello.kernel_args != WHET_KERNEL_ARGS_VERSION)
    return Error{"it calls kernels by version " + std::to_string(hello.kernel_args) +
                 " of their arguments; this program needs " + std::to_string(WHET_KERNEL_ARGS_VERSION)};
  return ok_status();
}

}  // namespace whet
