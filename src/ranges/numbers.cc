#include "ranges/numbers.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

#include "compute/names.h"
#include "task/group_dag.h"

namespace whet {
namespace {

Number integer(std::int64_t value, DType dtype = DType::i64) { return {dtype, value, 0}; }

/// A constant of a body that counts as a number: booleans are structure.
std::optional<Number> number_of(const Expr& e) {
  if (const auto* c = std::get_if<IntConst>(&e->kind); c && e->dtype != DType::boolean)
    return integer(c->value, e->dtype);
  if (const auto* c = std::get_if<FloatConst>(&e->kind)) return Number{e->dtype, 0, c->value};
  return {};
}

/// A node of an expression without its children and numbers.
void append_node(const Expr& e, std::string& text) {
  text += ' ';
  text += static_cast<char>('a' + e->kind.index());
  text += name_of(e->dtype);
  const auto with = [&](auto value) { text += std::to_string(static_cast<std::int64_t>(value)); };
  std::visit(Match{
                 [&](const IntConst& n) { e->dtype == DType::boolean ? with(n.value) : void(); },
                 [&](const FloatConst&) {},
                 [&](const Var& n) { with(n.id.value); },
                 [&](const Unary& n) { with(n.op); },
                 [&](const Binary& n) { with(n.op); },
                 [&](const Select&) {},
                 [&](const Cast&) {},
                 [&](const Call& n) { with(n.fn), text += '/', with(n.args.size()); },
                 [&](const Load& n) { with(n.source.value), text += '/', with(n.index.size()); },
                 [&](const Ramp&) {},
                 [&](const Broadcast&) {},
             },
             e->kind);
}

void append_axes(const std::vector<Axis>& axes, Parts& parts) {
  for (const Axis& axis : axes) {
    parts.structure += ' ' + std::string(name_of(axis.role));
    parts.numbers.push_back(integer(axis.extent));
  }
  parts.structure += ';';
}

/// Gives the functions of numbers one after the other.
class Functions {
 public:
  explicit Functions(const std::vector<Expr>& all) : all_(all) {}
  const Expr& next() {
    WHET_CHECK(at_ < all_.size(), "one function a number");
    return all_[at_++];
  }

 private:
  const std::vector<Expr>& all_;
  std::size_t at_ = 0;
};

void give_functions(std::vector<Axis>& axes, Functions& functions) {
  for (Axis& axis : axes) axis.size = functions.next();
}

void give_functions(Op& op, Functions& functions) {
  op.sizes.clear();
  if (auto* p = std::get_if<Placeholder>(&op.def)) {
    if (p->index_bound > 0) p->size = functions.next();
    for (std::size_t d = 0; d < op.shape.size(); ++d) op.sizes.push_back(functions.next());
  } else {
    Element& e = op.element();
    give_functions(e.axes, functions);
    give_functions(e.reduce_axes, functions);
    for (const Axis& axis : e.axes) op.sizes.push_back(axis.size);
    e.body = rewrite(e.body, [&](const Expr& x) -> Expr {
      if (!number_of(x)) return {};
      const Expr& function = functions.next();
      return function.defined() ? cast(x->dtype, function) : x;
    });
  }
  bool changes = false;
  for (const Expr& size : op.sizes) changes = changes || size.defined();
  if (!changes) op.sizes.clear();
}

/// Walks a network in one order.
class NetworkReader {
 public:
  explicit NetworkReader(Reading& reading) : r_(reading), graph_(reading.fused.graph) {}

  void run() {
    for (const ValueId id : graph_.inputs) text("in " + graph_.value(id).name), use(id);
    for (const Node& node : graph_.nodes) add(node);
    for (const ValueId id : graph_.outputs) text("out " + graph_.value(id).name), use(id), window(id);
    for (std::size_t g = 0; g < r_.fused.groups.size(); ++g) add(g);
    add_aliases();
    for (const auto& [value, part] : r_.in_place.parts) add(value, part);
  }

 private:
  void text(const std::string& words) { r_.parts.structure += words + ' '; }
  void number(std::int64_t value) { r_.parts.numbers.push_back(integer(value)); }
  /// Where the numbers of `what` begin.
  std::size_t begin(const std::string& what, ValueId of) {
    r_.labels.emplace_back(r_.parts.numbers.size(), what + " \"" + graph_.value(of).name + "\"");
    return r_.parts.numbers.size();
  }

