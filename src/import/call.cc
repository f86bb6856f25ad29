#include "import/call.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/nearest.h"

namespace whet {
namespace {

template <typename T>
T parsed(std::string_view text) {
  T value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  WHET_CHECK(code == std::errc() && end == text.data() + text.size(), "a row's value");
  return value;
}

/// What is before the first `mark`, which goes with it; the whole text where there is none.
std::string_view cut(std::string_view& rest, char mark) {
  const std::size_t end = std::min(rest.find(mark), rest.size());
  const std::string_view first = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return first;
}

template <typename T>
std::vector<T> parsed_list(std::string_view text) {
  std::vector<T> values;
  while (!text.empty()) values.push_back(parsed<T>(cut(text, ',')));
  return values;
}

bool cut_end(std::string_view& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text.remove_suffix(end.size());
  return true;
}

Word word_of(std::string_view text) {
  Word word;
  word.is_ignored = text.starts_with('~');
  word.is_operand = !word.is_ignored && !text.starts_with('@') && !text.starts_with('=');
  if (text.starts_with('~') || text.starts_with('@')) text.remove_prefix(1);
  if (const std::size_t equals = text.find('='); equals != std::string_view::npos) {
    word.usual = text.substr(equals + 1);
    text = text.substr(0, equals);
  }
  word.is_optional = cut_end(text, "?");
  word.is_rest = cut_end(text, "...");
  word.may_be_sequence = cut_end(text, "[]");
  std::string_view choices = text;
  text = cut(choices, ':');
  while (!choices.empty()) word.choices.push_back(cut(choices, '|'));
  word.name = cut(text, '(');
  word.axis_of = cut(text, ')');
  return word;
}

}  // namespace

std::string snake_case(std::string_view name) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (i > 0 && is_upper(name[i]) && is_lower(name[i - 1])) text += '_';
    text += is_upper(name[i]) ? static_cast<char>(name[i] - 'A' + 'a') : name[i];
  }
  return text;
}

std::string alternatives(const std::vector<std::string_view>& choices) {
  std::string text;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) text += i + 1 == choices.size() ? " or " : ", ";
    text += choices[i];
  }
  return text;
}

std::vector<Word> words_of(std::string_view row) {
  std::vector<Word> words;
  std::size_t operands = 0;
  while (!row.empty()) {
    words.push_back(word_of(cut(row, ' ')));
    if (words.back().is_operand) words.back().place = operands++;
  }
  return words;
}

