#include "base/write_place.h"

#include <fcntl.h>

#include <charconv>
#include <filesystem>
#include <string_view>

namespace whet {

namespace fs = std::filesystem;

namespace {

/// The number behind the folder of this process's descriptors; -1 where the path is another one.
int descriptor_of(std::string_view path) {
  for (const std::string_view folder : {"/proc/self/fd/", "/dev/fd/"}) {
    if (!path.starts_with(folder)) continue;
    path.remove_prefix(folder.size());
    int number = -1;
    const auto [end, error] = std::from_chars(path.data(), path.data() + path.size(), number);
    return error == std::errc() && end == path.data() + path.size() ? number : -1;
  }
  return -1;
}

}  // namespace

WritePlace write_place(const std::string& path) {
  std::error_code code;
  fs::path at = path;
  for (int links = 0; links < 40 && fs::is_symlink(at, code); ++links) {
    const std::string name = fs::absolute(at, code).string();
    if (name.starts_with("/proc/") || name.starts_with("/dev/fd/")) return {name, true};
    const fs::path target = fs::read_symlink(at, code);
    at = target.is_absolute() ? target : at.parent_path() / target;
  }
  const fs::file_status there = fs::status(path, code);
  const bool in_place = fs::exists(there) && !fs::is_regular_file(there) && !fs::is_directory(there);
  return {at.string(), in_place};
}

int open_in_place(const WritePlace& place) {
  const int own = descriptor_of(place.path);
  if (own >= 0) return ::fcntl(own, F_DUPFD_CLOEXEC, 0);
  return ::open(place.path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
}

}  // namespace whet
