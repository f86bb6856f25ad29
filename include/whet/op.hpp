// Operators of one's own: tensors by expressions over axes, printed in whet's notation (docs/formats/dag.md), which every command takes
// as a model. Header only; C++17; needs nothing else of whet.
//
//   namespace op = whet::op;
//   auto a = op::input("a", {512, 256}), b = op::input("b", {256, 512}), c = op::input("c", {512, 512});
//   auto i = op::axis("i", 512), j = op::axis("j", 512), k = op::axis("k", 256);
//   auto product = op::compute("product", {i, j}, op::sum(a(i, k) * b(k, j), {k}));
//   auto out = op::compute("out", {i, j}, product(i, j) + c(i, j));
//   std::ofstream("matmul.dag") << op::text({out});          // whet tune matmul.dag
//
// What cannot be meant throws whet::op::Error with a sentence; what only the whole operator shows (an index outside of its tensor) is
// refused by whet when it reads the text.
#ifndef WHET_OP_HPP
#define WHET_OP_HPP

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace whet::op {

class Error : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

enum class DType { f32, f64, f16, i64, i32, i8, u8, boolean, bf16, i16 };

namespace detail {

inline const char* name_of(DType dtype) {
  constexpr const char* kNames[] = {"f32", "f64", "f16", "i64", "i32", "i8", "u8", "bool", "bf16", "i16"};
  return kNames[static_cast<int>(dtype)];
}
inline bool is_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
}

inline bool is_word(const std::string& name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  for (const char c : name)
    if (!is_letter(c) && !(c >= '0' && c <= '9') && c != '.') return false;
  for (const char* word :
       {"for", "in", "return", "true", "false", "inff", "infd", "infh", "infb", "nanf", "nand", "nanh", "nanb"})
    if (name == word) return false;
  return !name.empty() && is_letter(name[0]);
}
/// A name as the notation has it: in quotes where it is no word, or one of the notation's own.
inline std::string quoted(const std::string& name) {
  if (is_word(name)) return name;
  std::string text = "\"";
  for (const char c : name) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n')
      text += "\\x0a";
    else
      text += c;
  }
  return text + "\"";
}

/// A line of the notation, and the lines that it reads.
struct Line {
  std::string name, text;
  bool is_input = false;
  std::size_t dimensions = 0;
  DType dtype = DType::f32;
  std::vector<std::shared_ptr<const Line>> reads;
  std::vector<std::string> sizes = {};  ///< lines of sizes with bounds
};
using Reads = std::vector<std::shared_ptr<const Line>>;

