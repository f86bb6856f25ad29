#include "import_torch/guards.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/nearest.h"

namespace whet::torch {
namespace {

constexpr std::size_t kLongestGuard = 65536, kMostNodes = 4096;
constexpr int kMostGuardLevels = 64;
/// Whole numbers up to here are exact in a double.
constexpr double kMostExact = 9007199254740992.0;

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_figure(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Towards minus infinity, as Python divides.
std::optional<double> python_quotient(double a, double b) {
  if (b == 0) return std::nullopt;
  const double rest = std::fmod(a, b);
  const double whole = (a - rest) / b;
  return std::round(rest != 0 && (rest < 0) != (b < 0) ? whole - 1 : whole);
}

}  // namespace

/// Reads Python's expressions from the loosest operator to the tightest. Each function gives the number of a node, or none.
class GuardParser {
 public:
  explicit GuardParser(std::string_view code) : code_(code) {}

  std::optional<Guard> parse() {
    if (code_.size() > kLongestGuard || !condition() || !at_end()) return std::nullopt;
    guard_.text_ += code_.substr(written_);
    return std::move(guard_);
  }

 private:
  using Op = Guard::Op;
  using Node = std::optional<std::size_t>;
  struct Word {
    std::string_view text;
    Op op;
  };

  Node add(Op op, std::vector<std::size_t> operands, double number = 0) {
    if (guard_.nodes_.size() >= kMostNodes) return std::nullopt;
    guard_.nodes_.push_back({op, std::move(operands), number, {}});
    return guard_.nodes_.size() - 1;
  }

  void skip_spaces() {
    while (at_ < code_.size() && (code_[at_] == ' ' || code_[at_] == '\n' || code_[at_] == '\t')) ++at_;
  }
  bool at_end() {
    skip_spaces();
    return at_ == code_.size();
  }
  /// Takes `text` if it comes next; a word is not taken for the beginning of a longer one.
  bool take(std::string_view text) {
    skip_spaces();
    if (!code_.substr(at_).starts_with(text)) return false;
    const std::size_t end = at_ + text.size();
    if (starts_name(text.back()) && end < code_.size() && (starts_name(code_[end]) || is_figure(code_[end])))
      return false;
    at_ = end;
    return true;
  }

  /// One or several of what `next` reads, with words between them.
  template <typename Next>
  Node chain(const Next& next, std::initializer_list<Word> words) {
    Node left = next();
    while (left) {
      const auto word = std::find_if(words.begin(), words.end(), [&](const Word& each) { return take(each.text); });
      if (word == words.end()) break;
      const Node right = next();
      left = right ? add(word->op, {*left, *right}) : std::nullopt;
    }
    return left;
  }

  Node condition() {
    if (level_ == kMostGuardLevels) return std::nullopt;
    ++level_;
    const Node result = chain([&] { return conjunction(); }, {{"or", Op::either}, {"|", Op::either}});
    --level_;
    return result;
  }
  Node conjunction() {
    return chain([&] { return negation(); }, {{"and", Op::both}, {"&", Op::both}});
  }
  Node negation() {
    if (!take("not")) return comparison();
    if (level_ == kMostGuardLevels) return std::nullopt;
    ++level_;
    const Node inner = negation();
    --level_;
    return inner ? add(Op::opposite, {*inner}) : std::nullopt;
  }
  /// a < b < c is a < b and b < c.
  Node comparison() {
    static constexpr std::array<Word, 6> kWords = {{{"==", Op::equal},
                                                    {"!=", Op::not_equal},
                                                    {"<=", Op::less_equal},
                                                    {">=", Op::greater_equal},
                                                    {"<", Op::less},
                                                    {">", Op::greater}}};
    Node left = sum(), all;
    bool compares = false;
    while (left) {
      const auto* word = std::find_if(kWords.begin(), kWords.end(), [&](const Word& each) { return take(each.text); });
      if (word == kWords.end()) break;
      const Node right = sum();
      const Node one = right ? add(word->op, {*left, *right}) : std::nullopt;
      if (!one) return std::nullopt;
      all = compares ? add(Op::both, {*all, *one}) : one;
      if (!all) return std::nullopt;
      compares = true;
      left = right;
    }
    return compares && left ? all : left;
  }
  Node sum() {
    return chain([&] { return term(); }, {{"+", Op::sum}, {"-", Op::difference}});
  }
  Node term() {
    return chain([&] { return factor(); },
                 {{"//", Op::floored_quotient}, {"*", Op::product}, {"/", Op::quotient}, {"%", Op::remainder}});
  }
  Node factor() {
    if (level_ == kMostGuardLevels) return std::nullopt;
    ++level_;
    Node result;
    if (take("-")) {
      const Node inner = factor();
      result = inner ? add(Op::negated, {*inner}) : std::nullopt;
    } else {
      result = atom();
      if (result && take("**")) {
        const Node exponent = factor();
        result = exponent ? add(Op::power, {*result, *exponent}) : std::nullopt;
      }
    }
    --level_;
    return result;
  }

