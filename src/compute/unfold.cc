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
        // A number that no op has stands for the copy until the others are renamed.
        const SourceId mark(static_cast<std::int64_t>(dag.ops.size()));
        body = rewrite(body, [&](const Expr& e) { return same(e, read) ? load(e->dtype, mark, index) : Expr(); });
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

}  // namespace

Result<ComputeDag> unfold(const ComputeDag& dag, OpId tensor, OpId reader, bool turned) {
  WHET_TRY(const Expr read, only_load(dag, tensor, reader));
  return unfold_expression(dag, tensor, reader, turned, read);
}

Result<ComputeDag> unfold_factor(const ComputeDag& dag, OpId tensor, OpId reader, bool turned) {
  WHET_TRY(const Expr factor, only_factor(dag, tensor, reader));
  return unfold_expression(dag, tensor, reader, turned, factor);
}

}  // namespace whet
