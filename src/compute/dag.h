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
#include "compute/size.h"
#include "tensor/tensor.h"

namespace whet {

/// An op of a ComputeDag, counted from 0 in topological order. It is the same number as the SourceId of loads from it.
using OpId = Id<struct OpTag>;
/// An axis of one op: spatial axes 0..n-1, then reduce axes. It is the same number as the VarId in the op's body.
using AxisId = Id<struct AxisTag>;

/// The meaning of an axis. Templates and rules recognise axes by role and family, never by name.
enum class AxisRole : std::uint8_t { other, batch, group, depth, row, column, out_channel, in_channel, tap, channel };
/// The family of the operator that defined an op.
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
  resize,
  unfold  ///< a copy in the order of its reader (compute/unfold.h)
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
  Expr size = {};  ///< `extent` as a function of the DAG's sizes; undefined: the same at all sizes
};

/// An input. Constant inputs are weights: they are packed and transformed at compile time.
struct Placeholder {
  bool constant = false;
  /// If > 0, this is an index tensor with the legal values 0 .. index_bound-1. Otherwise any value is legal.
  std::int64_t index_bound = 0;
  Expr size = {};  ///< `index_bound` as a function of the DAG's sizes; undefined: the same at all sizes
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
  /// The extents of `shape` as functions of the DAG's sizes, one a dimension, undefined where the extent is the same at all sizes;
  /// empty: none changes. Of an element op these are the `size`s of its axes.
  std::vector<Expr> sizes = {};

  bool is_placeholder() const { return std::holds_alternative<Placeholder>(def); }
  const Element& element() const { return std::get<Element>(def); }
  Element& element() { return std::get<Element>(def); }
};

/// The computation of a task, without an order. `verify` has the invariants.
///
/// A DAG may have sizes. Its numbers (extents, bounds of indices) are then those at `at`, and have their functions beside them.
/// Constants in bodies that change are expressions of sizes (size_var), such as `(n - 1)` and `1f/f32(n)`, without a number beside them:
/// who needs the DAG of one size takes `dag_at`.
struct ComputeDag {
  std::vector<Op> ops;
  std::vector<OpId> outputs;
  std::vector<SizeRange> sizes = {};  ///< empty: the DAG is of one size, as most are
  SizeValues at = {};                 ///< one a size

  const Op& op(OpId id) const { return ops[id.index()]; }
  Op& op(OpId id) { return ops[id.index()]; }
  OpId add(Op op) {
    ops.push_back(std::move(op));
    return OpId(static_cast<std::int64_t>(ops.size()) - 1);
  }
};

/// A load of op `id` at `index`, with the op's dtype.
Expr load(const ComputeDag&, OpId, std::vector<Expr> index);
/// The axis variable `k` of an op's element (spatial, then reduce).
Expr axis_var(const Element&, std::int64_t k);
const Axis& axis_of(const Element&, AxisId);

/// The DAG of one size; it has no sizes. `values` are of the DAG's ranges. Equal to the one that the network has when it is read at
/// that size. A DAG without sizes is its own.
ComputeDag dag_at(const ComputeDag&, const SizeValues& values);
/// The same DAG with its numbers at other values of its sizes.
ComputeDag moved_to(const ComputeDag&, const SizeValues& values);
/// Whether the axis's extent changes with the sizes.
inline bool is_sized(const Axis& axis) { return axis.size.defined(); }
inline bool is_sized(const ComputeDag& dag) { return !dag.sizes.empty(); }

/// Checks that ids are in order, dtypes and ranks agree, names are unique, and outputs exist and are elements. Of a DAG with sizes also
/// that functions give the numbers at `at`, and extents of 1 or more at every size.
Status verify(const ComputeDag&);
/// The ops that `id` reads, each once, in order of first appearance.
std::vector<OpId> inputs_of(const ComputeDag&, OpId id);
std::vector<OpId> consumers_of(const ComputeDag&, OpId id);
/// Whether the op depends on constant placeholders alone.
bool is_constant(const ComputeDag&, OpId id);
/// Drops ops that no output needs. Placeholders stay, so that arguments keep their order.
ComputeDag without_dead_ops(const ComputeDag&);
/// `e` with its loads reading op `renamed[k]` instead of op k.
Expr with_sources(const Expr& e, const std::vector<OpId>& renamed);

/// The documented notation (docs/formats/dag.md), one op a line. Roles and families are in trailing `# family axis:role
/// ...` comments, which parse_dag reads: parse_dag(to_text(d)) equals d.
std::string to_text(const ComputeDag&);
Result<ComputeDag> parse_dag(std::string_view text);
/// One expression in the notation of `to_text`; `source_name` names loads.
std::string to_text(const Expr&, const std::function<std::string(SourceId)>& source_name);
/// The spelling of names and constants. An empty function means the plain spelling.
struct ExprStyle {
  std::function<std::string(SourceId)> source;
  std::function<std::string(const Var&)> var;
  std::function<std::string(std::int64_t)> index_constant;  ///< constants of dtype i64
};
std::string to_text(const Expr&, const ExprStyle&);

/// Floating point operations by the direct algorithm. Every arithmetic operation and call in a body counts once for
/// each combination of the axes that occur in it. A reduction's combine counts once for each element and step. Selects,
/// comparisons and index arithmetic do not count.
double flops(const ComputeDag&);
/// The bytes of all inputs and outputs, each counted once.
double bytes(const ComputeDag&);

/// The workload key `["<structure hash>", extents...]`. Names do not enter it, and every constant derived from shapes
/// is a parameter. The key of a DAG with sizes is that of the DAG at `at`, so that its records are found by it.
std::string workload_key(const ComputeDag&);
/// Equality up to names; of DAGs with sizes at all sizes. Equal keys are checked by it.
bool same_dag(const ComputeDag&, const ComputeDag&);

/// Evaluates the DAG naively: floats in double, rounded to the op's dtype at its end; integers exactly. `inputs` has
/// one tensor for each placeholder, in order. Returns one tensor for each op (placeholders included), so that inner
/// values can be compared.
Result<std::vector<Tensor>> evaluate_all(const ComputeDag&, const std::vector<Tensor>& inputs);
/// Evaluates the DAG and returns the outputs alone.
Result<std::vector<Tensor>> evaluate(const ComputeDag&, const std::vector<Tensor>& inputs);
/// Evaluates some elements of op `id` (row-major numbers). Of the ops before it, only the needed elements are computed.
/// Returns a 1-d tensor with one value for each element.
Result<Tensor> evaluate_at(const ComputeDag&, const std::vector<Tensor>& inputs, OpId id,
                           const std::vector<std::int64_t>& elements);
/// Checks that there is one tensor for each placeholder, of its dtype and shape.
Status check_inputs(const ComputeDag&, const std::vector<Tensor>& inputs);

}  // namespace whet
