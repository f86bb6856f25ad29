#include "base/write_place.h"

#include <filesystem>

namespace whet {

namespace fs = std::filesystem;

WritePlace write_place(const std::string& path) {
  std::error_code code;
  const fs::file_status there = fs::status(path, code);
  if (fs::exists(there) && !fs::is_regular_file(there) && !fs::is_directory(there)) return {path, true};
  fs::path at = path;
  for (int links = 0; links < 40 && fs::is_symlink(at, code); ++links) {
    const std::string name = fs::absolute(at, code).string();
    if (name.starts_with("/proc/") || name.starts_with("/dev/fd/")) return {path, true};
    const fs::path target = fs::read_symlink(at, code);
    at = target.is_absolute() ? target : at.parent_path() / target;
  }
  return {at.string(), false};
}

}  // namespace whet
