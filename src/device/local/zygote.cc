#include "device/local/zygote.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/single_threaded.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "runner/hello.h"

namespace whet {
namespace {

// Between us and the zygote go these structs, one a packet: both ends are the same program.
enum class Verb : std::uint32_t { spawn, reap };
struct Request {
  Verb verb;
  const Life* life;  ///< to spawn from a fork: it has the same address there
  char name[16];     ///< to spawn from a program, whose addresses are others
  pid_t process;     ///< to reap
  bool kill_now;
};
struct Reply {
  std::int32_t value;  ///< process, or status as of wait
  std::int32_t error;  ///< errno, 0 when it went well, or kUnknownLife
};
constexpr std::int32_t kUnknownLife = -1;

/// How long a process that has closed its socket may take to end.
constexpr int kGraceMilliseconds = 500;
/// How long a new process may take to say hello.
constexpr double kHelloSeconds = 20;

bool send_request(int fd, const Request& request, int passed_fd) {
  iovec part{const_cast<Request*>(&request), sizeof request};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (passed_fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &passed_fd, sizeof(int));
  }
  ssize_t n;
  while ((n = sendmsg(fd, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR) {
  }
  return n == static_cast<ssize_t>(sizeof request);
}

bool receive_request(int fd, Request& request, int& passed_fd) {
  iovec part{&request, sizeof request};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t n;
  while ((n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  passed_fd = -1;
  if (cmsghdr* header = CMSG_FIRSTHDR(&message); header && header->cmsg_type == SCM_RIGHTS)
    std::memcpy(&passed_fd, CMSG_DATA(header), sizeof(int));
  return n == static_cast<ssize_t>(sizeof request);
}

/// Dies when the parent does, also when that happened before this call.
void die_with(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
}

/// When memory ends, the system should take a worker rather than whet.
void be_first_to_go() {
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  (void)!write(fd, "500", 3);
  close(fd);
}

class Server {
 public:
  ///   lives  those that may be asked for by name; empty: any, by its address
  explicit Server(int fd, std::span<const Life* const> lives = {}) : fd_(fd), lives_(lives) {}

  void serve() {
    Request request{};
    int passed = -1;
    while (receive_request(fd_, request, passed)) {
      const Reply reply =
          request.verb == Verb::spawn ? spawn(find(request), passed) : reap(request.process, request.kill_now);
      if (send(fd_, &reply, sizeof reply, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof reply)) break;
    }
    for (pid_t child : children_) kill(child, SIGKILL);
    for (pid_t child : children_) waitpid(child, nullptr, 0);
  }

 private:
  const Life* find(const Request& request) const {
    if (lives_.empty()) return request.life;
    for (const Life* life : lives_)
      if (std::strncmp(life->name, request.name, sizeof request.name) == 0) return life;
    return nullptr;
  }

  Reply spawn(const Life* life, int socket) {
    if (life == nullptr) return close(socket), Reply{0, kUnknownLife};
    const pid_t zygote = getpid(), child = fork();
    if (child == 0) live(*life, socket, zygote);
    const int error = errno;
    close(socket);
    if (child < 0) return {0, error};
    children_.push_back(child);
    return {child, 0};
  }

  [[noreturn]] void live(const Life& life, int socket, pid_t zygote) {
    die_with(zygote);
    close(fd_);
    be_first_to_go();
    prctl(PR_SET_NAME, life.name);
    if (life.mute)
      for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) dup2(STDIN_FILENO, stream);
    _exit(life.run(socket));
  }

  Reply reap(pid_t child, bool kill_now) {
    if (kill_now) kill(child, SIGKILL);
    int status = 0;
    pid_t got = 0;
    for (int waited = 0; !kill_now && waited < kGraceMilliseconds && (got = waitpid(child, &status, WNOHANG)) == 0;
         ++waited)
      usleep(1000);
    if (got == 0) {
      kill(child, SIGKILL);
      got = waitpid(child, &status, 0);
    }
    std::erase(children_, child);
    return got == child ? Reply{status, 0} : Reply{0, errno};
  }

  int fd_;
  std::span<const Life* const> lives_;
  std::vector<pid_t> children_;
};

/// All but the standard streams and `kept`. Kernels before 5.9, which boards have, close them one by one.
void close_all_but(int kept) {
  const auto number = static_cast<unsigned>(kept);
  if ((kept <= 3 || close_range(3, number - 1, 0) == 0) && close_range(number + 1, ~0u, 0) == 0) return;
  for (int fd = 3; fd < static_cast<int>(sysconf(_SC_OPEN_MAX)); ++fd)
    if (fd != kept) close(fd);
}

/// /dev/null; where there is none, the end of a pipe that nobody writes to.
int open_nothing() {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  int ends[2];
  if (null >= 0 || pipe2(ends, O_CLOEXEC) != 0) return null;
  close(ends[1]);
  return ends[0];
}

/// What a zygote does before it serves: `fd` is all that it has of its parent.
void settle_as_zygote(int fd) {
  prctl(PR_SET_NAME, "whet-zygote");
  // ^C reaches every process of the terminal's group: what it means is for whet alone to decide.
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);  // the same from `timeout` and service managers
  signal(SIGPIPE, SIG_IGN);
  const int null = open_nothing();
  if (null >= 0) dup2(null, STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  close_all_but(fd);
}

[[noreturn]] void become_zygote(int fd, pid_t parent) {
  die_with(parent);
  settle_as_zygote(fd);
  Server(fd).serve();
  _exit(0);
}

/// One request and its answer; false where the zygote is gone.
bool ask(std::mutex& asking, int fd, const Request& request, int passed_fd, Reply& reply) {
  const std::lock_guard<std::mutex> lock(asking);
  return send_request(fd, request, passed_fd) &&
         recv(fd, &reply, sizeof reply, 0) == static_cast<ssize_t>(sizeof reply);
}

/// The first packet of a program that is a zygote.
constexpr char kProgramHello[] = "whet-zygote 1";

/// Waits for it. An error: it is none.
Status receive_program(int fd) {
  pollfd waited{fd, POLLIN, 0};
  if (poll(&waited, 1, static_cast<int>(kHelloSeconds * 1e3)) != 1)
    return Error{"it does not answer as a program that starts builders and runners"};
  char hello[sizeof kProgramHello] = {};
  if (recv(fd, hello, sizeof hello, 0) != static_cast<ssize_t>(sizeof hello) ||
      std::memcmp(hello, kProgramHello, sizeof hello) != 0)
    return Error{"it is no program that starts builders and runners for this one"};
  return ok_status();
}

Error zygote_gone() { return Error{"the process that starts builders and runners has died; start whet again"}; }

bool alone_in_this_process() {
  // An emulator's own threads, which nothing here knows of, stand in /proc too.
  if (__libc_single_threaded) return true;
  // A thread that was joined just now may still be in the list for a moment.
  for (int attempt = 0; attempt < 50; ++attempt) {
    if (threads_of(getpid()) <= 1 + kSanitizerThreads) return true;
    usleep(1000);
  }
  return false;
}

}  // namespace

std::string ProcessEnd::text() const {
  if (!by_signal) return "exit status " + std::to_string(number);
  const char* name = sigabbrev_np(number);
  return name ? "SIG" + std::string(name) : "signal " + std::to_string(number);
}

Result<Zygote> Zygote::start() {
  if (!alone_in_this_process())
    return Error{"Zygote::start was called after threads were made; it comes first in main"};
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return Error{std::string("no socket for builders and runners: ") + std::strerror(errno)};
  std::fflush(nullptr);  // or the child would write again what the buffers hold
  const pid_t self = getpid(), pid = fork();
  if (pid == 0) become_zygote(ends[1], self);
  const int error = errno;
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return Error{std::string("cannot start the process that starts builders and runners: ") + std::strerror(error)};
  }
  return Zygote(pid, ends[0]);
}

Result<Zygote> Zygote::start_program(const std::vector<std::string>& command) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return Error{std::string("no socket for builders and runners: ") + std::strerror(errno)};
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, command.front().c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    return Error{command.front() + " cannot be started: " + std::strerror(error)};
  }
  Zygote zygote(pid, ends[0]);
  if (const Status hello = receive_program(ends[0]); !hello.ok()) return hello.error().at(command.front());
  return zygote;
}

