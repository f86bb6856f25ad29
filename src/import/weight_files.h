#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"

namespace whet {

/// The files of weights that a model names. A small model may name one file a thousand times; so no file gives more than four
/// times its bytes in all. One thread.
class WeightFiles {
 public:
  /// `length` bytes from `offset`. Errors: the file is not there, not a regular file (a link to one is), shorter, or asked for
  /// too much.
  Result<std::string> read(const std::string& path, std::uint64_t offset, std::uint64_t length);

 private:
  std::map<std::string, std::uint64_t> given_;  ///< bytes, by the file that a path leads to
};

}  // namespace whet
