#include "import/define.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/counted.h"
#include "compute/loads_inside.h"
#include "compute/recognise.h"
#include "import/sized_text.h"

namespace whet {
namespace {

/// `e` with each element of an index tensor clamped to 0 .. bound-1: a program may give any number.
Expr within_bounds(const ComputeDag& dag, const Expr& e) {
  return rewrite(e, [&](const Expr& part) -> Expr {
    const auto* load = std::get_if<Load>(&part->kind);
    const auto* p = load ? std::get_if<Placeholder>(&dag.op(OpId(load->source.value)).def) : nullptr;
    if (p == nullptr || p->index_bound == 0) return {};
    std::vector<Expr> index;
    for (const Expr& i : load->index) index.push_back(within_bounds(dag, i));
    const Expr element = whet::load(part->dtype, load->source, std::move(index));
    return max(min(element, int_const(p->index_bound - 1, part->dtype)), int_const(0, part->dtype));
  });
}
ComputeDag within_bounds(ComputeDag dag) {
  for (Op& op : dag.ops)
    if (!op.is_placeholder()) op.element().body = within_bounds(dag, op.element().body);
  return dag;
}

// ---- The text: attributes and sizes become numbers before it is read.

/// A definition at its node.
class Definition {
 public:
  Definition(const NodeSite& site, const OperatorDefinition& own, const std::string& op,
             const std::vector<ValueId>& operands, const AttributeNumbers& attributes)
      : site_(site), own_(own), op_(op), operands_(operands), attributes_(attributes) {}

  /// Its DAG at the node's sizes, with as many placeholders as the node has operands, of their types.
  Result<ComputeDag> dag() {
    WHET_TRY(const std::string text, with_attributes(own_.text));
    SizedText sized(text);
    if (sized.is_readable()) WHET_RETURN_IF_ERROR(bind_sizes(sized));
    const Result<ComputeDag> read = parse_dag(sized.numbers());
    if (!read.ok()) return fault(": " + read.error().message);
    const Result<SizeValues> values = sized.sizes(*read);
    if (!values.ok()) return fault(": " + values.error().message);
    Result<ComputeDag> dag = as_definition(dag_at(*read, *values));
    if (!dag.ok()) return fault(": " + dag.error().message);
    WHET_RETURN_IF_ERROR(check_operands(*dag));
    return dag;
  }

 private:
  /// "node: gelu3.dag needs ..."
  Error fault(const std::string& sentence) const { return site_.error(own_.file + sentence); }

  /// Each `{alpha}` and `{pads[0]}` as the number that the node has; `{alpha=1}` is 1 where it has none.
  Result<std::string> with_attributes(std::string_view text) const {
    std::string numbers;
    for (bool is_comment = false; !text.empty();) {
      const char c = text.front();
      is_comment = c != '\n' && (is_comment || c == '#');
      const std::size_t end = c == '{' && !is_comment ? text.find_first_of("}\n") : 0;
      if (end == 0) {
        numbers += c;
        text.remove_prefix(1);
        continue;
      }
      if (end == std::string_view::npos || text[end] == '\n')
        return fault(": an attribute begins with { and does not end with }");
      WHET_TRY(const std::string number, attribute(text.substr(1, end - 1)));
      numbers += number;
      text.remove_prefix(end + 1);
    }
    return numbers;
  }

  /// alpha, pads[0], alpha=1
  Result<std::string> attribute(std::string_view written) const {
    std::optional<std::string> usual;
    if (const std::size_t equals = written.find('='); equals != std::string_view::npos) {
      usual = written.substr(equals + 1);
      written = written.substr(0, equals);
    }
    const std::size_t bracket = std::min(written.find('['), written.size());
    const std::string name(written.substr(0, bracket));
    std::size_t place = 0;
    if (bracket < written.size()) {
      const char* const first = written.data() + bracket + 1;
      const char* const last = std::max(first, written.data() + written.size() - 1);
      const auto [end, code] = std::from_chars(first, last, place);
      if (code != std::errc() || end != last || !written.ends_with(']'))
        return fault(": {" + std::string(written) + "} is no attribute; expected {name} or {name[0]}");
    }
    const auto found = attributes_.find(name);
    if (found == attributes_.end()) return usual ? Result<std::string>(*usual) : missing_attribute(name);
    const std::vector<std::string>& numbers = found->second;
    if (bracket == written.size() && numbers.size() != 1)
      return fault(": the attribute " + name + " of " + site_.name() + " is a list of " +
                   std::to_string(numbers.size()) + "; {" + name + "[0]} is its first number");
    if (place >= numbers.size())
      return fault(" needs {" + std::string(written) + "}, and " + name + " of " + site_.name() + " has " +
                   counted(std::ssize(numbers), "number"));
    return numbers[place];
  }
  Error missing_attribute(const std::string& name) const {
    std::string others;
    for (const auto& [other, numbers] : attributes_) others += (others.empty() ? "" : ", ") + other;
    return fault(" needs the attribute " + name + ", which " + site_.name() + " does not have" +
                 (others.empty() ? "; it has no numbers" : " (it has " + others + ")"));
  }

