#pragma once

#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

namespace whet::testing {

inline bool exists(pid_t pid) { return kill(pid, 0) == 0; }

/// Waits until a process is gone or a zombie of another parent, three seconds at most. Gives whether it is.
inline bool gone(pid_t pid) {
  for (int i = 0; i < 3000 && exists(pid); ++i) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string number, name, state;
    stat >> number >> name >> state;
    if (state == "Z") return true;
    usleep(1000);
  }
  return !exists(pid);
}

/// Stops a process, and kills it when it has had time to be sent something.
class StoppedThenKilled {
 public:
  explicit StoppedThenKilled(pid_t pid) {
    kill(pid, SIGSTOP);
    killer_ = std::thread([pid] {
      usleep(50000);
      kill(pid, SIGKILL);
    });
  }
  ~StoppedThenKilled() { killer_.join(); }

 private:
  std::thread killer_;
};

}  // namespace whet::testing
