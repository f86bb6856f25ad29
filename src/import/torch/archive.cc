#include "import/torch/archive.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/nearest.h"
#include "import/torch/exported.h"
#include "import/torch/strided.h"
#include "tensor_files/zip.h"

namespace whet::torch {
namespace {

/// All members together, unpacked: a small file may hold much.
constexpr std::uint64_t kMostUnpacked = std::uint64_t{16} << 30;
constexpr std::uint64_t kLargestJson = std::uint64_t{1} << 30;

/// The members of an archive by their names behind the folder that all of them are in.
class Members {
 public:
  explicit Members(std::string what) : what_(std::move(what)) {}

  Status parse(std::string_view bytes) {
    WHET_TRY(std::vector<ZipMember> members, parse_zip(bytes, what_));
    for (ZipMember& member : members) {
      const std::size_t slash = member.name.find('/');
      std::string name = slash == std::string::npos ? member.name : member.name.substr(slash + 1);
      names_.push_back(name);
      members_.emplace(std::move(name), std::move(member));
    }
    return ok_status();
  }
  bool has(const std::string& name) const { return members_.contains(name); }
  const std::vector<std::string>& names() const { return names_; }

  Result<std::string> read(const std::string& name) const {
    const auto found = members_.find(name);
    if (found == members_.end()) return Error{what_ + ": has no member " + in_quotes(name)};
    unpacked_ += found->second.size;
    if (unpacked_ > kMostUnpacked) return Error{what_ + ": unpacks to more than 16 GiB"};
    return unzip(found->second, what_);
  }
  Result<Json> read_json(const std::string& name) const {
    const auto found = members_.find(name);
    if (found != members_.end() && found->second.size > kLargestJson)
      return Error{what_ + ": member " + in_quotes(name) + " is larger than 1 GiB"};
    WHET_TRY(const std::string text, read(name));
    const auto json = parse_json(text);
    if (!json.ok()) return Error{what_ + ": member " + in_quotes(name) + ": " + json.error().message};
    return *json;
  }

 private:
  std::string what_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, ZipMember> members_;
  mutable std::uint64_t unpacked_ = 0;
};

/// The programs of an archive, by the names that they were packed under.
std::vector<std::string> entries_of(const Members& members) {
  constexpr std::string_view kFolder = "models/", kEnding = ".json";
  std::vector<std::string> entries;
  for (const std::string& name : members.names()) {
    if (name.starts_with(kFolder) && name.ends_with(kEnding) && name.size() > kFolder.size() + kEnding.size())
      entries.push_back(name.substr(kFolder.size(), name.size() - kFolder.size() - kEnding.size()));
  }
  return entries;
}

Result<std::string> chosen_entry(const std::vector<std::string>& entries, const std::string& wanted,
                                 const std::string& what) {
  std::string listed;
  for (const std::string& entry : entries) listed += (listed.empty() ? "" : ", ") + entry;
  if (entries.empty()) return Error{what + ": has no program (models/NAME.json)"};
  if (wanted.empty() && entries.size() == 1) return entries[0];
  if (wanted.empty()) return Error{what + ": holds several programs; name one of them by --entry: " + listed};
  if (std::find(entries.begin(), entries.end(), wanted) != entries.end()) return wanted;
  return Error{what + ": has no program " + in_quotes(wanted) + did_you_mean(wanted, entries) + "; it holds " + listed};
}

Status check_versions(const Members& members, const std::string& what) {
  const auto expect = [&](const char* name, std::string_view wanted) -> Status {
    if (!members.has(name)) return ok_status();
    WHET_TRY(std::string found, members.read(name));
    while (!found.empty() && std::isspace(static_cast<unsigned char>(found.back())) != 0) found.pop_back();
    if (found == wanted) return ok_status();
    return Error{what + ": its " + name + " is " + in_quotes(found.substr(0, 40)) + "; expected " + in_quotes(wanted)};
  };
  WHET_RETURN_IF_ERROR(expect("archive_format", "pt2"));
  WHET_RETURN_IF_ERROR(expect("archive_version", "0"));
  return expect("byteorder", "little");
}

/// A table of weights or constants, and the storages that were read for it.
class Table {
 public:
  Table(const Members& members, std::string folder, const std::string& entry, const std::string& what)
      : members_(members), folder_(std::move(folder)), what_(what) {
    const std::string kind = folder_ == "data/weights/" ? "weights" : "constants";
    config_ = folder_ + entry + "_" + kind + "_config.json";
  }
  bool exists() const { return members_.has(config_); }

