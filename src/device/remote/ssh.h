#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/device_name.h"

namespace whet {

/// A program whet-device that can be copied to a host.
struct PushedProgram {
  std::string machine;     ///< as uname has it
  std::string hash;        ///< SHA-256, 64 hexadecimal digits
  std::string_view bytes;  ///< outlives its users
};

/// The command that starts whet-device on the host of an ssh:// device, by the user's own ssh and its configuration. The file
/// lies in the host's cache under its hash; where it is not there, the command ends with status 93 and the words of
/// `missing_machine`.
std::vector<std::string> ssh_command(const DeviceName&, const std::vector<PushedProgram>&);

/// The command that starts the whet-device that is there already: the one on the host's PATH, or else the newest that whet
/// has copied. Where there is none, it ends as `ssh_command` does.
std::vector<std::string> ssh_command_of_installed(const DeviceName&);

/// The machine for which whet-device is not there, in an error of a session over `ssh_command`; "" where that is not the
/// reason.
std::string missing_machine(const Error&);

/// Copies a program to where `ssh_command` looks for it. The file gets its name when all bytes have come.
Status push_over_ssh(const DeviceName&, const PushedProgram&, const std::function<bool()>& interrupted);

}  // namespace whet
