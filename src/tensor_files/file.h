#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace whet {

/// All bytes of a file, or a sentence that names it. Regular files are read, and links to them; pipes, devices, sockets and
/// what the kernel shows as files (/proc) are not.
Result<std::string> read_file(const std::string& path);
/// `length` bytes from `offset`.
Result<std::string> read_file_part(const std::string& path, std::uint64_t offset, std::uint64_t length);
/// Its bytes; of what is not read, the sentence.
Result<std::uint64_t> file_size(const std::string& path);
/// Fails before minutes of work where `write_file` would: a directory, a folder that is not there, one that may not be written. A
/// file that its user protects from writing is not replaced either.
Status can_write_file(const std::string& path);
/// Writes as `NewFile` does: a failed write leaves what was there.
Status write_file(const std::string& path, std::string_view bytes);

}  // namespace whet
