#include "runner/loop.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#include "artifact/cpu/isa.h"
#include "runner/bench.h"
#include "runner/given.h"
#include "runner/hello.h"
#include "runner/wire.h"

namespace whet {
namespace {

// For the signal handler alone, which can be reached in no other way.
Benches* g_benches = nullptr;
int g_socket = -1;

const char* signal_text(int number) {
  switch (number) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    case SIGILL:
      return "SIGILL";
    case SIGTRAP:
      return "SIGTRAP";
    default:
      return "a signal";
  }
}

/// Says where the kernel went wrong, with async-signal-safe calls only, then dies by the same signal.
void last_words(int number, siginfo_t* info, void*) {
  char frame[16 + 256] = {'W', 'H', 'E', 'T', static_cast<char>(kWireVersion), 0, static_cast<char>(FrameType::fault),
                          0};
  char* text = frame + 16;
  std::size_t length = 0;
  const auto say = [&](const char* part) {
    const std::size_t n = std::strlen(part);
    std::memcpy(text + length, part, n);
    length += n;
  };
  say(signal_text(number));
  if (number == SIGSEGV || number == SIGBUS) {
    say(" at an address ");
    const std::size_t where = g_benches->describe(reinterpret_cast<std::uintptr_t>(info->si_addr), text + length, 160);
    length += where;
    if (where == 0) say(info->si_addr == nullptr ? "that is null" : "outside the kernel's buffers");
  }
  frame[8] = static_cast<char>(length);
  (void)!send(g_socket, frame, 16 + length, MSG_NOSIGNAL | MSG_DONTWAIT);
  signal(number, SIG_DFL);
  raise(number);
}

void catch_faults() {
  struct sigaction action{};
  action.sa_sigaction = last_words;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESETHAND;
  for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigaction(number, &action, nullptr);
}

/// Answers one request; false when it is none.
bool answer(Benches& benches, int fd, const Frame& frame) {
  std::string_view message = frame.payload;
  if (frame.type == FrameType::given) return take_given(message);
  const auto ticket = take_ticket(message);
  if (!ticket) return false;
  if (frame.type == FrameType::measure) {
    const auto request = decode<MeasureRequest>(message);
    return request && has_given(request->job) &&
           send_frame(fd, FrameType::measured, with_ticket(*ticket, encode(benches.measure(*request))));
  }
  if (frame.type == FrameType::check) {
    const auto request = decode<CheckRequest>(message);
    return request && has_given(request->job) && (!request->packing || has_given(*request->packing)) &&
           send_frame(fd, FrameType::checked, with_ticket(*ticket, encode(benches.check(*request))));
  }
  return false;
}

}  // namespace

int run_runner(int fd) {
  Benches benches;
  g_benches = &benches;
  g_socket = fd;
  catch_faults();
  (void)permit_tiles();  // for kernels that have some; no target has them where they are refused
  if (!send_hello(fd)) return 0;
  for (;;) {
    const ReceiveResult received = receive_frame(fd);
    if (!received.ok) return received.end == WireEnd::closed ? 0 : 3;
    if (!answer(benches, fd, received.frame)) return 3;
    if (benches.is_lost()) return 0;  // a fresh runner answers the next request
  }
}

}  // namespace whet
