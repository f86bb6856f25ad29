#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace whet {

/// A directory of its own for files in between, under TMPDIR or, where that is unset or empty, under /tmp; gone with the object.
/// Those of this user whose processes were killed go when the next one is made: the kernel holds a directory's lock exactly as
/// long as a process that has it lives.
class ScratchDirectory {
 public:
  static Result<ScratchDirectory> make();
  ScratchDirectory(ScratchDirectory&& other) noexcept
      : path_(std::exchange(other.path_, "")),
        lock_(std::exchange(other.lock_, -1)),
        remembered_(std::exchange(other.remembered_, -1)) {}
  ScratchDirectory& operator=(ScratchDirectory&&) = delete;
  ~ScratchDirectory();

  const std::string& path() const { return path_; }

 private:
  ScratchDirectory(std::string path, int lock, int remembered)
      : path_(std::move(path)), lock_(lock), remembered_(remembered) {}
  std::string path_;
  int lock_;        ///< the open directory, which is locked
  int remembered_;  ///< for who ends the process at once
};

}  // namespace whet