  /// Values are known by their first use: dangling ones do not count.
  void use(ValueId id) {
    const auto [at, is_new] = numbers_.emplace(id, numbers_.size());
    text(std::to_string(at->second));
    if (!is_new) return;
    const Value& value = graph_.value(id);
    text(std::string(name_of(value.type.dtype)) + (value.constant ? " const" : "") + "/" +
         std::to_string(value.type.shape.size()));
    r_.shape_at[id] = begin("the shape of", id);
    for (const std::int64_t extent : value.type.shape) number(extent);
  }

  void add(const Node& node) {
    text("\n" + name_of(node.op));
    for (const ValueId id : node.inputs) use(id);
    text("->");
    use(node.output);
    grouped_.push_back(false);
  }

  void add(std::size_t g) {
    const Group& group = r_.fused.groups[g];
    text("\ngroup");
    for (const NodeId id : group.nodes) text(std::to_string(id.value)), grouped_[id.index()] = true;
    text(r_.in_place.done[g] ? "in place" : "of");
    for (const ValueId id : group.inputs) use(id), window(id);
    for (const ValueId id : group.outputs) text("->"), use(id);
    r_.dag_at.push_back(begin("the kernel that computes", group.outputs.front()));
    append(r_.dags[g], r_.parts);
  }

  void add_aliases() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (grouped_[n]) continue;
      const Node& node = graph_.nodes[n];
      const auto offset = alias_offset(graph_, node);
      WHET_CHECK(offset, "a node in no group is an alias");
      text("\nalias");
      window(node.inputs[0]);
      r_.offset_at[node.output] = begin("the offset of", node.output);
      number(static_cast<std::int64_t>(*offset));
    }
  }

  void add(ValueId value, const PartOf& part) {
    text("\npart");
    use(value), use(part.whole);
    text(std::to_string(part.shape.size()));
    r_.part_at[value] = begin("the place of", value);
    number(static_cast<std::int64_t>(part.offset));
    for (const std::int64_t extent : part.shape) number(extent);
  }

  void window(ValueId id) {
    const Value& value = graph_.value(id);
    if (!value.constant || r_.window_at.contains(id)) return;
    r_.constants.push_back(id);
    r_.window_at[id] = begin("the window of constant", id);
    for (std::size_t d = 0; d < value.type.shape.size(); ++d) number(0);
  }

  Reading& r_;
  const Graph& graph_;
  std::map<ValueId, std::size_t> numbers_;
  std::vector<bool> grouped_;
};

}  // namespace

bool operator==(const Number& a, const Number& b) {
  return a.dtype == b.dtype && a.integer == b.integer &&
         std::bit_cast<std::uint64_t>(a.real) == std::bit_cast<std::uint64_t>(b.real);
}

void append(const ComputeDag& dag, Parts& parts) {
  for (const Op& op : dag.ops) {
    parts.structure += std::string(name_of(op.dtype)) + ' ';
    if (const auto* p = std::get_if<Placeholder>(&op.def)) {
      parts.structure += p->constant ? "const " : "input ";
      if (p->index_bound > 0) parts.structure += "index ", parts.numbers.push_back(integer(p->index_bound));
      parts.structure += std::to_string(op.shape.size());
      for (const std::int64_t extent : op.shape) parts.numbers.push_back(integer(extent));
    } else {
      const Element& e = op.element();
      parts.structure += std::string(name_of(e.family)) + (e.reducer ? std::string(sign_of(*e.reducer)) : "=");
      append_axes(e.axes, parts);
      append_axes(e.reduce_axes, parts);
      for_each(e.body, [&](const Expr& x) {
        append_node(x, parts.structure);
        if (const auto number = number_of(x)) parts.numbers.push_back(*number);
      });
    }
    parts.structure += '\n';
  }
  for (const OpId id : dag.outputs) parts.structure += std::to_string(id.value) + ' ';
}

ComputeDag with_functions(const ComputeDag& dag, const std::vector<Expr>& functions, std::vector<SizeRange> sizes,
                          SizeValues at) {
  ComputeDag out = dag;
  out.sizes = std::move(sizes);
  out.at = std::move(at);
  Functions all(functions);
  for (Op& op : out.ops) give_functions(op, all);
  return out;
}

