#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "import_torch/pickle.h"

/// Values while a TorchScript program is followed.
namespace whet::torch {

/// A tensor: a value of the program that is made.
struct ScriptTensor {
  std::string name;
};
/// Where tensors lie, which means nothing.
struct ScriptDevice {};
/// A function or a class by its whole name: "__torch__.torch.nn.functional.relu".
struct ScriptReference {
  std::string name;
};

struct ScriptList;
struct ScriptDictionary;
struct ScriptObject;

/// Lists, dictionaries and objects are shared as in Python; who follows the program owns them. Index 0: None.
using ScriptValue = std::variant<std::monostate, bool, std::int64_t, double, std::string, ScriptTensor, ScriptDevice,
                                 ScriptReference, ScriptList*, ScriptDictionary*, ScriptObject*>;

struct ScriptList {
  bool is_tuple = false;
  std::vector<ScriptValue> items;
};
struct ScriptDictionary {
  std::vector<std::pair<ScriptValue, ScriptValue>> members;
};
/// A module, or a tuple with names.
struct ScriptObject {
  std::string type;  ///< "__torch__.torch.nn.modules.conv.Conv2d"
  std::string path;  ///< of modules: "features.0"
  PickleId place = 0;
  bool in_file = false;  ///< its attributes are in the file's pickle
  std::map<std::string, ScriptValue> attributes{};
  std::set<std::string> given{};  ///< attributes whose value in the file was read
};

/// "a tensor", "an integer": for messages.
inline std::string kind_of(const ScriptValue& value) {
  static constexpr const char* kKinds[] = {"none",   "a boolean",    "an integer", "a number",
                                           "a text", "a tensor",     "a device",   "a function",
                                           "a list", "a dictionary", "an object"};
  return kKinds[value.index()];
}

}  // namespace whet::torch
