#include "import_torch/script_archive.h"

#include <algorithm>

#include "base/nearest.h"

namespace whet::torch {
namespace {

constexpr std::uint64_t kLargestSource = std::uint64_t{1} << 26;

}  // namespace

std::string last_part(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

Result<ScriptArchive> ScriptArchive::read(const Members& members) {
  if (!members.has("data.pkl"))
    return Error{members.what() +
                 ": has no member \"data.pkl\": it is a TorchScript file of torch before 1.4, or damaged"};
  if (members.has("byteorder")) {
    WHET_TRY(const std::string order, members.read_text("byteorder"));
    if (!order.starts_with("little")) return Error{members.what() + ": its byte order is not little"};
  }
  WHET_TRY(SavedTensors modules, SavedTensors::read(members, "data.pkl", "data/"));
  ScriptArchive archive(members, std::move(modules));
  if (members.has("constants.pkl")) {
    WHET_TRY(archive.constants, SavedTensors::read(members, "constants.pkl", "constants/"));
  }
  if (members.has("traced_inputs.pkl")) {
    WHET_TRY(archive.traced_inputs, SavedTensors::read(members, "traced_inputs.pkl", "traced_inputs/"));
  }
  return archive;
}

Result<const ScriptSource*> ScriptArchive::source_of(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos) return static_cast<const ScriptSource*>(nullptr);
  std::string member = name.substr(0, dot);
  std::replace(member.begin(), member.end(), '.', '/');
  member = "code/" + member + ".py";
  if (!members_->has(member)) return static_cast<const ScriptSource*>(nullptr);
  auto& kept = sources_[member];
  if (kept == nullptr) {
    WHET_TRY(const std::string text, members_->read_text(member, kLargestSource));
    WHET_TRY(ScriptSource source, parse_script(text, members_->what() + ": " + member));
    kept = std::make_unique<const ScriptSource>(std::move(source));
  }
  return kept.get();
}

Result<const ScriptClass*> ScriptArchive::find_class(const std::string& name) {
  WHET_TRY(const ScriptSource* source, source_of(name));
  if (source == nullptr) return static_cast<const ScriptClass*>(nullptr);
  const auto found = source->classes.find(last_part(name));
  return found == source->classes.end() ? nullptr : &found->second;
}

Result<const ScriptFunction*> ScriptArchive::find_function(const std::string& name) {
  WHET_TRY(const ScriptSource* source, source_of(name));
  if (source == nullptr) return static_cast<const ScriptFunction*>(nullptr);
  const auto found = source->functions.find(last_part(name));
  return found == source->functions.end() ? nullptr : &found->second;
}

}  // namespace whet::torch
