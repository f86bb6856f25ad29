#include <charconv>
#include <cmath>
#include <set>

#include "compute/dag.h"
#include "compute/names.h"

namespace whet {
namespace {

std::string_view float_suffix(DType dtype) { return dtype == DType::f32 ? "f" : dtype == DType::f64 ? "d" : "h"; }

/// The shortest digits that read back as the same number of this dtype.
std::string number(double value, DType dtype) {
  const std::string suffix(float_suffix(dtype));
  if (std::isnan(value)) return "nan" + suffix;
  if (std::isinf(value)) return (value < 0 ? "-inf" : "inf") + suffix;
  char buffer[64];
  const auto end = dtype == DType::f64 ? std::to_chars(buffer, buffer + sizeof buffer, value)
                                       : std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value));
  return std::string(buffer, end.ptr) + suffix;
}

std::string_view sign_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
      return " + ";
    case BinaryOp::sub:
      return " - ";
    case BinaryOp::mul:
      return "*";
    case BinaryOp::div:
      return "/";
    case BinaryOp::floordiv:
      return "floordiv";
    case BinaryOp::floormod:
      return "floormod";
    case BinaryOp::min:
      return "min";
    case BinaryOp::max:
      return "max";
    case BinaryOp::lt:
      return " < ";
    case BinaryOp::le:
      return " <= ";
    case BinaryOp::gt:
      return " > ";
    case BinaryOp::ge:
      return " >= ";
    case BinaryOp::eq:
      return " == ";
    case BinaryOp::ne:
      return " != ";
    case BinaryOp::logical_and:
      return " && ";
    case BinaryOp::logical_or:
      return " || ";
  }
  return "";
}

bool is_function(BinaryOp op) { return op >= BinaryOp::floordiv && op <= BinaryOp::max; }
bool is_logic(BinaryOp op) { return op >= BinaryOp::logical_and; }

class ExprPrinter {
 public:
  explicit ExprPrinter(const ExprStyle& style) : style_(style) {}

  /// Chains of && or || stand without parentheses where nothing binds tighter around them.
  std::string top(const Expr& e) const {
    if (const auto* n = std::get_if<Binary>(&e->kind); n && is_logic(n->op)) return chain(*n);
    return inner(e);
  }

 private:
  std::string chain(const Binary& n) const {
    const auto* left = std::get_if<Binary>(&n.a->kind);
    const std::string a = left && left->op == n.op ? chain(*left) : inner(n.a);
    return a + std::string(sign_of(n.op)) + inner(n.b);
  }

  std::string list(const std::vector<Expr>& all) const {
    std::string out;
    for (const Expr& e : all) out += (out.empty() ? "" : ", ") + top(e);
    return out;
  }

  std::string integer(std::int64_t value, DType dtype) const {
    if (dtype == DType::boolean) return value ? "true" : "false";
    if (dtype == DType::i64) return style_.index_constant ? style_.index_constant(value) : std::to_string(value);
    return std::to_string(value) + std::string(name_of(dtype));
  }

  std::string binary_text(const Binary& n) const {
    if (is_function(n.op)) return std::string(sign_of(n.op)) + "(" + top(n.a) + ", " + top(n.b) + ")";
    if (is_logic(n.op)) return "(" + chain(n) + ")";
    return "(" + inner(n.a) + std::string(sign_of(n.op)) + inner(n.b) + ")";
  }

  std::string load_text(const Load& n) const {
    const std::string plain = style_.source(n.source) + "[" + list(n.index) + "]";
    return n.mask.defined() ? "(" + plain + " where " + top(n.mask) + ")" : plain;
  }

