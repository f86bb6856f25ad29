#include "import_torch/members.h"

#include <algorithm>

#include "base/nearest.h"

namespace whet::torch {
namespace {

/// All members together, unpacked: a small file may hold much.
constexpr std::uint64_t kMostUnpacked = std::uint64_t{16} << 30;
constexpr std::uint64_t kMostInflated = std::uint64_t{1} << 30;

}  // namespace

Status Members::parse(std::string_view bytes) {
  size_ = bytes.size();
  WHET_TRY(std::vector<ZipMember> members, parse_zip(bytes, what_));
  const bool in_folder = std::none_of(members.begin(), members.end(), [](const ZipMember& member) {
    return member.name == "serialized_exported_program.json" || member.name == "version";
  });
  for (ZipMember& member : members) {
    const std::size_t slash = in_folder ? member.name.find('/') : std::string::npos;
    std::string name = slash == std::string::npos ? member.name : member.name.substr(slash + 1);
    names_.push_back(name);
    members_.emplace(std::move(name), std::move(member));
  }
  return ok_status();
}

Result<std::string> Members::read(const std::string& name) const {
  const auto found = members_.find(name);
  if (found == members_.end()) return Error{what_ + ": has no member " + in_quotes(name)};
  unpacked_ += found->second.size;
  if (found->second.deflated) inflated_ += found->second.size;
  if (unpacked_ > kMostUnpacked || inflated_ > kMostInflated)
    return Error{what_ + ": unpacks to more than " +
                 (unpacked_ > kMostUnpacked ? "16 GiB" : "1 GiB of compressed members")};
  return unzip(found->second, what_);
}

Result<std::string> Members::read_text(const std::string& name, std::uint64_t limit) const {
  const auto found = members_.find(name);
  if (found != members_.end() && found->second.size > limit)
    return Error{what_ + ": member " + in_quotes(name) + " is larger than " + std::to_string(limit >> 20) + " MiB"};
  return read(name);
}

Status Members::count_made(std::int64_t bytes) const {
  constexpr std::uint64_t kMostTimes = 8, kFree = std::uint64_t{256} << 20;
  made_ += static_cast<std::uint64_t>(bytes);
  if (made_ <= size_ * kMostTimes + kFree) return ok_status();
  return Error{what_ + ": its tensors take more than 8 times its bytes and 256 MiB"};
}

Result<Json> Members::read_json(const std::string& name) const {
  WHET_TRY(const std::string text, read_text(name));
  const auto json = parse_json(text);
  if (!json.ok()) return Error{what_ + ": member " + in_quotes(name) + ": " + json.error().message};
  return *json;
}

}  // namespace whet::torch