  Result<Tensor> read(const std::string& name) {
    if (!json_) {
      WHET_TRY(json_, members_.read_json(config_));
    }
    const Json& entry = (*json_)["config"][name];
    if (!entry.is_object()) return Error{what_ + ": " + config_ + " has no " + in_quotes(name)};
    const std::string at = what_ + ": " + in_quotes(name);
    if (entry["use_pickle"].bool_or(false))
      return Error{at + " is a tensor of a class of its own, which is not supported"};
    const std::string path = entry["path_name"].string_or("");
    if (path.starts_with("custom_obj") || path.starts_with("opaque_obj"))
      return Error{at + " is an object of Python, which is not supported"};
    WHET_TRY(const SaidType type, parse_tensor_meta(entry["tensor_meta"], at));
    WHET_TRY(const Strided strided, layout_of(entry["tensor_meta"], type, at));
    const std::string member = folder_ + path;
    // Weights that share a storage are rare: one storage is kept.
    if (member != last_member_) {
      WHET_TRY(last_bytes_, members_.read(member));
      last_member_ = member;
    }
    return gathered_tensor(last_bytes_, strided, at);
  }

 private:
  static Result<Strided> layout_of(const Json& meta, const SaidType& type, const std::string& at) {
    Strided strided{type.type, {}, {}, known_size(meta["storage_offset"]).value_or(0)};
    for (const FileDimension& dimension : type.sizes) {
      if (!dimension.extent) return Error{at + " has an open size"};
      strided.sizes.push_back(*dimension.extent);
    }
    if (!meta["strides"].is_array() || meta["strides"].items().size() != strided.sizes.size())
      return Error{at + " has no strides"};
    for (const Json& stride : meta["strides"].items()) {
      const auto known = known_size(stride);
      if (!known) return Error{at + " has an open stride"};
      strided.strides.push_back(*known);
    }
    return strided;
  }

  const Members& members_;
  std::string folder_, config_;
  const std::string& what_;
  std::optional<Json> json_;
  std::string last_member_, last_bytes_;
};

}  // namespace

Result<TorchModel> read_archive(const ModelSource& source, const std::string& entry) {
  Members members(source.what);
  WHET_RETURN_IF_ERROR(members.parse(source.bytes));
  if (!members.has("archive_format") && !members.has("archive_version") && entries_of(members).empty())
    return Error{source.what +
                 ": is of torch before 2.8, which packed its weights otherwise; in Python of a newer torch: " +
                 "torch.export.save(torch.export.load(\"old.pt2\"), \"new.pt2\")"};
  WHET_RETURN_IF_ERROR(check_versions(members, source.what));
  WHET_TRY(const std::string chosen, chosen_entry(entries_of(members), entry, source.what));
  WHET_TRY(const Json exported, members.read_json("models/" + chosen + ".json"));
  Table weights(members, "data/weights/", chosen, source.what),
      constants(members, "data/constants/", chosen, source.what);
  const auto read = [&](const std::string& name, bool is_constant) {
    Table& table = is_constant && constants.exists() ? constants : weights;
    return table.read(name);
  };
  WHET_TRY(TorchModel model, parse_exported(exported, read, source.what));
  model.name = chosen;
  return model;
}

}  // namespace whet::torch
