#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace whet {

/// One user's way into a fleet: a folder that `whet-agent --setup` wrote, with the files `fleet`, `ca.pem`, `cert.pem`,
/// `key.pem`. The file `fleet` has three lines: "server tls://host:4222", "user ann", "role tuner".
struct FleetAccess {
  enum class Role { tuner, agent, admin } role = Role::tuner;
  std::string server;  ///< "tls://host:port"
  std::string user;    ///< a word of subjects
  std::string folder;  ///< of the certificates
};
const char* name_of(FleetAccess::Role);

/// The file's text.
std::string to_text(const FleetAccess&);
/// The inverse; an error names the line.
Result<FleetAccess> parse_fleet_access(std::string_view text);
/// Reads the folder's file. Errors begin with its path.
Result<FleetAccess> read_fleet_access(const std::string& folder);

/// "host", 4222 of "host:4222", "[::1]:4222"; with a port of 0 where there is none.
struct HostAndPort {
  std::string host;
  int port = 0;
};
Result<HostAndPort> parse_address(std::string_view);

}  // namespace whet
