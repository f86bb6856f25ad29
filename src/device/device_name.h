#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace whet {

/// Which device is meant where a user names one.
struct DeviceName {
  enum class Kind {
    none,      ///< not named: this machine's processor, or for a GPU's code the first GPU
    cuda,      ///< an NVIDIA GPU, by its number
    emulated,  ///< this machine in place of a GPU
  } kind = Kind::none;
  int number = 0;  ///< as the driver counts
  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};

/// "", "cuda:1", "emulated"
std::string to_string(const DeviceName&);
/// The inverse.
Result<DeviceName> parse_device_name(std::string_view);

}  // namespace whet
