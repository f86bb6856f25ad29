// Runs a command between standard input and output, over a link with faults:
//   faulty_link [--rate BYTES] [--delay MS] [--cut-after BYTES] [--stall-after BYTES] [--flip-bit BYTE] [--down | --up] -- COMMAND...
// --rate       bytes a second at most, each way
// --delay      before any byte goes on [ms], each way
// --cut-after  both ways end when as many bytes have gone through
// --stall-after  nothing goes on after as many bytes, and both ends stay open
// --flip-bit   the lowest bit of byte number BYTE (from 0) is turned
// Bytes are counted of what comes from the command (--down, the default) or goes to it (--up).

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>

namespace {

using Clock = std::chrono::steady_clock;

struct Faults {
  long rate = 0, delay_ms = 0, cut_after = -1, stall_after = -1, flip_bit = -1;
  bool up = false;
};

/// One direction of the link.
class Way {
 public:
  Way(int from, int to, const Faults& faults, bool counted)
      : from_(from), to_(to), faults_(faults), counted_(counted) {}

  bool wants_bytes() const { return open_ && !is_stalled() && waiting_.size() < kMostWaiting; }
  bool is_open() const { return open_ || !waiting_.empty(); }
  bool is_cut() const { return counted_ && faults_.cut_after >= 0 && passed_ >= faults_.cut_after; }
  bool is_stalled() const { return counted_ && faults_.stall_after >= 0 && passed_ >= faults_.stall_after; }
  int from() const { return from_; }

  void take() {
    char bytes[1024];
    const ssize_t n = read(from_, bytes, sizeof bytes);
    if (n <= 0) {
      open_ = false;
      return;
    }
    waiting_.push_back(
        {Clock::now() + std::chrono::milliseconds(faults_.delay_ms), std::string(bytes, static_cast<std::size_t>(n))});
  }
  /// Hands on what is due. False where nobody takes it.
  bool give() {
    while (!waiting_.empty() && waiting_.front().due <= Clock::now() && !is_cut() && !is_stalled()) {
      std::string& bytes = waiting_.front().bytes;
      if (faults_.rate > 0 && Clock::now() < next_) return true;
      const std::size_t size = std::min(bytes.size(), most_now());
      flip(bytes);
      const ssize_t n = write(to_, bytes.data(), size);
      if (n <= 0) return false;
      passed_ += n;
      if (faults_.rate > 0) next_ = Clock::now() + std::chrono::microseconds(n * 1000000 / faults_.rate);
      bytes.erase(0, static_cast<std::size_t>(n));
      if (bytes.empty()) waiting_.pop_front();
    }
    return true;
  }
  void close_if_over() {
    if (is_open() || closed_) return;
    closed_ = true;
    close(to_);
  }

 private:
  static constexpr std::size_t kMostWaiting = 4096;
  struct Piece {
    Clock::time_point due;
    std::string bytes;
  };
  /// Not beyond where a fault begins.
  std::size_t most_now() const {
    long most = 1 << 20;
    if (counted_ && faults_.cut_after >= 0) most = std::min(most, faults_.cut_after - passed_);
    if (counted_ && faults_.stall_after >= 0) most = std::min(most, faults_.stall_after - passed_);
    return static_cast<std::size_t>(std::max(0L, most));
  }
  void flip(std::string& bytes) {
    const long at = faults_.flip_bit - passed_;
    if (!counted_ || flipped_ || faults_.flip_bit < 0 || at >= static_cast<long>(bytes.size())) return;
    bytes[static_cast<std::size_t>(at)] ^= 1;
    flipped_ = true;
  }

  int from_, to_;
  const Faults& faults_;
  bool counted_, open_ = true, closed_ = false, flipped_ = false;
  long passed_ = 0;
  std::deque<Piece> waiting_;
  Clock::time_point next_{};
};

int carry(const Faults& faults, char** command) {
  int down[2], up[2];
  if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    dup2(up[0], STDIN_FILENO);
    dup2(down[1], STDOUT_FILENO);
    execvp(command[0], command);
    _exit(127);
  }
  close(up[0]);
  close(down[1]);
  signal(SIGPIPE, SIG_IGN);
  Way from_command(down[0], STDOUT_FILENO, faults, !faults.up), to_command(STDIN_FILENO, up[1], faults, faults.up);
  while (from_command.is_open() && !from_command.is_cut() && !to_command.is_cut()) {
    pollfd ends[2] = {{from_command.wants_bytes() ? down[0] : -1, POLLIN, 0},
                      {to_command.wants_bytes() ? STDIN_FILENO : -1, POLLIN, 0}};
    constexpr int kLinkTick = 2;
    poll(ends, 2, kLinkTick);
    if (ends[0].revents) from_command.take();
    if (ends[1].revents) to_command.take();
    if (!from_command.give() || !to_command.give()) break;
    to_command.close_if_over();
    if (getppid() == 1) break;  // a stalled link has no other way to see that whet is gone
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Faults faults;
  for (int i = 1; i < argc; ++i) {
    const auto value = [&] { return i + 1 < argc ? std::atol(argv[++i]) : 0; };
    const std::string_view option = argv[i];
    if (option == "--rate")
      faults.rate = value();
    else if (option == "--delay")
      faults.delay_ms = value();
    else if (option == "--cut-after")
      faults.cut_after = value();
    else if (option == "--stall-after")
      faults.stall_after = value();
    else if (option == "--flip-bit")
      faults.flip_bit = value();
    else if (option == "--up")
      faults.up = true;
    else if (option == "--down")
      faults.up = false;
    else if (option == "--" && i + 1 < argc)
      return carry(faults, argv + i + 1);
    else
      break;
  }
  std::fprintf(stderr,
               "usage: faulty_link [--rate BYTES] [--delay MS] [--cut-after N] [--stall-after N] [--flip-bit N] [--up] "
               "-- COMMAND...\n");
  return 2;
}
