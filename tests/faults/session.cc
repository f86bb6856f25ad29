#include "faults/session.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace whet::faults {
namespace {

/// A test that waits longer has found a hang. Loaded machines are slow: nothing is measured by it.
constexpr int kPatienceMilliseconds = 240000, kTickMilliseconds = 5;

std::vector<pid_t> children_of(pid_t parent) {
  const std::string at = "/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children";
  std::ifstream file(at);
  std::vector<pid_t> children;
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}
std::string name_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}
bool is_gone(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return true;
  const char state = text[text.rfind(')') + 2];  // an orphan's new parent may be slow to bury it
  return state == 'Z' || state == 'X';
}

[[noreturn]] void become(const std::string& executable, const std::vector<std::string>& arguments, const Folder& folder,
                         const Surroundings& surroundings, int output) {
  setpgid(0, 0);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  if (chdir(folder.path().c_str()) != 0) _exit(126);
  for (const auto& [name, value] : surroundings.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv{const_cast<char*>(executable.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  if (surroundings.before_exec) surroundings.before_exec();
  execv(executable.c_str(), argv.data());
  _exit(127);
}

}  // namespace

bool operator==(const Ending& ending, int exit_status) { return !ending.by_signal && ending.number == exit_status; }

Folder::Folder() {
  path_ = (std::filesystem::temp_directory_path() / "whet-faults-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr) std::abort();
}
Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Program::Program(const std::string& executable, const std::vector<std::string>& arguments, const Folder& folder,
                 const Surroundings& surroundings) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
  pid_ = fork();
  if (pid_ == 0) become(executable, arguments, folder, surroundings, ends[1]);
  setpgid(pid_, pid_);
  close(ends[1]);
  output_ = ends[0];
  fcntl(output_, F_SETFL, O_NONBLOCK);
}
Program::~Program() {
  if (running()) kill(-pid_, SIGKILL), kill(pid_, SIGKILL), waitpid(pid_, nullptr, 0);
  close(output_);
}

void Program::collect() {
  char bytes[4096];
  for (ssize_t n; (n = read(output_, bytes, sizeof bytes)) > 0;) collected_.append(bytes, static_cast<std::size_t>(n));
}
bool Program::running() {
  collect();
  if (!reaped_) reaped_ = waitpid(pid_, &status_, WNOHANG) == pid_;
  return !reaped_;
}
void Program::send(int signal) const { kill(pid_, signal); }
void Program::send_to_group(int signal) const { kill(-pid_, signal); }

bool Program::wait_until(const std::function<bool()>& condition) {
  for (int waited = 0; waited < kPatienceMilliseconds && running(); waited += kTickMilliseconds) {
    if (condition()) return true;
    usleep(kTickMilliseconds * 1000);
  }
  return false;
}
Ending Program::end() {
  wait_until([] { return false; });
  if (running()) return {true, 0, collected_ + "\n(it hangs)"};
  collect();
  if (WIFSIGNALED(status_)) return {true, WTERMSIG(status_), collected_};
  return {false, WEXITSTATUS(status_), collected_};
}

pid_t Program::zygote() const {
  for (pid_t child : children_of(pid_))
    if (name_of(child) == "whet-zygote") return child;
  return -1;
}
std::vector<pid_t> Program::workers(const std::string& name) const {
  std::vector<pid_t> found = zygote() > 0 ? children_of(zygote()) : std::vector<pid_t>();
  std::erase_if(found, [&](pid_t worker) { return !name.empty() && name_of(worker) != name; });
  return found;
}
std::vector<pid_t> Program::family() const {
  std::vector<pid_t> all = workers();
  if (zygote() > 0) all.push_back(zygote());
  return all;
}

Ending run(const std::string& executable, const std::vector<std::string>& arguments, const Folder& folder,
           const Surroundings& surroundings) {
  return Program(executable, arguments, folder, surroundings).end();
}

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}
void write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
std::int64_t lines(const std::string& path) {
  const std::string text = content(path);
  return std::count(text.begin(), text.end(), '\n');
}
std::vector<pid_t> descendants(pid_t process) {
  std::vector<pid_t> all = children_of(process);
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const pid_t child : children_of(all[i])) all.push_back(child);
  return all;
}
bool all_gone(const std::vector<pid_t>& processes) {
  for (int waited = 0; waited < 20000; waited += kTickMilliseconds) {
    if (std::all_of(processes.begin(), processes.end(), is_gone)) return true;
    usleep(kTickMilliseconds * 1000);
  }
  return false;
}
std::int64_t open_files(pid_t process) {
  std::error_code error;
  std::int64_t count = 0;
  for (std::filesystem::directory_iterator it("/proc/" + std::to_string(process) + "/fd", error), end;
       !error && it != end; it.increment(error))
    ++count;
  return count;
}
std::int64_t own_memory(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  std::string name;
  std::int64_t kib = 0;
  while (file >> name) {
    if (name == "RssAnon:") return file >> kib, kib << 10;
    file.ignore(256, '\n');
  }
  return 0;
}

}  // namespace whet::faults
