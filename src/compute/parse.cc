#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <unordered_map>

#include "compute/dag.h"
#include "compute/lexer.h"
#include "compute/names.h"

namespace whet {
namespace {

/// Deeper expressions are refused, so that a hostile text cannot exhaust the stack.
constexpr int kMaxDepth = 1000;

struct Level {
  std::string_view sign;
  BinaryOp op;
  int binding;
};
constexpr Level kLevels[] = {
    {"||", BinaryOp::logical_or, 1}, {"&&", BinaryOp::logical_and, 2}, {"<", BinaryOp::lt, 3},  {"<=", BinaryOp::le, 3},
    {">", BinaryOp::gt, 3},          {">=", BinaryOp::ge, 3},          {"==", BinaryOp::eq, 3}, {"!=", BinaryOp::ne, 3},
    {"+", BinaryOp::add, 4},         {"-", BinaryOp::sub, 4},          {"*", BinaryOp::mul, 5}, {"/", BinaryOp::div, 5},
};

std::optional<double> parse_number(const std::string& digits) {
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (end != digits.data() + digits.size() || error == std::errc::invalid_argument) return {};
  return value;
}

std::optional<std::int64_t> parse_integer(const std::string& digits, bool negative) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (end != digits.data() + digits.size() || error != std::errc()) return {};
  const std::uint64_t limit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) + negative;
  if (value > limit) return {};
  return static_cast<std::int64_t>(negative ? 0 - value : value);
}

std::optional<DType> dtype_of_suffix(char c) {
  if (c == 'f') return DType::f32;
  if (c == 'd') return DType::f64;
  if (c == 'h') return DType::f16;
  if (c == 'b') return DType::bf16;
  return {};
}

/// A place in the tokens of a line; errors name its column.
class TokenCursor {
 public:
  explicit TokenCursor(std::vector<DagToken> tokens) : tokens_(std::move(tokens)) {}

