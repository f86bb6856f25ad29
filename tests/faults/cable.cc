#include "faults/cable.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace whet::faults {
namespace {

bool does(const std::string& command) { return std::system((command + " > /dev/null 2>&1").c_str()) == 0; }

/// A network of this process's own, as a root of its own where the user is none.
bool leave_network() {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWNET | (user == 0 ? 0 : CLONE_NEWUSER)) != 0) return false;
  if (user == 0) return true;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/gid_map") << "0 " << group << " 1";
  std::ofstream users("/proc/self/uid_map");
  return static_cast<bool>(users << "0 " << user << " 1" << std::flush);
}

/// A process in a network of its own, which does nothing.
pid_t make_far_end() {
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) return -1;
  const pid_t far = fork();
  if (far == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const char made = unshare(CLONE_NEWNET) == 0 ? 'y' : 'n';
    if (::write(ready[1], &made, 1) != 1) _exit(1);
    for (;;) pause();
  }
  char made = 'n';
  const bool told = ::read(ready[0], &made, 1) == 1;
  close(ready[0]), close(ready[1]);
  return told && made == 'y' ? far : -1;
}

std::string at_far(pid_t far) { return "nsenter -t " + std::to_string(far) + " -n "; }

}  // namespace

Cable::Cable() {
  if (!does("command -v ip") || !does("command -v tc") || !does("command -v nsenter")) {
    why_not_ = "ip, tc or nsenter is missing (iproute2, util-linux)";
    return;
  }
  if (!leave_network() || (far_ = make_far_end()) < 0) {
    why_not_ = "this system makes no network namespaces";
    return;
  }
  const std::string address = "ip addr add ", far = at_far(far_);
  const bool made = does("ip link set lo up") && does("ip link add near type veth peer name far") &&
                    does("ip link set far netns " + std::to_string(far_)) && does(address + kNear + "/24 dev near") &&
                    does("ip link set near up") && does(far + address + kFar + "/24 dev far") &&
                    does(far + "ip link set lo up") && does(far + "ip link set far up");
  if (!made) why_not_ = "this system makes no pair of network devices";
}
Cable::~Cable() {
  if (far_ > 0) kill(far_, SIGKILL), waitpid(far_, nullptr, 0);
}

Surroundings Cable::far() const {
  const std::string network = "/proc/" + std::to_string(far_) + "/ns/net";
  Surroundings surroundings;
  surroundings.before_exec = [network] {
    const int file = open(network.c_str(), O_RDONLY | O_CLOEXEC);
    if (setns(file, CLONE_NEWNET) != 0) _exit(125);
  };
  return surroundings;
}
void Cable::pull() const { does(at_far(far_) + "ip link set far down"); }
void Cable::plug() const { does(at_far(far_) + "ip link set far up"); }
void Cable::squeeze(const std::string& rate) const {
  does("tc qdisc replace dev near root tbf rate " + rate + " burst 6000 limit 9000");
}
long Cable::dropped() const {
  std::FILE* const lines = popen("tc -s qdisc show dev near", "r");
  char line[256];
  long dropped = 0;
  while (lines && std::fgets(line, sizeof line, lines))
    std::sscanf(line, " Sent %*d bytes %*d pkt (dropped %ld", &dropped);
  if (lines) pclose(lines);
  return dropped;
}

}  // namespace whet::faults
