#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "import_torch/members.h"
#include "import_torch/saved.h"
#include "import_torch/script_parse.h"

namespace whet::torch {

/// What a TorchScript archive holds: sources, the pickle of its modules, and constants. Sources are parsed when they are asked
/// for.
class ScriptArchive {
 public:
  /// The members outlive it.
  static Result<ScriptArchive> read(const Members&);

  /// A class or a function by its whole name, "__torch__.torch.nn.modules.conv.Conv2d"; null where there is none.
  Result<const ScriptClass*> find_class(const std::string& name);
  Result<const ScriptFunction*> find_function(const std::string& name);

  SavedTensors modules;
  std::optional<SavedTensors> constants;
  std::optional<SavedTensors> traced_inputs;  ///< the example that a traced program was made with

 private:
  ScriptArchive(const Members& members, SavedTensors saved) : modules(std::move(saved)), members_(&members) {}
  /// The source of "__torch__.a.b.C"; null where no member is that of its folder.
  Result<const ScriptSource*> source_of(const std::string& name);

  const Members* members_;
  std::map<std::string, std::unique_ptr<const ScriptSource>> sources_;
};

/// The last part of a whole name.
std::string last_part(const std::string& name);

}  // namespace whet::torch
