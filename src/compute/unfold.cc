#include "compute/unfold.h"

#include <algorithm>

namespace whet {
namespace {

/// How the reader reads the tensor: the one load, or what is in the way.
Result<Expr> only_load(const ComputeDag& dag, OpId tensor, OpId reader) {
  Expr found;
  bool twice = false, chosen = false;
  const auto reads = [&](const Expr& e) {
    const Load* load = std::get_if<Load>(&e->kind);
    return load && load->source.value == tensor.value;
  };
  for_each(dag.op(reader).element().body, [&](const Expr& e) {
    if (reads(e)) {
      twice = twice || (found.defined() && !same(found, e));
      found = e;
    }
    if (const Select* select = std::get_if<Select>(&e->kind))
      for (const Expr& side : {select->if_true, select->if_false})
        for_each(side, [&](const Expr& part) { chosen = chosen || reads(part); });
  });
  const std::string name = dag.op(tensor).name;
  if (!found.defined()) return Error{"does not read " + name};
  if (twice) return Error{"reads " + name + " at several places"};
  if (chosen) return Error{"reads " + name + " under a condition"};
  return found;
}

/// The factor of the reader's product that reads the tensor, or what is in the way.
Result<Expr> only_factor(const ComputeDag& dag, OpId tensor, OpId reader) {
  const std::string name = dag.op(tensor).name;
  const Binary* product = std::get_if<Binary>(&dag.op(reader).element().body->kind);
  if (!product || product->op != BinaryOp::mul) return Error{"is no product of two factors"};
  const auto reads = [&](const Expr& factor) {
    bool found = false;
    for_each(factor, [&](const Expr& part) {
      const Load* load = std::get_if<Load>(&part->kind);
      found = found || (load && load->source.value == tensor.value);
    });
    return found;
  };
  const bool left = reads(product->a), right = reads(product->b);
  if (left && right) return Error{"reads " + name + " in both factors"};
  if (!left && !right) return Error{"does not read " + name};
  return left ? product->a : product->b;
}

std::string fresh_name(const ComputeDag& dag, std::string name) {
  while (std::any_of(dag.ops.begin(), dag.ops.end(), [&](const Op& op) { return op.name == name; })) name += "_";
  return name;
}

/// A number that no op has stands for a copy until the others are renamed.
SourceId mark_of(const ComputeDag& dag) { return SourceId(static_cast<std::int64_t>(dag.ops.size())); }

/// `read` of the reader's body becomes `instead`, which loads the copy by its mark.
ComputeDag with_copy(const ComputeDag& dag, OpId reader, const Op& copy, const Expr& read, const Expr& instead) {
  ComputeDag changed;
  std::vector<OpId> renamed;
  for (std::size_t k = 0; k < dag.ops.size(); ++k) {
    const bool is_reader = reader.index() == k;
    OpId fresh;
    if (is_reader) {
      Op moved = copy;
      moved.element().body = with_sources(copy.element().body, renamed);
      fresh = changed.add(std::move(moved));
    }
    Op op = dag.ops[k];
    if (!op.is_placeholder()) {
      Expr body = op.element().body;
      if (is_reader) {
        body = rewrite(body, [&](const Expr& e) { return same(e, read) ? instead : Expr(); });
        std::vector<OpId> sources = renamed;
        sources.resize(dag.ops.size() + 1);
        sources.back() = fresh;
        body = with_sources(body, sources);
      } else {
        body = with_sources(body, renamed);
      }
      op.element().body = std::move(body);
    }
    renamed.push_back(changed.add(std::move(op)));
  }
  for (OpId output : dag.outputs) changed.outputs.push_back(renamed[output.index()]);
  return changed;
}

/// `read` of the reader's body becomes a load of the copy.
Result<ComputeDag> unfold_expression(const ComputeDag& dag, OpId tensor, OpId reader, bool turned, const Expr& read) {
  const Element& element = dag.op(reader).element();
  const auto spatial = static_cast<std::int64_t>(element.axes.size());
  const auto all = spatial + static_cast<std::int64_t>(element.reduce_axes.size());
  std::vector<std::int64_t> used;
  for (std::int64_t k = 0; k < all; ++k)
    if (uses(read, VarId(k))) used.push_back(k);
  if (used.empty()) return Error{"reads one element of " + dag.op(tensor).name + " alone"};
  if (turned) std::stable_partition(used.begin(), used.end(), [&](std::int64_t k) { return k >= spatial; });

  Op copy{
      .name = fresh_name(dag, dag.op(tensor).name + "_unfolded"), .dtype = read->dtype, .shape = {}, .def = Element{}};
  Element& unfolded = copy.element();
  unfolded.family = OpFamily::unfold;
  for (std::int64_t k : used) {
    unfolded.axes.push_back(axis_of(element, AxisId(k)));
    copy.shape.push_back(unfolded.axes.back().extent);
  }
  unfolded.body = substitute(read, [&](VarId v) {
    const auto at = std::find(used.begin(), used.end(), v.value);
    return at == used.end() ? Expr() : axis_var(unfolded, at - used.begin());
  });
  std::vector<Expr> index;
  for (std::int64_t k : used) index.push_back(axis_var(element, k));

  return with_copy(dag, reader, copy, read, load(read->dtype, mark_of(dag), index));
}

/// The numbers of bf16 that a factor widens itself, or by an op of its own; nothing where it does not.
Expr bf16_of(const ComputeDag& dag, const Expr& factor) {
  const auto widened = [](const Expr& e) {
    const auto* wide = std::get_if<Cast>(&e->kind);
    return wide && e->dtype == DType::f32 && wide->a->dtype == DType::bf16 ? wide->a : Expr();
  };
  const auto* read = std::get_if<Load>(&factor->kind);
  if (read == nullptr) return widened(factor);
  const Op& source = dag.op(OpId(read->source.value));
  if (source.is_placeholder() || source.element().reducer) return {};
  const Expr halves = widened(source.element().body);
  if (!halves.defined()) return {};
  return substitute(halves, [&](VarId v) { return read->index[v.index()]; });
}

}  // namespace

Result<ComputeDag> unfold(const ComputeDag& dag, OpId tensor, OpId reader, bool turned) {
  WHET_TRY(const Expr read, only_load(dag, tensor, reader));
  return unfold_expression(dag, tensor, reader, turned, read);
}

Result<ComputeDag> unfold_factor(const ComputeDag& dag, OpId tensor, OpId reader, bool turned) {
  WHET_TRY(const Expr factor, only_factor(dag, tensor, reader));
  return unfold_expression(dag, tensor, reader, turned, factor);
}

Result<ComputeDag> unfold_pairs(const ComputeDag& dag, OpId tensor, OpId reader) {
  WHET_TRY(const Expr factor, only_factor(dag, tensor, reader));
  const Element& element = dag.op(reader).element();
  const auto spatial = static_cast<std::int64_t>(element.axes.size());
  if (element.reduce_axes.size() != 1 || element.reduce_axes[0].extent % 2 != 0)
    return Error{"has no one axis of an even number of terms"};
  const std::string& name = dag.op(tensor).name;
  const Expr halves = bf16_of(dag, factor);
  if (!halves.defined()) return Error{"does not read " + name + " as numbers that were widened from bf16"};
  const VarId term(spatial);
  if (!uses(halves, term) || !uses(halves, VarId(spatial - 1)))
    return Error{"reads " + name + " at places that do not depend on its terms and on its last axis"};
  Op copy{.name = fresh_name(dag, name + "_pairs"), .dtype = DType::bf16, .shape = {}, .def = Element{}};
  Element& pairs = copy.element();
  pairs.family = OpFamily::unfold;
  std::vector<Expr> index;
  std::vector<std::int64_t> used;  // spatial axes of the reader but the last one
  for (std::int64_t k = 0; k + 1 < spatial; ++k)
    if (uses(halves, VarId(k))) used.push_back(k), pairs.axes.push_back(axis_of(element, AxisId(k)));
  Axis half = element.reduce_axes[0];
  half.extent /= 2;
  pairs.axes.push_back(half);
  pairs.axes.push_back(axis_of(element, AxisId(spatial - 1)));
  pairs.axes.push_back({"pair", 2, AxisRole::other});
  for (const Axis& axis : pairs.axes) copy.shape.push_back(axis.extent);
  const auto own = static_cast<std::int64_t>(pairs.axes.size());
  pairs.body = substitute(halves, [&](VarId v) {
    if (v == term) return axis_var(pairs, own - 3) * 2 + axis_var(pairs, own - 1);
    if (v.value == spatial - 1) return axis_var(pairs, own - 2);
    return axis_var(pairs, std::find(used.begin(), used.end(), v.value) - used.begin());
  });
  for (std::int64_t k : used) index.push_back(axis_var(element, k));
  const Expr at = axis_var(element, spatial);
  index.push_back(floordiv(at, 2)), index.push_back(axis_var(element, spatial - 1)), index.push_back(floormod(at, 2));
  return without_dead_ops(
      with_copy(dag, reader, copy, factor, cast(DType::f32, load(DType::bf16, mark_of(dag), std::move(index)))));
}

}  // namespace whet
