#include "compute/dag.h"

#include <algorithm>
#include <limits>

namespace whet {
namespace {

std::int64_t lowest(DType dtype) {
  switch (dtype) {
    case DType::i8:
      return std::numeric_limits<std::int8_t>::min();
    case DType::i16:
      return std::numeric_limits<std::int16_t>::min();
    case DType::i32:
      return std::numeric_limits<std::int32_t>::min();
    case DType::i64:
      return std::numeric_limits<std::int64_t>::min();
    default:
      return 0;
  }
}

std::int64_t highest(DType dtype) {
  switch (dtype) {
    case DType::i8:
      return std::numeric_limits<std::int8_t>::max();
    case DType::u8:
      return std::numeric_limits<std::uint8_t>::max();
    case DType::i16:
      return std::numeric_limits<std::int16_t>::max();
    case DType::i32:
      return std::numeric_limits<std::int32_t>::max();
    case DType::i64:
      return std::numeric_limits<std::int64_t>::max();
    default:
      return 1;
  }
}

void for_each_load(const Expr& e, const std::function<void(const Load&)>& visit) {
  for_each(e, [&](const Expr& x) {
    if (const auto* l = std::get_if<Load>(&x->kind)) visit(*l);
  });
}

OpId op_of(const Load& l) { return OpId(l.source.value); }

}  // namespace

Expr identity_of(Reducer reducer, DType dtype) {
  const bool real = is_float(dtype);
  const double infinity = std::numeric_limits<double>::infinity();
  switch (reducer) {
    case Reducer::sum:
      return real ? float_const(0, dtype) : int_const(0, dtype);
    case Reducer::prod:
      return real ? float_const(1, dtype) : int_const(1, dtype);
    case Reducer::max:
      return real ? float_const(-infinity, dtype) : int_const(lowest(dtype), dtype);
    case Reducer::min:
      return real ? float_const(infinity, dtype) : int_const(highest(dtype), dtype);
  }
  return {};
}

BinaryOp binary_of(Reducer reducer) {
  switch (reducer) {
    case Reducer::sum:
      return BinaryOp::add;
    case Reducer::prod:
      return BinaryOp::mul;
    case Reducer::max:
      return BinaryOp::max;
    case Reducer::min:
      return BinaryOp::min;
  }
  return BinaryOp::add;
}

Expr combine(Reducer reducer, Expr a, Expr b) { return binary(binary_of(reducer), std::move(a), std::move(b)); }

Expr load(const ComputeDag& dag, OpId id, std::vector<Expr> index) {
  WHET_CHECK(index.size() == dag.op(id).shape.size(), "one index a dimension");
  return load(dag.op(id).dtype, SourceId(id.value), std::move(index));
}

Expr axis_var(const Element& e, std::int64_t k) { return var(VarId(k), axis_of(e, AxisId(k)).name); }

const Axis& axis_of(const Element& e, AxisId id) {
  WHET_CHECK(id.valid() && id.index() < e.axes.size() + e.reduce_axes.size(), "no such axis");
  return id.index() < e.axes.size() ? e.axes[id.index()] : e.reduce_axes[id.index() - e.axes.size()];
}

std::vector<OpId> inputs_of(const ComputeDag& dag, OpId id) {
  std::vector<OpId> found;
  if (dag.op(id).is_placeholder()) return found;
  for_each_load(dag.op(id).element().body, [&](const Load& l) {
    if (std::find(found.begin(), found.end(), op_of(l)) == found.end()) found.push_back(op_of(l));
  });
  return found;
}

std::vector<OpId> consumers_of(const ComputeDag& dag, OpId id) {
  std::vector<OpId> found;
  for (std::int64_t i = id.value + 1; i < static_cast<std::int64_t>(dag.ops.size()); ++i) {
    const std::vector<OpId> inputs = inputs_of(dag, OpId(i));
    if (std::find(inputs.begin(), inputs.end(), id) != inputs.end()) found.push_back(OpId(i));
  }
  return found;
}

bool is_constant(const ComputeDag& dag, OpId id) {
  if (const auto* p = std::get_if<Placeholder>(&dag.op(id).def)) return p->constant;
  const std::vector<OpId> inputs = inputs_of(dag, id);
  return std::all_of(inputs.begin(), inputs.end(), [&](OpId input) { return is_constant(dag, input); });
}

ComputeDag without_dead_ops(const ComputeDag& dag) {
  std::vector<bool> live(dag.ops.size(), false);
  for (OpId id : dag.outputs) live[id.index()] = true;
  for (std::size_t i = dag.ops.size(); i-- > 0;) {
    if (dag.ops[i].is_placeholder()) live[i] = true;
    if (!live[i]) continue;
    for (OpId input : inputs_of(dag, OpId(static_cast<std::int64_t>(i)))) live[input.index()] = true;
  }
  ComputeDag out;
  out.sizes = dag.sizes;
  out.at = dag.at;
  std::vector<OpId> renamed(dag.ops.size());
  for (std::size_t i = 0; i < dag.ops.size(); ++i) {
    if (!live[i]) continue;
    Op op = dag.ops[i];
    if (!op.is_placeholder()) op.element().body = with_sources(op.element().body, renamed);
    renamed[i] = out.add(std::move(op));
  }
  for (OpId id : dag.outputs) out.outputs.push_back(renamed[id.index()]);
  return out;
}

ComputeDag dag_at(const ComputeDag& dag, const SizeValues& values) {
  ComputeDag out = dag;
  if (!is_sized(dag)) return out;
  WHET_CHECK(check_values(dag.sizes, values).ok(), "values of the ranges");
  const auto fix = [&](std::int64_t& number, Expr& size) {
    if (size.defined()) number = value_at(size, values);
    size = Expr();
  };
  out.sizes.clear();
  out.at.clear();
  for (Op& op : out.ops) {
    for (std::size_t d = 0; d < op.sizes.size(); ++d) fix(op.shape[d], op.sizes[d]);
    op.sizes.clear();
    if (auto* p = std::get_if<Placeholder>(&op.def)) {
      fix(p->index_bound, p->size);
      continue;
    }
    Element& e = op.element();
    for (Axis& axis : e.axes) fix(axis.extent, axis.size);
    for (Axis& axis : e.reduce_axes) fix(axis.extent, axis.size);
    e.body = expr_at(e.body, values);
  }
  return out;
}

ComputeDag moved_to(const ComputeDag& dag, const SizeValues& values) {
  ComputeDag out = dag;
  if (!is_sized(dag)) return out;
  const ComputeDag there = dag_at(dag, values);
  const auto move = [](std::vector<Axis>& axes, const std::vector<Axis>& moved) {
    for (std::size_t d = 0; d < axes.size(); ++d) axes[d].extent = moved[d].extent;
  };
  for (std::size_t i = 0; i < out.ops.size(); ++i) {
    Op& op = out.ops[i];
    op.shape = there.ops[i].shape;
    if (auto* p = std::get_if<Placeholder>(&op.def)) {
      p->index_bound = std::get<Placeholder>(there.ops[i].def).index_bound;
      continue;
    }
    move(op.element().axes, there.ops[i].element().axes);
    move(op.element().reduce_axes, there.ops[i].element().reduce_axes);
  }
  out.at = values;
  return out;
}

Expr with_sources(const Expr& e, const std::vector<OpId>& renamed) {
  return rewrite(e, [&](const Expr& x) -> Expr {
    const auto* l = std::get_if<Load>(&x->kind);
    if (!l) return {};
    std::vector<Expr> index;
    for (const Expr& i : l->index) index.push_back(with_sources(i, renamed));
    return load(x->dtype, SourceId(renamed[op_of(*l).index()].value), std::move(index));
  });
}

}  // namespace whet