  /// Names among the extents of placeholders are the extents of the operands.
  Status bind_sizes(SizedText& sized) const {
    if (sized.inputs().size() != operands_.size())
      return fault(" defines " + op_ + " of " + counted(std::ssize(sized.inputs()), "input") + "; the node has " +
                   std::to_string(operands_.size()));
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const Shape& shape = site_.shape(operands_[i]);
      const SizedText::Input& own = sized.inputs()[i];
      if (!own.is_scalar && own.extents.size() != shape.size())
        return fault(" defines " + op_ + " of " + own.name + " with " + counted(std::ssize(own.extents), "dimension") +
                     "; the node gives " + to_string(site_.type(operands_[i])));
      if (const Status bound = sized.bind(i, shape); !bound.ok()) return fault(": " + bound.error().message);
    }
    return ok_status();
  }

  Status check_operands(const ComputeDag& dag) const {
    const bool is_of_elements = is_elementwise({op_, std::make_shared<const ComputeDag>(dag)});
    std::size_t input = 0;
    for (const Op& op : dag.ops) {
      if (!op.is_placeholder()) continue;
      const TensorType& given = site_.type(operands_[input++]);
      if (given.dtype == op.dtype && (is_of_elements || given.shape == op.shape)) continue;
      return fault(" defines " + op_ + " of " + op.name + " " +
                   (is_of_elements ? std::string(name_of(op.dtype)) : to_string(TensorType{op.dtype, op.shape})) +
                   "; the node gives " + to_string(given));
    }
    return ok_status();
  }

  const NodeSite& site_;
  const OperatorDefinition& own_;
  const std::string& op_;
  const std::vector<ValueId>& operands_;
  const AttributeNumbers& attributes_;
};

// ---- Definitions of each element.

/// A definition as that of each element, and the shapes that its inputs are read as, which broadcast to the result's.
struct OfElements {
  ComputeDag definition;
  std::vector<std::optional<Shape>> shapes;  ///< by op
};

/// `shape`, read at `index`, as it broadcasts to a result of the extents `to`; none where it is read at other places too.
std::optional<Shape> aligned_shape(const Shape& shape, const std::vector<Expr>& index, const Shape& to) {
  Shape aligned(to.size(), 1);
  std::int64_t before = -1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1 && is_const(index[d], 0)) continue;
    const auto* axis = std::get_if<Var>(&index[d]->kind);
    if (axis == nullptr || axis->id.value <= before || axis->id.value >= std::ssize(to)) return std::nullopt;
    before = axis->id.value;
    if (shape[d] != to[static_cast<std::size_t>(before)]) return std::nullopt;
    aligned[static_cast<std::size_t>(before)] = shape[d];
  }
  return aligned;
}

/// The body without its axes; undefined where an element depends on where it is.
Expr of_element(OfElements& of, const Expr& body, const Shape& to) {
  bool fits = true;
  Expr scalar = rewrite(body, [&](const Expr& e) -> Expr {
    fits = fits && !std::holds_alternative<Var>(e->kind);
    const auto* load = std::get_if<Load>(&e->kind);
    if (load == nullptr || !fits) return {};
    const std::size_t from = load->source.index();
    const std::optional<Shape> aligned = aligned_shape(of.definition.ops[from].shape, load->index, to);
    std::optional<Shape>& known = of.shapes[from];
    fits = aligned && (!known || *known == *aligned);
    known = aligned;
    return whet::load(e->dtype, load->source, {});
  });
  return fits ? scalar : Expr();
}

