// whet-agent: brings devices into a fleet (docs/fleet.md).
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/version.h"
#include "fleet/agent/serve.h"
#include "fleet/agent/setup.h"
#include "fleet/names.h"
#include "fleet/nats.h"

namespace {

using whet::Error;
using whet::Result;
using whet::Status;

constexpr int kWrongUsage = 2;
constexpr const char* kAdmin = "admin";
constexpr const char* kLab = "lab";

std::atomic<bool> ends = false;

int usage() {
  std::fprintf(
      stderr,
      "usage: whet-agent --setup FOLDER [--address HOST:PORT] [--user NAME]... [--agent NAME]...\n"
      "                      write the configuration and the certificates of a fleet's broker, or add users to it\n"
      "       whet-agent --join FOLDER --key KEY [--device ssh://user@host|exec:COMMAND]...\n"
      "                      bring devices into a fleet, as units of a key, until this program is ended\n"
      "       whet-agent --version\n"
      "  --address HOST:PORT where the broker listens and everyone dials (default: 127.0.0.1:4222)\n"
      "  --user NAME         who tunes (default: you)\n"
      "  --agent NAME        a host with devices: one agent a host (default: lab)\n"
      "  --key KEY           the kind of the devices: whet tune --device fleet:KEY takes any of them\n"
      "  --device DEVICE     one of them; without any, the key's queue is made and nothing else\n"
      "  FOLDER of --join    the setup, or on other hosts a copy of an agent's folder in it\n");
  return kWrongUsage;
}

int fail(const Error& error) {
  std::fprintf(stderr, "whet-agent: %s\n", error.message.c_str());
  return 1;
}

struct AgentCommand {
  std::string setup, join, key;
  whet::FleetSetup fleet;
  std::vector<whet::DeviceName> devices;
};

Status add_user(AgentCommand& command, const std::string& name, whet::FleetAccess::Role role) {
  if (!whet::is_fleet_word(name)) return Error{"\"" + name + "\" is no name; expected letters, digits, - and _"};
  command.fleet.users.push_back({name, role});
  return whet::ok_status();
}

Status take_option(const std::string& option, const std::string& value, AgentCommand& command) {
  if (option == "--setup") {
    command.setup = value;
  } else if (option == "--join") {
    command.join = value;
  } else if (option == "--address") {
    WHET_TRY(command.fleet.address, whet::parse_address(value));
  } else if (option == "--user") {
    return add_user(command, value, whet::FleetAccess::Role::tuner);
  } else if (option == "--agent") {
    return add_user(command, value, whet::FleetAccess::Role::agent);
  } else if (option == "--key") {
    if (!whet::is_fleet_word(value)) return Error{"--key is \"" + value + "\"; expected letters, digits, - and _"};
    command.key = value;
  } else if (option == "--device") {
    WHET_TRY(const whet::DeviceName device, whet::parse_device_name(value));
    if (device.kind != whet::DeviceName::Kind::exec && device.kind != whet::DeviceName::Kind::ssh)
      return Error{"--device is \"" + value + "\"; expected ssh://user@host:port or exec:COMMAND"};
    command.devices.push_back(device);
  } else {
    return Error{"there is no option " + option};
  }
  return whet::ok_status();
}

std::string own_user() {
  const char* user = std::getenv("USER");
  return user && whet::is_fleet_word(user) && std::strcmp(user, kAdmin) != 0 && std::strcmp(user, kLab) != 0 ? user
                                                                                                             : "me";
}

int set_up(AgentCommand& command) {
  whet::FleetSetup& fleet = command.fleet;
  const bool is_new = access((command.setup + "/server.conf").c_str(), F_OK) != 0;
  const auto has = [&](whet::FleetAccess::Role role) {
    return std::ranges::count(fleet.users, role, &whet::FleetSetup::User::role) > 0;
  };
  if (is_new && !has(whet::FleetAccess::Role::tuner))
    fleet.users.push_back({own_user(), whet::FleetAccess::Role::tuner});
  if (is_new && !has(whet::FleetAccess::Role::agent)) fleet.users.push_back({kLab, whet::FleetAccess::Role::agent});
  if (is_new) fleet.users.push_back({kAdmin, whet::FleetAccess::Role::admin});
  fleet.folder = command.setup;
  const Result<whet::FleetSetup> written = whet::write_setup(fleet);
  if (!written.ok()) return fail(written.error());
  const std::string& folder = written->folder;
  for (const whet::FleetSetup::User& user : written->users)
    std::printf("%-6s %s/%s\n", name_of(user.role), folder.c_str(), user.name.c_str());
  std::printf(
      "Start the broker (one that runs reads its users anew at SIGHUP), then an agent on a host that reaches devices:\n"
      "  nats-server -c %s/server.conf\n"
      "  whet-agent --join %s --key KEY --device ssh://user@host\n",
      folder.c_str(), folder.c_str());
  return 0;
}

/// Of the folder itself, or where that is a setup, of its first agent.
Result<whet::FleetAccess> access_of_agent(const std::string& folder) {
  if (access((folder + "/server.conf").c_str(), F_OK) != 0) return whet::read_fleet_access(folder);
  Result<whet::FleetAccess> lab = whet::read_fleet_access(folder + "/" + kLab);
  if (lab.ok()) return lab;
  return Error{folder + " has no agent " + kLab + "; give the folder of an agent in it"};
}

bool is_loopback(const std::string& host) { return host == "localhost" || host == "::1" || host.starts_with("127."); }

void warn_of_old_broker(const whet::FleetAccess& access) {
  const auto address = whet::parse_address(access.server.substr(access.server.find("//") + 2));
  if (!address.ok() || is_loopback(address->host)) return;
  const std::string version = whet::broker_version(address->host, address->port);
  if (!version.empty() && whet::has_known_holes(version))
    std::fprintf(stderr,
                 "whet-agent: the broker is nats-server %s, which has known holes, and it listens on %s: keep it where "
                 "strangers do not reach it, or install 2.11.16, 2.12.7 or later\n",
                 version.c_str(), address->host.c_str());
}

int join(const AgentCommand& command) {
  const std::string admin = command.join + "/" + kAdmin;
  const bool is_setup = access((command.join + "/server.conf").c_str(), F_OK) == 0;
  if (is_setup) {
    const Result<whet::FleetAccess> access = whet::read_fleet_access(admin);
    if (!access.ok()) return fail(access.error());
    const auto nats = whet::NatsConnection::open(*access);
    if (!nats.ok()) return fail(nats.error());
    std::vector<std::string> users;
    for (const whet::FleetSetup::User& user : whet::read_setup(command.join).users)
      if (user.role == whet::FleetAccess::Role::tuner) users.push_back(user.name);
    if (const Status made = whet::make_streams(**nats, users, command.key); !made.ok()) return fail(made.error());
  }
  if (command.devices.empty()) {
    if (!is_setup) return fail({"--join needs a --device, or a setup's folder where the key's queue is to be made"});
    std::printf("units of %s can join\n", command.key.c_str());
    return 0;
  }
  const Result<whet::FleetAccess> access = access_of_agent(command.join);
  if (!access.ok()) return fail(access.error());
  if (access->role != whet::FleetAccess::Role::agent)
    return fail({command.join + " is the folder of a " + name_of(access->role) + "; expected that of an agent"});
  warn_of_old_broker(*access);
  signal(SIGPIPE, SIG_IGN);
  for (const int number : {SIGINT, SIGTERM}) signal(number, [](int) { ends = true; });
  const Status served = whet::serve_fleet({*access, command.key, command.devices}, ends);
  return served.ok() ? 0 : fail(served.error());
}

}  // namespace

int main(int argc, char** argv) {
  AgentCommand command;
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0)
    return std::printf("%s\n", whet::version().c_str()) > 0 ? 0 : 1;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc || std::strncmp(argv[i], "--", 2) != 0) return usage();
    if (const Status taken = take_option(argv[i], argv[i + 1], command); !taken.ok()) {
      fail(taken.error());
      return kWrongUsage;
    }
  }
  if (!command.setup.empty() && command.join.empty() && command.key.empty() && command.devices.empty())
    return set_up(command);
  if (!command.join.empty() && command.setup.empty() && !command.key.empty() && command.fleet.users.empty())
    return join(command);
  return usage();
}
