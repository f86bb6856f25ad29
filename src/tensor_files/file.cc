#include "tensor_files/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/new_file.h"
#include "base/write_place.h"

namespace whet {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

Error system_error(const std::string& what, const std::string& path) {
  return Error{"cannot " + what + " \"" + path + "\": " + std::strerror(errno)};
}

/// What a file is that no bytes are read of; null for regular ones.
const char* kind_of_no_file(int file, const struct stat& about) {
  constexpr long kProc = 0x9fa0,
                 kSys = 0x62656572;  // whose files hold what the kernel likes, however long they claim to be
  if (S_ISDIR(about.st_mode)) return "directory";
  if (S_ISFIFO(about.st_mode)) return "pipe";
  if (S_ISSOCK(about.st_mode)) return "socket";
  if (!S_ISREG(about.st_mode)) return "device";
  struct statfs system{};
  const bool is_kernels = fstatfs(file, &system) == 0 && (system.f_type == kProc || system.f_type == kSys);
  return is_kernels ? "file of the kernel" : nullptr;
}

/// Nothing waits for whoever writes into a pipe.
Result<File> open_for_reading(const std::string& path, std::uint64_t& size) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0 && errno == ENXIO) return Error{"cannot read \"" + path + "\": it is a socket"};
  if (descriptor < 0) return system_error("read", path);
  File file(fdopen(descriptor, "rb"));
  if (!file) {
    close(descriptor);
    return system_error("read", path);
  }
  struct stat about{};
  if (fstat(descriptor, &about) != 0) return system_error("read", path);
  if (const char* what = kind_of_no_file(descriptor, about); what != nullptr)
    return Error{"cannot read \"" + path + "\": it is a " + what};
  size = static_cast<std::uint64_t>(about.st_size);
  return file;
}

}  // namespace

Result<std::string> read_file_part(const std::string& path, std::uint64_t offset, std::uint64_t length) {
  std::uint64_t size = 0;
  WHET_TRY(File file, open_for_reading(path, size));
  if (offset > size || length > size - offset) {
    return Error{"\"" + path + "\" has " + std::to_string(size) + " bytes; " + std::to_string(length) +
                 " were expected from byte " + std::to_string(offset)};
  }
  std::string bytes(length, '\0');
  if (std::fseek(file.get(), static_cast<long>(offset), SEEK_SET) != 0) return system_error("read", path);
  if (std::fread(bytes.data(), 1, bytes.size(), file.get()) != bytes.size()) return system_error("read", path);
  return bytes;
}

Result<std::uint64_t> file_size(const std::string& path) {
  std::uint64_t size = 0;
  WHET_TRY(const File file, open_for_reading(path, size));
  return size;
}

Result<std::string> read_file(const std::string& path) {
  std::uint64_t size = 0;
  WHET_TRY(File file, open_for_reading(path, size));
  file.reset();
  return read_file_part(path, 0, size);
}

Status can_write_file(const std::string& path) {
  std::error_code code;
  const WritePlace place = write_place(path);
  const std::string folder = std::filesystem::path(place.path).parent_path().string();
  bool can = false;
  if (std::filesystem::is_directory(path, code))
    errno = EISDIR;
  else if (place.in_place)
    can = access(path.c_str(), W_OK) == 0;
  else
    can = access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0 &&
          (access(place.path.c_str(), W_OK) == 0 || errno == ENOENT);
  return can ? ok_status() : Status(system_error("write", path));
}

Status write_file(const std::string& path, std::string_view bytes) {
  WHET_TRY(NewFile file, NewFile::open(path));
  WHET_RETURN_IF_ERROR(file.write(bytes));
  return file.keep();
}

}  // namespace whet
