#include "compiler/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "compiler/scratch_paths.h"

namespace whet {
namespace {

constexpr std::string_view kPrefix = "whet-scratch-", kRandom = "XXXXXX";
/// Each is lost only to another process that sweeps at that moment.
constexpr int kTries = 10;

std::string temporary_folder() {
  const char* const named = std::getenv("TMPDIR");
  return named != nullptr && *named != '\0' ? named : "/tmp";
}

int open_directory(const std::string& path) {
  return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/// Whether the open directory still has this name.
bool is_there(int directory, const std::string& path) {
  struct stat open{}, named{};
  return fstat(directory, &open) == 0 && lstat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

bool is_of_this_user(int directory) {
  struct stat info{};
  return fstat(directory, &info) == 0 && info.st_uid == geteuid();
}

/// Removes the directories of processes that live no more.
void sweep(const std::string& folder) {
  DIR* const listing = opendir(folder.c_str());
  while (const dirent* const entry = listing != nullptr ? readdir(listing) : nullptr) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(kPrefix) || name.size() != kPrefix.size() + kRandom.size()) continue;
    const std::string path = folder + "/" + entry->d_name;
    const int directory = open_directory(path);
    if (directory < 0) continue;
    std::error_code ignored;
    if (is_of_this_user(directory) && flock(directory, LOCK_EX | LOCK_NB) == 0 && is_there(directory, path))
      std::filesystem::remove_all(path, ignored);
    close(directory);
  }
  if (listing != nullptr) closedir(listing);
}

/// Holds signals back from this thread: a handler that ran here would wait for a directory that is never done.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

Result<ScratchDirectory> ScratchDirectory::make() {
  const std::string folder = temporary_folder();
  sweep(folder);
  const WithoutSignals held;
  const int slot = begin_scratch();
  for (int tries = 0; tries < kTries; ++tries) {
    std::string path = folder + "/" + std::string(kPrefix) + std::string(kRandom);
    if (mkdtemp(path.data()) == nullptr) break;
    const int directory = open_directory(path);
    // A file system that has no locks of directories has none for who sweeps either.
    const bool taken = directory >= 0 && flock(directory, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (directory >= 0 && !taken && is_there(directory, path)) {
      remember_scratch(slot, path);
      return ScratchDirectory(std::move(path), directory, slot);
    }
    // Whoever sweeps found it before it was locked.
    if (directory >= 0) close(directory);
    rmdir(path.c_str());
  }
  const int reason = errno;
  forget_scratch(slot);
  return Error{"no directory for temporary files can be made in \"" + folder + "\": " + std::strerror(reason) +
                   "; set TMPDIR to a folder that may be written",
               ErrorKind::io};
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  forget_scratch(remembered_);
  if (lock_ >= 0) close(lock_);
}

}  // namespace whet
