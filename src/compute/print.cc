#include <charconv>
#include <cmath>
#include <set>

#include "compute/dag.h"
#include "compute/names.h"
#include "compute/scalar.h"

namespace whet {
namespace {

std::string_view float_suffix(DType dtype) {
  if (dtype == DType::f32) return "f";
  if (dtype == DType::f64) return "d";
  return dtype == DType::f16 ? "h" : "b";
}

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

/// Appends to one string, so that names and constants are asked for in the order of the text.
class ExprPrinter {
 public:
  ExprPrinter(const ExprStyle& style, std::string& out) : style_(style), out_(out) {}

  /// Chains of && or || have no parentheses where nothing binds tighter around them.
  void top(const Expr& e) {
    if (const auto* n = std::get_if<Binary>(&e->kind); n && is_logic(n->op)) return chain(*n);
    inner(e);
  }

 private:
  void chain(const Binary& n) {
    const auto* left = std::get_if<Binary>(&n.a->kind);
    if (left && left->op == n.op) {
      chain(*left);
    } else {
      inner(n.a);
    }
    out_ += sign_of(n.op);
    inner(n.b);
  }

  void list(const std::vector<Expr>& all) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i > 0) out_ += ", ";
      top(all[i]);
    }
  }

  void function(std::string_view name, const std::vector<Expr>& args) {
    out_ += name;
    out_ += "(";
    list(args);
    out_ += ")";
  }

  std::string integer(std::int64_t value, DType dtype) const {
    if (dtype == DType::boolean) return value ? "true" : "false";
    if (dtype == DType::i64) return style_.index_constant ? style_.index_constant(value) : std::to_string(value);
    return std::to_string(value) + std::string(name_of(dtype));
  }

  void binary_text(const Binary& n) {
    if (is_function(n.op)) return function(sign_of(n.op), {n.a, n.b});
    out_ += "(";
    if (is_logic(n.op)) {
      chain(n);
    } else {
      inner(n.a);
      out_ += sign_of(n.op);
      inner(n.b);
    }
    out_ += ")";
  }

  void load_text(const Load& n) {
    if (n.mask.defined()) out_ += "(";
    out_ += style_.source(n.source) + "[";
    list(n.index);
    out_ += "]";
    if (!n.mask.defined()) return;
    out_ += " where ";
    top(n.mask);
    out_ += ")";
  }

  void vector(std::string_view name, const Expr& a, const std::string& rest) {
    out_ += name;
    out_ += "(";
    top(a);
    out_ += ", " + rest + ")";
  }

  void inner(const Expr& e) {
    std::visit(
        Match{
            [&](const IntConst& n) { out_ += integer(n.value, e->dtype); },
            [&](const FloatConst& n) { out_ += number(n.value, e->dtype); },
            [&](const Var& n) { out_ += style_.var ? style_.var(n) : dag_word(n.name); },
            [&](const Unary& n) {
              if (n.op == UnaryOp::neg) return function("neg", {n.a});
              out_ += "!";
              inner(n.a);
            },
            [&](const Binary& n) { binary_text(n); },
            [&](const Select& n) { function("select", {n.condition, n.if_true, n.if_false}); },
            [&](const Cast& n) { function(name_of(e->dtype), {n.a}); },
            [&](const Call& n) { function(name_of(n.fn), n.args); },
            [&](const Load& n) { load_text(n); },
            [&](const Ramp& n) { vector("ramp", n.base, std::to_string(n.stride) + ", " + std::to_string(e->lanes)); },
            [&](const Broadcast& n) { vector("broadcast", n.a, std::to_string(e->lanes)); },
        },
        e->kind);
  }

  const ExprStyle& style_;
  std::string& out_;
};

/// The axes' names, made distinct, as the notation writes them. No axis has a size's name.
std::vector<std::string> axis_names(const ComputeDag& dag, const Element& e) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const SizeRange& size : dag.sizes) taken.insert(size.name);
  auto add = [&](const Axis& a) {
    std::string name = a.name.empty() ? "i" + std::to_string(names.size()) : a.name;
    for (int k = 1; !taken.insert(name).second; ++k) name = a.name + "_" + std::to_string(k);
    names.push_back(dag_word(name));
  };
  for (const Axis& a : e.axes) add(a);
  for (const Axis& a : e.reduce_axes) add(a);
  return names;
}

std::string size_name(const ComputeDag& dag, VarId id) { return dag_word(dag.sizes[size_number(id)].name); }

/// A number, or its function of the DAG's sizes.
std::string number_or_function(const ComputeDag& dag, std::int64_t number, const Expr& size) {
  if (!size.defined()) return std::to_string(number);
  return to_text(size, ExprStyle{{}, [&](const Var& v) { return size_name(dag, v.id); }, {}});
}

std::string size_line(const SizeRange& size, std::int64_t at) {
  return dag_word(size.name) + " = SIZE " + std::to_string(size.min) + ".." + std::to_string(size.max) +
         (size.step > 1 ? ":" + std::to_string(size.step) : "") + " at " + std::to_string(at);
}

std::string placeholder_line(const ComputeDag& dag, const Op& op, const Placeholder& p) {
  std::string line = dag_word(op.name) + " = PLACEHOLDER [";
  for (std::size_t i = 0; i < op.shape.size(); ++i)
    line += (i ? ", " : "") + number_or_function(dag, op.shape[i], op.sizes.empty() ? Expr() : op.sizes[i]);
  line += "]";
  if (op.dtype != DType::f32) line += " " + std::string(name_of(op.dtype));
  if (p.constant) line += " const";
  if (p.index_bound > 0) line += " < " + number_or_function(dag, p.index_bound, p.size);
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
  const std::vector<std::string> names = axis_names(dag, e);
  std::string line = dag_word(op.name) + "(";
  for (std::size_t i = 0; i < e.axes.size(); ++i) line += (i ? ", " : "") + names[i];
  line += ")";
  if (op.dtype != DType::f32) line += ": " + std::string(name_of(op.dtype));
  line += " " + (e.reducer ? std::string(sign_of(*e.reducer)) : "=") + " ";
  ExprStyle style;
  style.source = [&](SourceId id) { return dag_word(dag.op(OpId(id.value)).name); };
  style.var = [&](const Var& v) { return v.id.valid() ? names[v.id.index()] : size_name(dag, v.id); };
  line += to_text(e.body, style);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Axis& axis = axis_of(e, AxisId(static_cast<std::int64_t>(i)));
    line += (i ? ", " : " for ") + names[i] + " in " + number_or_function(dag, axis.extent, axis.size);
  }
  return line + comment(e, names);
}

}  // namespace

std::string to_text(const Expr& e, const ExprStyle& style) {
  std::string out;
  ExprPrinter(style, out).top(e);
  return out;
}

std::string to_text(const Expr& e, const std::function<std::string(SourceId)>& source_name) {
  return to_text(e, ExprStyle{source_name, {}, {}});
}

std::string to_text(const ComputeDag& dag) {
  std::string text;
  for (std::size_t k = 0; k < dag.sizes.size(); ++k) text += size_line(dag.sizes[k], dag.at[k]) + "\n";
  for (const Op& op : dag.ops) {
    const auto* p = std::get_if<Placeholder>(&op.def);
    text += (p ? placeholder_line(dag, op, *p) : element_line(dag, op)) + "\n";
  }
  for (std::size_t i = 0; i < dag.outputs.size(); ++i) {
    text += (i ? ", " : "return ") + dag_word(dag.op(dag.outputs[i]).name);
  }
  return dag.outputs.empty() ? text : text + "\n";
}

}  // namespace whet
