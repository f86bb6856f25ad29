#pragma once

#include <string>

namespace whet {

/// Where the bytes of a file that is written at `path` go.
struct WritePlace {
  std::string path;
  bool in_place;  ///< else another file is written beside it and renamed
};

/// A device, a pipe, and the file of an open descriptor (/dev/stdout, /dev/fd/1, /proc/self/fd/1) are written in place. Else the path is that of
/// the regular file that the links at `path` lead to, or would, so that links stay.
WritePlace write_place(const std::string& path);
/// Opens what is written in place, to go behind what is there; of a descriptor of this process another one, which writes where that
/// one does. -1 with errno set where that cannot be.
int open_in_place(const WritePlace&);

}  // namespace whet
