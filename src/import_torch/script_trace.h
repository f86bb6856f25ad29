#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "import/growing.h"
#include "import_torch/aliases.h"
#include "import_torch/program.h"
#include "import_torch/script_value.h"

namespace whet::torch {

/// The program that a TorchScript function becomes when it is followed with inputs of known types: nodes of the table's
/// operators in a row, without writes. Each is imported as it comes, so that its result's type is known to what follows.
class ScriptTrace {
 public:
  /// `native_types`: bfloat16 and int16 are taken as they are.
  explicit ScriptTrace(bool native_types) { graph_.native_types = native_types; }
  bool native_types() const { return graph_.native_types; }
  /// An input; `value` where it is known.
  void add_input(const std::string& name, const TensorType&, const Tensor* value);
  /// The names of buffers that are inputs.
  void set_states(std::set<std::string> names) { states_ = std::move(names); }
  /// A parameter, buffer or constant, under a name that no other value has.
  ScriptTensor add_constant(const std::string& name, const Tensor&);

  /// A node of the operator `op` ("aten.relu.default") with `results` results, of which empty ones are not wanted. Names are
  /// made of the module's path.
  struct Call {
    std::string op, path;
    std::vector<std::pair<std::string, Argument>> arguments;
    std::vector<bool> wanted = {true};
  };
  Result<std::vector<ScriptTensor>> call(const Call&);

  const std::string& what_failed() const { return failed_; }
  /// Whether the error of a call was that of its node: the program ends with it, and importing the program says the same.
  bool ends_in_failure() const { return !failed_.empty(); }

  /// That of its parts where it is complex.
  Result<TensorType> type(const ScriptTensor&);
  Result<bool> is_complex(const ScriptTensor&);
  /// The value where it is known; `what` names it in the error otherwise.
  Result<Tensor> known(const ScriptTensor&, const std::string& what);
  Result<bool> is_known(const ScriptTensor&);
  /// The dimensions whose number of results values decide.
  Result<std::set<std::size_t>> counted(const ScriptTensor&);
  /// Whether it is computed from such numbers alone, so that sizes may be made of it.
  Result<bool> is_size(const ScriptTensor&);
  Result<std::string> current(const ScriptTensor&);

  /// Inputs whose values something asked for.
  const std::set<std::string>& needed_values() const { return graph_.needed_values; }
  /// Inputs of the program that floats were taken for, and that count places or classes.
  const std::set<std::string>& integer_inputs() const { return integer_inputs_; }
  bool is_written(const std::string& name) const { return writes_.is_written(name); }
  const TorchProgram& program() const { return program_; }
  std::vector<NamedTensor> constants;
  std::vector<FileInput> state_inputs;

 private:
  Status import_nodes();
  std::string unique(const std::string& name);
  void find_integer_inputs(const TorchNode&);

  GrowingGraph graph_;
  WriteRemover writes_;
  TorchProgram program_;
  std::set<std::string> names_, integer_inputs_, states_;
  std::map<std::string, int> last_;
  std::string failed_;
};

}  // namespace whet::torch