InPlace parts_in_place(const FusedGraph& fused, const std::vector<ComputeDag>& dags, const InPlaceChoice& choice) {
  std::vector<Shape> layouts;
  for (const ComputeDag& dag : dags) layouts.push_back(dag.op(dag.outputs.front()).shape);
  InPlace found = find_in_place(fused.graph, fused.groups, layouts);
  if (choice.all) return found;
  for (std::size_t g = 0; g < fused.groups.size(); ++g) {
    if (!found.done[g]) continue;
    const Node& node = fused.graph.node(fused.groups[g].nodes.front());
    const bool is_contiguous = found.parts.at(node.inputs.front()).shape.empty();
    found.done[g] = is_contiguous ? choice.contiguous.contains(fused.graph.value(node.output).name) : choice.strided;
    for (const ValueId part : node.inputs)
      if (!found.done[g]) found.parts.erase(part);
  }
  return found;
}

Result<InPlace> parts_in_place(const FusedGraph& fused) {
  std::vector<ComputeDag> dags;
  for (const Group& group : fused.groups) {
    WHET_TRY(ComputeDag dag, group_dag(fused, group));
    dags.push_back(std::move(dag));
  }
  return parts_in_place(fused, dags, {.all = true});
}

Result<Reading> reading_of(FusedGraph fused, const InPlaceChoice& in_place) {
  Reading reading;
  reading.fused = std::move(fused);
  for (const Group& group : reading.fused.groups) {
    WHET_TRY(ComputeDag dag, group_dag(reading.fused, group));
    reading.dags.push_back(std::move(dag));
  }
  reading.in_place = parts_in_place(reading.fused, reading.dags, in_place);
  NetworkReader(reading).run();
  return reading;
}

std::string Reading::label(std::size_t i) const {
  const auto behind = std::upper_bound(labels.begin(), labels.end(), i,
                                       [](std::size_t number, const auto& label) { return number < label.first; });
  return behind == labels.begin() ? "a number" : std::prev(behind)->second;
}

std::optional<std::vector<std::int64_t>> window_in(const Tensor& part, const Tensor& whole) {
  const Shape &inner = part.shape(), &outer = whole.shape();
  if (part.dtype() != whole.dtype() || inner.size() != outer.size()) return {};
  std::vector<std::vector<std::int64_t>> begins;  // of each dimension
  for (std::size_t d = 0; d < inner.size(); ++d) {
    const std::int64_t rest = outer[d] - inner[d];
    if (rest < 0) return {};
    begins.push_back({0});
    if (rest > 0) begins.back().push_back(rest);
    if (rest > 1 && rest % 2 == 0) begins.back().push_back(rest / 2);
  }
  const auto bytes = static_cast<std::size_t>(size_of(part.dtype()));
  const auto* from = static_cast<const std::byte*>(part.data());
  const auto* in = static_cast<const std::byte*>(whole.data());
  const std::vector<std::int64_t> strides = row_major_strides(outer);
  const std::size_t row = inner.empty() ? 1 : static_cast<std::size_t>(inner.back());
  const auto lies_at = [&](const std::vector<std::int64_t>& begin) {
    for (std::int64_t first = 0; first < part.size(); first += static_cast<std::int64_t>(row)) {
      std::int64_t place = 0, rest = first;
      for (std::size_t d = inner.size(); d-- > 0;) place += (begin[d] + rest % inner[d]) * strides[d], rest /= inner[d];
      if (std::memcmp(from + static_cast<std::size_t>(first) * bytes, in + static_cast<std::size_t>(place) * bytes,
                      row * bytes) != 0)
        return false;
    }
    return true;
  };
  std::vector<std::size_t> choice(inner.size(), 0);
  while (true) {
    std::vector<std::int64_t> begin;
    for (std::size_t d = 0; d < inner.size(); ++d) begin.push_back(begins[d][choice[d]]);
    if (lies_at(begin)) return begin;
    std::size_t d = 0;
    while (d < choice.size() && ++choice[d] == begins[d].size()) choice[d++] = 0;
    if (d == choice.size()) return {};
  }
}

}  // namespace whet