inline Reads joined(Reads a, const Reads& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace detail

/// A number that depends on axes and on elements of tensors. Of two operands, a C++ number takes the other's type.
struct Expr {
  std::string text;
  DType dtype;
  detail::Reads reads;
};

/// An extent that the shapes of inputs decide (`--shape`, or `--sizes n=1..512` for a range); an i64 in expressions.
struct Size : Expr {
  std::string line;  ///< of the notation; "": it has no bounds
};
inline Size size(const std::string& name) {
  if (!detail::is_word(name)) throw Error("the size \"" + name + "\" is no word; expected letters, digits, _ and .");
  return {{name, DType::i64, {}}, ""};
}
/// With bounds, and the value where nothing else decides it.
inline Size size(const std::string& name, std::int64_t least, std::int64_t most, std::int64_t at) {
  Size bounded = size(name);
  bounded.line =
      name + " = SIZE " + std::to_string(least) + ".." + std::to_string(most) + " at " + std::to_string(at) + "\n";
  return bounded;
}

/// Of a dimension or an axis: a number, or a size.
struct Extent {
  std::string text, size_line;
  template <typename T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  Extent(T number) : text(std::to_string(number)) {}                      // NOLINT: implicit, as numbers are written
  Extent(const Size& size) : text(size.text), size_line(size.line) {}  // NOLINT
};

/// The numbers 0 .. extent-1; an i64 in expressions.
struct Axis : Expr {
  Extent extent;
};
inline Axis axis(const std::string& name, const Extent& extent) {
  return {{detail::quoted(name), DType::i64, {}}, extent};
}

/// A number as a constant of `dtype`.
inline Expr constant(double value, DType dtype) {
  if (dtype == DType::boolean) return {value != 0 ? "true" : "false", dtype, {}};
  if (!detail::is_float(dtype)) {
    constexpr double kBeyond = 9223372036854775808.0;  // 2^63
    if (!(std::abs(value) < kBeyond)) throw Error(std::to_string(value) + " is no " + detail::name_of(dtype));
    if (value != std::floor(value))
      throw Error(std::to_string(value) + " is no " + detail::name_of(dtype) + "; op::cast makes one of it");
    return {std::to_string(static_cast<std::int64_t>(value)) + (dtype == DType::i64 ? "" : detail::name_of(dtype)),
            dtype,
            {}};
  }
  const char* suffix = dtype == DType::f32 ? "f" : dtype == DType::f64 ? "d" : dtype == DType::f16 ? "h" : "b";
  if (std::isnan(value)) return {std::string("nan") + suffix, dtype, {}};
  if (std::isinf(value)) return {std::string(value < 0 ? "-inf" : "inf") + suffix, dtype, {}};
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.17g", value);
  return {digits + std::string(suffix), dtype, {}};
}

namespace detail {

/// A number as a constant of `dtype`. Integers stay as they are.
template <typename T>
Expr number(T value, DType dtype) {
  if constexpr (std::is_integral_v<T>) {
    if (dtype != DType::boolean && !is_float(dtype))
      return {std::to_string(value) + (dtype == DType::i64 ? "" : name_of(dtype)), dtype, {}};
  }
  return constant(static_cast<double>(value), dtype);
}

}  // namespace detail

inline Expr cast(DType dtype, const Expr& x) {
  return {std::string(detail::name_of(dtype)) + "(" + x.text + ")", dtype, x.reads};
}

namespace detail {

inline void expect_same(const Expr& a, const Expr& b) {
  if (a.dtype != b.dtype)
    throw Error(a.text + " is " + name_of(a.dtype) + " and " + b.text + " is " + name_of(b.dtype) +
                "; op::cast gives them one type");
}
inline Expr infix(const Expr& a, const char* sign, const Expr& b) {
  expect_same(a, b);
  return {"(" + a.text + sign + b.text + ")", a.dtype, joined(a.reads, b.reads)};
}
inline Expr compared(const Expr& a, const char* sign, const Expr& b) {
  Expr result = infix(a, sign, b);
  result.dtype = DType::boolean;
  return result;
}
inline Expr called(const char* function, const Expr& a, const Expr& b) {
  expect_same(a, b);
  return {std::string(function) + "(" + a.text + ", " + b.text + ")", a.dtype, joined(a.reads, b.reads)};
}
inline Expr called(const char* function, const Expr& x) {
  if (!is_float(x.dtype))
    throw Error(std::string(function) + " is of floats, and " + x.text + " is " + name_of(x.dtype));
  return {std::string(function) + "(" + x.text + ")", x.dtype, x.reads};
}
inline Expr divided(const Expr& a, const Expr& b) {
  if (!is_float(a.dtype))
    throw Error("/ is for floats, and " + a.text + " is " + name_of(a.dtype) + "; op::floordiv rounds down");
  return infix(a, "/", b);
}

template <typename T>
using IfNumber = std::enable_if_t<std::is_arithmetic_v<T>, int>;

}  // namespace detail

#define WHET_OP_INFIX(sign, form)                                                \
  inline Expr operator sign(const Expr& a, const Expr& b) { return form(a, b); } \
  template <typename T, detail::IfNumber<T> = 0>                                 \
  Expr operator sign(const Expr& a, T b) {                                       \
    return form(a, detail::number(b, a.dtype));                                  \
  }                                                                              \
  template <typename T, detail::IfNumber<T> = 0>                                 \
  Expr operator sign(T a, const Expr& b) {                                       \
    return form(detail::number(a, b.dtype), b);                                  \
  }
#define WHET_OP_FORM(name, body)                                  \
  namespace detail {                                              \
  inline Expr name(const Expr& a, const Expr& b) { return body; } \
  }
WHET_OP_FORM(added, infix(a, " + ", b))
WHET_OP_FORM(taken, infix(a, " - ", b))
WHET_OP_FORM(times, infix(a, "*", b))
WHET_OP_FORM(less, compared(a, " < ", b))
WHET_OP_FORM(at_most, compared(a, " <= ", b))
WHET_OP_FORM(greater, compared(a, " > ", b))
WHET_OP_FORM(at_least, compared(a, " >= ", b))
WHET_OP_FORM(equal, compared(a, " == ", b))
WHET_OP_FORM(differs, compared(a, " != ", b))
WHET_OP_INFIX(+, detail::added)
WHET_OP_INFIX(-, detail::taken)
WHET_OP_INFIX(*, detail::times)
WHET_OP_INFIX(/, detail::divided)
WHET_OP_INFIX(<, detail::less)
WHET_OP_INFIX(<=, detail::at_most)
WHET_OP_INFIX(>, detail::greater)
WHET_OP_INFIX(>=, detail::at_least)
WHET_OP_INFIX(==, detail::equal)
WHET_OP_INFIX(!=, detail::differs)
#undef WHET_OP_INFIX
#undef WHET_OP_FORM

inline Expr operator-(const Expr& x) { return {"neg(" + x.text + ")", x.dtype, x.reads}; }
inline Expr operator&&(const Expr& a, const Expr& b) { return detail::infix(a, " && ", b); }
inline Expr operator||(const Expr& a, const Expr& b) { return detail::infix(a, " || ", b); }
inline Expr operator!(const Expr& x) { return {"!(" + x.text + ")", x.dtype, x.reads}; }

inline Expr minimum(const Expr& a, const Expr& b) { return detail::called("min", a, b); }
inline Expr minimum(const Expr& a, double b) { return minimum(a, constant(b, a.dtype)); }
inline Expr maximum(const Expr& a, const Expr& b) { return detail::called("max", a, b); }
inline Expr maximum(const Expr& a, double b) { return maximum(a, constant(b, a.dtype)); }
/// Of integers, rounding down, and what is left.
inline Expr floordiv(const Expr& a, std::int64_t b) {
  return detail::called("floordiv", a, detail::number(b, a.dtype));
}
inline Expr floormod(const Expr& a, std::int64_t b) {
  return detail::called("floormod", a, detail::number(b, a.dtype));
}
inline Expr power(const Expr& a, const Expr& b) { return detail::called("pow", a, b); }
/// a where the condition holds, else b. The side that is not chosen is not read, so it may lie outside of its tensor.
inline Expr where(const Expr& condition, const Expr& a, const Expr& b) {
  detail::expect_same(a, b);
  return {"select(" + condition.text + ", " + a.text + ", " + b.text + ")", a.dtype,
          detail::joined(condition.reads, detail::joined(a.reads, b.reads))};
}
inline Expr where(const Expr& condition, const Expr& a, double b) { return where(condition, a, constant(b, a.dtype)); }
inline Expr exp(const Expr& x) { return detail::called("exp", x); }
inline Expr log(const Expr& x) { return detail::called("log", x); }
inline Expr sqrt(const Expr& x) { return detail::called("sqrt", x); }
inline Expr rsqrt(const Expr& x) { return detail::called("rsqrt", x); }
inline Expr tanh(const Expr& x) { return detail::called("tanh", x); }
inline Expr erf(const Expr& x) { return detail::called("erf", x); }
inline Expr sigmoid(const Expr& x) { return detail::called("sigmoid", x); }
inline Expr sin(const Expr& x) { return detail::called("sin", x); }
inline Expr cos(const Expr& x) { return detail::called("cos", x); }
inline Expr floor(const Expr& x) { return detail::called("floor", x); }
inline Expr ceil(const Expr& x) { return detail::called("ceil", x); }
inline Expr round(const Expr& x) { return detail::called("round", x); }  ///< half to even
inline Expr absolute(const Expr& x) { return detail::called("abs", x); }

/// What `compute` reduces: `body` over axes.
struct Reduction {
  const char* sign;
  Expr body;
  std::vector<Axis> over;
};
inline Reduction sum(const Expr& body, std::vector<Axis> over) { return {"+=", body, std::move(over)}; }
inline Reduction prod(const Expr& body, std::vector<Axis> over) { return {"*=", body, std::move(over)}; }
inline Reduction max(const Expr& body, std::vector<Axis> over) { return {"max=", body, std::move(over)}; }
inline Reduction min(const Expr& body, std::vector<Axis> over) { return {"min=", body, std::move(over)}; }

/// An input, or what `compute` defines.
class Tensor {
 public:
  explicit Tensor(std::shared_ptr<const detail::Line> line) : line_(std::move(line)) {}

  /// An element. Indices are expressions of integers, or numbers.
  template <typename... Index>
  Expr operator()(const Index&... index) const {
    return at({place(index)...});
  }
  Expr at(const std::vector<Expr>& index) const {
    if (index.size() != line_->dimensions)
      throw Error(line_->name + " has " + std::to_string(line_->dimensions) + " dimensions and is read at " +
                  std::to_string(index.size()));
    Expr element{detail::quoted(line_->name) + "[", line_->dtype, {line_}};
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (detail::is_float(index[d].dtype) || index[d].dtype == DType::boolean)
        throw Error(line_->name + " is read at " + index[d].text + ", which is " + detail::name_of(index[d].dtype) +
                    "; an index is an integer");
      const Expr i = index[d].dtype == DType::i64 ? index[d] : cast(DType::i64, index[d]);
      element.text += (d > 0 ? ", " : "") + i.text;
      element.reads = detail::joined(std::move(element.reads), i.reads);
    }
    element.text += "]";
    return element;
  }
  const std::string& name() const { return line_->name; }
  const std::shared_ptr<const detail::Line>& line() const { return line_; }

 private:
  static Expr place(const Expr& index) { return index; }
  template <typename T, detail::IfNumber<T> = 0>
  static Expr place(T index) {
    return detail::number(index, DType::i64);
  }
  std::shared_ptr<const detail::Line> line_;
};

