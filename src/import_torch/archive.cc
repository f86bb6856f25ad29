#include "import_torch/archive.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "base/nearest.h"
#include "import_torch/exported.h"
#include "import_torch/members.h"
#include "import_torch/saved.h"
#include "import_torch/strided.h"

namespace whet::torch {
namespace {

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
    WHET_TRY(Tensor tensor, gathered_tensor(last_bytes_, strided, members_.native_types(), at));
    WHET_RETURN_IF_ERROR(members_.count_made(tensor.bytes()));
    return tensor;
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

/// Weights as torch before 2.8 packed them: a dictionary of tensors that torch.save wrote, an archive in the archive.
class SavedTable {
 public:
  SavedTable(std::string what, bool native_types) : inner_(std::move(what), native_types) {}

  Status open(std::string bytes) {
    bytes_ = std::move(bytes);
    WHET_RETURN_IF_ERROR(inner_.parse(bytes_));
    WHET_TRY(saved_, SavedTensors::read(inner_, "data.pkl", "data/"));
    const Pickle& pickle = saved_->pickle();
    for (const auto& [key, value] : pickle.top().members) places_.emplace(pickle.at(key).text, value);
    return ok_status();
  }
  bool has(const std::string& name) const { return places_.contains(name); }
  Result<Tensor> read(const std::string& name) {
    const auto found = places_.find(name);
    if (found == places_.end()) return Error{inner_.what() + ": has no " + in_quotes(name)};
    return saved_->tensor(found->second, name);
  }

 private:
  std::string bytes_;
  Members inner_;
  std::optional<SavedTensors> saved_;
  std::map<std::string, PickleId> places_;
};

/// A table of weights or constants in the first of these members that there is; null where there is none.
Result<std::unique_ptr<SavedTable>> saved_table(const Members& members, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!members.has(name)) continue;
    auto table = std::make_unique<SavedTable>(members.what() + ": member " + in_quotes(name), members.native_types());
    WHET_TRY(std::string bytes, members.read(name));
    if (bytes.empty()) continue;  // nothing was to be saved
    WHET_RETURN_IF_ERROR(table->open(std::move(bytes)));
    return table;
  }
  return std::unique_ptr<SavedTable>();
}

/// A parameter or constant: each in a table of its own, and in old files constants also among the parameters.
Weights saved_weights(SavedTable* weights, SavedTable* constants, const std::string& what) {
  return [=](const std::string& name, bool) -> Result<Tensor> {
    for (SavedTable* table : {constants, weights})
      if (table != nullptr && table->has(name)) return table->read(name);
    return Error{what + ": has no weight " + in_quotes(name)};
  };
}

/// An archive of torch 2.1 to 2.7: no folder, and weights that torch.save wrote.
Result<TorchModel> read_old_archive(const Members& members) {
  WHET_TRY(const Json exported, members.read_json("serialized_exported_program.json"));
  WHET_TRY(const auto weights, saved_table(members, {"serialized_state_dict.pt", "serialized_state_dict.json"}));
  WHET_TRY(const auto constants, saved_table(members, {"serialized_constants.pt", "serialized_constants.json"}));
  return parse_exported(exported, saved_weights(weights.get(), constants.get(), members.what()), members.native_types(),
                        members.what());
}

}  // namespace

Result<TorchModel> read_archive(const ModelSource& source, const std::string& entry) {
  Members members(source.what, source.options != nullptr && source.options->native_types);
  WHET_RETURN_IF_ERROR(members.parse(source.bytes));
  if (members.has("serialized_exported_program.json")) {
    if (!entry.empty())
      return Error{source.what + ": has no program " + in_quotes(entry) +
                   "; archives of torch before 2.8 hold one without a name"};
    return read_old_archive(members);
  }
  WHET_RETURN_IF_ERROR(check_versions(members, source.what));
  WHET_TRY(const std::string chosen, chosen_entry(entries_of(members), entry, source.what));
  WHET_TRY(const Json exported, members.read_json("models/" + chosen + ".json"));
  // A short-lived form has the tables of torch 2.7 in the folders of torch 2.8.
  WHET_TRY(const auto saved, saved_table(members, {"data/weights/" + chosen + ".pt"}));
  WHET_TRY(const auto saved_constants, saved_table(members, {"data/constants/" + chosen + ".pt"}));
  Table weights(members, "data/weights/", chosen, source.what),
      constants(members, "data/constants/", chosen, source.what);
  const auto read = [&](const std::string& name, bool is_constant) {
    for (const auto& old : {saved_constants.get(), saved.get()})
      if (old != nullptr && old->has(name)) return old->read(name);
    Table& table = is_constant && constants.exists() ? constants : weights;
    return table.read(name);
  };
  WHET_TRY(TorchModel model, parse_exported(exported, read, members.native_types(), source.what));
  model.name = chosen;
  return model;
}

}  // namespace whet::torch
