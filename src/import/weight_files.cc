#include "import/weight_files.h"

#include <filesystem>

#include "tensor_files/file.h"

namespace whet {

Result<std::string> WeightFiles::read(const std::string& path, std::uint64_t offset, std::uint64_t length) {
  constexpr std::uint64_t kMostTimes = 4;
  WHET_TRY(const std::uint64_t size, file_size(path));
  std::error_code code;
  const std::filesystem::path file = std::filesystem::canonical(path, code);
  std::uint64_t& given = given_[code ? path : file.string()];
  if (length > size * kMostTimes - given)
    return Error{"the model asks \"" + path + "\" of " + std::to_string(size) + " bytes for more than " +
                 std::to_string(kMostTimes) + " times its bytes"};
  given += length;
  return read_file_part(path, offset, length);
}

}  // namespace whet
