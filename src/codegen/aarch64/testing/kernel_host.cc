// Runs kernels that a test made elsewhere: the object loader and threads, as one static program for AArch64, for an emulator.
// It links no C++ library.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "artifact/cpu/object_loader.h"
#include "codegen/aarch64/testing/kernel_request.h"
#include "runtime/cpu/float_mode.h"

namespace whet {
namespace {

constexpr uint64_t kMostArguments = 64, kMostWorkers = 64;

/// False at the end of the input.
bool read_all(void* data, uint64_t bytes) {
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t got = read(0, static_cast<char*>(data) + done, bytes - done);
    if (got <= 0) return false;
    done += static_cast<uint64_t>(got);
  }
  return true;
}

void write_all(const void* data, uint64_t bytes) {
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t put = write(1, static_cast<const char*>(data) + done, bytes - done);
    if (put <= 0) _exit(3);
    done += static_cast<uint64_t>(put);
  }
}

/// As tensors are aligned.
char* allocate(uint64_t bytes) {
  void* memory = aligned_alloc(64, (bytes + 64) / 64 * 64);
  if (memory == nullptr) _exit(4);
  memset(memory, 0, bytes);
  return static_cast<char*>(memory);
}

/// An argument, which ends where memory ends: what reads or writes behind it stops the program.
class Argument {
 public:
  void allocate(uint64_t bytes) {
    const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    mapped_ = (bytes + page - 1) / page * page + page;
    void* memory = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) _exit(4);
    memory_ = static_cast<char*>(memory);
    if (mprotect(memory_ + mapped_ - page, page, PROT_NONE) != 0) _exit(4);
    data = memory_ + mapped_ - page - bytes;
  }
  void release() { munmap(memory_, mapped_); }

  char* data = nullptr;

 private:
  char* memory_ = nullptr;
  uint64_t mapped_ = 0;
};

struct Worker {
  pthread_t thread;
  whet_kernel entry;
  whet_kernel_args args;
  bool flush;
  int32_t result;
};

void wait(void* team, uint32_t) { pthread_barrier_wait(static_cast<pthread_barrier_t*>(team)); }

void* work(void* of) {
  Worker& worker = *static_cast<Worker*>(of);
  const FloatMode mode(worker.flush ? Subnormals::zero : Subnormals::kept);
  worker.result = worker.entry(&worker.args);
  return nullptr;
}

/// Whether every worker returned 0.
bool run(whet_kernel entry, const KernelRequest& request, char* const* buffers) {
  const whet_kernel_runtime runtime = {wait};
  pthread_barrier_t team;
  pthread_barrier_init(&team, nullptr, static_cast<unsigned>(request.workers));
  char* const workspace = allocate(request.workspace + 1);
  Worker workers[kMostWorkers] = {};
  for (uint64_t w = 0; w < request.workers; ++w) {
    whet_kernel_args args = {};
    args.buffers = reinterpret_cast<void* const*>(buffers);
    args.workspace = workspace;
    args.worker_workspace = allocate(request.worker_workspace + 1);
    args.runtime = &runtime;
    args.team = &team;
    args.worker = static_cast<uint32_t>(w);
    args.workers = static_cast<uint32_t>(request.workers);
    workers[w] = {{}, entry, args, request.flush_denormals != 0, 0};
    if (pthread_create(&workers[w].thread, nullptr, work, &workers[w]) != 0) _exit(5);
  }
  bool good = true;
  for (uint64_t w = 0; w < request.workers; ++w) {
    pthread_join(workers[w].thread, nullptr);
    good &= workers[w].result == 0;
    free(workers[w].args.worker_workspace);
  }
  free(workspace);
  pthread_barrier_destroy(&team);
  return good;
}

/// False at the end of the input.
bool serve() {
  KernelRequest request;
  if (!read_all(&request, sizeof request)) return false;
  if (request.arguments > kMostArguments || request.workers > kMostWorkers || request.entry_bytes > 1000) _exit(6);
  char* const object = allocate(request.object_bytes);
  char entry[1001] = {}, error[256] = "";
  if (!read_all(object, request.object_bytes) || !read_all(entry, request.entry_bytes)) return false;
  Argument arguments[kMostArguments];
  char* buffers[kMostArguments] = {};
  uint64_t bytes[kMostArguments] = {};
  for (uint64_t i = 0; i < request.arguments; ++i) {
    if (!read_all(&bytes[i], sizeof bytes[i])) return false;
    arguments[i].allocate(bytes[i]);
    buffers[i] = arguments[i].data;
    if (!read_all(buffers[i], bytes[i])) return false;
  }
  LoadedObject loaded;
  if (load_object(object, request.object_bytes, entry, &loaded, error, sizeof error) &&
      !run(loaded.entry, request, buffers))
    snprintf(error, sizeof error, "the kernel reports an error");
  const ComplaintBytes complaint = strlen(error);
  write_all(&complaint, sizeof complaint);
  write_all(error, complaint);
  for (uint64_t i = 0; i < request.arguments; ++i) {
    if (complaint == 0) write_all(buffers[i], bytes[i]);
    arguments[i].release();
  }
  unload_object(&loaded);
  free(object);
  return true;
}

}  // namespace
}  // namespace whet

int main() {
  while (whet::serve()) {
  }
  return 0;
}
