#include "board/blob_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "artifact/made_weights.h"
#include "base/sha256.h"

namespace whet {
namespace {

constexpr const char* kPart = ".part";
constexpr std::uint64_t kMega = 1000000;
/// The names of files are known to whoever knows their bytes: no link is followed, and no pipe waited for.
constexpr int kOwnFile = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
/// Between looks at a file's content while its hash is made.
constexpr std::size_t kHashedBytes = std::size_t{64} << 10;

Error cannot(const std::string& what) { return {what + ": " + std::strerror(errno), ErrorKind::io}; }

std::string megabytes(std::uint64_t bytes) { return std::to_string((bytes + kMega - 1) / kMega) + " MB"; }

/// Bytes of a regular file; nothing where there is none.
bool size_of_file(const std::string& path, std::uint64_t& bytes) {
  struct stat found{};
  if (lstat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return false;
  bytes = static_cast<std::uint64_t>(found.st_size);
  return true;
}

/// A file of the folder.
struct Kept {
  std::string name;
  std::uint64_t bytes;
  timespec used;
};
std::vector<Kept> files_in(const std::string& folder) {
  std::vector<Kept> files;
  DIR* const listing = opendir(folder.c_str());
  while (const dirent* entry = listing ? readdir(listing) : nullptr) {
    struct stat found{};
    if (fstatat(dirfd(listing), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(found.st_mode))
      files.push_back({entry->d_name, static_cast<std::uint64_t>(found.st_size), found.st_mtim});
  }
  if (listing) closedir(listing);
  return files;
}

bool is_earlier(const Kept& a, const Kept& b) {
  return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
}

/// All of it; false where the system writes no more.
bool write_at(int file, std::string_view bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t n = pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    offset += static_cast<std::uint64_t>(n);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

std::string hash_of(int file) {
  Sha256 hash;
  std::string bytes(kHashedBytes, '\0');
  off_t offset = 0;
  for (ssize_t n; (n = pread(file, bytes.data(), bytes.size(), offset)) > 0; offset += n)
    hash.add(std::string_view(bytes).substr(0, static_cast<std::size_t>(n)));
  return hash.digits();
}

}  // namespace

Status make_own_folder(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    mkdir(path.substr(0, slash).c_str(), 0700);
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return cannot("cannot make " + path);
  struct stat found{};
  if (lstat(path.c_str(), &found) != 0) return cannot(path);
  if (!S_ISDIR(found.st_mode) || found.st_uid != geteuid() || (found.st_mode & 077) != 0)
    return Error{path + " is no folder of this user alone"};
  return ok_status();
}

std::uint64_t BlobStore::bytes_there(const BlobName& blob) const {
  std::uint64_t bytes = 0;
  if (size_of_file(path(blob.hash), bytes) && bytes == blob.bytes) return bytes;
  // A part that is as long as the whole has failed to become it.
  return size_of_file(path(blob.hash) + kPart, bytes) && bytes < blob.bytes ? bytes : 0;
}

void BlobStore::make_room(std::uint64_t bytes) const {
  std::vector<Kept> files = files_in(folder_);
  std::ranges::sort(files, is_earlier);
  std::uint64_t used = 0;
  for (const Kept& file : files) used += file.bytes;
  for (const Kept& file : files) {
    if (used + bytes <= most_) break;
    if (expected(file.name.substr(0, kSha256Digits))) continue;
    if (unlink(path(file.name).c_str()) == 0) used -= file.bytes;
  }
}

const BlobName* BlobStore::expected(const std::string& hash) const {
  const auto found = std::ranges::find(expected_, hash, &BlobName::hash);
  return found == expected_.end() ? nullptr : &*found;
}

Result<std::vector<std::uint64_t>> BlobStore::expect(const std::vector<BlobName>& blobs) {
  WHET_RETURN_IF_ERROR(make_own_folder(folder_));
  std::uint64_t all = 0;
  for (const BlobName& blob : blobs) all += blob.bytes;
  if (all > most_)
    return Error{"the files have " + megabytes(all) + "; the device keeps " + megabytes(most_) + " at most",
                 ErrorKind::limit};
  expected_ = blobs;
  std::vector<std::uint64_t> there;
  std::uint64_t missing = 0;
  for (const BlobName& blob : blobs) {
    there.push_back(bytes_there(blob));
    missing += blob.bytes - there.back();
    const int file = blob.bytes == 0 ? ::open(path(blob.hash).c_str(), O_WRONLY | O_CREAT | kOwnFile, 0444) : -1;
    if (file >= 0) close(file);
  }
  make_room(missing);
  return there;
}

Result<std::uint64_t> BlobStore::add(const SessionBlob& piece) {
  const BlobName* const blob = expected(piece.hash);
  if (!blob) return Error{"a piece of a file came that was not asked for", ErrorKind::invalid_input};
  const std::uint64_t there = bytes_there(*blob);
  if (there == blob->bytes) return there;  // another session was faster
  if (piece.offset != there || piece.bytes.size() > blob->bytes - there ||
      piece.made > blob->bytes - there - piece.bytes.size())
    return Error{"a piece of a file came that does not fit to what is there", ErrorKind::invalid_input};
  const std::string part = path(piece.hash) + kPart;
  const int file = ::open(part.c_str(), O_WRONLY | O_CREAT | kOwnFile | (there == 0 ? O_TRUNC : 0), 0600);
  if (file < 0) return cannot(part);
  // Models run as nobody where whet-device runs as root, and get the file as a descriptor.
  fchmod(file, 0644);
  const std::uint64_t now = there + piece.bytes.size() + piece.made;
  bool written = write_at(file, piece.bytes, there);
  const auto page = made_weights();
  for (std::uint64_t at = there + piece.bytes.size(); written && at < now;) {
    const std::size_t bytes = static_cast<std::size_t>(std::min<std::uint64_t>(kMadePage, now - at));
    written = write_at(file, {page.data() + at % kMadePage, bytes}, at);
    at += bytes;
  }
  const Error error = cannot(part);
  close(file);
  if (!written) return error;
  if (now == blob->bytes) WHET_RETURN_IF_ERROR(finish(*blob));
  return now;
}

Status BlobStore::finish(const BlobName& blob) {
  const std::string whole = path(blob.hash), part = whole + kPart;
  const int file = ::open(part.c_str(), O_RDONLY | kOwnFile);
  if (file < 0) return cannot(part);
  const bool is_right = hash_of(file) == blob.hash;
  close(file);
  if (!is_right) {
    unlink(part.c_str());
    return Error{"what came as the file " + blob.hash.substr(0, 12) + " has another hash", ErrorKind::invalid_input};
  }
  if (rename(part.c_str(), whole.c_str()) != 0) return cannot(part);
  return ok_status();
}

int BlobStore::open(const std::string& hash) const {
  const int file = ::open(path(hash).c_str(), O_RDONLY | kOwnFile);
  if (file >= 0) futimens(file, nullptr);
  return file;
}

std::string own_folder(const std::string& name) {
  const auto absolute = [](const char* value) { return value != nullptr && *value == '/'; };
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); absolute(cache)) return std::string(cache) + "/whet/" + name;
  if (const char* home = std::getenv("HOME"); absolute(home)) return std::string(home) + "/.cache/whet/" + name;
  return "/tmp/whet-" + name + "-" + std::to_string(geteuid());
}

}  // namespace whet
