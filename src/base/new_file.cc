#include "base/new_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/write_place.h"

namespace whet {
namespace {

Error cannot_write(const std::string& path) {
  return {"cannot write \"" + path + "\": " + std::strerror(errno), ErrorKind::io};
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

/// A name in the folder that nobody can guess. It does not grow with the file's: that may be as long as names can be.
std::string random_name(const std::string& folder) {
  std::uint64_t number = 0;
  while (getrandom(&number, sizeof number, 0) != sizeof number) {
  }
  char name[32];
  std::snprintf(name, sizeof name, "/.whet-%016llx.tmp", static_cast<unsigned long long>(number));
  return folder + name;
}

/// A name that is taken costs another try: with 64 random bits it never is.
constexpr int kTries = 10;

}  // namespace

Result<NewFile> NewFile::open(const std::string& path, mode_t mode) {
  NewFile file(path);
  WHET_RETURN_IF_ERROR(file.make(mode));
  return file;
}

Status NewFile::make(mode_t mode) {
  WritePlace place = write_place(path_);
  place_ = std::move(place.path);
  in_place_ = place.in_place;
  struct stat old{};
  const bool replaces = !in_place_ && ::stat(place_.c_str(), &old) == 0;
  if (replaces && S_ISDIR(old.st_mode)) {
    errno = EISDIR;
    return cannot_write(path_);
  }
  // Nobody may read the bytes of a file that only its owner reads, not for a moment.
  if (replaces) mode = S_IRUSR | S_IWUSR;
  if (in_place_) {
    fd_ = open_in_place({place_, true});
  } else {
    fd_ = ::open(folder_of(place_).c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, mode);
    for (int i = 0; fd_ < 0 && i < kTries && (i == 0 || errno == EEXIST); ++i) {
      beside_ = random_name(folder_of(place_));
      fd_ = ::open(beside_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    }
  }
  if (fd_ < 0) {
    beside_.clear();
    return cannot_write(path_);
  }
  if (!replaces) return ok_status();
  // What the file system refuses here leaves the file to this user alone.
  if (fchown(fd_, old.st_uid, old.st_gid) != 0) (void)!fchown(fd_, static_cast<uid_t>(-1), old.st_gid);
  (void)!fchmod(fd_, old.st_mode & 0777);
  return ok_status();
}

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)),
      place_(std::move(other.place_)),
      beside_(std::exchange(other.beside_, "")),
      fd_(std::exchange(other.fd_, -1)),
      in_place_(other.in_place_) {}

NewFile::~NewFile() {
  if (fd_ >= 0) close(fd_);
  if (!beside_.empty()) unlink(beside_.c_str());
}

Status NewFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return cannot_write(path_);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return ok_status();
}

/// A name can be given to a file, but not taken from another one: it gets one of its own first.
Status NewFile::give_random_name() {
  const std::string open_file = "/proc/self/fd/" + std::to_string(fd_);
  for (int i = 0; i < kTries; ++i) {
    std::string name = random_name(folder_of(place_));
    if (linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      beside_ = std::move(name);
      return ok_status();
    }
    if (errno != EEXIST) break;
  }
  return cannot_write(path_);
}

Status NewFile::keep(bool durable) {
  if (in_place_) return ok_status();
  if (durable && fdatasync(fd_) != 0) return cannot_write(path_);
  if (beside_.empty()) WHET_RETURN_IF_ERROR(give_random_name());
  if (std::rename(beside_.c_str(), place_.c_str()) != 0) return cannot_write(path_);
  beside_.clear();
  return ok_status();
}

}  // namespace whet
