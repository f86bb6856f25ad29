#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace whet::faults {

/// How a program ended.
struct Ending {
  bool by_signal = false;
  int number = 0;   ///< exit status, or the signal
  std::string out;  ///< what it printed, errors included
};
bool operator==(const Ending&, int exit_status);

/// A folder of a test's own, removed at its end.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Where and how a program is started.
struct Surroundings {
  std::map<std::string, std::string> environment;  ///< beside what the test has
  std::function<void()> before_exec;               ///< in the child: limits, signals
};

/// `whet` as a real process with all that it starts, in a process group of its own and in `folder`.
class Program {
 public:
  Program(const std::string& executable, const std::vector<std::string>& arguments, const Folder& folder,
          const Surroundings& surroundings = {});
  ~Program();  ///< kills it if it still runs
  Program(const Program&) = delete;

  pid_t pid() const { return pid_; }
  bool running();
  void send(int signal) const;           ///< to whet alone
  void send_to_group(int signal) const;  ///< as ^C on a terminal does
  /// Waits for its end; a test that waits for minutes fails.
  Ending end();

  /// Waits until `condition` holds; false when the program ended before that.
  bool wait_until(const std::function<bool()>& condition);

  pid_t zygote() const;
  /// The zygote's children of this name: "whet-builder", "whet-runner"; all for "".
  std::vector<pid_t> workers(const std::string& name = "") const;
  /// The zygote and the workers.
  std::vector<pid_t> family() const;

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  std::string collected_;
  bool reaped_ = false;
  int status_ = 0;
  void collect();
};

/// Runs `executable` to its end.
Ending run(const std::string& executable, const std::vector<std::string>& arguments, const Folder& folder,
           const Surroundings& surroundings = {});

std::string content(const std::string& path);
void write(const std::string& path, const std::string& text);
std::int64_t lines(const std::string& path);
/// The processes that descend from this one.
std::vector<pid_t> descendants(pid_t process);
/// All of these processes end within a moment.
bool all_gone(const std::vector<pid_t>& processes);
/// Open descriptors of a process.
std::int64_t open_files(pid_t process);
/// Bytes of resident memory that are the process's own.
std::int64_t own_memory(pid_t process);

}  // namespace whet::faults
