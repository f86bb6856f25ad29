#include "device/remote/ssh.h"

#include <poll.h>
#include <sys/socket.h>

#include <chrono>

#include "device/remote/child_stream.h"
#include "device/remote/remote_session.h"

namespace whet {
namespace {

/// How much of a file's hash its name has.
constexpr std::size_t kNameDigits = 12;
/// A copy without progress for so long has failed; what comes after the last byte takes no longer either [s].
constexpr double kCopySeconds = 20;
constexpr int kCopyTickMilliseconds = 100;
constexpr const char* kFolder = "${XDG_CACHE_HOME:-$HOME/.cache}/whet";

std::string file_name(const PushedProgram& program) { return "device-" + program.hash.substr(0, kNameDigits); }

/// ssh with what a session needs, and a script for the host's POSIX shell, whatever the user's shell is. The script has no
/// single quotes.
std::vector<std::string> ssh_with(const DeviceName& name, const std::string& script) {
  std::vector<std::string> argv = {"ssh", "-T", "-oBatchMode=yes", "-oServerAliveInterval=5",
                                   "-oServerAliveCountMax=2"};
  if (name.port > 0) argv.insert(argv.end(), {"-p", std::to_string(name.port)});
  if (!name.user.empty()) argv.insert(argv.end(), {"-l", name.user});
  argv.insert(argv.end(), {name.host, "exec sh -c '" + script + "'"});
  return argv;
}

/// Writes all bytes and closes the stream; false where the program is gone, or takes none for long.
bool send_file(ChildStream& child, std::string_view bytes, const std::function<bool()>& interrupted) {
  double waited = 0;
  while (!bytes.empty()) {
    if (interrupted && interrupted()) return false;
    const ssize_t n = send(child.out(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
      waited = 0;
      continue;
    }
    pollfd wait{child.out(), POLLOUT, 0};
    const int ready = poll(&wait, 1, kCopyTickMilliseconds);
    if (ready > 0 && (wait.revents & (POLLERR | POLLHUP)) != 0) return false;
    if (ready == 0) waited += kCopyTickMilliseconds / 1e3;
    if (waited > kCopySeconds) return false;
  }
  return shutdown(child.out(), SHUT_WR) == 0;
}

}  // namespace

std::vector<std::string> ssh_command(const DeviceName& name, const std::vector<PushedProgram>& programs) {
  std::string cases;
  for (const PushedProgram& program : programs)
    cases += "Linux\\ " + program.machine + ") f=" + file_name(program) + ";; ";
  return ssh_with(name, "case $(uname -sm) in " + cases +
                            "*) echo whet-device is not made for $(uname -sm) >&2; exit 94;; esac; p=" + kFolder +
                            "/$f; [ -x \"$p\" ] || { echo \"" + kNoProgramWords + "$(uname -m)\" >&2; exit " +
                            std::to_string(kNoProgramStatus) + "; }; exec \"$p\" --stdio");
}

std::vector<std::string> ssh_command_of_installed(const DeviceName& name) {
  return ssh_with(name, std::string("p=$(command -v whet-device || ls -t ") + kFolder +
                            "/device-* 2> /dev/null | head -n 1); [ -x \"$p\" ] || { echo \"" + kNoProgramWords +
                            "$(uname -m)\" >&2; exit " + std::to_string(kNoProgramStatus) + "; }; exec \"$p\" --stdio");
}

std::string missing_machine(const Error& error) {
  const std::size_t at = error.message.find(kNoProgramWords);
  if (error.kind != ErrorKind::not_found || at == std::string::npos) return "";
  return error.message.substr(at + std::string_view(kNoProgramWords).size());
}

Status push_over_ssh(const DeviceName& name, const PushedProgram& program, const std::function<bool()>& interrupted) {
  const std::string file = file_name(program), bytes = std::to_string(program.bytes.size());
  std::string script = "umask 077; d=";
  script += kFolder;
  script += "; t=\"$d/" + file + ".$$\"; mkdir -p \"$d\" && cat > \"$t\" && [ $(wc -c < \"$t\") -eq " + bytes +
            " ] && chmod 700 \"$t\" && mv \"$t\" \"$d/" + file + "\" || { rm -f \"$t\"; exit 1; }";
  WHET_TRY(ChildStream child, ChildStream::start(ssh_with(name, script)));
  const bool sent = send_file(child, program.bytes, interrupted);
  if (interrupted && interrupted()) return Error{"interrupted", ErrorKind::interrupted};
  if (sent && child.has_ended(kCopySeconds) && child.exit_status() == 0) return ok_status();
  child.has_ended(0.5);
  const std::string words = child.last_words();
  return Error{"whet-device cannot be copied there" + (words.empty() ? "" : ": " + words), ErrorKind::io};
}

}  // namespace whet
