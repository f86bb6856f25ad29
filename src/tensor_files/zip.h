#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace whet {

/// A member of a zip file, not yet decompressed; `packed` points into the file's bytes.
struct ZipMember {
  std::string name;
  std::string_view packed;
  std::uint64_t size = 0;  ///< after decompression
  std::uint32_t crc = 0;
  bool deflated = false;
};

/// The directory of a zip file (zip64 sizes too). Encrypted members and other methods are refused. `what` begins
/// messages.
Result<std::vector<ZipMember>> parse_zip(std::string_view bytes, const std::string& what);
/// The member's content; its size and checksum are checked. Memory stays below about 1100 times the packed size.
Result<std::string> unzip(const ZipMember&, const std::string& what);

/// Writes stored members; the whole is limited to 4 GiB.
class ZipWriter {
 public:
  Status add(const std::string& name, std::string_view content);
  Result<std::string> finish() &&;

 private:
  std::string bytes_, directory_;
  std::size_t count_ = 0;
};

}  // namespace whet
