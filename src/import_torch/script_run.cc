#include "import_torch/script_run.h"

#include <algorithm>
#include <limits>

#include "base/nearest.h"
#include "import_torch/script_builtins.h"

namespace whet::torch {
namespace {

using Is = ScriptExpression::Kind;
using Does = ScriptStatement::Kind;

constexpr std::int64_t kMostSteps = std::int64_t{1} << 22;
constexpr std::int64_t kMostScriptRounds = 4096;
constexpr int kDeepestLevel = 400;                          ///< of calls, blocks and expressions together
constexpr std::int64_t kMostItems = std::int64_t{1} << 22;  ///< of all lists together

std::string joined(const std::string& path, const std::string& name) { return path.empty() ? name : path + "." + name; }

const ScriptTensor* tensor_of(const ScriptValue& value) { return std::get_if<ScriptTensor>(&value); }

/// Whether two values are one, as far as that can be told.
bool is_same(const ScriptValue& a, const ScriptValue& b) {
  if (a.index() != b.index()) return false;
  if (const auto* x = tensor_of(a)) return x->name == tensor_of(b)->name;
  if (const auto* x = std::get_if<bool>(&a)) return *x == std::get<bool>(b);
  if (const auto* x = std::get_if<std::int64_t>(&a)) return *x == std::get<std::int64_t>(b);
  if (const auto* x = std::get_if<double>(&a)) return *x == std::get<double>(b);
  if (const auto* x = std::get_if<std::string>(&a)) return *x == std::get<std::string>(b);
  if (const auto* x = std::get_if<ScriptReference>(&a)) return x->name == std::get<ScriptReference>(b).name;
  if (const auto* x = std::get_if<ScriptList*>(&a)) return *x == std::get<ScriptList*>(b);
  if (const auto* x = std::get_if<ScriptDictionary*>(&a)) return *x == std::get<ScriptDictionary*>(b);
  if (const auto* x = std::get_if<ScriptObject*>(&a)) return *x == std::get<ScriptObject*>(b);
  return true;
}

}  // namespace

Error ScriptRun::error(const std::string& sentence) const {
  const std::string where = path_.empty() ? "" : path_ + ": ";
  return Error{what_ + ": " + where + "line " + std::to_string(line_) + " of " + function_ + ": " + sentence};
}

Status ScriptRun::expect_certain(const std::string& what) const {
  if (uncertain_ == 0) return ok_status();
  return error(what + " in a branch whose condition depends on values, which is not supported");
}

Status ScriptRun::count_step() {
  if (++steps_ > kMostSteps) return error("takes more than " + std::to_string(kMostSteps) + " steps");
  if (items_ > kMostItems) return error("makes lists of more than " + std::to_string(kMostItems) + " values");
  if (level_ > kDeepestLevel)
    return error("calls and expressions are nested more than " + std::to_string(kDeepestLevel) + " deep");
  return ok_status();
}

ScriptList* ScriptRun::new_list(std::vector<ScriptValue> items, bool is_tuple) {
  count_items(items.size());
  lists_.push_back({is_tuple, std::move(items)});
  return &lists_.back();
}
ScriptDictionary* ScriptRun::new_dictionary() {
  dictionaries_.emplace_back();
  return &dictionaries_.back();
}

// ---- The file's modules and constants.

Status ScriptRun::load() {
  WHET_TRY(const auto root, saved_object(archive_.modules.pickle().root, ""));
  if (!root) return Error{what_ + ": its pickle holds no module"};
  root_ = std::get<ScriptObject*>(*root);
  WHET_TRY(const ScriptClass* type, archive_.find_class(root_->type));
  if (type == nullptr) return Error{what_ + ": has no source of its class " + in_quotes(root_->type)};
  const auto method = type->methods.find("forward");
  if (method == type->methods.end() || method->second.parameters.empty())
    return Error{what_ + ": its class " + in_quotes(root_->type) + " has no method \"forward\""};
  parameters_.assign(method->second.parameters.begin() + 1, method->second.parameters.end());
  return ok_status();
}

Result<std::optional<ScriptValue>> ScriptRun::saved_object(PickleId id, const std::string& path) {
  const PickleValue& value = archive_.modules.pickle().at(id);
  if (value.kind != PickleValue::Kind::object) return std::optional<ScriptValue>();
  const auto found = loaded_.find(id);
  if (found != loaded_.end()) return std::optional<ScriptValue>(found->second);
  objects_.push_back({value.text, path, id, true});
  loaded_[id] = &objects_.back();
  return std::optional<ScriptValue>(&objects_.back());
}

Result<ScriptValue> ScriptRun::saved_value(SavedTensors& saved, PickleId id, const std::string& path, int level) {
  using Kind = PickleValue::Kind;
  if (level > 32) return error("its attribute " + in_quotes(path) + " is nested more than 32 deep");
  WHET_RETURN_IF_ERROR(count_step());
  const PickleValue& value = saved.pickle().at(id);
  if (saved.is_tensor(id)) {
    WHET_TRY(const Tensor tensor, saved.tensor(id, path));
    return ScriptValue(trace.add_constant(path, tensor));
  }
  switch (value.kind) {
    case Kind::none:
      return ScriptValue();
    case Kind::boolean:
      return ScriptValue(value.integer != 0);
    case Kind::integer:
      return ScriptValue(value.integer);
    case Kind::number:
      return ScriptValue(value.number);
    case Kind::text:
      return ScriptValue(value.text);
    case Kind::list:
    case Kind::tuple: {
      std::vector<ScriptValue> items;
      for (std::size_t i = 0; i < value.items.size(); ++i) {
        WHET_TRY(ScriptValue item, saved_value(saved, value.items[i], joined(path, std::to_string(i)), level + 1));
        items.push_back(std::move(item));
      }
      return ScriptValue(new_list(std::move(items), value.kind == Kind::tuple));
    }
    case Kind::dictionary: {
      ScriptDictionary* made = new_dictionary();
      for (const auto& [key, member] : value.members) {
        WHET_TRY(ScriptValue name, saved_value(saved, key, path, level + 1));
        WHET_TRY(ScriptValue item, saved_value(saved, member, path, level + 1));
        made->members.emplace_back(std::move(name), std::move(item));
      }
      return ScriptValue(made);
    }
    case Kind::object: {
      WHET_TRY(const auto object, saved_object(id, path));
      return *object;
    }
    case Kind::call:
      return ScriptValue(ScriptDevice{});
    case Kind::global:
    case Kind::storage:
      break;
  }
  return error("its attribute " + in_quotes(path) + " is " + in_quotes(value.text) + ", which is not supported");
}

Result<ScriptValue> ScriptRun::attribute(ScriptObject& object, const std::string& name) {
  const auto known = object.attributes.find(name);
  if (known != object.attributes.end()) {
    object.given.insert(name);
    return known->second;
  }
  if (object.in_file) {
    const Pickle& pickle = archive_.modules.pickle();
    for (const auto& [key, member] : pickle.at(object.place).members) {
      if (pickle.at(key).text != name) continue;
      const std::string path = joined(object.path, name);
      WHET_TRY(ScriptValue value, saved_value(archive_.modules, member, path, 0));
      if (const auto* tensor = tensor_of(value)) buffers_[tensor->name] = {path, &object, name};
      object.given.insert(name);
      return object.attributes[name] = value;
    }
  }
  return error("reads the attribute " + in_quotes(name) + ", which an object of the class " + in_quotes(object.type) +
               " does not have");
}

const ScriptClass* ScriptRun::class_of(const ScriptObject& object) {
  const auto found = archive_.find_class(object.type);
  return found.ok() ? *found : nullptr;
}

/// CONSTANTS.c7: the eighth of the constants.
Result<ScriptValue> ScriptRun::constant(const std::string& name) {
  const auto known = constants_.find(name);
  if (known != constants_.end()) return known->second;
  std::size_t place = 0;
  for (std::size_t i = 1; i < name.size() && i < 9; ++i) {
    if (name[i] < '0' || name[i] > '9') return error("reads the constant " + in_quotes(name));
    place = place * 10 + static_cast<std::size_t>(name[i] - '0');
  }
  if (!archive_.constants || place >= archive_.constants->pickle().top().items.size())
    return error("reads the constant " + in_quotes(name) + ", which the file does not have");
  const PickleId id = archive_.constants->pickle().top().items[place];
  WHET_TRY(ScriptValue value, saved_value(*archive_.constants, id, "CONSTANTS." + name, 0));
  return constants_[name] = value;
}

// ---- Statements.

Result<ScriptValue> ScriptRun::forward(std::vector<ScriptValue> arguments) {
  return call_method(*root_, "forward", {std::move(arguments)});
}

Result<ScriptValue> ScriptRun::call_function(const ScriptFunction& function, ScriptArguments given) {
  Frame frame;
  frame.function = function.name;
  frame.source = &function;
  if (given.places.size() > function.parameters.size())
    return error("gives " + std::to_string(given.places.size()) + " arguments to " + in_quotes(function.name) +
                 ", which takes " + std::to_string(function.parameters.size()));
  for (std::size_t i = 0; i < function.parameters.size(); ++i) {
    const ScriptParameter& parameter = function.parameters[i];
    const auto named = std::find_if(given.keywords.begin(), given.keywords.end(),
                                    [&](const auto& keyword) { return keyword.first == parameter.name; });
    if (i < given.places.size()) {
      frame.locals[parameter.name] = given.places[i];
    } else if (named != given.keywords.end()) {
      frame.locals[parameter.name] = named->second;
    } else if (parameter.has_default) {
      WHET_TRY(frame.locals[parameter.name], evaluate(frame, parameter.usual));
    } else {
      return error("gives no argument " + in_quotes(parameter.name) + " to " + in_quotes(function.name));
    }
  }
  const std::string outer = std::exchange(function_, function.name);
  const int line = line_;
  WHET_RETURN_IF_ERROR(execute(frame, function.body));
  function_ = outer;
  line_ = line;
  return frame.result.value_or(ScriptValue());
}

Result<ScriptValue> ScriptRun::call_method(ScriptObject& object, const std::string& name, ScriptArguments given) {
  WHET_TRY(const ScriptClass* type, archive_.find_class(object.type));
  if (type == nullptr) return error("the file has no source of the class " + in_quotes(object.type));
  const auto method = type->methods.find(name);
  if (method == type->methods.end())
    return error("the class " + in_quotes(object.type) + " has no method " + in_quotes(name));
  given.places.insert(given.places.begin(), ScriptValue(&object));
  const std::string outer = path_;
  if (object.in_file) path_ = object.path;
  WHET_TRY(ScriptValue result, call_function(method->second, std::move(given)));
  path_ = outer;
  return result;
}

Status ScriptRun::execute(Frame& frame, const std::vector<ScriptStatement>& body) {
  ++level_;
  for (const ScriptStatement& each : body) {
    if (frame.result) break;
    line_ = each.line;
    WHET_RETURN_IF_ERROR(count_step());
    WHET_RETURN_IF_ERROR(execute(frame, each));
  }
  --level_;
  return ok_status();
}

Status ScriptRun::execute(Frame& frame, const ScriptStatement& statement) {
  switch (statement.kind) {
    case Does::evaluate: {
      WHET_TRY(const ScriptValue value, evaluate(frame, statement.value));
      return ok_status();
    }
    case Does::assign:
      return assign(frame, statement);
    case Does::give: {
      WHET_RETURN_IF_ERROR(expect_certain("returns"));
      WHET_TRY(frame.result, evaluate(frame, statement.value));
      return ok_status();
    }
    case Does::choose:
      return choose(frame, statement);
    case Does::count:
      return count(frame, statement);
    case Does::repeat:
      return repeat(frame, statement);
  }
  return ok_status();
}

Status ScriptRun::assign(Frame& frame, const ScriptStatement& statement) {
  wanted_.clear();
  if (statement.unpacks && statement.value.kind == Is::call)
    for (const ScriptExpression& target : statement.targets)
      wanted_.push_back(target.kind != Is::name || frame.source->read.contains(target.text));
  WHET_TRY(ScriptValue value, evaluate(frame, statement.value));
  wanted_.clear();
  if (!statement.unpacks) return store(frame, statement.targets[0], value);
  if (tensor_of(value) != nullptr) {
    WHET_TRY(value, call_operator("aten.unbind", {{value}}));
  }
  const auto* const* list = std::get_if<ScriptList*>(&value);
  if (list == nullptr) return error("takes " + kind_of(value) + " apart");
  const std::vector<ScriptValue> items = (*list)->items;
  if (items.size() != statement.targets.size())
    return error("takes a list of " + std::to_string(items.size()) + " apart into " +
                 std::to_string(statement.targets.size()));
  for (std::size_t i = 0; i < items.size(); ++i) WHET_RETURN_IF_ERROR(store(frame, statement.targets[i], items[i]));
  return ok_status();
}

Status ScriptRun::store(Frame& frame, const ScriptExpression& target, ScriptValue value) {
  if (target.kind == Is::name) {
    frame.locals[target.text] = std::move(value);
    return ok_status();
  }
  if (target.kind != Is::attribute) return error("assigns to what is neither a name nor an attribute");
  WHET_RETURN_IF_ERROR(expect_certain("assigns to an attribute"));
  WHET_TRY(const ScriptValue owner, evaluate(frame, target.items[0]));
  auto* const* object = std::get_if<ScriptObject*>(&owner);
  if (object == nullptr) return error("assigns to an attribute of " + kind_of(owner));
  // Tensors are carried to the next call.
  const auto before = (*object)->attributes.find(target.text);
  const bool carries =
      before != (*object)->attributes.end() && tensor_of(before->second) != nullptr && tensor_of(value) != nullptr;
  if ((*object)->in_file && (*object)->given.contains(target.text) && !carries)
    return error("keeps state from call to call: it assigns to its attribute " +
                 in_quotes(joined((*object)->path, target.text)));
  (*object)->attributes[target.text] = std::move(value);
  return ok_status();
}

Status ScriptRun::choose(Frame& frame, const ScriptStatement& statement) {
  WHET_TRY(const ScriptValue condition, evaluate(frame, statement.value));
  WHET_TRY(const auto known, truth(condition));
  if (known) return execute(frame, *known ? statement.body : statement.otherwise);
  return choose_both(frame, statement, *tensor_of(condition));
}

/// Both branches are computed, and each variable takes the value of one of them.
Status ScriptRun::choose_both(Frame& frame, const ScriptStatement& statement, const ScriptTensor& condition) {
  ++uncertain_;
  steps_ += static_cast<std::int64_t>(frame.locals.size());  // they are copied
  const Locals before = frame.locals;
  WHET_RETURN_IF_ERROR(execute(frame, statement.body));
  const Locals yes = std::exchange(frame.locals, before);
  WHET_RETURN_IF_ERROR(execute(frame, statement.otherwise));
  const Locals no = std::exchange(frame.locals, before);
  --uncertain_;
  line_ = statement.line;
  for (const auto& [name, value] : yes) {
    const auto other = no.find(name);
    if (other == no.end()) continue;  // a name of one branch: nothing behind it reads it
    WHET_TRY(frame.locals[name], merged(condition, value, other->second, name));
  }
  return ok_status();
}

Result<ScriptValue> ScriptRun::merged(const ScriptTensor& condition, const ScriptValue& yes, const ScriptValue& no,
                                      const std::string& name) {
  if (is_same(yes, no)) return yes;
  const auto *one = tensor_of(yes), *other = tensor_of(no);
  if (one == nullptr || other == nullptr)
    return error("its condition depends on values, and " + in_quotes(name) + " differs between its branches (" +
                 kind_of(yes) + ", " + kind_of(no) + "); only tensors can be chosen while the network runs");
  WHET_TRY(const TensorType first, trace.type(*one));
  WHET_TRY(const TensorType second, trace.type(*other));
  if (first != second)
    return error("its condition depends on values, and " + in_quotes(name) + " is " + to_string(first) + " or " +
                 to_string(second));
  WHET_TRY(const ScriptValue truth, call_operator("aten.to", {{condition, std::int64_t{11}}}));
  WHET_TRY(const ScriptValue scalar, call_operator("aten.reshape", {{truth, ScriptValue(new_list({}))}}));
  return call_operator("aten.where", {{scalar, yes, no}});
}

Status ScriptRun::count(Frame& frame, const ScriptStatement& statement) {
  const ScriptExpression& range = statement.value;
  if (range.kind != Is::call || range.items[0].text != "range" || range.items.size() != 2)
    return error("loops over what is no range(n)");
  WHET_TRY(const ScriptValue limit, evaluate(frame, range.items[1]));
  const auto* rounds = std::get_if<std::int64_t>(&limit);
  if (rounds == nullptr) return error("its number of rounds is " + kind_of(limit) + "; expected an integer");
  if (*rounds > kMostScriptRounds)
    return error("does " + std::to_string(*rounds) + " rounds; at most " + std::to_string(kMostScriptRounds) +
                 " are supported");
  for (std::int64_t round = 0; round < *rounds && !frame.result; ++round) {
    WHET_RETURN_IF_ERROR(store(frame, statement.targets[0], round));
    WHET_RETURN_IF_ERROR(execute(frame, statement.body));
  }
  return ok_status();
}

Status ScriptRun::repeat(Frame& frame, const ScriptStatement& statement) {
  for (std::int64_t round = 0; !frame.result; ++round) {
    WHET_TRY(const ScriptValue condition, evaluate(frame, statement.value));
    WHET_TRY(const auto known, truth(condition));
    if (!known) return error("its loop's condition depends on values; only loops whose rounds are known are supported");
    if (!*known) break;
    if (round == kMostScriptRounds)
      return error("its loop does not end within " + std::to_string(kMostScriptRounds) + " rounds");
    WHET_RETURN_IF_ERROR(execute(frame, statement.body));
  }
  return ok_status();
}

// ---- Expressions.

Result<ScriptValue> ScriptRun::literal(const ScriptExpression& expression) {
  Frame frame;
  function_ = "forward";
  return evaluate(frame, expression);
}

Result<ScriptValue> ScriptRun::evaluate(Frame& frame, const ScriptExpression& expression) {
  ++level_;
  WHET_RETURN_IF_ERROR(count_step());
  Result<ScriptValue> value = evaluate_kind(frame, expression);
  if (const auto* text = value.ok() ? std::get_if<std::string>(&*value) : nullptr) count_items(text->size() / 16);
  --level_;
  return value;
}

Result<ScriptValue> ScriptRun::evaluate_kind(Frame& frame, const ScriptExpression& expression) {
  const auto evaluated = [&]() -> Result<std::vector<ScriptValue>> {
    std::vector<ScriptValue> items;
    for (const ScriptExpression& each : expression.items) {
      WHET_TRY(ScriptValue item, evaluate(frame, each));
      items.push_back(std::move(item));
    }
    return items;
  };
  switch (expression.kind) {
    case Is::none:
      return ScriptValue();
    case Is::boolean:
      return ScriptValue(expression.integer != 0);
    case Is::integer:
      return ScriptValue(expression.integer);
    case Is::number:
      return ScriptValue(expression.number);
    case Is::text:
      return ScriptValue(expression.text);
    case Is::name:
      return evaluate_name(frame, expression);
    case Is::attribute:
      return evaluate_attribute(frame, expression);
    case Is::call:
      return evaluate_call(frame, expression);
    case Is::list:
    case Is::tuple: {
      WHET_TRY(std::vector<ScriptValue> items, evaluated());
      return ScriptValue(new_list(std::move(items), expression.kind == Is::tuple));
    }
    case Is::dictionary: {
      WHET_TRY(const std::vector<ScriptValue> items, evaluated());
      ScriptDictionary* made = new_dictionary();
      for (std::size_t i = 0; i + 1 < items.size(); i += 2) made->members.emplace_back(items[i], items[i + 1]);
      return ScriptValue(made);
    }
    case Is::subscript: {
      WHET_TRY(std::vector<ScriptValue> items, evaluated());
      WHET_TRY(auto item, call_builtin(*this, "torch.__getitem__", {std::move(items)}));
      return item ? Result<ScriptValue>(*item) : error("takes an element of what is no list, tuple or dictionary");
    }
    case Is::negative: {
      WHET_TRY(std::vector<ScriptValue> items, evaluated());
      WHET_TRY(auto number, call_builtin(*this, "torch.neg", {std::move(items)}));
      return number ? Result<ScriptValue>(*number) : error("negates what is no number");
    }
  }
  return ScriptValue();
}

Result<ScriptValue> ScriptRun::evaluate_name(Frame& frame, const ScriptExpression& expression) {
  const auto local = frame.locals.find(expression.text);
  if (local != frame.locals.end()) return local->second;
  if (expression.text == "inf") return ScriptValue(std::numeric_limits<double>::infinity());
  if (expression.text == "nan") return ScriptValue(std::numeric_limits<double>::quiet_NaN());
  return error("reads the name " + in_quotes(expression.text) + ", which nothing before it defines");
}

std::string ScriptRun::dotted(const Frame& frame, const ScriptExpression& expression) const {
  if (expression.kind == Is::name) return frame.locals.contains(expression.text) ? "" : expression.text;
  if (expression.kind != Is::attribute) return "";
  const std::string inner = dotted(frame, expression.items[0]);
  return inner.empty() ? "" : inner + "." + expression.text;
}

Result<ScriptValue> ScriptRun::evaluate_attribute(Frame& frame, const ScriptExpression& expression) {
  const std::string name = dotted(frame, expression);
  if (name.starts_with("CONSTANTS.")) return constant(expression.text);
  if (name.starts_with("__torch__.")) return ScriptValue(ScriptReference{name});
  if (!name.empty()) return error("reads the name " + in_quotes(name) + ", which nothing before it defines");
  WHET_TRY(const ScriptValue owner, evaluate(frame, expression.items[0]));
  auto* const* object = std::get_if<ScriptObject*>(&owner);
  if (object == nullptr) return error("reads the attribute " + in_quotes(expression.text) + " of " + kind_of(owner));
  return attribute(**object, expression.text);
}

Result<ScriptArguments> ScriptRun::evaluate_arguments(Frame& frame, const ScriptExpression& call, std::size_t first) {
  ScriptArguments given;
  for (std::size_t i = first; i < call.items.size(); ++i) {
    WHET_TRY(ScriptValue value, evaluate(frame, call.items[i]));
    given.places.push_back(std::move(value));
  }
  for (const auto& [keyword, expression] : call.keywords) {
    WHET_TRY(ScriptValue value, evaluate(frame, expression));
    given.keywords.emplace_back(keyword, std::move(value));
  }
  return given;
}

/// Whether a value is of a type, or of one of several; what lists hold is not looked at.
static bool is_of(const ScriptValue& value, const ScriptExpression& type) {
  if (type.kind == Is::tuple || type.kind == Is::list)
    return std::any_of(type.items.begin(), type.items.end(), [&](const auto& each) { return is_of(value, each); });
  const std::string& name = type.kind == Is::subscript ? type.items[0].text : type.text;
  auto* const* list = std::get_if<ScriptList*>(&value);
  if (name == "Optional" && type.items.size() == 2) return value.index() == 0 || is_of(value, type.items[1]);
  if (name == "List" || name == "list") return list != nullptr && !(*list)->is_tuple;
  if (name == "Tuple" || name == "tuple") return list != nullptr && (*list)->is_tuple;
  if (name == "Dict" || name == "dict") return std::holds_alternative<ScriptDictionary*>(value);
  if (name == "Tensor") return tensor_of(value) != nullptr;
  if (name == "bool") return std::holds_alternative<bool>(value);
  if (name == "int") return std::holds_alternative<std::int64_t>(value);
  if (name == "float") return std::holds_alternative<double>(value);
  if (name == "str") return std::holds_alternative<std::string>(value);
  return name == "NoneType" && value.index() == 0;
}

/// What is written as a call and takes types or names.
Result<std::optional<ScriptValue>> ScriptRun::call_of_language(Frame& frame, const std::string& name,
                                                               const ScriptExpression& call) {
  const std::size_t count = call.items.size() - 1;
  if (name == "uninitialized") return std::optional<ScriptValue>(ScriptValue());
  if ((name == "annotate" || name == "unchecked_cast") && count == 2) {
    WHET_TRY(ScriptValue value, evaluate(frame, call.items[2]));
    return std::optional<ScriptValue>(std::move(value));
  }
  if (name == "isinstance" && count == 2) {
    WHET_TRY(const ScriptValue value, evaluate(frame, call.items[1]));
    return std::optional<ScriptValue>(is_of(value, call.items[2]));
  }
  if (name == "unwrap_optional" && count == 1) {
    WHET_TRY(ScriptValue value, evaluate(frame, call.items[1]));
    return std::optional<ScriptValue>(std::move(value));
  }
  if (name == "getattr" && count == 2 && call.items[2].kind == Is::text) {
    WHET_TRY(const ScriptValue owner, evaluate(frame, call.items[1]));
    auto* const* object = std::get_if<ScriptObject*>(&owner);
    if (object == nullptr) return error("reads an attribute of " + kind_of(owner));
    WHET_TRY(ScriptValue value, attribute(**object, call.items[2].text));
    return std::optional<ScriptValue>(std::move(value));
  }
  if (name == "print" || name == "warnings.warn") return std::optional<ScriptValue>(ScriptValue());
  return std::optional<ScriptValue>();
}

Result<ScriptValue> ScriptRun::evaluate_call(Frame& frame, const ScriptExpression& call) {
  const std::vector<bool> wanted = std::exchange(wanted_, {});
  const ScriptExpression& callee = call.items[0];
  const std::string name = dotted(frame, callee);
  if (!name.empty()) {
    WHET_TRY(auto done, call_of_language(frame, name, call));
    if (done) return *std::move(done);
    WHET_TRY(ScriptArguments given, evaluate_arguments(frame, call, 1));
    if (name == "int" || name == "float" || name == "bool" || name == "str") {
      if (given.places.size() != 1) return error(name + "() takes one value");
      return converted(*this, name, given.places[0]);
    }
    if (name.starts_with("__torch__.")) return call_reference(name, std::move(given));
    std::string op = name;
    if (op.starts_with("ops.")) op.erase(0, 4);
    if (!op.starts_with("torch.") && op == name) return error("calls " + in_quotes(name) + ", which is not supported");
    WHET_TRY(auto value, call_builtin(*this, op, given));
    if (value) return *std::move(value);
    if (op.starts_with("torch.") && name == op) op = "aten." + op.substr(6);
    wanted_ = wanted;
    Result<ScriptValue> result = call_operator(op, given);
    wanted_.clear();
    return result;
  }
  if (callee.kind == Is::attribute) {
    WHET_TRY(const ScriptValue owner, evaluate(frame, callee.items[0]));
    auto* const* object = std::get_if<ScriptObject*>(&owner);
    if (object == nullptr) return error("calls the method " + in_quotes(callee.text) + " of " + kind_of(owner));
    WHET_TRY(ScriptArguments given, evaluate_arguments(frame, call, 1));
    return call_method(**object, callee.text, std::move(given));
  }
  WHET_TRY(const ScriptValue function, evaluate(frame, callee));
  const auto* reference = std::get_if<ScriptReference>(&function);
  if (reference == nullptr) return error("calls " + kind_of(function));
  WHET_TRY(ScriptArguments given, evaluate_arguments(frame, call, 1));
  return call_reference(reference->name, std::move(given));
}

/// A function, or a class whose instance is made.
Result<ScriptValue> ScriptRun::call_reference(const std::string& name, ScriptArguments given) {
  WHET_TRY(const ScriptFunction* function, archive_.find_function(name));
  if (function != nullptr) return call_function(*function, std::move(given));
  WHET_TRY(const ScriptClass* type, archive_.find_class(name));
  if (type == nullptr) return error("calls " + in_quotes(name) + ", which the file does not have");
  objects_.push_back({name, path_});
  ScriptObject& object = objects_.back();
  if (type->base != "NamedTuple") {
    WHET_TRY(const ScriptValue nothing, call_method(object, "__init__", std::move(given)));
    return ScriptValue(&object);
  }
  for (std::size_t i = 0; i < type->fields.size(); ++i) {
    const std::string& field = type->fields[i].first;
    if (i < given.places.size()) object.attributes[field] = given.places[i];
  }
  for (const auto& [keyword, value] : given.keywords) object.attributes[keyword] = value;
  return ScriptValue(&object);
}

// ---- Operators.

Result<std::optional<bool>> ScriptRun::truth(const ScriptValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return std::optional(*flag);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::optional(*number != 0);
  const auto* tensor = tensor_of(value);
  if (tensor == nullptr) return error("its condition is " + kind_of(value) + "; expected a boolean");
  WHET_TRY(const TensorType type, trace.type(*tensor));
  if (num_elements(type.shape) != 1) return error("its condition is " + to_string(type) + "; expected one element");
  WHET_TRY(const bool known, trace.is_known(*tensor));
  if (!known) return std::optional<bool>();
  WHET_TRY(const Tensor number, trace.known(*tensor, "condition"));
  return std::optional(number.get(0) != 0);
}

Result<Argument> ScriptRun::argument_of(const ScriptValue& value, int level) {
  if (level > 8) return error("an argument is nested more than 8 deep");
  count_items(1);
  WHET_RETURN_IF_ERROR(count_step());
  if (const auto* flag = std::get_if<bool>(&value)) return Argument{*flag};
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return Argument{*integer};
  if (const auto* number = std::get_if<double>(&value)) return Argument{*number};
  if (const auto* text = std::get_if<std::string>(&value)) return Argument{*text};
  if (const auto* tensor = tensor_of(value)) return Argument{Name{tensor->name}};
  if (auto* const* list = std::get_if<ScriptList*>(&value)) {
    Arguments items;
    for (const ScriptValue& each : (*list)->items) {
      WHET_TRY(Argument item, argument_of(each, level + 1));
      items.push_back(std::move(item));
    }
    return Argument{std::move(items)};
  }
  if (value.index() == 0 || std::holds_alternative<ScriptDevice>(value)) return Argument{};
  return error("gives " + kind_of(value) + " to an operator");
}

Result<ScriptValue> ScriptRun::call_operator(const std::string& op, const ScriptArguments& given) {
  WHET_RETURN_IF_ERROR(count_step());
  const std::vector<bool> wanted = std::exchange(wanted_, {});
  const std::string whole = with_overload(op, given);
  if (is_in_place(whole)) WHET_RETURN_IF_ERROR(expect_certain("writes into a tensor"));
  ScriptTrace::Call call{whole, path_, {}};
  for (const ScriptValue& each : given.places) {
    WHET_TRY(Argument argument, argument_of(each));
    call.arguments.emplace_back("", std::move(argument));
  }
  for (const auto& [keyword, each] : given.keywords) {
    WHET_TRY(Argument argument, argument_of(each));
    call.arguments.emplace_back(keyword, std::move(argument));
  }
  bool is_list = false;
  Status status = ok_status();
  call.wanted = wanted_results(whole, given, is_list, status);
  if (!status.ok()) return status.error();
  for (std::size_t i = 0; i < wanted.size() && i < call.wanted.size() && wanted.size() == call.wanted.size(); ++i)
    call.wanted[i] = wanted[i];
  const bool single = call.wanted.size() == 1 && !is_list;
  WHET_TRY(const std::vector<ScriptTensor> results, trace.call(call));
  if (single) return ScriptValue(results[0]);
  return ScriptValue(new_list({results.begin(), results.end()}, !is_list));
}

/// How many results an operator has; those of a list depend on its input.
std::vector<bool> ScriptRun::wanted_results(const std::string& op, const ScriptArguments& given, bool& is_list,
                                            Status& status) {
  struct Row {
    std::string_view op;
    std::size_t results;
  };
  static constexpr Row kSeveral[] = {{"aten.max.dim", 2},
                                     {"aten.min.dim", 2},
                                     {"aten.topk.", 2},
                                     {"aten.sort.", 2},
                                     {"aten.lstm.", 3},
                                     {"aten.gru.", 2},
                                     {"aten.rnn_tanh.", 2},
                                     {"aten.rnn_relu.", 2},
                                     {"aten.adaptive_max_pool1d.", 2},
                                     {"aten.adaptive_max_pool2d.", 2},
                                     {"aten.adaptive_max_pool3d.", 2},
                                     {"aten.max_pool2d_with_indices.", 2},
                                     {"aten.max_pool3d_with_indices.", 2},
                                     {"aten.native_layer_norm.", 3},
                                     {"aten.native_group_norm.", 3},
                                     {"aten.native_batch_norm.", 3},
                                     {"aten.var_mean.", 2},
                                     {"aten.std_mean.", 2},
                                     {"aten.aminmax.", 2},
                                     {"aten.lstm_cell.", 2},
                                     {"aten._unique2.", 3},
                                     {"aten.unique_dim.", 3},
                                     {"aten.median.dim", 2},
                                     {"aten.kthvalue.", 2},
                                     {"aten.cummax.", 2},
                                     {"aten.cummin.", 2},
                                     {"aten._native_multi_head_attention.", 2},
                                     {"aten._weight_norm_interface.", 2}};
  for (const Row& row : kSeveral)
    if (op.starts_with(row.op)) return std::vector<bool>(row.results, true);
  const auto argument = [&](std::size_t place, std::string_view name) -> const ScriptValue* {
    if (place < given.places.size()) return &given.places[place];
    for (const auto& [keyword, value] : given.keywords)
      if (keyword == name) return &value;
    return nullptr;
  };
  const auto integer = [&](std::size_t place, std::string_view name, std::int64_t otherwise) {
    const ScriptValue* value = argument(place, name);
    const auto* number = value == nullptr ? nullptr : std::get_if<std::int64_t>(value);
    return number == nullptr ? otherwise : *number;
  };
  const auto listed = [&](std::size_t place, std::string_view name) -> std::int64_t {
    const ScriptValue* value = argument(place, name);
    auto* const* list = value == nullptr ? nullptr : std::get_if<ScriptList*>(value);
    return list == nullptr ? -1 : static_cast<std::int64_t>((*list)->items.size());
  };
  const auto extent = [&](std::int64_t dim) -> std::int64_t {
    const auto* tensor = given.places.empty() ? nullptr : tensor_of(given.places[0]);
    if (tensor == nullptr) return -1;
    const Result<TensorType> type = trace.type(*tensor);
    if (!type.ok()) {
      status = type.error();
      return -1;
    }
    const auto rank = static_cast<std::int64_t>(type->shape.size());
    const std::int64_t d = dim < 0 ? dim + rank : dim;
    return d < 0 || d >= rank ? -1 : type->shape[static_cast<std::size_t>(d)];
  };
  const auto parts = [](std::int64_t whole, std::int64_t size) {
    return whole < 0 || size < 1 ? std::int64_t{-1} : std::max<std::int64_t>((whole + size - 1) / size, 1);
  };
  std::int64_t count = -1;
  if (op.starts_with("aten.unbind.")) {
    count = extent(integer(1, "dim", 0));
  } else if (op.starts_with("aten.chunk.")) {
    const std::int64_t whole = extent(integer(2, "dim", 0)), chunks = integer(1, "chunks", 1);
    count = whole < 0 || chunks < 1 ? -1 : whole == 0 ? chunks : parts(whole, (whole + chunks - 1) / chunks);
  } else if (op.starts_with("aten.split.Tensor")) {
    count = parts(extent(integer(2, "dim", 0)), integer(1, "split_size", 0));
  } else if (op.starts_with("aten.split.sizes") || op.starts_with("aten.split_with_sizes.")) {
    count = listed(1, "split_sizes");
  } else if (op.starts_with("aten.tensor_split.indices")) {
    count = listed(1, "indices");
    if (count >= 0) ++count;
  } else if (op.starts_with("aten.tensor_split.")) {
    count = integer(1, "sections", -1);
  } else if (op.starts_with("aten.meshgrid.") || op.starts_with("aten.broadcast_tensors.")) {
    count = listed(0, "tensors");
  } else {
    return {true};
  }
  is_list = count >= 0 && count <= 65536;
  return std::vector<bool>(is_list ? static_cast<std::size_t>(count) : 1, true);
}

}  // namespace whet::torch
