#include "space/attention_form.h"

#include <algorithm>
#include <set>

#include "compute/affine.h"
#include "schedule/steps.h"

namespace whet {
namespace {

using Ops = std::set<OpId>;

/// `op` and all that it is computed from, placeholders left out.
void add_sources(const ComputeDag& dag, OpId op, Ops& ops) {
  if (dag.op(op).is_placeholder() || !ops.insert(op).second) return;
  for (OpId input : inputs_of(dag, op)) add_sources(dag, input, ops);
}

std::vector<const Load*> loads_of(const Expr& body) {
  std::vector<const Load*> loads;
  for_each(body, [&](const Expr& part) {
    if (const Load* l = std::get_if<Load>(&part->kind)) loads.push_back(l);
  });
  return loads;
}

/// A product a[..., m, k] * b[..., k, n], each read once.
bool is_product(const Op& op) {
  if (op.is_placeholder()) return false;
  const Element& e = op.element();
  return e.family == OpFamily::matmul && e.reducer == Reducer::sum && e.reduce_axes.size() == 1 && e.axes.size() >= 2 &&
         op.dtype == DType::f32 && loads_of(e.body).size() == 2;
}

bool is_var(const Expr& e, std::int64_t axis) {
  const Var* v = std::get_if<Var>(&e->kind);
  return v && v->id.value == axis;
}

bool depends(const Expr& e, std::int64_t axis) {
  bool found = false;
  for_each(e, [&](const Expr& part) { found = found || is_var(part, axis); });
  return found;
}

/// The softmax's four ops and the two products; nothing where there are others of their kind.
bool find_parts(const ComputeDag& dag, AttentionForm& a) {
  std::vector<OpId> products, softmax;
  for (std::size_t i = 0; i < dag.ops.size(); ++i) {
    const Op& op = dag.ops[i];
    const OpId id(static_cast<std::int64_t>(i));
    if (op.is_placeholder()) continue;
    if (is_product(op))
      products.push_back(id);
    else if (op.element().family == OpFamily::softmax)
      softmax.push_back(id);
    else if (op.element().reducer)
      return false;
  }
  if (products.size() != 2 || softmax.size() != 4 || dag.outputs.size() != 1) return false;
  a.scores = products[0], a.mix = products[1], a.output = dag.outputs[0];
  a.top = softmax[0], a.exp = softmax[1], a.sum = softmax[2], a.weights = softmax[3];
  if (dag.op(a.top).element().reducer != Reducer::max || dag.op(a.sum).element().reducer != Reducer::sum) return false;
  const std::vector<OpId> read = inputs_of(dag, a.top), mixed = inputs_of(dag, a.mix);
  if (read.size() != 1 || mixed.size() != 2 || mixed[0] != a.weights) return false;
  a.masked = read[0];
  Ops sources;
  add_sources(dag, a.masked, sources);
  return sources.contains(a.scores) && dag.op(a.masked).shape == dag.op(a.scores).shape;
}

/// Everything else is inlined; operands that are worth a copy stay.
bool place_others(const ComputeDag& dag, AttentionForm& a) {
  const OpId query = inputs_of(dag, a.scores)[0], key = inputs_of(dag, a.scores)[1], value = inputs_of(dag, a.mix)[1];
  const std::set<OpId> parts = {a.scores, a.masked, a.top, a.exp, a.sum, a.weights, a.mix, a.output};
  if (query == key || parts.contains(query) || parts.contains(key) || parts.contains(value)) return false;
  Scheduler s(dag);
  for (std::size_t i = dag.ops.size(); i-- > 0;) {
    const OpId op(static_cast<std::int64_t>(i));
    if (dag.op(op).is_placeholder() || parts.contains(op) || op == query || op == key || op == value) continue;
    a.inlined.insert(a.inlined.begin(), op);
    s.inline_op(op);
  }
  if (!s.finish().ok()) return false;
  const ComputeDag& now = s.tree().dag;
  // One read of an element, at an index that loops make: then it is as good as stored.
  const auto plain = [&](OpId op) {
    const Expr body = now.op(op).element().body;
    const Load* load = std::get_if<Load>(&body->kind);
    return load && std::all_of(load->index.begin(), load->index.end(),
                               [](const Expr& e) { return sum_of_variables(e).has_value(); });
  };
  const auto along = [&](OpId op) {  // read along the axis that it is stored along
    const Expr body = now.op(op).element().body;
    const Load* load = std::get_if<Load>(&body->kind);
    const std::int64_t last = static_cast<std::int64_t>(now.op(op).shape.size()) - 1;
    if (!load || load->index.empty() ||
        to_affine(load->index.back()).coefficient(axis_var(now.op(op).element(), last)) != 1)
      return false;
    return std::none_of(load->index.begin(), load->index.end() - 1, [&](const Expr& e) { return depends(e, last); });
  };
  const auto keep = [&](OpId op, std::optional<OpId>& kept, bool needed) {
    if (dag.op(op).is_placeholder()) return;
    if (needed)
      kept = op;
    else
      a.inlined.insert(std::upper_bound(a.inlined.begin(), a.inlined.end(), op), op);
  };
  const bool stored = dag.op(query).is_placeholder() || plain(query);
  keep(query, a.queries, !stored);
  keep(key, a.keys, dag.op(key).is_placeholder() || !plain(key) || !along(key));
  keep(value, a.values, true);
  a.copy_values = a.values && !(plain(value) && along(value));
  return true;
}

/// Which axes of the output are rows and columns of the product.
bool find_axes(const ComputeDag& dag, AttentionForm& a) {
  Scheduler s(dag);
  for (std::size_t i = a.inlined.size(); i-- > 0;) s.inline_op(a.inlined[i]);
  if (!s.finish().ok()) return false;
  const Op& output = s.tree().dag.op(a.output);
  const auto rank = static_cast<std::int64_t>(output.shape.size());
  const std::size_t product_rank = dag.op(a.mix).shape.size();
  a.column = rank - 1;
  if (a.output == a.mix) {
    a.row = rank - 2;
  } else {
    const std::vector<const Load*> loads = loads_of(output.element().body);
    if (loads.size() != 1 || loads[0]->source.value != a.mix.value || output.element().reducer) return false;
    const std::vector<Expr>& index = loads[0]->index;
    const Var* row = std::get_if<Var>(&index[product_rank - 2]->kind);
    if (!row || !is_var(index[product_rank - 1], a.column)) return false;
    a.row = row->id.value;
    for (std::size_t d = 0; d + 2 < index.size(); ++d)
      if (!sum_of_variables(index[d]) || depends(index[d], a.row) || depends(index[d], a.column)) return false;
  }
  const Shape &scores = dag.op(a.scores).shape, &mix = dag.op(a.mix).shape;
  a.rows = mix[product_rank - 2], a.width = mix.back(), a.keys_count = scores.back();
  a.depth = dag.op(a.scores).element().reduce_axes[0].extent;
  a.heads = num_elements(mix) / (a.rows * a.width);
  return output.shape[static_cast<std::size_t>(a.row)] == a.rows && output.shape.back() == a.width;
}

}  // namespace

std::optional<AttentionForm> find_attention(const ComputeDag& dag) {
  AttentionForm a;
  if (!find_parts(dag, a) || !place_others(dag, a) || !find_axes(dag, a)) return std::nullopt;
  return a;
}

}  // namespace whet
