#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "import/site.h"

/// Rows of a format's table name an operator's operands and attributes in the order in which a C++ function takes them. A node's
/// CallSite reads each as the type of the parameter, so that parts can be rows as they are:
///
///   {"Trilu", 14, "x diagonal=0 @upper=1", calls<trilu>}     Result<ValueId> trilu(NodeSite&, ValueId x, std::int64_t k, bool upper)
///
///   x            an operand. One that must be known has its name in messages: number_of_bands
///   x?  x=0      one that may be left out; with the value that a known one then has
///   x[]          one that may be a sequence
///   values...    all operands that are left, at least one; values...? at least none
///   @k           an attribute. @k? may be left out; @k=1 then has this value; @k=0,2,3 this list
///   @axis(x)=0   one that counts the dimensions of x, and is given counted from 0 (a list: sorted, each once)
///   @mode:a|b=a  a text among these, given as its place; or as whether it is not the first
///   =2           what the function gets there, whatever the file has
///   ~seed        an attribute that is allowed and means nothing for inference
///
/// Words behind those that are parameters are for the function itself, which reads them by their names.
namespace whet {

/// One word of a row.
struct Word {
  std::string_view name;
  bool is_operand = false, is_rest = false, may_be_sequence = false, is_optional = false, is_ignored = false;
  std::size_t place = 0;  ///< of an operand
  std::string_view axis_of;
  std::vector<std::string_view> choices;
  std::optional<std::string_view> usual;

  bool must_be_given() const { return !is_optional && !usual && !is_ignored; }
  /// What an operand is called that must be known.
  std::string what() const;
  /// The value of one that is left out; 0 or "" where the row has none.
  double usual_number() const;
  std::int64_t usual_integer() const;
  std::vector<std::int64_t> usual_integers() const;
  std::vector<double> usual_numbers() const;
  std::string usual_text() const { return std::string(usual.value_or("")); }
};
std::vector<Word> words_of(std::string_view row);
/// "a, b or c"
std::string alternatives(const std::vector<std::string_view>& choices);

/// How many words of a row can be parameters.
constexpr std::size_t count_parameters(std::string_view row) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < row.size(); ++i)
    if (row[i] != ' ' && row[i] != '~' && (i == 0 || row[i - 1] == ' ')) ++count;
  return count;
}

/// A function as the last entry of a row.
template <auto function>
struct RowFunction {};
template <auto function>
constexpr RowFunction<function> calls = {};

using Ints = std::vector<std::int64_t>;
using Numbers = std::vector<double>;
using Texts = std::vector<std::string>;
using ValueIds = std::vector<ValueId>;

/// The site of a node with its operands by places and names and its attributes by names: what a row names, whatever the format, which
/// decodes attributes. Results and steps: see NodeSite.
class CallSite : public NodeSite {
 public:
  /// `inputs`: an invalid one is left out.
  CallSite(GrowingGraph& graph, std::string name, std::string op, ValueIds inputs, Texts outputs, bool is_inner);
  virtual ~CallSite() = default;

  const std::string& op() const { return op_; }
  const GrowingGraph& graph() const { return graph_; }

