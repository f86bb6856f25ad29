#include "compiler/scratch.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace whet {

Result<ScratchDirectory> ScratchDirectory::make() {
  std::error_code failed;
  std::string path = std::filesystem::temp_directory_path(failed).string() + "/whet-XXXXXX";
  if (failed) return Error{"no directory for temporary files: " + failed.message() + "; expected TMPDIR to name one"};
  if (mkdtemp(path.data()) == nullptr) {
    return Error{path + ": cannot make a directory for temporary files: " + std::strerror(errno)};
  }
  return ScratchDirectory(std::move(path));
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace whet