struct InputOptions {
  DType dtype = DType::f32;
  bool is_const = false;   ///< may be packed for the kernel, where its values are known while compiling
  std::int64_t below = 0;  ///< an index tensor of the values 0 .. below-1; others count as the nearest of these
};
inline Tensor input(const std::string& name, const std::vector<Extent>& extents, const InputOptions& options = {}) {
  std::string text = detail::quoted(name) + " = PLACEHOLDER [";
  for (std::size_t d = 0; d < extents.size(); ++d) text += (d > 0 ? ", " : "") + extents[d].text;
  text += "]";
  if (options.dtype != DType::f32) text += std::string(" ") + detail::name_of(options.dtype);
  if (options.is_const) text += " const";
  if (options.below > 0) text += " < " + std::to_string(options.below);
  detail::Line line{name, text, true, extents.size(), options.dtype, {}};
  for (const Extent& each : extents)
    if (!each.size_line.empty()) line.sizes.push_back(each.size_line);
  return Tensor(std::make_shared<detail::Line>(std::move(line)));
}
inline Tensor input(const std::string& name, std::initializer_list<Extent> extents, const InputOptions& options = {}) {
  return input(name, std::vector<Extent>(extents), options);
}
inline Tensor input(const std::string& name, const std::vector<std::int64_t>& extents,
                    const InputOptions& options = {}) {
  return input(name, std::vector<Extent>(extents.begin(), extents.end()), options);
}

