// whet-device: runs kernels that a whet elsewhere sends over standard input and output (docs/formats/device.md). One static
// file, which whet brings to the board itself.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "base/version.h"
#include "board/describe.h"
#include "board/supervisor.h"

namespace {

constexpr int kWrongUsage = 2;
constexpr double kDeadSeconds = 10;

int usage() {
  std::fprintf(stderr,
               "usage: whet-device --stdio [--emulated]    serve whet over standard input and output\n"
               "       whet-device --version\n"
               "  --emulated    say that an emulator runs this machine: needed where it emulates a whole system\n");
  return kWrongUsage;
}

int serve(bool emulated) {
  // Before anything else is there that runners would inherit.
  whet::Result<whet::Zygote> zygote = whet::Zygote::start();
  if (!zygote.ok()) {
    std::fprintf(stderr, "whet-device: %s\n", zygote.error().message.c_str());
    return 1;
  }
  signal(SIGPIPE, SIG_IGN);
  whet::DeviceDescription board = whet::describe_board();
  board.emulator = whet::emulator_of_this_program(zygote->pid());
  if (board.emulator.empty() && emulated) board.emulator = "an emulator";
  whet::SessionLink link(STDIN_FILENO, STDOUT_FILENO, board.limits.message_bytes, kDeadSeconds);
  return whet::serve_session(link, *zygote, board);
}

}  // namespace

int main(int argc, char** argv) {
  bool stdio = false, emulated = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--version") == 0) return std::printf("%s\n", whet::version().c_str()) > 0 ? 0 : 1;
    if (std::strcmp(argv[i], "--stdio") == 0)
      stdio = true;
    else if (std::strcmp(argv[i], "--emulated") == 0)
      emulated = true;
    else
      return usage();
  }
  return stdio ? serve(emulated) : usage();
}
