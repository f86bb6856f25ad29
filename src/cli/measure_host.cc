// whet measure-host: builders and runners for a program that has threads.

#include <sys/socket.h>
#include <unistd.h>

#include "cli/command.h"
#include "workflow/measure_host.h"

namespace whet {
namespace {

bool is_socket(int fd) {
  int type = 0;
  socklen_t bytes = sizeof type;
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_SEQPACKET;
}

int run() {
  if (!is_socket(STDIN_FILENO))
    return wrong_use(
        {"measure-host is started by programs that measure through whet, with a socket as standard input"});
  return run_measure_host(STDIN_FILENO);
}

}  // namespace

CommandAction make_measure_host(Arguments&) {
  return [] { return run(); };
}

}  // namespace whet
