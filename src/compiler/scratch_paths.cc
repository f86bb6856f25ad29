#include "compiler/scratch_paths.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <iterator>

namespace whet {
namespace {

enum State { kFree, kBeingWritten, kTaken };
struct Slot {
  std::atomic<int> state{kFree};
  char path[PATH_MAX];
};
Slot slots[64];

/// The kernel's entry of a directory: readdir takes memory, which a handler may not.
struct KernelEntry {
  ino64_t number;
  off64_t offset;
  unsigned short bytes;
  unsigned char type;
  char name[1];
};

void unlink_entries(int directory) {
  alignas(KernelEntry) char buffer[4096];
  for (long bytes; (bytes = syscall(SYS_getdents64, directory, buffer, sizeof buffer)) > 0;)
    for (long at = 0; at < bytes;) {
      const auto* const entry = reinterpret_cast<const KernelEntry*>(buffer + at);
      unlinkat(directory, entry->name, 0);
      at += entry->bytes;
    }
}

void remove_directory(const char* path) {
  constexpr int kTries = 10;  // threads may still write into it
  for (int i = 0; i < kTries && rmdir(path) != 0; ++i) {
    const int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0) return;
    unlink_entries(directory);
    close(directory);
  }
}

}  // namespace

int remember_scratch(const std::string& path) {
  if (path.size() >= PATH_MAX) return -1;
  for (int i = 0; i < static_cast<int>(std::size(slots)); ++i) {
    int expected = kFree;
    if (!slots[i].state.compare_exchange_strong(expected, kBeingWritten)) continue;
    std::memcpy(slots[i].path, path.c_str(), path.size() + 1);
    slots[i].state = kTaken;
    return i;
  }
  return -1;
}

void forget_scratch(int slot) {
  if (slot >= 0) slots[slot].state = kFree;
}

void remove_scratch() {
  for (const Slot& slot : slots)
    if (slot.state == kTaken) remove_directory(slot.path);
}

}  // namespace whet
