#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace whet {

/// All bytes of a file, or a sentence that names it.
Result<std::string> read_file(const std::string& path);
/// `length` bytes from `offset`.
Result<std::string> read_file_part(const std::string& path, std::uint64_t offset, std::uint64_t length);
/// Writes through a temporary file beside it, so that a failed write leaves what was there.
Status write_file(const std::string& path, std::string_view bytes);

}  // namespace whet