  std::string inner(const Expr& e) const {
    return std::visit(
        Match{
            [&](const IntConst& n) { return integer(n.value, e->dtype); },
            [&](const FloatConst& n) { return number(n.value, e->dtype); },
            [&](const Var& n) { return style_.var ? style_.var(n) : quoted_if_needed(n.name); },
            [&](const Unary& n) { return n.op == UnaryOp::neg ? "neg(" + top(n.a) + ")" : "!" + inner(n.a); },
            [&](const Binary& n) { return binary_text(n); },
            [&](const Select& n) {
              return "select(" + top(n.condition) + ", " + top(n.if_true) + ", " + top(n.if_false) + ")";
            },
            [&](const Cast& n) { return std::string(name_of(e->dtype)) + "(" + top(n.a) + ")"; },
            [&](const Call& n) { return std::string(name_of(n.fn)) + "(" + list(n.args) + ")"; },
            [&](const Load& n) { return load_text(n); },
            [&](const Ramp& n) {
              return "ramp(" + top(n.base) + ", " + std::to_string(n.stride) + ", " + std::to_string(e->lanes) + ")";
            },
            [&](const Broadcast& n) { return "broadcast(" + top(n.a) + ", " + std::to_string(e->lanes) + ")"; },
        },
        e->kind);
  }

  const ExprStyle& style_;
};

/// The axes' names, made distinct, as the notation writes them.
std::vector<std::string> axis_names(const Element& e) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  auto add = [&](const Axis& a) {
    std::string name = a.name.empty() ? "i" + std::to_string(names.size()) : a.name;
    for (int k = 1; !taken.insert(name).second; ++k) name = a.name + "_" + std::to_string(k);
    names.push_back(quoted_if_needed(name));
  };
  for (const Axis& a : e.axes) add(a);
  for (const Axis& a : e.reduce_axes) add(a);
  return names;
}

std::string placeholder_line(const Op& op, const Placeholder& p) {
  std::string line = quoted_if_needed(op.name) + " = PLACEHOLDER [";
  for (std::size_t i = 0; i < op.shape.size(); ++i) line += (i ? ", " : "") + std::to_string(op.shape[i]);
  line += "]";
  if (op.dtype != DType::f32) line += " " + std::string(name_of(op.dtype));
  if (p.constant) line += " const";
  if (p.index_bound > 0) line += " < " + std::to_string(p.index_bound);
  return line;
}

/// "  # conv nn:batch ff:out_channel", or nothing when all is `other`.
std::string comment(const Element& e, const std::vector<std::string>& names) {
  std::string roles;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const AxisRole role = axis_of(e, AxisId(static_cast<std::int64_t>(i))).role;
    if (role != AxisRole::other) roles += " " + names[i] + ":" + std::string(name_of(role));
  }
  if (roles.empty() && e.family == OpFamily::other) return "";
  return "  # " + std::string(name_of(e.family)) + roles;
}

std::string element_line(const ComputeDag& dag, const Op& op) {
  const Element& e = op.element();
  const std::vector<std::string> names = axis_names(e);
  std::string line = quoted_if_needed(op.name) + "(";
  for (std::size_t i = 0; i < e.axes.size(); ++i) line += (i ? ", " : "") + names[i];
  line += ")";
  if (op.dtype != DType::f32) line += ": " + std::string(name_of(op.dtype));
  line += " " + (e.reducer ? std::string(sign_of(*e.reducer)) : "=") + " ";
  ExprStyle style;
  style.source = [&](SourceId id) { return quoted_if_needed(dag.op(OpId(id.value)).name); };
  style.var = [&](const Var& v) { return names[v.id.index()]; };
  line += to_text(e.body, style);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Axis& axis = axis_of(e, AxisId(static_cast<std::int64_t>(i)));
    line += (i ? ", " : " for ") + names[i] + " in " + std::to_string(axis.extent);
  }
  return line + comment(e, names);
}

}  // namespace

std::string to_text(const Expr& e, const ExprStyle& style) { return ExprPrinter(style).top(e); }

std::string to_text(const Expr& e, const std::function<std::string(SourceId)>& source_name) {
  return to_text(e, ExprStyle{source_name, {}, {}});
}

std::string to_text(const ComputeDag& dag) {
  std::string text;
  for (const Op& op : dag.ops) {
    const auto* p = std::get_if<Placeholder>(&op.def);
    text += (p ? placeholder_line(op, *p) : element_line(dag, op)) + "\n";
  }
  for (std::size_t i = 0; i < dag.outputs.size(); ++i) {
    text += (i ? ", " : "return ") + quoted_if_needed(dag.op(dag.outputs[i]).name);
  }
  return dag.outputs.empty() ? text : text + "\n";
}

}  // namespace whet