  Node atom() {
    if (take("(")) {
      const Node inner = condition();
      return inner && take(")") ? inner : std::nullopt;
    }
    if (take("True")) return add(Op::number, {}, 1);
    if (take("False")) return add(Op::number, {}, 0);
    skip_spaces();
    if (at_ < code_.size() && (is_figure(code_[at_]) || code_[at_] == '.')) return number();
    if (code_.substr(at_).starts_with("L[")) return size();
    return call();
  }

  Node number() {
    double value = 0;
    const auto [end, fault] = std::from_chars(code_.data() + at_, code_.data() + code_.size(), value);
    if (fault != std::errc()) return std::nullopt;
    at_ = static_cast<std::size_t>(end - code_.data());
    return add(Op::number, {}, value);
  }

  Node call() {
    struct Function {
      std::string_view name;
      Op op;
      std::size_t arguments;  ///< 0: two or more
    };
    static constexpr std::array<Function, 20> kFunctions = {{{"math.trunc", Op::truncated, 1},
                                                             {"math.floor", Op::floored, 1},
                                                             {"math.ceil", Op::ceiled, 1},
                                                             {"math.sqrt", Op::root, 1},
                                                             {"torch._sym_sqrt", Op::root, 1},
                                                             {"torch.sym_sqrt", Op::root, 1},
                                                             {"torch.sym_float", Op::as_float, 1},
                                                             {"torch.sym_int", Op::truncated, 1},
                                                             {"torch.sym_not", Op::opposite, 1},
                                                             {"torch.sym_max", Op::most, 0},
                                                             {"torch.sym_min", Op::least, 0},
                                                             {"torch.sym_ite", Op::chosen, 3},
                                                             {"float", Op::as_float, 1},
                                                             {"int", Op::truncated, 1},
                                                             {"round", Op::rounded, 1},
                                                             {"abs", Op::magnitude, 1},
                                                             {"max", Op::most, 0},
                                                             {"min", Op::least, 0},
                                                             {"Max", Op::most, 0},
                                                             {"Min", Op::least, 0}}};
    const std::size_t begin = at_;
    while (at_ < code_.size() && (starts_name(code_[at_]) || is_figure(code_[at_]) || code_[at_] == '.')) ++at_;
    const std::string_view name = code_.substr(begin, at_ - begin);
    const auto* function =
        std::find_if(kFunctions.begin(), kFunctions.end(), [&](const Function& each) { return each.name == name; });
    if (function == kFunctions.end() || !take("(")) return std::nullopt;
    if (function->op == Op::as_float) write(begin, begin + name.size(), "float");
    std::vector<std::size_t> arguments;
    do {
      const Node argument = condition();
      if (!argument) return std::nullopt;
      arguments.push_back(*argument);
    } while (take(","));
    const bool fits = function->arguments == 0 ? arguments.size() >= 2 : arguments.size() == function->arguments;
    return fits && take(")") ? add(function->op, std::move(arguments)) : std::nullopt;
  }

