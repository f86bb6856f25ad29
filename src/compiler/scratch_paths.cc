#include "compiler/scratch_paths.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <iterator>

namespace whet {
namespace {

enum State { kFree, kBeingMade, kTaken };
struct Slot {
  std::atomic<int> state{kFree};
  char path[PATH_MAX];
};
Slot slots[64];
std::atomic<bool> ending{false};

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
  constexpr int kTries = 1000;  // threads may still write into it
  for (int i = 0; i < kTries && rmdir(path) != 0; ++i) {
    const int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0) return;
    unlink_entries(directory);
    close(directory);
  }
}

}  // namespace

int begin_scratch() {
  int taken = -1;
  for (int i = 0; taken < 0 && i < static_cast<int>(std::size(slots)); ++i)
    if (int expected = kFree; slots[i].state.compare_exchange_strong(expected, kBeingMade)) taken = i;
  // Taken before it is asked: either who ends the process sees the slot, or this thread sees the end.
  if (ending) forget_scratch(taken);
  while (ending) pause();
  return taken;
}

void remember_scratch(int slot, const std::string& path) {
  if (slot < 0) return;
  if (path.size() >= PATH_MAX) return forget_scratch(slot);
  std::memcpy(slots[slot].path, path.c_str(), path.size() + 1);
  slots[slot].state = kTaken;
}

void forget_scratch(int slot) {
  if (slot >= 0) slots[slot].state = kFree;
}

void remove_scratch() {
  constexpr timespec kMillisecond{0, 1'000'000};
  constexpr int kPatience = 1000;
  ending = true;
  for (const Slot& slot : slots) {
    for (int i = 0; i < kPatience && slot.state == kBeingMade; ++i) nanosleep(&kMillisecond, nullptr);
    if (slot.state == kTaken) remove_directory(slot.path);
  }
}

}  // namespace whet
