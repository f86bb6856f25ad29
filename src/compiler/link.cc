#include "compiler/link.h"

#include <fcntl.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "runtime/embedded.h"
#include "whet/model_file.h"

LLD_HAS_DRIVER(elf)

namespace whet {
namespace {

/// The linker's word, in a child of its own; never returns.
[[noreturn]] void link_in_child(const std::vector<const char*>& arguments, int complaints) {
  llvm::raw_fd_ostream out(complaints, /*shouldClose=*/false, /*unbuffered=*/true);
  const lld::Result result = lld::lldMain(arguments, out, out, {{lld::Gnu, &lld::elf::link}});
  _exit(result.retCode == 0 ? 0 : 1);
}

std::string read_all(int file) {
  std::string text;
  char chunk[4096];
  while (true) {
    const ssize_t got = read(file, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(chunk, static_cast<std::size_t>(got));
  }
}

Status run_linker(const std::vector<std::string>& command) {
  std::vector<const char*> arguments;
  for (const std::string& word : command) arguments.push_back(word.c_str());
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Error{std::string("cannot start the linker: ") + std::strerror(errno)};
  const pid_t child = fork();
  if (child == 0) link_in_child(arguments, ends[1]);
  close(ends[1]);
  const std::string complaints = child > 0 ? read_all(ends[0]) : "";
  close(ends[0]);
  if (child < 0) return Error{std::string("cannot start the linker: ") + std::strerror(errno)};
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    return Error{"the linker died by signal " + std::to_string(WTERMSIG(status)) + ": " + complaints};
  }
  if (WEXITSTATUS(status) != 0) return Error{"the linker failed: " + complaints};
  return ok_status();
}

Status write_file(const std::string& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) return Error{path + ": cannot write: " + std::strerror(errno)};
  return ok_status();
}

/// What goes behind a linked file. (whet_read_at gives whole pieces, as whet_checksum_add needs them.)
Result<whet_file_trailer> trailer_of(int file, const std::string& path) {
  struct stat status;
  if (fstat(file, &status) != 0) return Error{path + ": " + std::strerror(errno)};
  const std::uint64_t bytes = static_cast<std::uint64_t>(status.st_size);
  whet_checksum_state state;
  whet_checksum_begin(&state);
  std::vector<char> chunk(1 << 20);
  while (state.bytes < bytes) {
    const std::uint64_t take = std::min<std::uint64_t>(bytes - state.bytes, chunk.size());
    if (whet_read_at(file, chunk.data(), take, state.bytes) != 0) return Error{path + ": cannot read it again"};
    whet_checksum_add(&state, chunk.data(), take);
  }
  whet_file_trailer trailer{};
  std::memcpy(trailer.magic, "whet.so\n", 8);
  trailer.version = WHET_MODEL_FORMAT_VERSION;
  trailer.machine = whet_this_machine();
  trailer.file_bytes = bytes + sizeof trailer;
  trailer.checksum = whet_checksum_end(&state);
  return trailer;
}

Status append_trailer(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return Error{path + ": " + std::strerror(errno)};
  const Result<whet_file_trailer> trailer = trailer_of(file, path);
  ssize_t written = 0;
  if (trailer.ok()) {
    const off_t end = static_cast<off_t>(trailer.value().file_bytes - sizeof(whet_file_trailer));
    written = pwrite(file, &trailer.value(), sizeof(whet_file_trailer), end);
  }
  close(file);
  if (!trailer.ok()) return trailer.error();
  if (written != sizeof(whet_file_trailer)) return Error{path + ": cannot write: " + std::strerror(errno)};
  return ok_status();
}

}  // namespace

Status link_model(const std::vector<std::string>& objects, const std::string& output, const std::string& scratch,
                  int threads) {
  const std::string runtime = scratch + "/runtime.o", exports = scratch + "/exports", linked = output + ".whet.tmp";
  const std::size_t runtime_bytes = static_cast<std::size_t>(whet_runtime_object_end - whet_runtime_object_begin);
  WHET_RETURN_IF_ERROR(write_file(runtime, {whet_runtime_object_begin, runtime_bytes}));
  WHET_RETURN_IF_ERROR(write_file(exports, "{ global: whet_model_v1; local: *; };\n"));
  std::vector<std::string> command = {"ld.lld",
                                      "-shared",
                                      "--gc-sections",
                                      "--build-id=none",
                                      "--hash-style=gnu",
                                      "-z",
                                      "now",
                                      "-z",
                                      "relro",
                                      "-z",
                                      "noexecstack",
                                      "--strip-all",
                                      "--version-script=" + exports,
                                      "--threads=" + std::to_string(threads),
                                      "-o",
                                      linked,
                                      runtime};
  command.insert(command.end(), objects.begin(), objects.end());
  Status status = run_linker(command);
  if (status.ok()) status = append_trailer(linked);
  if (status.ok() && std::rename(linked.c_str(), output.c_str()) != 0) {
    status = Error{output + ": cannot write: " + std::strerror(errno)};
  }
  if (!status.ok()) unlink(linked.c_str());
  return status;
}

}  // namespace whet
