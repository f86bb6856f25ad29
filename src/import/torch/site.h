#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import/site.h"
#include "import/torch/program.h"

namespace whet::torch {

struct TorchRow;

/// The parts of complex numbers, which are a list of two values while importing.
struct ComplexParts {
  ValueId real, imaginary;
};

/// The type that holds both.
DType wider(DType a, DType b);

/// The site of a node of PyTorch: its arguments by the names that the table has for them, with their defaults. Results and
/// steps: see NodeSite.
class TorchSite : public NodeSite {
 public:
  /// All that the node reads is defined. `program`: the nodes before it, perhaps with itself and those behind.
  TorchSite(GrowingGraph& graph, const TorchNode& node, const TorchProgram& program, bool is_inner = false)
      : NodeSite(graph, node.label, node.outputs, is_inner), node_(node), program_(program) {}

  /// Imports the node; every result that something reads is given.
  Status import();

  const std::string& op() const { return node_.op; }

  // ---- Results: see NodeSite. Those that are computed in f32 for f16 are rounded.
  using NodeSite::give_constant;
  Status give(ValueId x, std::size_t i = 0);
  Status pass(ValueId x, std::size_t i = 0);
  Status give(const Result<ValueId>& x, std::size_t i = 0) { return x.ok() ? give(*x, i) : x.error(); }
  Status pass(const Result<ValueId>& x, std::size_t i = 0) { return x.ok() ? pass(*x, i) : x.error(); }
  Status give(const Operator&, std::vector<ValueId> inputs, std::size_t i = 0);

  // ---- Arguments. Names are those of the table. One that is left out has the table's default.
  bool has(std::string_view name) const;  ///< given, or with a default, and not none
  bool is_tensor(std::string_view name) const;
  Result<ValueId> tensor(std::string_view name);
  /// None where the tensor is not complex; every other access refuses complex numbers.
  Result<std::optional<ComplexParts>> complex(std::string_view name);
  /// Whether the tensor is all of its memory, row by row (layout.h). Inputs of bodies are not known to be.
  bool lies_row_by_row(std::string_view name) const;
  Result<std::optional<ValueId>> optional_tensor(std::string_view name);
  Result<std::vector<ValueId>> tensors(std::string_view name);
  /// A list, in which some are none.
  Result<std::vector<std::optional<ValueId>>> optional_tensors(std::string_view name);
  Result<std::int64_t> integer(std::string_view name);
  Result<double> number(std::string_view name);
  Result<bool> flag(std::string_view name);
  Result<std::string> text(std::string_view name);
  Result<DType> dtype(std::string_view name);
  /// One integer is a list of one.
  Result<std::vector<std::int64_t>> integers(std::string_view name);
  /// The same as sizes, which values may decide.
  Result<std::vector<Size>> sizes(std::string_view name);
  Result<Size> size(std::string_view name);
  /// `count` entries, of which one stands for all; each in low .. kMaxElements.
  Result<std::vector<std::int64_t>> entries(std::string_view name, std::size_t count, std::int64_t low);
  Result<std::vector<double>> numbers(std::string_view name);
  Result<std::shared_ptr<const TorchProgram>> program(std::string_view name);
  using NodeSite::dtype, NodeSite::sizes;

  // ---- Types.
  /// The type that torch computes in: that of tensors with dimensions, unless scalars are of a wider kind.
  Result<DType> common_type(const std::vector<std::string_view>& names);
  /// A tensor or a number as a tensor of `dtype`.
  Result<ValueId> operand(std::string_view name, DType dtype);
  /// The tensor, integers as f32.
  Result<ValueId> floats(std::string_view name);
  /// An axis of x, counted from 0; a scalar has axis 0.
  Result<std::int64_t> axis(std::string_view name, ValueId x);
  /// Axes of x; no list, or an empty one, are all.
  Result<std::vector<std::int64_t>> axes(std::string_view name, ValueId x);

  /// Imports a program where the node is, its inputs being `inputs`, and gives its outputs.
  Result<std::vector<ValueId>> inlined(const TorchProgram&, const std::vector<ValueId>& inputs);

 private:
  Status bind();
  /// What moves elements of complex numbers moves both parts.
  Status import_parts(const Name& self, ComplexParts);
  const Argument& argument(std::string_view name) const;
  Error wrong_kind(std::string_view name, const char* expected) const;
  Result<std::int64_t> as_integer(const Argument&, std::string_view name);
  Result<Size> as_size(const Argument&, std::string_view name);
  Result<double> as_number(const Argument&, std::string_view name);
  /// The operator has an argument of that name, which is given and not the usual number.
  bool says(std::string_view name, std::optional<std::int64_t> usual) const;
  /// Whether torch computes the operator in f32 though all its floats are f16.
  bool is_wide() const;
  Result<ValueId> value_of(const Name&);

  const TorchNode& node_;
  const TorchProgram& program_;
  const TorchRow* row_ = nullptr;
  bool wide_ = false;  ///< f16 is read as f32, and results are rounded
  std::vector<std::pair<std::string_view, Argument>> bound_;
};

/// Compares a node's results with the types that the file has of them.
Status check_types(const GrowingGraph&, const TorchNode&, const TorchProgram&);

}  // namespace whet::torch