std::string Word::what() const {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

double Word::usual_number() const { return usual ? parsed<double>(*usual) : 0; }

std::int64_t Word::usual_integer() const { return usual ? parsed<std::int64_t>(*usual) : 0; }

std::vector<std::int64_t> Word::usual_integers() const { return parsed_list<std::int64_t>(usual.value_or("")); }

std::vector<double> Word::usual_numbers() const { return parsed_list<double>(usual.value_or("")); }

CallSite::CallSite(GrowingGraph& graph, std::string name, std::string op, ValueIds inputs, Texts outputs, bool is_inner)
    : NodeSite(graph, std::move(name), std::move(outputs), is_inner), op_(std::move(op)), inputs_(std::move(inputs)) {
  while (!inputs_.empty() && !inputs_.back().valid()) inputs_.pop_back();
}

Status CallSite::bind(std::string_view row) {
  constexpr std::size_t kMostInputs = 65536;
  if (has_attribute("")) return error("has an attribute without a name");
  words_ = words_of(row);
  std::size_t low = 0, high = 0;
  for (const Word& word : words_) {
    if (!word.is_operand) continue;
    if (word.must_be_given() && low == word.place) ++low;
    high = word.is_rest ? kMostInputs : word.place + 1;
  }
  WHET_RETURN_IF_ERROR(expect_inputs(low, high));
  for (const Word& word : words_) {
    if (word.must_be_given() && !is_given(word))
      return word.is_operand ? error("input " + std::to_string(word.place) + " of " + op_ + " is left out")
                             : error("attribute " + in_quotes(word.name) + " is missing");
    const std::size_t end = !word.is_operand ? 0 : word.is_rest ? input_count() : word.place + 1;
    for (std::size_t i = word.place; i < end; ++i)
      if (has(i) && !word.may_be_sequence && is_sequence(inputs_[i]))
        return error("input " + std::to_string(i) + " of " + op_ + " is " + kind_of_list(i) + "; expected a tensor");
  }
  return ok_status();
}

std::string CallSite::kind_of_list(std::size_t i) const {
  return graph_.is_absent(in(i)) ? "an optional value that is not there" : "a sequence";
}

ValueId CallSite::in(std::size_t i) const {
  WHET_CHECK(has(i), name_.c_str());
  return inputs_[i];
}

std::size_t CallSite::place_of(std::string_view name) const {
  const auto found = std::find_if(words_.begin(), words_.end(), [&](const Word& word) { return word.name == name; });
  WHET_CHECK(found != words_.end(), name_.c_str());
  return found->place;
}

Status CallSite::expect_inputs(std::size_t low, std::size_t high) const {
  const std::string wanted = low == high ? std::to_string(low) : std::to_string(low) + " to " + std::to_string(high);
  if (input_count() < low || input_count() > high) {
    return error("has " + std::to_string(input_count()) + (input_count() == 1 ? " input" : " inputs") + "; " + op_ +
                 " takes " + wanted);
  }
  for (std::size_t i = 0; i < low; ++i) {
    if (!has(i)) return error("input " + std::to_string(i) + " of " + op_ + " is left out");
  }
  return ok_status();
}

Result<std::int64_t> CallSite::known_integer(std::size_t i, const std::string& what) {
  WHET_TRY(const Ints values, known_integers(i, what));
  if (values.size() == 1) return values[0];
  return error("its " + what + " is a list of " + std::to_string(values.size()));
}

Result<ValueIds> CallSite::sequence(std::size_t i) const {
  const ValueIds* values = graph_.sequence(in(i));
  if (values != nullptr && !graph_.is_absent(in(i))) return *values;
  return error("input " + std::to_string(i) + " of " + op_ + " is " +
               (values == nullptr ? to_string(type(in(i))) : kind_of_list(i)) + "; expected a sequence");
}

bool CallSite::is_given(const Word& word) const {
  if (word.is_operand) return has(word.place);
  return word.name.empty() || has_attribute(word.name);
}

Result<std::int64_t> CallSite::choice(std::string_view name, const std::string& fallback,
                                      const std::vector<std::string_view>& choices) const {
  WHET_TRY(const std::string value, text(name, fallback));
  const auto found = std::find(choices.begin(), choices.end(), value);
  if (found != choices.end()) return found - choices.begin();
  return error("attribute " + in_quotes(name) + " is " + in_quotes(value) + "; expected " + alternatives(choices));
}

Result<Texts> CallSite::texts(std::string_view name, Texts fallback) const {
  if (!has_attribute(name)) return fallback;
  return error("attribute " + in_quotes(name) + " is no list of texts");
}

Result<Tensor> CallSite::tensor(std::string_view name) const {
  return error("attribute " + in_quotes(name) + " is no tensor");
}

Result<Ints> CallSite::entries(std::string_view name, std::size_t count, std::int64_t fallback,
                               std::int64_t low) const {
  WHET_TRY(Ints values, integers(name, Ints(count, fallback)));
  if (values.size() != count) {
    return error("attribute " + in_quotes(name) + " has " + std::to_string(values.size()) + " entries; expected " +
                 std::to_string(count));
  }
  for (std::int64_t value : values) {
    if (value >= low && value <= kMaxElements) continue;
    return error("attribute " + in_quotes(name) + " holds " + std::to_string(value) + "; expected " +
                 std::to_string(low) + " to " + std::to_string(kMaxElements));
  }
  return values;
}

Result<std::int64_t> CallSite::integer(const Word& word) {
  if (!word.choices.empty()) return choice(word.name, word.usual_text(), word.choices);
  std::int64_t value = word.usual_integer();
  if (!word.is_operand || has(word.place)) {
    WHET_TRY(value, word.is_operand ? known_integer(word.place, word.what()) : integer(word.name, value));
  }
  return word.axis_of.empty() ? value : resolve_axis(value, rank(operand(word.axis_of)));
}

Result<double> CallSite::number(const Word& word) {
  const double usual = word.usual_number();
  if (!word.is_operand) return number(word.name, usual);
  return has(word.place) ? known_number(word.place, word.what()) : usual;
}

Result<Ints> CallSite::integers(const Word& word) {
  Ints list = word.usual_integers();
  if (!word.is_operand || has(word.place)) {
    WHET_TRY(list, word.is_operand ? known_integers(word.place, word.what()) : integers(word.name, list));
  }
  return word.axis_of.empty() ? list : resolve_axes(list, rank(operand(word.axis_of)));
}

Result<ValueIds> CallSite::values(const Word& word) const {
  if (!word.is_rest) return sequence(word.place);
  for (std::size_t i = word.place; i < input_count(); ++i)
    if (!has(i)) return error("input " + std::to_string(i) + " is left out");
  return ValueIds(inputs_.begin() + static_cast<std::ptrdiff_t>(std::min(word.place, inputs_.size())), inputs_.end());
}

bool CallSite::names(std::string_view attribute) const {
  return std::any_of(words_.begin(), words_.end(),
                     [&](const Word& word) { return !word.is_operand && word.name == attribute; });
}

}  // namespace whet
