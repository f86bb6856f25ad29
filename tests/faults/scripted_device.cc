// A device of tests: it speaks device sessions over standard input and output, runs nothing, and answers by a formula. Many of them
// run on one machine without taking turns.
//   scripted_device NAME MILLISECONDS PIDFILE
// PIDFILE.users has whose jobs it was told that it runs, a line a job.
// A kernel takes as many microseconds as it has bytes of code. The output of a check is as long as the arguments say, of bytes that
// count up. Each item comes after MILLISECONDS. The code "die" ends the device instead.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <string>
#include <utility>

#include "base/hash.h"
#include "base/version.h"
#include "device/protocol/link.h"
#include "device/protocol/messages.h"

namespace whet {
namespace {

class ScriptedDevice {
 public:
  ScriptedDevice(const std::string& name, double seconds, std::string users)
      : link_(STDIN_FILENO, STDOUT_FILENO, std::size_t{64} << 20, 10), seconds_(seconds), users_(std::move(users)) {
    char unit[17];
    std::snprintf(unit, sizeof unit, "%016llx", static_cast<unsigned long long>(hash_bytes(name)));
    device_.name = name;
    device_.unit = unit;
    device_.slot = "cpu";
    device_.machine = "x86_64";
    device_.system = "none";
    device_.processor = "znver3";
    device_.features = {"avx", "avx2", "fma"};
    device_.page_bytes = 4096;
    device_.memory_bytes = std::int64_t{1} << 30;
    device_.cores = {{0, 0, 0, 1024, false, true, 0}};
  }

  void serve() {
    link_.send(SessionType::hello, 0, encode(SessionHello{.program = version(), .details = encode(device_)}));
    while (!over_) {
      if (jobs_.empty()) {
        if (auto message = link_.receive(1)) take(std::move(*message));
      } else {
        const SessionMessage job = std::move(jobs_.front());
        jobs_.pop_front();
        run(job);
      }
      over_ = over_ || link_.ended() || link_.silence() > 10;
    }
  }

 private:
  void take(SessionMessage message) {
    if (message.type == SessionType::ping) link_.send(SessionType::pong, message.id, std::move(message.payload));
    if (message.type == SessionType::open) open(message.payload);
    if (message.type == SessionType::job) {
      std::ofstream(users_, std::ios::app) << user_ << "\n";
      jobs_.push_back(std::move(message));
    }
    if (message.type == SessionType::cancel) jobs_.clear(), cancelled_ = true;
    if (message.type == SessionType::bye) over_ = true;
  }
  void open(const std::string& payload) {
    if (const auto open = decode<SessionOpen>(payload)) user_ = open->user;
    link_.send(SessionType::opened, 0, "");
  }
  /// Answers pings meanwhile.
  void work() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds_);
    for (double left = seconds_; left > 0 && !over_ && !link_.ended();
         left = std::chrono::duration<double>(end - std::chrono::steady_clock::now()).count())
      if (auto message = link_.receive(left)) take(std::move(*message));
  }
  void run(const SessionMessage& message) {
    const auto job = decode_session_job(message.payload, device_.limits.kernels);
    if (!job) std::abort();
    cancelled_ = false;
    for (std::uint32_t number = 0; number < job->items() && !cancelled_ && !over_; ++number) {
      link_.send(SessionType::starting, message.id, encode(std::uint64_t{number}));
      work();
      link_.send(SessionType::item, message.id, encode(SessionItem{number, answer(job->request(number))}));
    }
    link_.send(SessionType::done, message.id, "");
  }
  static std::variant<MeasureReply, CheckReply, SpotsReply> answer(const SessionRequest& request) {
    if (const auto* measure = std::get_if<MeasureRequest>(&request)) {
      const std::string& code = measure->job.kernel.code;
      if (code == "die") std::_Exit(1);
      return MeasureReply{OutcomeCode::ok, "", {static_cast<double>(code.size()) * 1e-6}, false, 0.001};
    }
    CheckReply reply;
    for (const ArgumentSpec& argument : std::get<CheckRequest>(request).job.arguments) {
      if (argument.role != ArgumentRole::output) continue;
      std::string& bytes = reply.outputs.emplace_back(static_cast<std::size_t>(argument.bytes), '\0');
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 >> 3);
    }
    return reply;
  }

  SessionLink link_;
  DeviceDescription device_;
  double seconds_;
  std::string users_, user_;
  std::deque<SessionMessage> jobs_;
  bool over_ = false, cancelled_ = false;
};

}  // namespace
}  // namespace whet

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  signal(SIGPIPE, SIG_IGN);
  if (std::FILE* file = std::fopen(argv[3], "w")) {
    std::fprintf(file, "%d", static_cast<int>(getpid()));
    std::fclose(file);
  }
  whet::ScriptedDevice(argv[1], std::atof(argv[2]) * 1e-3, argv[3] + std::string(".users")).serve();
}