  /// "L['x'].size()[1]", "L['args'][0].stride()[1]", "L['x'].storage_offset()": of the inputs "x" and "args_0".
  Node size() {
    const std::size_t begin = at_;
    ++at_;
    std::string input;
    while (take("[")) {
      const std::optional<std::string> key = key_of_input();
      if (!key || !take("]")) return std::nullopt;
      input += (input.empty() ? "" : "_") + *key;
    }
    if (take(".storage_offset()")) return add(Op::number, {}, 0);
    const bool is_size = take(".size()[");
    if (!is_size && !take(".stride()[")) return std::nullopt;
    std::uint8_t dimension = 0;
    const auto [end, fault] = std::from_chars(code_.data() + at_, code_.data() + code_.size(), dimension);
    if (fault != std::errc()) return std::nullopt;
    at_ = static_cast<std::size_t>(end - code_.data());
    const Node node = take("]") ? add(is_size ? Op::size : Op::stride, {}) : std::nullopt;
    if (!node) return std::nullopt;
    const Guard::Read read{input, dimension};
    guard_.nodes_[*node].read = read;
    if (is_size && std::find(guard_.reads_.begin(), guard_.reads_.end(), read) == guard_.reads_.end())
      guard_.reads_.push_back(read);
    write(begin, at_, input + (is_size ? ".size(" : ".stride(") + std::to_string(dimension) + ")");
    return node;
  }
  std::optional<std::string> key_of_input() {
    const char quote = at_ < code_.size() ? code_[at_] : '\0';
    if (quote != '\'' && quote != '"') {
      const std::size_t begin = at_;
      while (at_ < code_.size() && is_figure(code_[at_])) ++at_;
      return at_ > begin ? std::optional(std::string(code_.substr(begin, at_ - begin))) : std::nullopt;
    }
    const std::size_t end = code_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string key(code_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return key;
  }

  /// Users read `text` in place of the code from `begin` to `end`.
  void write(std::size_t begin, std::size_t end, const std::string& text) {
    guard_.text_ += std::string(code_.substr(written_, begin - written_)) + text;
    written_ = end;
  }

  std::string_view code_;
  std::size_t at_ = 0, written_ = 0;
  int level_ = 0;
  Guard guard_;
};

std::optional<Guard> Guard::parse(std::string_view code) { return GuardParser(code).parse(); }

std::optional<double> Guard::value(const Node& node, const std::vector<double>& x, const ShapesByName& shapes) const {
  const auto truth = [](bool holds) { return std::optional(holds ? 1.0 : 0.0); };
  switch (node.op) {
    case Op::number:
      return node.number;
    case Op::size:
    case Op::stride: {
      const auto found = shapes.find(node.read.input);
      if (found == shapes.end() || node.read.dimension >= found->second.size()) return std::nullopt;
      const auto at = found->second.begin() + static_cast<std::ptrdiff_t>(node.read.dimension);
      return static_cast<double>(node.op == Op::size ? *at : num_elements(Shape(at + 1, found->second.end())));
    }
    case Op::negated:
      return -x[0];
    case Op::sum:
      return x[0] + x[1];
    case Op::difference:
      return x[0] - x[1];
    case Op::product:
      return x[0] * x[1];
    case Op::quotient:
      return x[1] == 0 ? std::nullopt : std::optional(x[0] / x[1]);
    case Op::floored_quotient:
      return python_quotient(x[0], x[1]);
    case Op::remainder: {
      const std::optional<double> whole = python_quotient(x[0], x[1]);
      return whole ? std::optional(x[0] - *whole * x[1]) : std::nullopt;
    }
    case Op::power:
      return std::pow(x[0], x[1]);
    case Op::equal:
      return truth(x[0] == x[1]);
    case Op::not_equal:
      return truth(x[0] != x[1]);
    case Op::less:
      return truth(x[0] < x[1]);
    case Op::less_equal:
      return truth(x[0] <= x[1]);
    case Op::greater:
      return truth(x[0] > x[1]);
    case Op::greater_equal:
      return truth(x[0] >= x[1]);
    case Op::both:
      return truth(x[0] != 0 && x[1] != 0);
    case Op::either:
      return truth(x[0] != 0 || x[1] != 0);
    case Op::opposite:
      return truth(x[0] == 0);
    case Op::least:
      return *std::min_element(x.begin(), x.end());
    case Op::most:
      return *std::max_element(x.begin(), x.end());
    case Op::truncated:
      return std::trunc(x[0]);
    case Op::floored:
      return std::floor(x[0]);
    case Op::ceiled:
      return std::ceil(x[0]);
    case Op::rounded:
      return std::nearbyint(x[0]);
    case Op::root:
      return std::sqrt(x[0]);
    case Op::magnitude:
      return std::abs(x[0]);
    case Op::as_float:
      return x[0];
    case Op::chosen:
      return x[0] != 0 ? x[1] : x[2];
  }
  return std::nullopt;
}

std::optional<bool> Guard::holds(const ShapesByName& shapes) const {
  std::vector<double> values;
  for (const Node& node : nodes_) {
    std::vector<double> operands;
    for (const std::size_t operand : node.operands) operands.push_back(values[operand]);
    const std::optional<double> result = value(node, operands, shapes);
    if (!result || !(std::abs(*result) <= kMostExact)) return std::nullopt;
    values.push_back(*result);
  }
  return values.back() != 0;
}

namespace {

/// The extents of one dimension at which a guard holds, the others being as they are: "10 to 11", "5 or more"; "" where there are
/// none.
std::string right_sizes(const Guard& guard, ShapesByName shapes, const Guard::Read& read) {
  constexpr std::int64_t kMost = 1024;
  constexpr std::size_t kMostRanges = 4;
  std::int64_t& extent = shapes.at(read.input)[read.dimension];
  std::vector<std::string> ranges;
  for (std::int64_t low = 1; low <= kMost && ranges.size() <= kMostRanges; ++low) {
    extent = low;
    if (!guard.holds(shapes).value_or(false)) continue;
    std::int64_t high = low;
    for (extent = high + 1; extent <= kMost && guard.holds(shapes).value_or(false); ++extent) high = extent;
    ranges.push_back(std::to_string(low) + (high == kMost ? " or more"
                                            : high == low ? ""
                                                          : " to " + std::to_string(high)));
    low = high;
  }
  std::string text;
  for (std::size_t i = 0; i < ranges.size() && i < kMostRanges; ++i) text += (i > 0 ? ", " : "") + ranges[i];
  return ranges.size() > kMostRanges ? text + ", ..." : text;
}

Error broken(const Guard& guard, const ShapesByName& shapes) {
  constexpr std::size_t kMostNamed = 4;
  std::string found, right;
  for (std::size_t i = 0; i < std::min(guard.reads().size(), kMostNamed); ++i) {
    const Guard::Read& read = guard.reads()[i];
    const std::string dimension = "dimension " + std::to_string(read.dimension) + " of input " + in_quotes(read.input);
    found +=
        (found.empty() ? "" : " and ") + dimension + " is " + std::to_string(shapes.at(read.input)[read.dimension]);
    if (right.empty()) {
      right = right_sizes(guard, shapes, read);
      if (!right.empty() && guard.reads().size() > 1) right += " for " + dimension;
    }
  }
  return Error{found + "; torch.export made this program for sizes where " + guard.text() + "; expected " +
               (right.empty() ? "other sizes, or a program that is exported with these" : right)};
}

}  // namespace

Status check_guards(const std::vector<Guard>& guards, const ShapesByName& shapes) {
  for (const Guard& guard : guards)
    if (!guard.reads().empty() && !guard.holds(shapes).value_or(true)) return broken(guard, shapes);
  return ok_status();
}

}  // namespace whet::torch