/// A tensor with a dimension an axis, and the value at each place.
inline Tensor compute(const std::string& name, const std::vector<Axis>& axes, const Reduction& value) {
  std::string text = detail::quoted(name) + "(";
  for (std::size_t d = 0; d < axes.size(); ++d) text += (d > 0 ? ", " : "") + axes[d].text;
  text += ")";
  if (value.body.dtype != DType::f32) text += std::string(": ") + detail::name_of(value.body.dtype);
  text += std::string(" ") + value.sign + " " + value.body.text;
  std::vector<Axis> loops = axes;
  loops.insert(loops.end(), value.over.begin(), value.over.end());
  for (std::size_t l = 0; l < loops.size(); ++l)
    text += (l == 0 ? " for " : ", ") + loops[l].text + " in " + loops[l].extent.text;
  return Tensor(
      std::make_shared<detail::Line>(detail::Line{name, text, false, axes.size(), value.body.dtype, value.body.reads}));
}
inline Tensor compute(const std::string& name, const std::vector<Axis>& axes, const Expr& value) {
  return compute(name, axes, Reduction{"=", value, {}});
}

/// The operator that computes these tensors, as whet reads it: inputs, what is computed of them in order, and what is returned.
inline std::string text(const std::vector<Tensor>& outputs) {
  if (outputs.empty()) throw Error("an operator has an output; op::text takes what op::compute gives");
  std::vector<std::shared_ptr<const detail::Line>> order;
  std::set<const detail::Line*> known;
  std::vector<std::pair<std::shared_ptr<const detail::Line>, bool>> todo;
  for (auto output = outputs.rbegin(); output != outputs.rend(); ++output) todo.emplace_back(output->line(), false);
  while (!todo.empty()) {
    const auto [line, is_done] = todo.back();
    todo.pop_back();
    if (is_done) order.push_back(line);
    if (is_done || !known.insert(line.get()).second) continue;
    todo.emplace_back(line, true);
    for (auto read = line->reads.rbegin(); read != line->reads.rend(); ++read) todo.emplace_back(*read, false);
  }
  std::string sizes, inputs, computed, returned;
  std::set<std::string> names, size_lines;
  for (const auto& line : order) {
    for (const std::string& size : line->sizes)
      if (size_lines.insert(size).second) sizes += size;
    if (!names.insert(line->name).second) throw Error("two tensors are called \"" + line->name + "\"");
    (line->is_input ? inputs : computed) += line->text + "\n";
  }
  for (const Tensor& output : outputs)
    returned += (returned.empty() ? "return " : ", ") + detail::quoted(output.name());
  return sizes + inputs + computed + returned + "\n";
}

}  // namespace whet::op

#endif  // WHET_OP_HPP
