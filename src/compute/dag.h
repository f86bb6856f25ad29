#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "compute/expr.h"
#include "tensor/tensor.h"

namespace whet {

/// An op of a ComputeDag, counted from 0 in topological order; the same number as the SourceId of loads from it.
using OpId = Id<struct OpTag>;
/// An axis of one op: spatial axes 0..n-1, then reduce axes; the same number as the VarId in its body.
using AxisId = Id<struct AxisTag>;

/// What an axis stands for. Templates and rules recognise by role and family, never by name.
enum class AxisRole : std::uint8_t { other, batch, group, depth, row, column, out_channel, in_channel, tap, channel };
/// Which operator family defined an op.
enum class OpFamily : std::uint8_t {
  other,
  elementwise,
  injective,
  pad,
  conv,
  depthwise,
  matmul,
  pool,
  reduce,
  softmax,
  resize
};
enum class Reducer : std::uint8_t { sum, prod, max, min };

/// The reducer's identity: 0, 1, the lowest, the highest value of the dtype (floats: -inf, inf).
Expr identity_of(Reducer, DType);
BinaryOp binary_of(Reducer);
/// a ∘ b
Expr combine(Reducer, Expr a, Expr b);

struct Axis {
  std::string name;
  std::int64_t extent = 1;  ///< >= 1
  AxisRole role = AxisRole::other;
};

/// An input. Constant ones are weights: packed and transformed at compile time.
struct Placeholder {
  bool constant = false;
  /// Legal values are 0 .. index_bound-1 (an index tensor), when > 0; any value otherwise.
  std::int64_t index_bound = 0;
};

/// out[axes] = body, or out[axes] = reduction over reduce_axes of body.
struct Element {
  std::vector<Axis> axes;         ///< spatial, one a dimension of the result
  std::vector<Axis> reduce_axes;  ///< empty exactly when `reducer` is empty
  std::optional<Reducer> reducer;
  Expr body;  ///< of the op's dtype; loads name ops of lower id, indices inside their shapes (guarded by select)
  OpFamily family = OpFamily::other;
};

struct Op {
  std::string name;  ///< unique in the DAG, for printing
  DType dtype = DType::f32;
  Shape shape;
  std::variant<Placeholder, Element> def;

  bool is_placeholder() const { return std::holds_alternative<Placeholder>(def); }
  const Element& element() const { return std::get<Element>(def); }
  Element& element() { return std::get<Element>(def); }
};

/// What a task computes, and nothing about order. Invariants: see `verify`.
struct ComputeDag {
  std::vector<Op> ops;
  std::vector<OpId> outputs;

  const Op& op(OpId id) const { return ops[id.index()]; }
  Op& op(OpId id) { return ops[id.index()]; }
  OpId add(Op op) {
    ops.push_back(std::move(op));
    return OpId(static_cast<std::int64_t>(ops.size()) - 1);
  }
};

/// A load of op `id` at `index` with the right dtype.
Expr load(const ComputeDag&, OpId, std::vector<Expr> index);
/// The axis variable `k` of an op's element (spatial, then reduce).
Expr axis_var(const Element&, std::int64_t k);
const Axis& axis_of(const Element&, AxisId);

/// Ids in order, dtypes and ranks agree, names unique, outputs exist and are elements.
Status verify(const ComputeDag&);
/// Ops that `id` reads, each once, in order of first appearance.
std::vector<OpId> inputs_of(const ComputeDag&, OpId id);
std::vector<OpId> consumers_of(const ComputeDag&, OpId id);
/// True when the op depends on constant placeholders alone.
bool is_constant(const ComputeDag&, OpId id);
/// Drops ops that no output needs (placeholders stay, so that arguments keep their order).
ComputeDag without_dead_ops(const ComputeDag&);
/// `e` with its loads reading op `renamed[k]` instead of op k.
Expr with_sources(const Expr& e, const std::vector<OpId>& renamed);

/// The documented notation (docs/formats/dag.md), one op a line. Parses back: parse_dag(to_text(d)) equals d but for
/// roles and families, which the text carries as trailing `# family axis:role ...` comments.
std::string to_text(const ComputeDag&);
Result<ComputeDag> parse_dag(std::string_view text);
/// One expression in the notation of `to_text`; `source_name` names loads.
std::string to_text(const Expr&, const std::function<std::string(SourceId)>& source_name);
/// How names and constants are written; an empty function stands for the plain way.
struct ExprStyle {
  std::function<std::string(SourceId)> source;
  std::function<std::string(const Var&)> var;
  std::function<std::string(std::int64_t)> index_constant;  ///< constants of dtype i64
};
std::string to_text(const Expr&, const ExprStyle&);

/// Floating point operations by the direct algorithm: every arithmetic operation and call in a body once for each
/// combination of the axes that occur in it, and a reduction's combine once per element and step; selects, comparisons
/// and index arithmetic are free.
double flops(const ComputeDag&);
/// Bytes of all inputs and outputs, each once.
double bytes(const ComputeDag&);

/// The workload key `["<structure hash>", extents...]`: names removed, every constant derived from shapes a parameter.
std::string workload_key(const ComputeDag&);
/// Equality up to names: the truth behind equal keys.
bool same_dag(const ComputeDag&, const ComputeDag&);

/// Runs the DAG naively: floats in double (and rounded to the op's dtype at its end), integers exactly. `inputs`: one
/// tensor a placeholder, in order. Gives one tensor an op (placeholders included), so that inner values can be
/// compared.
Result<std::vector<Tensor>> evaluate_all(const ComputeDag&, const std::vector<Tensor>& inputs);
/// The outputs alone.
Result<std::vector<Tensor>> evaluate(const ComputeDag&, const std::vector<Tensor>& inputs);
/// Some elements of op `id` (row-major numbers), computing of the ops before it only what they need: a 1-d tensor, one
/// value an element.
Result<Tensor> evaluate_at(const ComputeDag&, const std::vector<Tensor>& inputs, OpId id,
                           const std::vector<std::int64_t>& elements);
/// One tensor a placeholder, of its dtype and shape.
Status check_inputs(const ComputeDag&, const std::vector<Tensor>& inputs);

}  // namespace whet
