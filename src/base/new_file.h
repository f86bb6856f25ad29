#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace whet {

/// A file that takes the place of another when it is whole: neither a failure nor a reader nor a kill meets half of one. Until
/// then it has no name, or, where the file system wants one, a new random name beside the other. It keeps the mode and
/// the owner of what it replaces, as far as the system allows it. A link's file is replaced, not the link. What `write_place` calls in
/// place (a device, a pipe, an open descriptor) is written to at once, behind what is there, and never replaced.
///
/// Errors name the file as the user did: "cannot write "PATH": why".
class NewFile {
 public:
  ///   mode  where there is no file yet, before the umask
  static Result<NewFile> open(const std::string& path, mode_t mode = 0666);

  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();  ///< unless it was kept, nothing has changed

  /// Open for reading too, unless it is written in place.
  int fd() const { return fd_; }
  Status write(std::string_view bytes);
  /// Gives it its name; only once.
  ///   durable  when this returns, its bytes survive a power cut
  Status keep(bool durable = false);

 private:
  explicit NewFile(std::string path) : path_(std::move(path)) {}
  Status make(mode_t mode);
  Status give_random_name();

  std::string path_;    ///< as the user named it
  std::string place_;   ///< of the file that is replaced
  std::string beside_;  ///< its name until then; "": none
  int fd_ = -1;
  bool in_place_ = false;
};

}  // namespace whet
