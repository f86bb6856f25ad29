#include "device/remote/child_stream.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "device/protocol/bounds.h"

extern char** environ;

namespace whet {
namespace {

constexpr std::size_t kKeptWords = 4096;
/// How long a program may take to end once its streams are closed [s].
constexpr double kMomentToEnd = 0.5;
constexpr useconds_t kEndTick = 2000;

void close_if_open(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

/// posix_spawn's lists, freed at the end.
struct SpawnSettings {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  SpawnSettings() {
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
};

/// Signals as a program expects them, in a group of its own.
void set_signals(posix_spawnattr_t& attributes) {
  sigset_t none, usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  for (const int number : {SIGINT, SIGTERM, SIGPIPE}) sigaddset(&usual, number);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

}  // namespace

Result<ChildStream> ChildStream::start(const std::vector<std::string>& argv) {
  // Its input is a socket, so that writing to a program that has ended raises no signal.
  int input[2], output[2], errors[2];
  const auto no_pipe = [] {
    return Error{std::string("no pipe for a program: ") + std::strerror(errno), ErrorKind::io};
  };
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input) != 0) return no_pipe();
  ChildStream child;
  child.out_ = input[0];
  if (pipe2(output, O_CLOEXEC) != 0) return close(input[1]), no_pipe();
  child.in_ = output[0];
  if (pipe2(errors, O_CLOEXEC) != 0) return close(input[1]), close(output[1]), no_pipe();
  child.errors_ = errors[0];
  fcntl(child.errors_, F_SETFL, O_NONBLOCK);

  SpawnSettings settings;
  posix_spawn_file_actions_adddup2(&settings.files, input[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&settings.files, output[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&settings.files, errors[1], STDERR_FILENO);
  set_signals(settings.attributes);
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const int failure =
      posix_spawnp(&child.pid_, arguments[0], &settings.files, &settings.attributes, arguments.data(), environ);
  for (const int end : {input[1], output[1], errors[1]}) close(end);
  if (failure != 0) {
    child.pid_ = -1;
    return Error{"cannot start " + argv[0] + ": " + std::strerror(failure), ErrorKind::not_found};
  }
  return child;
}

ChildStream::ChildStream(ChildStream&& other) noexcept { *this = std::move(other); }
ChildStream& ChildStream::operator=(ChildStream&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(in_, other.in_);
  std::swap(out_, other.out_);
  std::swap(errors_, other.errors_);
  std::swap(status_, other.status_);
  std::swap(words_, other.words_);
  return *this;
}

bool ChildStream::has_ended(double seconds) {
  for (double waited = 0; pid_ > 0; waited += kEndTick * 1e-6) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      pid_ = -1;
    } else if (waited >= seconds) {
      return false;
    } else {
      usleep(kEndTick);
    }
  }
  return true;
}

void ChildStream::end() {
  close_if_open(in_);
  close_if_open(out_);
  if (const pid_t group = pid_; group > 0 && !has_ended(kMomentToEnd)) {
    kill(-group, SIGKILL);
    kill(group, SIGKILL);
    has_ended(1e9);
  }
  read_errors();
  close_if_open(errors_);
}

void ChildStream::read_errors() {
  char bytes[1024];
  for (ssize_t n; errors_ >= 0 && (n = read(errors_, bytes, sizeof bytes)) > 0;) {
    words_.append(bytes, static_cast<std::size_t>(n));
    if (words_.size() > kKeptWords) words_.erase(0, words_.size() - kKeptWords);
  }
}

std::string ChildStream::last_words() {
  read_errors();
  std::string_view text = words_;
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  const std::size_t line = text.find_last_of("\r\n");
  return printable(line == text.npos ? text : text.substr(line + 1));
}

}  // namespace whet
