#include "fleet/access.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>

#include "fleet/names.h"

namespace whet {
namespace {

constexpr std::string_view kScheme = "tls://";
constexpr std::size_t kMostFileBytes = 4096;
constexpr FleetAccess::Role kRoles[] = {FleetAccess::Role::tuner, FleetAccess::Role::agent, FleetAccess::Role::admin};

bool is_host(std::string_view text) {
  constexpr std::string_view kOthers = "-._:";
  return !text.empty() && text.front() != '-' && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kOthers.find(c) != kOthers.npos;
  });
}

/// A word of the file and its value; nothing where the line is none.
Status read_line(std::string_view line, FleetAccess& access) {
  const std::size_t space = line.find(' ');
  const std::string_view word = line.substr(0, space);
  const std::string value(space == line.npos ? "" : line.substr(space + 1));
  if (word == "server") {
    if (!value.starts_with(kScheme) || !parse_address(value.substr(kScheme.size())).ok())
      return Error{"the server is \"" + value + "\"; expected tls://host:port"};
    access.server = value;
  } else if (word == "user") {
    if (!is_fleet_word(value)) return Error{"the user is \"" + value + "\"; expected letters, digits, - and _"};
    access.user = value;
  } else if (word == "role") {
    const auto* role = std::ranges::find(kRoles, value, [](FleetAccess::Role r) { return std::string(name_of(r)); });
    if (role == std::end(kRoles)) return Error{"the role is \"" + value + "\"; expected tuner, agent or admin"};
    access.role = *role;
  } else {
    return Error{"\"" + std::string(line.substr(0, kScheme.size() * 8)) +
                 "\" is no line of it; expected server, user or role and a value"};
  }
  return ok_status();
}

}  // namespace

const char* name_of(FleetAccess::Role role) {
  switch (role) {
    case FleetAccess::Role::tuner:
      return "tuner";
    case FleetAccess::Role::agent:
      return "agent";
    case FleetAccess::Role::admin:
      break;
  }
  return "admin";
}

Result<HostAndPort> parse_address(std::string_view text) {
  const Error error{"the address is \"" + std::string(text) + "\"; expected host:port, as in lab1:4222"};
  HostAndPort address;
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) return error;
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  const auto [end, failure] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  constexpr int kMostPort = 65535;
  if (failure != std::errc() || end != port.data() + port.size() || address.port < 1 || address.port > kMostPort)
    return error;
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!is_host(host) || bracketed != (host.find(':') != host.npos)) return error;
  address.host = host;
  return address;
}

std::string to_text(const FleetAccess& access) {
  return "server " + access.server + "\nuser " + access.user + "\nrole " + name_of(access.role) + "\n";
}

Result<FleetAccess> parse_fleet_access(std::string_view text) {
  FleetAccess access;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) WHET_RETURN_IF_ERROR(read_line(text.substr(0, end), access));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (access.server.empty()) return Error{"no line names the server"};
  if (access.user.empty()) return Error{"no line names the user"};
  return access;
}

Result<FleetAccess> read_fleet_access(const std::string& folder) {
  const std::string path = folder + "/fleet";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file)
    return Error{path + " cannot be read: expected the folder of one user that whet-agent --setup wrote",
                 ErrorKind::not_found};
  std::string text(kMostFileBytes, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  Result<FleetAccess> access = parse_fleet_access(text);
  if (!access.ok()) return access.error().at(path);
  access->folder = folder;
  return access;
}

}  // namespace whet