int serve_as_zygote(int fd, std::span<const Life* const> lives) {
  // Standard input becomes /dev/null.
  const int own = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (own < 0 || send(own, kProgramHello, sizeof kProgramHello, MSG_NOSIGNAL) < 0) return 1;
  settle_as_zygote(own);
  Server(own, lives).serve();
  return 0;
}

Zygote::Zygote(Zygote&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), fd_(std::exchange(other.fd_, -1)), asking_(std::move(other.asking_)) {}
Zygote& Zygote::operator=(Zygote&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(fd_, other.fd_);
  std::swap(asking_, other.asking_);
  return *this;
}

Zygote::~Zygote() {
  if (fd_ < 0) return;
  close(fd_);
  waitpid(pid_, nullptr, 0);
}

Result<WorkerProcess> Zygote::spawn(const Life& life) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return Error{std::string("no socket for another process: ") + std::strerror(errno)};
  Reply reply{};
  Request request{Verb::spawn, &life, {}, 0, false};
  std::strncpy(request.name, life.name, sizeof request.name - 1);
  const bool answered = ask(*asking_, fd_, request, ends[1], reply);
  close(ends[1]);
  if (!answered) return close(ends[0]), zygote_gone();
  if (reply.error == kUnknownLife) {
    close(ends[0]);
    return Error{std::string("the program that starts builders and runners has no ") + life.name};
  }
  if (reply.error != 0) {
    close(ends[0]);
    return Error{std::string("cannot start another process: ") + std::strerror(reply.error)};
  }
  WorkerProcess worker{reply.value, ends[0]};
  if (const Status hello = receive_hello(worker.fd, kHelloSeconds); !hello.ok()) {
    end(worker, true);
    return Error{"cannot use another process: " + hello.error().message};
  }
  return worker;
}

