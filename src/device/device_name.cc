#include "device/device_name.h"

#include <charconv>

namespace whet {

constexpr std::string_view kCuda = "cuda:", kEmulated = "emulated";

std::string to_string(const DeviceName& name) {
  switch (name.kind) {
    case DeviceName::Kind::cuda:
      return std::string(kCuda) + std::to_string(name.number);
    case DeviceName::Kind::emulated:
      return std::string(kEmulated);
    case DeviceName::Kind::none:
      break;
  }
  return "";
}

Result<DeviceName> parse_device_name(std::string_view text) {
  if (text.empty()) return DeviceName{};
  if (text == kEmulated) return DeviceName{DeviceName::Kind::emulated};
  DeviceName name{DeviceName::Kind::cuda};
  if (text.starts_with(kCuda)) {
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + kCuda.size(), end, name.number);
    if (error == std::errc() && rest == end && name.number >= 0) return name;
  }
  return Error{"--device is \"" + std::string(text) + "\"; expected cuda:0, cuda:1, ... or emulated"};
}

}  // namespace whet
