#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "import_torch/script_archive.h"
#include "import_torch/script_trace.h"
#include "import_torch/script_value.h"

namespace whet::torch {

/// What a function or an operator is given.
struct ScriptArguments {
  std::vector<ScriptValue> places;
  std::vector<std::pair<std::string, ScriptValue>> keywords{};
};

/// Follows a TorchScript program with inputs of known types: modules are called, conditions that are known decide, loops are
/// walked, and each operator of torch becomes a node of the trace. Nothing else happens: there are no files, clocks or
/// processes in the language. Steps, rounds and levels are bounded.
class ScriptRun {
 public:
  ScriptRun(ScriptArchive& archive, ScriptTrace& trace, std::string what)
      : trace(trace), archive_(archive), what_(std::move(what)) {}

  /// The module that the file holds, and what its method `forward` takes, without "self".
  Status load();
  const std::vector<ScriptParameter>& parameters() const { return parameters_; }
  /// Calls forward.
  Result<ScriptValue> forward(std::vector<ScriptValue> arguments);
  /// An attribute that is a tensor of the file.
  struct Buffer {
    std::string path;
    const ScriptObject* owner;
    std::string attribute;
  };
  /// By the names that the trace has for their tensors.
  const std::map<std::string, Buffer>& buffers() const { return buffers_; }
  /// A parameter's default.
  Result<ScriptValue> literal(const ScriptExpression&);
  const ScriptClass* class_of(const ScriptObject& object);

  // ---- For the functions of the language (script_builtins.h).
  ScriptTrace& trace;
  /// "file: line 12 of forward: sentence"
  Error error(const std::string& sentence) const;
  /// The path of the module in which an operator is called.
  const std::string& path() const { return path_; }
  ScriptList* new_list(std::vector<ScriptValue> items, bool is_tuple = false);
  ScriptDictionary* new_dictionary();
  /// What the program makes while it is followed is bounded.
  void count_items(std::size_t count) { items_ += static_cast<std::int64_t>(count); }
  /// Calls an operator of the table.
  Result<ScriptValue> call_operator(const std::string& op, const ScriptArguments&);
  /// A value as an argument of an operator.
  Result<Argument> argument_of(const ScriptValue&, int level = 0);
  /// Whether a value is true; none where it is computed while the network runs.
  Result<std::optional<bool>> truth(const ScriptValue&);
  /// Nothing may be written where it is not known whether it happens.
  Status expect_certain(const std::string& what) const;

 private:
  using Locals = std::map<std::string, ScriptValue>;
  struct Frame {
    Locals locals;
    std::optional<ScriptValue> result;
    std::string function;
    const ScriptFunction* source = nullptr;
  };

  Status count_step();
  Status execute(Frame&, const std::vector<ScriptStatement>&);
  Status execute(Frame&, const ScriptStatement&);
  Status assign(Frame&, const ScriptStatement&);
  Status store(Frame&, const ScriptExpression& target, ScriptValue);
  Status choose(Frame&, const ScriptStatement&);
  Status choose_both(Frame&, const ScriptStatement&, const ScriptTensor& condition);
  Status count(Frame&, const ScriptStatement&);
  Status repeat(Frame&, const ScriptStatement&);
  Result<ScriptValue> merged(const ScriptTensor& condition, const ScriptValue& yes, const ScriptValue& no,
                             const std::string& name);

  Result<ScriptValue> evaluate(Frame&, const ScriptExpression&);
  Result<ScriptValue> evaluate_kind(Frame&, const ScriptExpression&);
  Result<ScriptValue> evaluate_name(Frame&, const ScriptExpression&);
  Result<ScriptValue> evaluate_attribute(Frame&, const ScriptExpression&);
  Result<ScriptValue> evaluate_call(Frame&, const ScriptExpression&);
  Result<ScriptArguments> evaluate_arguments(Frame&, const ScriptExpression& call, std::size_t first);
  /// "torch.add" of names that are no local values; "" elsewhere.
  std::string dotted(const Frame&, const ScriptExpression&) const;
  Result<std::optional<ScriptValue>> call_of_language(Frame&, const std::string& name, const ScriptExpression& call);
  Result<ScriptValue> call_reference(const std::string& name, ScriptArguments);
  Result<ScriptValue> call_method(ScriptObject&, const std::string& name, ScriptArguments);
  Result<ScriptValue> call_function(const ScriptFunction&, ScriptArguments);
  Result<ScriptValue> attribute(ScriptObject&, const std::string& name);
  Result<ScriptValue> constant(const std::string& name);
  Result<ScriptValue> saved_value(SavedTensors&, PickleId, const std::string& path, int level);
  Result<std::optional<ScriptValue>> saved_object(PickleId, const std::string& path);
  std::vector<bool> wanted_results(const std::string& op, const ScriptArguments&, bool& is_list, Status& status);

  ScriptArchive& archive_;
  std::string what_, path_, function_;
  int line_ = 0, level_ = 0, uncertain_ = 0;
  std::int64_t steps_ = 0, items_ = 0;
  std::vector<ScriptParameter> parameters_;
  ScriptObject* root_ = nullptr;
  std::vector<bool> wanted_;  ///< of the results of the call that is evaluated next; empty: all
  std::deque<ScriptList> lists_;
  std::deque<ScriptDictionary> dictionaries_;
  std::deque<ScriptObject> objects_;
  std::map<PickleId, ScriptObject*> loaded_;
  std::map<std::string, ScriptValue> constants_;
  std::map<std::string, Buffer> buffers_;
};

}  // namespace whet::torch
