#include "codegen/gpu/ptxas.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <vector>

extern char** environ;

namespace whet {
namespace {

/// A file without a name that a child opens by its number.
class PassedFile {
 public:
  explicit PassedFile(const char* name) : fd_(memfd_create(name, 0)) {}
  PassedFile(const PassedFile&) = delete;
  ~PassedFile() {
    if (fd_ >= 0) close(fd_);
  }
  bool ok() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }
  bool write(const std::string& bytes) const {
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t put = ::write(fd_, bytes.data() + done, bytes.size() - done);
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return false;
      done += static_cast<std::size_t>(put);
    }
    return true;
  }
  std::string read() const {
    std::string bytes(static_cast<std::size_t>(std::max<off_t>(lseek(fd_, 0, SEEK_END), 0)), '\0');
    std::size_t done = 0;
    for (ssize_t got = 1; done < bytes.size() && got > 0; done += static_cast<std::size_t>(std::max<ssize_t>(got, 0)))
      got = pread(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    bytes.resize(done);
    return bytes;
  }

 private:
  int fd_;
};

/// Runs a program with both of its outputs in `log`; whether it ended with 0.
bool run(std::vector<std::string> words, const PassedFile& log) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int output : {STDOUT_FILENO, STDERR_FILENO}) posix_spawn_file_actions_adddup2(&actions, log.fd(), output);
  pid_t child = 0;
  const bool started = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  int status = 1;
  while (started && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return started && status == 0;
}

std::string find() {
  std::vector<std::string> folders;
  if (const char* home = std::getenv("CUDA_HOME")) folders.push_back(std::string(home) + "/bin");
  std::istringstream path(std::getenv("PATH") != nullptr ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(path, folder, ':');) folders.push_back(folder);
  folders.emplace_back("/usr/local/cuda/bin");
  for (const std::string& folder : folders)
    if (access((folder + "/ptxas").c_str(), X_OK) == 0) return folder + "/ptxas";
  return "";
}

/// The number behind "release " in what `ptxas --version` prints; 0 where it prints none.
int release_of(const std::string& path) {
  const PassedFile log("ptxas-log");
  if (path.empty() || !log.ok() || !run({path, "--version"}, log)) return 0;
  const std::string said = log.read();
  const std::size_t at = said.find("release ");
  return at == said.npos ? 0 : std::atoi(said.c_str() + at + std::strlen("release "));
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

const Ptxas& installed_ptxas() {
  static const Ptxas found = [] {
    const std::string path = find();
    const int release = release_of(path);
    return release > 0 ? Ptxas{path, release} : Ptxas{};
  }();
  return found;
}

BuildReport read_ptxas_report(const std::string& log) {
  BuildReport report;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    // "... 24 bytes stack frame, 16 bytes spill stores, 8 bytes spill loads"; "... Used 128 registers, used 1 barriers, ..."
    const auto number_behind = [&](const char* words) -> std::int64_t {
      const std::size_t at = line.find(words);
      return at == line.npos ? 0 : std::atoll(line.c_str() + at + std::strlen(words));
    };
    report.spill_bytes = std::max(report.spill_bytes, number_behind("stack frame, "));
    report.registers = std::max(report.registers, static_cast<std::int32_t>(number_behind("Used ")));
  }
  return report;
}

Result<AssembledPtx> assemble_ptx(const Ptxas& ptxas, const std::string& ptx, int arch) {
  const PassedFile in("ptx"), out("cubin"), log("ptxas-log");
  if (!in.ok() || !out.ok() || !log.ok() || !in.write(ptx))
    return Error{std::string("no memory for the assembler's files: ") + std::strerror(errno), ErrorKind::io};
  const std::vector<std::string> command = {ptxas.path, "-v", "-arch=sm_" + std::to_string(arch),
                                            in.path(),  "-o", out.path()};
  const bool done = run(command, log);
  const std::string said = log.read();
  if (!done) return Error{"ptxas: " + last_line(said)};
  AssembledPtx assembled{out.read(), read_ptxas_report(said), said};
  if (assembled.cubin.empty()) return Error{"ptxas wrote nothing: " + last_line(said)};
  return assembled;
}

}  // namespace whet