ProcessEnd Zygote::end(WorkerProcess& worker, bool kill_now) {
  if (!worker.alive()) return {};
  // A process that waits for requests ends when its socket is closed.
  close(worker.fd);
  Reply reply{};
  const bool answered = ask(*asking_, fd_, {Verb::reap, nullptr, {}, worker.pid, kill_now}, -1, reply);
  worker = {};
  if (!answered || reply.error != 0) return {};
  if (WIFSIGNALED(reply.value)) return {true, WTERMSIG(reply.value)};
  return {false, WEXITSTATUS(reply.value)};
}

std::int64_t resident_bytes(pid_t pid) {
  char path[48], text[64];
  std::snprintf(path, sizeof path, "/proc/%d/statm", static_cast<int>(pid));
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t bytes = file < 0 ? 0 : read(file, text, sizeof text);
  if (file >= 0) close(file);
  const char* const end = text + std::max<ssize_t>(bytes, 0);
  const char* const total = std::find<const char*>(text, end, ' ');
  std::int64_t resident = 0;  // the second number; in pages
  if (total == end || std::from_chars(total + 1, end, resident).ec != std::errc()) return 0;
  return resident * sysconf(_SC_PAGESIZE);
}

int threads_of(pid_t pid) {
  char path[48];
  std::snprintf(path, sizeof path, "/proc/%d/task", static_cast<int>(pid));
  // The links of /proc/PID/task are a link a thread, its own and that of its parent.
  constexpr int kOwnLinks = 2;
  struct stat folder{};
  return stat(path, &folder) == 0 ? std::max(0, static_cast<int>(folder.st_nlink) - kOwnLinks) : 0;
}

}  // namespace whet
