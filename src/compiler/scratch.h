#pragma once

#include <string>

#include "base/result.h"

namespace whet {

/// A directory of its own for files in between, under TMPDIR or the system's place for them; gone with the object.
class ScratchDirectory {
 public:
  static Result<ScratchDirectory> make();
  ScratchDirectory(ScratchDirectory&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  ScratchDirectory& operator=(ScratchDirectory&&) = delete;
  ~ScratchDirectory();

  const std::string& path() const { return path_; }

 private:
  explicit ScratchDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace whet
