#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/access.h"

namespace whet {

/// A fleet of one lab: a folder with the broker's configuration, a certificate authority, and a folder for each user.
struct FleetSetup {
  std::string folder;
  HostAndPort address;  ///< where the broker listens and everyone dials; port 0: as it was, at first 127.0.0.1:4222
  struct User {
    std::string name;
    FleetAccess::Role role = FleetAccess::Role::tuner;
  };
  std::vector<User> users;  ///< one admin among them
};

/// The configuration of nats-server. Only users with a certificate come in, and each may publish and listen to a list of
/// subjects. Who tunes has an account alone, into which comes what is theirs. It has no lists of what is denied, no websocket,
/// leaf node or route, and nobody who needs no certificate: brokers of old versions have holes there.
std::string server_config(const FleetSetup&);

/// The users whose folders are there, and what they dial.
FleetSetup read_setup(const std::string& folder);

/// Writes what is missing in the folder: certificates (by the program openssl), users, and the configuration anew. Users who are
/// there stay. Gives all users.
Result<FleetSetup> write_setup(FleetSetup);

}  // namespace whet