/// The definition of each element, where all ops go over the result's elements one by one.
std::optional<OfElements> of_elements(const ComputeDag& definition) {
  OfElements of{definition, std::vector<std::optional<Shape>>(definition.ops.size())};
  const Shape to = definition.op(definition.outputs[0]).shape;
  for (Op& op : of.definition.ops) {
    if (op.is_placeholder()) continue;
    Element& e = op.element();
    const bool is_plain = e.family == OpFamily::other || e.family == OpFamily::elementwise;
    if (e.reducer || !is_plain || op.shape != to) return std::nullopt;
    e.body = of_element(of, e.body, to);
    if (!e.body.defined()) return std::nullopt;
    e.axes.clear();
  }
  Shape all;
  for (std::size_t k = 0; k < of.shapes.size(); ++k) {
    if (!of.definition.ops[k].is_placeholder()) continue;
    const auto both = of.shapes[k] ? broadcast(all, *of.shapes[k]) : std::nullopt;  // all inputs are read
    if (!both) return std::nullopt;
    all = *both;
  }
  for (Op& op : of.definition.ops) op.shape.clear();
  return all == to ? std::optional(std::move(of)) : std::nullopt;
}

/// The operator that is each of the results, and its operands.
Status give_output(NodeSite& site, const std::string& op, std::vector<ValueId> operands,
                   const std::shared_ptr<const ComputeDag>& definition, std::size_t i) {
  if (!site.wants_output(i)) return ok_status();
  const CustomOperator own{op, definition};
  const std::optional<OfElements> of = is_elementwise(own) ? std::nullopt : of_elements(*definition);
  if (!of) return site.give(own, std::move(operands), i);
  std::size_t input = 0;
  for (std::size_t k = 0; k < definition->ops.size(); ++k) {
    if (!definition->ops[k].is_placeholder()) continue;
    ValueId& operand = operands[input++];
    if (broadcast(site.shape(operand), *of->shapes[k]) == of->shapes[k]) continue;
    WHET_TRY(operand, site.add("view", ReshapeOperator{*of->shapes[k]}, {operand}));
  }
  return site.give(CustomOperator{op, std::make_shared<const ComputeDag>(of->definition)}, std::move(operands), i);
}

}  // namespace

std::string number_text(std::int64_t value) { return std::to_string(value); }

std::string number_text(double value) {
  char digits[64];
  const auto single = static_cast<float>(value);
  const auto end = static_cast<double>(single) == value ? std::to_chars(digits, digits + sizeof digits, single)
                                                        : std::to_chars(digits, digits + sizeof digits, value);
  return std::string(digits, end.ptr);
}

Result<ComputeDag> as_definition(const ComputeDag& read) {
  ComputeDag dag = within_bounds(recognised(read));
  WHET_RETURN_IF_ERROR(check_loads_inside(dag));
  return dag;
}

std::shared_ptr<const ComputeDag> definition_of(ComputeDag dag, OpId output) {
  dag.outputs = {output};
  dag = without_dead_ops(dag);
  for (Op& op : dag.ops)
    if (auto* p = std::get_if<Placeholder>(&op.def)) *p = Placeholder{.index_bound = p->index_bound};
  return std::make_shared<const ComputeDag>(std::move(dag));
}

std::string how_to_define(const std::string& op) {
  return "; --define " + op.substr(0, op.find(' ')) + "=FILE.dag defines it (docs/operators/own.md)";
}

Status give_defined(NodeSite& site, const OperatorDefinition& own, const std::string& op,
                    const std::vector<ValueId>& operands, const AttributeNumbers& attributes) {
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (!operands[i].valid() || site.is_sequence(operands[i]))
      return site.error("input " + std::to_string(i) + " of " + op + " is " +
                        (operands[i].valid() ? "a sequence" : "left out") + "; " + own.file + " defines it of tensors");
  WHET_TRY(const ComputeDag dag, Definition(site, own, op, operands, attributes).dag());
  if (dag.outputs.size() < site.output_count())
    return site.error(own.file + " defines " + op + " with " + counted(std::ssize(dag.outputs), "output") +
                      "; the node has " + std::to_string(site.output_count()));
  for (std::size_t i = 0; i < site.output_count(); ++i)
    WHET_RETURN_IF_ERROR(give_output(site, op, operands, definition_of(dag, dag.outputs[i]), i));
  return ok_status();
}

}  // namespace whet
