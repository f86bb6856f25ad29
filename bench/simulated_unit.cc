// A device whose kernels sleep, for bench/devices: the real supervisor and session of whet-device over standard input and
// output, with a runner that takes its time and runs nothing. Its figures are of whet and its sessions, never of a board.
//
//   simulated_unit NUMBER SECONDS
//
// NUMBER tells units apart; SECONDS is what each kernel takes, measuring it included.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "board/describe.h"
#include "board/supervisor.h"
#include "runner/hello.h"
#include "runner/wire.h"

namespace whet {
namespace {

double seconds = 0;  // before runners are forked

int sleep_for_requests(int fd) {
  if (!send_hello(fd)) return 0;
  for (;;) {
    const ReceiveResult received = receive_frame(fd);
    if (!received.ok) return received.end == WireEnd::closed ? 0 : 3;
    if (received.frame.type != FrameType::measure || !decode<MeasureRequest>(received.frame.payload)) return 3;
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    if (!send_frame(fd, FrameType::measured, encode(MeasureReply{OutcomeCode::ok, "", {1e-3}, false, seconds})))
      return 0;
  }
}

constexpr Life kSleeper{"sleeper", sleep_for_requests};

}  // namespace
}  // namespace whet

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: simulated_unit NUMBER SECONDS\n");
    return 2;
  }
  whet::seconds = std::atof(argv[2]);
  whet::Result<whet::Zygote> zygote = whet::Zygote::start();
  if (!zygote.ok()) return 1;
  signal(SIGPIPE, SIG_IGN);
  whet::DeviceDescription board = whet::describe_board();
  board.name = std::string("simulated-") + argv[1];
  char unit[17];
  std::snprintf(unit, sizeof unit, "%08x%08x", static_cast<unsigned>(getpid()),
                static_cast<unsigned>(std::atoi(argv[1])));
  board.unit = unit;  // a slot of its own
  whet::SessionLink link(STDIN_FILENO, STDOUT_FILENO, board.limits.message_bytes, 10);
  return whet::serve_session(link, *zygote, board, {}, whet::kSleeper);
}
