#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "artifact/kernel.h"
#include "base/check.h"
#include "base/result.h"
#include "codegen/aarch64/testing/kernel_request.h"
#include "tensor/tensor.h"

namespace whet {

/// The processor for which tests make kernels and on whose emulation they run them, as -mcpu names it; null: this machine's.
/// WHET_EMULATOR is then the command that runs codegen/aarch64/testing/kernel_host.cc on it (scripts/emulated).
inline const char* emulated_processor() { return std::getenv("WHET_EMULATED_PROCESSOR"); }

/// The emulator's process. Kernels run one after the other; where one
/// stops the process, the next one starts another.
class EmulatedProcessor {
 public:
  static EmulatedProcessor& get() {
    static EmulatedProcessor processor;
    return processor;
  }

  /// Runs a kernel on tensors, one for each argument; written arguments change in place.
  Status run(const Kernel& kernel, std::vector<Tensor>& arguments, int workers, bool flush_denormals) {
    if (process_ < 0) start();
    const std::string& entry = kernel.launches.at(0).entry;
    const KernelRequest request = {.object_bytes = kernel.code.size(),
                                   .entry_bytes = entry.size(),
                                   .arguments = arguments.size(),
                                   .workspace = static_cast<std::uint64_t>(kernel.workspace),
                                   .worker_workspace = static_cast<std::uint64_t>(kernel.worker_workspace),
                                   .workers = static_cast<std::uint64_t>(workers),
                                   .flush_denormals = flush_denormals ? 1u : 0u};
    bool good =
        put(&request, sizeof request) && put(kernel.code.data(), kernel.code.size()) && put(entry.data(), entry.size());
    for (const Tensor& tensor : arguments) {
      const auto bytes = static_cast<std::uint64_t>(tensor.bytes());
      good = good && put(&bytes, sizeof bytes) && put(tensor.data(), bytes);
    }
    ComplaintBytes length = 0;
    good = good && take(&length, sizeof length);
    std::string complaint(good ? length : 0, ' ');
    good = good && take(complaint.data(), length);
    if (good && length > 0) return Error{complaint};
    for (Tensor& tensor : arguments) good = good && take(tensor.data(), static_cast<std::uint64_t>(tensor.bytes()));
    if (!good) return Error{"the emulated processor stopped" + stop()};
    return ok_status();
  }

 private:
  EmulatedProcessor() { signal(SIGPIPE, SIG_IGN); }
  EmulatedProcessor(const EmulatedProcessor&) = delete;
  ~EmulatedProcessor() {
    if (process_ >= 0) stop();
  }

  void start() {
    int in[2], out[2];
    WHET_CHECK(pipe(in) == 0 && pipe(out) == 0, "no pipes");
    process_ = fork();
    WHET_CHECK(process_ >= 0, "no process for the emulator");
    if (process_ == 0) {
      dup2(in[0], 0), dup2(out[1], 1);
      for (int file : {in[0], in[1], out[0], out[1]}) close(file);
      const char* command = std::getenv("WHET_EMULATOR");
      execl("/bin/sh", "sh", "-c", (std::string("exec ") + (command != nullptr ? command : "false")).c_str(), nullptr);
      _exit(127);
    }
    close(in[0]), close(out[1]);
    to_ = in[1], from_ = out[0];
  }

  /// Why it stopped.
  std::string stop() {
    close(to_), close(from_);
    int status = 0;
    waitpid(process_, &status, 0);
    process_ = -1;
    if (WIFSIGNALED(status)) return std::string(": ") + strsignal(WTERMSIG(status));
    return ", exit code " + std::to_string(WEXITSTATUS(status));
  }

  bool put(const void* data, std::uint64_t bytes) const {
    for (std::uint64_t done = 0; done < bytes;) {
      const ssize_t count = write(to_, static_cast<const char*>(data) + done, bytes - done);
      if (count <= 0) return false;
      done += static_cast<std::uint64_t>(count);
    }
    return true;
  }
  bool take(void* data, std::uint64_t bytes) const {
    for (std::uint64_t done = 0; done < bytes;) {
      const ssize_t count = read(from_, static_cast<char*>(data) + done, bytes - done);
      if (count <= 0) return false;
      done += static_cast<std::uint64_t>(count);
    }
    return true;
  }

  pid_t process_ = -1;
  int to_ = -1, from_ = -1;
};

}  // namespace whet