  // ---- Operands. One that is left out (or trails) is not there.
  std::size_t input_count() const { return inputs_.size(); }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i].valid(); }
  ValueId in(std::size_t i) const;
  /// Operand `i`, or none where it is left out.
  std::optional<ValueId> if_given(std::size_t i) const { return has(i) ? std::optional(in(i)) : std::nullopt; }
  /// The operand that the row names so.
  std::size_t place_of(std::string_view name) const;
  ValueId operand(std::string_view name) const { return in(place_of(name)); }
  using NodeSite::constant, NodeSite::dtype, NodeSite::known, NodeSite::known_integers, NodeSite::known_number,
      NodeSite::known_numbers, NodeSite::rank, NodeSite::shape, NodeSite::type;
  const TensorType& type(std::size_t i) const { return type(in(i)); }
  const Shape& shape(std::size_t i) const { return type(i).shape; }
  DType dtype(std::size_t i) const { return type(i).dtype; }
  std::size_t rank(std::size_t i) const { return shape(i).size(); }
  /// At least `low` operands, all of the first `low` given, and at most `high`.
  Status expect_inputs(std::size_t low, std::size_t high) const;
  Status expect_inputs(std::size_t count) const { return expect_inputs(count, count); }
  const Tensor* constant(std::size_t i) const { return constant(in(i)); }
  Result<Ints> known_integers(std::size_t i, const std::string& what) { return known_integers(in(i), what); }
  Result<std::int64_t> known_integer(std::size_t i, const std::string& what);
  Result<double> known_number(std::size_t i, const std::string& what) { return known_number(in(i), what); }
  Result<Numbers> known_numbers(std::size_t i, const std::string& what) { return known_numbers(in(i), what); }
  /// The values of operand `i`, which must be a sequence.
  Result<ValueIds> sequence(std::size_t i) const;

  // ---- Attributes as the format has them: the value, or `fallback`; errors when it is of another kind.
  virtual bool has_attribute(std::string_view attribute) const = 0;
  virtual Result<bool> flag(std::string_view attribute, bool fallback) const = 0;
  virtual Result<std::int64_t> integer(std::string_view attribute, std::int64_t fallback) const = 0;
  virtual Result<double> number(std::string_view attribute, double fallback) const = 0;
  virtual Result<std::string> text(std::string_view attribute, std::string fallback) const = 0;
  virtual Result<Ints> integers(std::string_view attribute, Ints fallback) const = 0;
  virtual Result<Numbers> numbers(std::string_view attribute, Numbers fallback) const = 0;
  /// Where a format has none, an attribute of that name is one of another kind.
  virtual Result<Texts> texts(std::string_view attribute, Texts fallback) const;
  virtual Result<Tensor> tensor(std::string_view attribute) const;
  /// The place of the attribute's text in `choices`.
  Result<std::int64_t> choice(std::string_view attribute, const std::string& fallback,
                              const std::vector<std::string_view>& choices) const;
  /// `count` entries, each in low .. kMaxElements; `fallback` for each where the attribute is absent.
  Result<Ints> entries(std::string_view attribute, std::size_t count, std::int64_t fallback, std::int64_t low) const;

  // ---- Words of the row.
  bool is_given(std::size_t word) const { return is_given(words_.at(word)); }
  /// The word as a parameter of a function.
  template <typename T>
  Result<T> parameter(std::size_t word);

 protected:
  /// The row's words, whose operands and attributes are there and no more operands.
  Status bind(std::string_view row);
  /// Whether the row names the attribute.
  bool names(std::string_view attribute) const;

  std::string op_;
  ValueIds inputs_;
  std::vector<Word> words_;  ///< none before `bind`

 private:
  bool is_given(const Word&) const;
  /// What operand `i` is in messages, which is no tensor.
  std::string kind_of_list(std::size_t i) const;
  Result<std::int64_t> integer(const Word&);
  Result<double> number(const Word&);
  Result<Ints> integers(const Word&);
  /// All operands that are left, or those of a sequence.
  Result<ValueIds> values(const Word&) const;
};

template <typename T>
Result<T> CallSite::parameter(std::size_t i) {
  const Word& word = words_.at(i);
  if constexpr (std::is_same_v<T, ValueId>) return in(word.place);
  if constexpr (std::is_same_v<T, ValueIds>) return values(word);
  if constexpr (std::is_same_v<T, std::vector<Size>>) return known_sizes(in(word.place), word.what());
  if constexpr (std::is_same_v<T, bool>) {
    if (word.choices.empty()) return flag(word.name, word.usual_integer() != 0);
    WHET_TRY(const std::int64_t place, integer(word));
    return place != 0;
  }
  if constexpr (std::is_same_v<T, std::int64_t>) return integer(word);
  if constexpr (std::is_same_v<T, double>) return number(word);
  if constexpr (std::is_same_v<T, std::string>) return text(word.name, word.usual_text());
  if constexpr (std::is_same_v<T, Ints>) return integers(word);
  if constexpr (std::is_same_v<T, Numbers>)
    return word.is_operand ? known_numbers(word.place, word.what()) : numbers(word.name, word.usual_numbers());
  if constexpr (std::is_same_v<T, Texts>) return texts(word.name, {});
  if constexpr (std::is_same_v<T, Tensor>)
    return word.is_operand ? known(in(word.place), word.what()) : tensor(word.name);
}