  bool at_end() const { return peek().kind == DagToken::Kind::end || peek().kind == DagToken::Kind::comment; }
  const DagToken& peek(std::size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const DagToken& next() {
    const DagToken& token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool is(std::string_view text) const {
    return (peek().kind == DagToken::Kind::sign || peek().kind == DagToken::Kind::word) && peek().text == text;
  }
  bool accept(std::string_view text) {
    if (!is(text)) return false;
    next();
    return true;
  }

  Error fail(const std::string& what) const { return Error{"column " + std::to_string(peek().column) + ": " + what}; }
  Error expected(const std::string& what) const {
    const DagToken& t = peek();
    const std::string found = t.kind == DagToken::Kind::end ? "the end of the line" : "'" + t.text.substr(0, 40) + "'";
    return fail("expected " + what + ", found " + found);
  }
  Status expect(std::string_view text) {
    return accept(text) ? ok_status() : Status(expected("'" + std::string(text) + "'"));
  }
  Status end() const { return at_end() ? ok_status() : Status(expected("the end of the line")); }

  Result<std::string> name(const std::string& what) {
    if (peek().kind != DagToken::Kind::word && peek().kind != DagToken::Kind::quoted) return expected(what);
    return next().text;
  }

  Result<std::int64_t> integer(const std::string& what) {
    const bool negative = accept("-");
    if (peek().kind != DagToken::Kind::number) return expected(what);
    const auto value = parse_integer(peek().text, negative);
    if (!value) return expected(what);
    next();
    return *value;
  }

  Result<DType> dtype() {
    WHET_TRY(const std::string word, name("a dtype"));
    const auto found = parse_dtype(word);
    if (!found) return fail("no dtype is named '" + word + "'");
    return *found;
  }
  std::size_t place() const { return at_; }
  void go_to(std::size_t place) { at_ = place; }
  /// Goes on with other tokens.
  void restart(std::vector<DagToken> tokens) { tokens_ = std::move(tokens), at_ = 0; }

 private:
  std::vector<DagToken> tokens_;
  std::size_t at_ = 0;
};

/// Reads an expression at the place, and goes behind it. Nodes are made as they are written, unfolded, so that a printed DAG is
/// read back exactly.
class ExprParser : protected TokenCursor {
 public:
  ExprParser(const ComputeDag& dag, const std::map<std::string, OpId>& ops, std::vector<DagToken> tokens)
      : TokenCursor(std::move(tokens)), dag_(dag), ops_(ops) {
    for (std::size_t k = 0; k < dag.sizes.size(); ++k) vars_.emplace(dag.sizes[k].name, size_var(k));
  }

 protected:
  Result<Expr> expr(int binding) {
    if (++depth_ > kMaxDepth) return too_deep();
    WHET_TRY(Expr a, primary());
    for (const Level* l = level(); l && l->binding > binding; l = level()) {
      next();
      WHET_TRY(Expr b, expr(l->binding));
      WHET_TRY(a, apply(l->op, std::move(a), std::move(b)));
    }
    --depth_;
    return a;
  }

  const ComputeDag& dag_;
  const std::map<std::string, OpId>& ops_;  ///< before the line
  std::map<std::string, VarId> vars_;       ///< the DAG's sizes, and the axes of the line

 private:
  const Level* level() const {
    if (peek().kind != DagToken::Kind::sign) return nullptr;
    for (const Level& l : kLevels) {
      if (l.sign == peek().text) return &l;
    }
    return nullptr;
  }

  /// Makes a node, unless it is too deep: whoever walks or frees an expression recurses.
  Result<Expr> node(DType dtype, const std::vector<Expr>& children, ExprKind kind) {
    int depth = 1;
    for (const Expr& child : children) {
      const auto found = depths_.find(child.get());
      depth = std::max(depth, 1 + (found == depths_.end() ? 1 : found->second));
    }
    if (depth > kMaxDepth) return too_deep();
    Expr e = make_expr(dtype, 1, std::move(kind));
    depths_.insert_or_assign(e.get(), depth);
    return e;
  }

  Error too_deep() const { return fail("more than " + std::to_string(kMaxDepth) + " expressions inside each other"); }

  Result<Expr> apply(BinaryOp op, Expr a, Expr b) {
    const bool logic = op >= BinaryOp::logical_and, comparison = !logic && op >= BinaryOp::lt;
    if (a->dtype != b->dtype) {
      return fail("the operands are " + std::string(name_of(a->dtype)) + " and " + std::string(name_of(b->dtype)));
    }
    if (logic && a->dtype != DType::boolean) return fail("&& and || take booleans");
    if ((op == BinaryOp::floordiv || op == BinaryOp::floormod) && is_float(a->dtype)) {
      return fail("floordiv and floormod take integers");
    }
    const DType dtype = logic || comparison ? DType::boolean : a->dtype;
    return node(dtype, {a, b}, Binary{op, a, b});
  }

  Result<Expr> primary() {
    const DagToken::Kind kind = peek().kind;
    if (kind == DagToken::Kind::number) return literal(false);
    if (accept("-")) return literal(true);
    if (accept("(")) {
      WHET_TRY(Expr e, expr(0));
      WHET_RETURN_IF_ERROR(expect(")"));
      return e;
    }
    if (accept("!")) {
      if (++depth_ > kMaxDepth) return too_deep();
      WHET_TRY(Expr e, primary());
      --depth_;
      if (e->dtype != DType::boolean) return fail("! takes a boolean");
      return node(DType::boolean, {e}, Unary{UnaryOp::logical_not, e});
    }
    if (accept("true")) return bool_const(true);
    if (accept("false")) return bool_const(false);
    if (kind == DagToken::Kind::word && (is("inff") || is("infd") || is("infh") || is("infb"))) return literal(false);
    if (kind == DagToken::Kind::word && (is("nanf") || is("nand") || is("nanh") || is("nanb"))) return literal(false);
    if (kind != DagToken::Kind::word && kind != DagToken::Kind::quoted) return expected("an expression");
    const DagToken word = next();
    if (accept("[")) return load(word.text);
    if (word.kind == DagToken::Kind::word && accept("(")) return function(word.text);
    const auto found = vars_.find(word.text);
    if (found == vars_.end()) return fail("no axis is named '" + word.text + "'");
    return var(found->second, word.text);
  }

  /// 5, 5i32, 0.5f, inff, after the sign.
  Result<Expr> literal(bool negative) {
    const std::string text = peek().text;
    if (peek().kind != DagToken::Kind::number && text.substr(0, 3) != "inf" && text.substr(0, 3) != "nan") {
      return expected("a number");
    }
    if (const auto dtype = dtype_of_suffix(text.back())) {
      const auto value = parse_number(text.substr(0, text.size() - 1));
      if (!value) return expected("a number");
      next();
      return float_const(negative ? -*value : *value, *dtype);
    }
    const std::size_t letter = text.find_first_of("iu");
    const auto dtype = letter == std::string::npos ? DType::i64 : parse_dtype(text.substr(letter));
    const auto value = parse_integer(text.substr(0, letter), negative);
    if (!dtype || is_float(*dtype) || !value) return expected("a number such as 3, 3i32 or 0.5f");
    next();
    Expr e = int_const(*value, *dtype);
    if (!is_const(e, *value)) return fail("the number does not fit " + std::string(name_of(*dtype)));
    return e;
  }

  Result<std::vector<Expr>> list(std::string_view close) {
    std::vector<Expr> out;
    while (!accept(close)) {
      WHET_TRY(Expr e, expr(0));
      out.push_back(std::move(e));
      if (!is(close)) WHET_RETURN_IF_ERROR(expect(","));
    }
    return out;
  }

  Result<Expr> load(const std::string& name) {
    const auto found = ops_.find(name);
    if (found == ops_.end()) return fail("no op before this line is named '" + name + "'");
    WHET_TRY(std::vector<Expr> index, list("]"));
    for (const Expr& i : index) {
      if (i->dtype != DType::i64) return fail("an index is i64");
    }
    return node(dag_.op(found->second).dtype, index, Load{SourceId(found->second.value), index, Expr()});
  }

  Result<Expr> function(const std::string& name) {
    WHET_TRY(std::vector<Expr> args, list(")"));
    const auto count = [&](std::size_t n) {
      return args.size() == n ? ok_status() : Status(fail(name + " takes " + std::to_string(n) + " operands"));
    };
    if (name == name_of(MathFn::bits_of)) {
      WHET_RETURN_IF_ERROR(count(1));
      const DType of = args[0]->dtype;
      if (of != DType::f32 && of != DType::f64) return fail(name + " takes an f32 or an f64");
      return node(of == DType::f64 ? DType::i64 : DType::i32, args, Call{MathFn::bits_of, args});
    }
    if (const auto fn = parse_math_fn(name); fn && *fn != MathFn::float_of_bits) {
      WHET_RETURN_IF_ERROR(count(*fn == MathFn::pow ? 2 : 1));
      const DType dtype = args[0]->dtype;
      if (!is_float(dtype) || args.back()->dtype != dtype) return fail(name + " takes floats of one dtype");
      if (rounds_operands(*fn) && dtype != DType::f32) return fail(name + " takes an f32");
      return node(dtype, args, Call{*fn, args});
    }
    if (const auto dtype = parse_dtype(name)) {
      WHET_RETURN_IF_ERROR(count(1));
      return node(*dtype, args, Cast{args[0]});
    }
    if (name == "neg") {
      WHET_RETURN_IF_ERROR(count(1));
      if (args[0]->dtype == DType::boolean) return fail("neg takes a number");
      const DType dtype = args[0]->dtype;
      return node(dtype, args, Unary{UnaryOp::neg, args[0]});
    }
    if (name == "select") {
      WHET_RETURN_IF_ERROR(count(3));
      const DType dtype = args[1]->dtype;
      if (args[0]->dtype != DType::boolean || args[2]->dtype != dtype) {
        return fail("select takes a boolean and two operands of one dtype");
      }
      return node(dtype, args, Select{args[0], args[1], args[2]});
    }
    const std::pair<std::string_view, BinaryOp> binaries[] = {{"floordiv", BinaryOp::floordiv},
                                                              {"floormod", BinaryOp::floormod},
                                                              {"min", BinaryOp::min},
                                                              {"max", BinaryOp::max}};
    for (const auto& [word, op] : binaries) {
      if (word != name) continue;
      WHET_RETURN_IF_ERROR(count(2));
      return apply(op, std::move(args[0]), std::move(args[1]));
    }
    return fail("no function is named '" + name + "'");
  }

  int depth_ = 0;
  std::unordered_map<const ExprNode*, int> depths_;
};

/// Reads one line: a size, an op, or the outputs.
class LineParser : ExprParser {
 public:
  using ExprParser::at_end;
  using ExprParser::ExprParser;
  bool starts_with_return() const { return peek().kind == DagToken::Kind::word && peek().text == "return"; }
  bool is_size() const { return peek(1).text == "=" && peek(2).kind == DagToken::Kind::word && peek(2).text == "SIZE"; }

  /// n = SIZE 2..512 at 64, n = SIZE 32..320:32 at 64
  Result<std::pair<SizeRange, std::int64_t>> size() {
    SizeRange size;
    WHET_TRY(size.name, name("the name of a size"));
    next(), next();
    WHET_TRY(size.min, integer("the least value"));
    WHET_RETURN_IF_ERROR(expect(".."));
    WHET_TRY(size.max, integer("the largest value"));
    if (accept(":")) {
      WHET_TRY(size.step, integer("the step"));
    }
    WHET_RETURN_IF_ERROR(expect("at"));
    WHET_TRY(const std::int64_t at, integer("a value of the size"));
    WHET_RETURN_IF_ERROR(end());
    return std::pair(std::move(size), at);
  }

  Result<std::vector<OpId>> outputs() {
    next();
    std::vector<OpId> found;
    do {
      WHET_TRY(const std::string name, this->name("the name of an op"));
      const auto op = ops_.find(name);
      if (op == ops_.end()) return fail("no op is named '" + name + "'");
      found.push_back(op->second);
    } while (accept(","));
    WHET_RETURN_IF_ERROR(end());
    return found;
  }

  Result<Op> op() {
    Op op;
    WHET_TRY(op.name, name("the name of an op"));
    if (accept("=")) {
      WHET_RETURN_IF_ERROR(placeholder(op));
    } else {
      WHET_RETURN_IF_ERROR(element(op));
    }
    return op;
  }

 private:
  /// A number, and its function of the DAG's sizes where it has one.
  Status number(const std::string& what, std::int64_t& value, Expr& size) {
    if (dag_.sizes.empty()) {
      WHET_TRY(value, integer(what));
      return ok_status();
    }
    WHET_TRY(Expr e, expr(0));
    if (const std::int64_t* constant = as_int(e); constant && e->dtype == DType::i64)
      return value = *constant, ok_status();
    if (e->dtype != DType::i64) return expected(what);
    if (const Status right = check_size_expr(e, dag_.sizes.size()); !right.ok()) return fail(right.error().message);
    value = value_at(e, dag_.at);
    size = std::move(e);
    return ok_status();
  }

  /// Functions of sizes, one a dimension; empty where there is none.
  static std::vector<Expr> functions(std::vector<Expr> sizes) {
    const auto defined = [](const Expr& e) { return e.defined(); };
    return std::any_of(sizes.begin(), sizes.end(), defined) ? sizes : std::vector<Expr>();
  }

  Status placeholder(Op& op) {
    WHET_RETURN_IF_ERROR(expect("PLACEHOLDER"));
    WHET_RETURN_IF_ERROR(expect("["));
    while (!accept("]")) {
      std::int64_t extent = 0;
      Expr size;
      WHET_RETURN_IF_ERROR(number("an extent", extent, size));
      op.shape.push_back(extent);
      op.sizes.push_back(std::move(size));
      if (!is("]")) WHET_RETURN_IF_ERROR(expect(","));
    }
    op.sizes = functions(std::move(op.sizes));
    Placeholder p;
    if (peek().kind == DagToken::Kind::word && !is("const")) {
      WHET_TRY(op.dtype, dtype());
    }
    p.constant = accept("const");
    if (accept("<")) {
      WHET_RETURN_IF_ERROR(number("the bound of the indices", p.index_bound, p.size));
    }
    op.def = p;
    return end();
  }

  Status element(Op& op) {
    Element e;
    WHET_RETURN_IF_ERROR(expect("("));
    std::vector<std::string> head;
    while (!accept(")")) {
      WHET_TRY(std::string axis, name("an axis"));
      head.push_back(std::move(axis));
      if (!is(")")) WHET_RETURN_IF_ERROR(expect(","));
    }
    if (accept(":")) {
      WHET_TRY(op.dtype, dtype());
    }
    WHET_RETURN_IF_ERROR(assignment(e));
    const std::size_t body = place();
    skip_body();
    WHET_RETURN_IF_ERROR(axes(e, head));
    const std::size_t rest = place();
    go_to(body);
    WHET_TRY(e.body, expr(0));
    if (!is("for")) WHET_RETURN_IF_ERROR(end());
    if (e.body->dtype != op.dtype) return fail("the body's dtype is not that of the op");
    go_to(rest);
    WHET_RETURN_IF_ERROR(end());
    WHET_RETURN_IF_ERROR(comment(e));
    for (const Axis& a : e.axes) op.shape.push_back(a.extent), op.sizes.push_back(a.size);
    op.sizes = functions(std::move(op.sizes));
    op.def = std::move(e);
    return ok_status();
  }

  Status assignment(Element& e) {
    if (accept("=")) return ok_status();
    if (accept("+=")) return e.reducer = Reducer::sum, ok_status();
    if (accept("*=")) return e.reducer = Reducer::prod, ok_status();
    if (accept("max")) return e.reducer = Reducer::max, expect("=");
    if (accept("min")) return e.reducer = Reducer::min, expect("=");
    return expected("=, +=, *=, max= or min=");
  }

  /// The axes follow the body that uses them.
  void skip_body() {
    while (!at_end() && !is("for")) next();
  }

  Status axes(Element& e, const std::vector<std::string>& head) {
    if (accept("for")) {
      do {
        Axis axis;
        WHET_TRY(axis.name, name("an axis"));
        WHET_RETURN_IF_ERROR(expect("in"));
        WHET_RETURN_IF_ERROR(number("the axis's extent", axis.extent, axis.size));
        const bool spatial = e.axes.size() < head.size();
        if (spatial && head[e.axes.size()] != axis.name) return fail("the axes come in the order of the head");
        const auto id = VarId(static_cast<std::int64_t>(e.axes.size() + e.reduce_axes.size()));
        if (const auto [known, added] = vars_.emplace(axis.name, id); !added) {
          return fail(known->second.valid() ? "two axes are named '" + axis.name + "'"
                                            : "'" + axis.name + "' is a size, and the name of no axis");
        }
        (spatial ? e.axes : e.reduce_axes).push_back(std::move(axis));
      } while (accept(","));
    }
    if (e.axes.size() != head.size()) return fail("'for' names no extent of the axis '" + head[e.axes.size()] + "'");
    return ok_status();
  }

  Status comment(Element& e) {
    if (peek().kind != DagToken::Kind::comment) return ok_status();
    auto words = tokenize_dag(std::string_view(peek().text).substr(1));
    if (!words.ok()) return fail("the comment is no family with roles");
    restart(std::move(words).value());
    WHET_TRY(const std::string family, name("a family"));
    const auto known = parse_op_family(family);
    if (!known) return fail("no family is named '" + family + "'");
    e.family = *known;
    while (!at_end()) {
      WHET_TRY(const std::string axis, name("an axis"));
      const auto id = vars_.find(axis);
      if (id == vars_.end() || !id->second.valid()) return fail("no axis is named '" + axis + "'");
      WHET_RETURN_IF_ERROR(expect(":"));
      WHET_TRY(const std::string role, name("a role"));
      const auto known_role = parse_axis_role(role);
      if (!known_role) return fail("no role is named '" + role + "'");
      const std::size_t i = id->second.index();
      (i < e.axes.size() ? e.axes[i] : e.reduce_axes[i - e.axes.size()]).role = *known_role;
    }
    return ok_status();
  }
};

class DagParser {
 public:
  Status line(std::string_view text) {
    WHET_TRY(auto tokens, tokenize_dag(text));
    if (tokens[0].kind == DagToken::Kind::end || tokens[0].kind == DagToken::Kind::comment) return ok_status();
    if (!dag_.outputs.empty()) return Error{"nothing follows the outputs"};
    LineParser parser(dag_, names_, std::move(tokens));
    if (parser.starts_with_return()) {
      WHET_TRY(dag_.outputs, parser.outputs());
      return ok_status();
    }
    if (parser.is_size()) return size(parser);
    WHET_TRY(Op op, parser.op());
    const std::string name = op.name;
    const OpId id = dag_.add(std::move(op));
    if (!names_.emplace(name, id).second) return Error{"two ops are named '" + name + "'"};
    return ok_status();
  }

  ComputeDag take() { return std::move(dag_); }

 private:
  Status size(LineParser& parser) {
    if (!dag_.ops.empty()) return Error{"sizes come before all ops"};
    WHET_TRY(auto read, parser.size());
    dag_.sizes.push_back(std::move(read.first));
    dag_.at.push_back(read.second);
    WHET_RETURN_IF_ERROR(verify(dag_.sizes));
    return check_values(dag_.sizes, dag_.at);
  }

  ComputeDag dag_;
  std::map<std::string, OpId> names_;
};

}  // namespace

Result<ComputeDag> parse_dag(std::string_view text) {
  DagParser parser;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const Status status = parser.line(text.substr(0, end));
    if (!status.ok()) return Error{"DAG, line " + std::to_string(line) + ", " + status.error().message};
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  ComputeDag dag = parser.take();
  const Status status = verify(dag);
  if (!status.ok()) return status.error().at("DAG");
  return dag;
}

}  // namespace whet
