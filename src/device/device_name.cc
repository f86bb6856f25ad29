#include "device/device_name.h"

#include <algorithm>
#include <charconv>

namespace whet {

namespace {

constexpr std::string_view kCuda = "cuda:", kEmulated = "emulated", kExec = "exec:", kSsh = "ssh://", kFleet = "fleet:";

/// What users and hosts are made of. None begins with "-": ssh would take it for an option.
bool is_ssh_word(std::string_view text) {
  constexpr std::string_view kLetters = "-._";
  return !text.empty() && text.front() != '-' && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kLetters.find(c) != kLetters.npos;
  });
}
/// The name of a kind of units.
bool is_key(std::string_view text) {
  constexpr std::size_t kLongest = 48;
  return !text.empty() && text.size() <= kLongest && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}
bool is_address(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdefABCDEF:.") == text.npos;
}

/// A number that is all of the text.
bool read_number(std::string_view text, int& number) {
  const char *const begin = text.data(), *const end = begin + text.size();
  const auto [rest, error] = std::from_chars(begin, end, number);
  return error == std::errc() && rest == end && number >= 0;
}

/// "user@host:22", "[fe80::1]:22"
bool read_ssh(std::string_view text, DeviceName& name) {
  if (const std::size_t at = text.find('@'); at != text.npos) {
    name.user = text.substr(0, at);
    if (!is_ssh_word(name.user)) return false;
    text.remove_prefix(at + 1);
  }
  const bool bracketed = text.starts_with('[');
  const std::size_t end = bracketed ? text.find(']') : text.find(':');
  if (bracketed && end == text.npos) return false;
  name.host = bracketed ? text.substr(1, end - 1) : text.substr(0, end);
  if (!(bracketed ? is_address(name.host) : is_ssh_word(name.host))) return false;
  text.remove_prefix(bracketed ? end + 1 : std::min(end, text.size()));
  constexpr int kMostPort = 65535;
  if (text.empty()) return true;
  return text.starts_with(':') && read_number(text.substr(1), name.port) && name.port > 0 && name.port <= kMostPort;
}

std::string ssh_text(const DeviceName& name) {
  const bool address = name.host.find(':') != name.host.npos;
  return std::string(kSsh) + (name.user.empty() ? "" : name.user + "@") +
         (address ? "[" + name.host + "]" : name.host) + (name.port > 0 ? ":" + std::to_string(name.port) : "");
}

}  // namespace

std::string to_string(const DeviceName& name) {
  switch (name.kind) {
    case DeviceName::Kind::cuda:
      return std::string(kCuda) + std::to_string(name.number);
    case DeviceName::Kind::emulated:
      return std::string(kEmulated);
    case DeviceName::Kind::exec:
      return std::string(kExec) + name.command;
    case DeviceName::Kind::ssh:
      return ssh_text(name);
    case DeviceName::Kind::fleet:
      return std::string(kFleet) + name.key;
    case DeviceName::Kind::none:
      break;
  }
  return "";
}

Result<DeviceName> parse_device_name(std::string_view text) {
  if (text.empty()) return DeviceName{};
  if (text == kEmulated) return DeviceName{DeviceName::Kind::emulated};
  DeviceName name{DeviceName::Kind::cuda};
  if (text.starts_with(kCuda) && read_number(text.substr(kCuda.size()), name.number)) return name;
  if (text.starts_with(kExec) && text.size() > kExec.size()) {
    name = {DeviceName::Kind::exec};
    name.command = text.substr(kExec.size());
    return name;
  }
  if (text.starts_with(kFleet) && is_key(text.substr(kFleet.size()))) {
    name = {DeviceName::Kind::fleet};
    name.key = text.substr(kFleet.size());
    return name;
  }
  name = {DeviceName::Kind::ssh};
  if (text.starts_with(kSsh) && read_ssh(text.substr(kSsh.size()), name)) return name;
  return Error{"--device is \"" + std::string(text) +
                   "\"; expected cuda:0, cuda:1, ..., emulated, ssh://user@host:port, exec:COMMAND or fleet:KEY",
               ErrorKind::wrong_use};
}

}  // namespace whet
