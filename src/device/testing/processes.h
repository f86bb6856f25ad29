#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace whet::testing {

inline bool exists(pid_t pid) { return kill(pid, 0) == 0; }

/// Waits until a process is gone or a zombie of another parent, half a minute at most. Gives whether it is.
inline bool gone(pid_t pid) {
  for (int i = 0; i < 30000 && exists(pid); ++i) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string number, name, state;
    stat >> number >> name >> state;
    if (state == "Z") return true;
    usleep(1000);
  }
  return !exists(pid);
}

/// The processes that descend from this one, parents first.
inline std::vector<pid_t> descendants(pid_t process) {
  std::vector<pid_t> all{process};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string number = std::to_string(all[i]);
    std::ifstream children("/proc/" + number + "/task/" + number + "/children");
    for (pid_t child = 0; children >> child;) all.push_back(child);
  }
  return {all.begin() + 1, all.end()};
}

/// Hundredths of a second of processor that a process has taken; 0 where it is gone.
inline long ticks_of(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string field;
  for (int i = 0; i < 13; ++i) stat >> field;  // a name with spaces would move the fields: whet's processes have none
  long user = 0;
  return stat >> user ? user : 0;
}

/// The last descendant of a process, once it has computed for `ticks` hundredths of a second, as a kernel that hangs does. After ten
/// seconds the last one, whatever it has done; 0 where there is none.
inline pid_t computing(pid_t process, long ticks = 5) {
  pid_t pid = 0;
  for (long before = 0, i = 0; i < 2000; ++i, usleep(5000)) {
    const std::vector<pid_t> all = descendants(process);
    if (all.empty()) continue;
    if (all.back() != pid) {
      pid = all.back();
      before = ticks_of(pid);
    }
    if (ticks_of(pid) - before >= ticks) break;
  }
  return pid;
}

/// Kills the supervisors of a device that a shell starts, one after the other: each when a kernel or a model there has computed for a
/// while, as one that hangs does.
class SupervisorKiller {
 public:
  explicit SupervisorKiller(long ticks, int supervisors = 2)
      : thread_([this, ticks, supervisors] {
          for (int i = 0; i < supervisors; ++i) {
            computing(getpid(), ticks);
            pid_t supervisor = 0;
            std::ifstream(file_) >> supervisor;
            if (supervisor <= 1) return;
            kill(supervisor, SIGKILL);
            gone(supervisor);
          }
        }) {}
  ~SupervisorKiller() {
    thread_.join();
    std::remove(file_.c_str());
  }
  SupervisorKiller(const SupervisorKiller&) = delete;
  /// What the shell does before it becomes a supervisor.
  std::string note() const { return "echo $$ > " + file_ + "; "; }

 private:
  const std::string file_ = ::testing::TempDir() + "/killed." + std::to_string(getpid());
  std::thread thread_;
};

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
