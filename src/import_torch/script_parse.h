#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

/// The source that TorchScript writes: a small language with Python's look.
namespace whet::torch {

struct ScriptExpression {
  enum class Kind : std::uint8_t {
    none,
    boolean,  ///< `integer`
    integer,
    number,
    text,
    name,
    attribute,  ///< items[0].text
    call,       ///< items[0] (the others), and `keywords`
    subscript,  ///< items[0][items[1]]
    list,
    tuple,
    dictionary,  ///< items: key, value, key, value, ...
    negative     ///< -items[0]
  };
  Kind kind = Kind::none;
  std::int64_t integer = 0;
  double number = 0;
  std::string text;
  std::vector<ScriptExpression> items;
  std::vector<std::pair<std::string, ScriptExpression>> keywords{};
};

struct ScriptStatement {
  enum class Kind : std::uint8_t {
    evaluate,  ///< value
    assign,    ///< targets = value
    give,      ///< return value
    choose,    ///< if value: body, else: otherwise
    count,     ///< for targets[0] in value: body
    repeat     ///< while value: body
  };
  Kind kind = Kind::evaluate;
  int line = 0;
  std::vector<ScriptExpression> targets;
  bool unpacks = false;  ///< "a, b = value", and "a, = value"
  ScriptExpression value;
  std::vector<ScriptStatement> body{}, otherwise{};
};

struct ScriptParameter {
  std::string name;
  std::string type;  ///< "Tensor", "Optional[Tensor]"
  bool has_default = false;
  ScriptExpression usual;
};

struct ScriptFunction {
  std::string name;
  std::vector<ScriptParameter> parameters;
  std::vector<ScriptStatement> body;
  std::set<std::string> read;  ///< names that its body reads
};

struct ScriptClass {
  std::string name, base;                                   ///< base: "Module", "NamedTuple", ...
  std::vector<std::pair<std::string, std::string>> fields;  ///< their names and types, in order
  std::vector<std::string> buffers;
  std::map<std::string, ScriptFunction> methods;
};

/// A file of an archive: "code/__torch__/torch/nn/modules/conv.py".
struct ScriptSource {
  std::map<std::string, ScriptClass> classes;
  std::map<std::string, ScriptFunction> functions;
};

/// Parses a file. `what` begins messages, which name the line.
Result<ScriptSource> parse_script(std::string_view text, const std::string& what);

}  // namespace whet::torch