template <typename Given, typename Where, typename... Parameters>
constexpr std::size_t parameters_of(Given (*)(Where&, Parameters...)) {
  return sizeof...(Parameters);
}

/// Reads one parameter. The place of a choice may be an enumeration; types of elements are the format's.
template <typename Site, typename T>
Status read_parameter(Site& site, std::size_t word, T& value) {
  using Read = std::conditional_t<std::is_enum_v<T> && !std::is_same_v<T, DType>, std::int64_t, T>;
  WHET_TRY(Read read, site.template parameter<Read>(word));
  value = static_cast<T>(std::move(read));
  return ok_status();
}
/// None where the word is left out.
template <typename Site, typename T>
Status read_parameter(Site& site, std::size_t word, std::optional<T>& value) {
  return site.is_given(word) ? read_parameter(site, word, value.emplace()) : ok_status();
}

/// Reads the parameters of `function` from the words of the site's row, in order, and gives the value that it returns, if it does
/// not give its results itself.
template <typename Site, typename Given, typename Where, typename... Parameters>
Status called(Site& site, Given (*function)(Where&, Parameters...)) {
  std::tuple<std::remove_cvref_t<Parameters>...> parameters;
  Status status = ok_status();
  std::size_t word = 0;
  std::apply([&](auto&... each) { (void)((status = read_parameter(site, word++, each)).ok() && ...); }, parameters);
  if (!status.ok()) return status;
  auto given = std::apply([&](auto&... each) { return function(site, std::move(each)...); }, parameters);
  if constexpr (std::is_same_v<Given, Status>)
    return given;
  else
    return site.give(given);
}

/// A row of a format whose operators have one form each; `Site` is what the format's functions take, or derives from it.
template <typename Site>
struct CallRow {
  /// `op`: its name, or several with spaces between them (rows.h). `takes`: the operands and attributes.
  template <auto function>
  consteval CallRow(std::string_view op, std::string_view takes, RowFunction<function>) : op(op), takes(takes) {
    import = [](Site& site) { return called(site, function); };
    WHET_CHECK(count_parameters(takes) >= parameters_of(function), "a row names fewer words than its function takes");
  }

  std::string_view op, takes;
  Status (*import)(Site&) = nullptr;
};

/// Functions of rows that are an operator of the graph.
template <UnaryKind kind>
Status unary(NodeSite& site, ValueId x) {
  return site.give(UnaryOperator{kind}, {x});
}
template <BinaryKind kind>
Status binary(NodeSite& site, ValueId a, ValueId b) {
  return site.give(BinaryOperator{kind}, {a, b});
}
/// "log_sum" of "LogSum", of "LOG_SUM" and of itself.
std::string snake_case(std::string_view name);
/// The kind whose operator the graph calls as the file calls the node: hard_swish of HardSwish.
template <typename Op, auto last>
auto kind_of_name(const CallSite& site) {
  using Kind = decltype(last);
  static const std::map<std::string, Kind> kinds = [] {  // loops are copied node by node
    std::map<std::string, Kind> all;
    for (int kind = 0; kind <= static_cast<int>(last); ++kind)
      all.emplace(name_of(Op{static_cast<Kind>(kind)}), static_cast<Kind>(kind));
    return all;
  }();
  const auto found = kinds.find(snake_case(site.op()));
  WHET_CHECK(found != kinds.end(), site.op().c_str());
  return found->second;
}
inline Status unary_of_name(CallSite& site, ValueId x) {
  return site.give(UnaryOperator{kind_of_name<UnaryOperator, UnaryKind::is_nan>(site)}, {x});
}
inline BinaryKind binary_kind_of(const CallSite& site) {
  return kind_of_name<BinaryOperator, BinaryKind::logical_xor>(site);
}
inline Status binary_of_name(CallSite& site, ValueId a, ValueId b) {
  return site.give(BinaryOperator{binary_kind_of(site)}, {a, b});
}
/// The same of other operators of one operand, or of two, whose fields are words.
template <typename Op, typename... Fields>
Status one_operand(NodeSite& site, ValueId x, Fields... fields) {
  return site.give(Op{fields...}, {x});
}
template <typename Op, typename... Fields>
Status two_operands(NodeSite& site, ValueId a, ValueId b, Fields... fields) {
  return site.give(Op{fields...}, {a, b});
}

}  // namespace whet
