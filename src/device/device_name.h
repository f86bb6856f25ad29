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
    exec,      ///< elsewhere, behind a command
    ssh,       ///< elsewhere, on a host that ssh reaches
    fleet,     ///< elsewhere, any of the units of a key that several users share
  } kind = Kind::none;
  int number = 0;          ///< of a GPU, as the driver counts
  std::string command;     ///< exec: for the shell
  std::string key;         ///< fleet
  std::string user, host;  ///< ssh; user "": ssh's own choice
  int port = 0;            ///< ssh; 0: ssh's own choice
  bool is_remote() const { return kind == Kind::exec || kind == Kind::ssh || kind == Kind::fleet; }
  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};

/// "", "cuda:1", "emulated", "exec:COMMAND", "ssh://user@host:22", "fleet:KEY"
std::string to_string(const DeviceName&);
/// The inverse.
Result<DeviceName> parse_device_name(std::string_view);

}  // namespace whet
