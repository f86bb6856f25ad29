#include "runner/cpu/available_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

namespace whet {

std::int64_t available_memory() {
  constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();
  constexpr std::string_view kName = "MemAvailable:";
  static const int file = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
  char text[1024];  // the third line of the file
  const ssize_t bytes = file < 0 ? 0 : pread(file, text, sizeof text, 0);
  const std::string_view info(text, bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
  std::size_t at = info.find(kName);
  if (at == info.npos) return kUnknown;
  at = std::min(info.find_first_not_of(' ', at + kName.size()), info.size());
  std::int64_t kib = 0;
  const auto parsed = std::from_chars(info.data() + at, info.data() + info.size(), kib);
  return parsed.ec == std::errc() ? kib << 10 : kUnknown;
}

}  // namespace whet
