// Carries a device session over TCP, for tests between network namespaces.
//   tcp_carrier --listen PORT COMMAND...   runs the command for each connection, which is its standard input and output
//   tcp_carrier ADDRESS PORT               connects standard input and output to such a command
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

sockaddr_in address_of(const char* host, const char* port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
  inet_pton(AF_INET, host, &address.sin_addr);
  return address;
}

int serve(const char* port, char** command) {
  signal(SIGCHLD, SIG_IGN);
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const sockaddr_in any = address_of("0.0.0.0", port);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0 || listen(listener, 16) != 0) return 1;
  for (;;) {
    const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) return 1;
    if (fork() == 0) {
      signal(SIGCHLD, SIG_DFL);
      dup2(connection, STDIN_FILENO);
      dup2(connection, STDOUT_FILENO);
      execvp(command[0], command);
      _exit(127);
    }
    close(connection);
  }
}

/// False at the end of either.
bool hand_on(int from, int to) {
  char bytes[65536];
  const ssize_t n = read(from, bytes, sizeof bytes);
  for (ssize_t done = 0; done < n;) {
    const ssize_t written = write(to, bytes + done, static_cast<std::size_t>(n - done));
    if (written <= 0) return false;
    done += written;
  }
  return n > 0;
}

int carry(const char* host, const char* port) {
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in there = address_of(host, port);
  if (connect(connection, reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0) {
    std::fprintf(stderr, "tcp_carrier: %s: %s\n", host, std::strerror(errno));
    return 1;
  }
  for (pollfd ends[] = {{STDIN_FILENO, POLLIN, 0}, {connection, POLLIN, 0}}; poll(ends, 2, -1) > 0;) {
    if (ends[0].revents && !hand_on(STDIN_FILENO, connection)) return 0;
    if (ends[1].revents && !hand_on(connection, STDOUT_FILENO)) return 0;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  if (argc > 3 && std::strcmp(argv[1], "--listen") == 0) return serve(argv[2], argv + 3);
  if (argc == 3) return carry(argv[1], argv[2]);
  return 2;
}
