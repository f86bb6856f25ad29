#include "embed/program.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace whet {
namespace {

constexpr const char* kName = "/whet";

bool is_program(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
}

/// The folder of the file that this code was loaded from.
std::string own_folder() {
  static const char here = 0;
  Dl_info info{};
  if (dladdr(&here, &info) == 0 || info.dli_fname == nullptr) return "";
  std::error_code code;
  return std::filesystem::canonical(info.dli_fname, code).parent_path().string();
}

std::string in_path() {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    std::string program = std::string(folder.empty() ? "." : folder) + kName;
    if (is_program(program)) return program;
  }
  return "";
}

/// Both ends of a pipe; closed with it.
struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() { (void)!pipe2(ends, O_CLOEXEC); }
  Pipe(const Pipe&) = delete;
  ~Pipe() { close_end(0), close_end(1); }
  void close_end(int which) {
    if (ends[which] >= 0) close(ends[which]);
    ends[which] = -1;
  }
  /// Appends what has come; false at its end.
  bool read_some(std::string& to) {
    char bytes[1 << 14];
    const ssize_t got = read(ends[0], bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) return true;
    if (got > 0) to.append(bytes, static_cast<std::size_t>(got));
    return got > 0;
  }
};

/// Reads both until they end.
void read_both(Pipe& output, std::string& printed, Pipe& errors, std::string& told) {
  while (output.ends[0] >= 0 || errors.ends[0] >= 0) {
    pollfd waited[] = {{output.ends[0], POLLIN, 0}, {errors.ends[0], POLLIN, 0}};
    if (poll(waited, 2, -1) < 0 && errno != EINTR) return;
    if (waited[0].revents != 0 && !output.read_some(printed)) output.close_end(0);
    if (waited[1].revents != 0 && !errors.read_some(told)) errors.close_end(0);
  }
}

/// The sentence behind the last "whet: ".
std::string sentence_of(const std::string& told) {
  constexpr std::string_view kBefore = "whet: ";
  const std::size_t at = told.rfind(kBefore);
  std::string sentence = at == std::string::npos ? told : told.substr(at + kBefore.size());
  while (!sentence.empty() && sentence.back() == '\n') sentence.pop_back();
  return sentence;
}

}  // namespace

Result<std::string> find_program(const std::string& named) {
  if (!named.empty()) {
    if (is_program(named)) return named;
    return Error{named + " is no program; expected the path of whet in tuner_options.program", ErrorKind::not_found};
  }
  const std::string folder = own_folder();
  if (!folder.empty())
    for (const char* place : {"", "/../bin", "/../../bin"})
      if (std::string program = folder + place + kName; is_program(program)) return program;
  if (std::string program = in_path(); !program.empty()) return program;
  return Error{
      "the program whet is not beside libwhet.so (" + folder + ") and not in PATH; name it in tuner_options.program",
      ErrorKind::not_found};
}

Result<std::string> run_program(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<char*> words = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  Pipe output, errors;
  if (output.ends[0] < 0 || errors.ends[0] < 0) return Error{std::string("no pipe: ") + std::strerror(errno)};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.ends[1], STDERR_FILENO);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, program.c_str(), &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return Error{program + " cannot be started: " + std::strerror(error)};
  output.close_end(1), errors.close_end(1);
  std::string printed, told;
  read_both(output, printed, errors, told);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return printed;
  if (const std::string sentence = sentence_of(told); !sentence.empty()) return Error{sentence};
  return Error{program + " ended without an answer"};
}

}  // namespace whet
