#include "import/call.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"

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

bool cut_end(std::string_view& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text.remove_suffix(end.size());
  return true;
}

Word word_of(std::string_view text) {
  Word word;
  word.is_ignored = text.starts_with('~');
  word.is_operand = !word.is_ignored && !text.starts_with('@');
  if (!word.is_operand) text.remove_prefix(1);
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

std::vector<std::int64_t> Word::usual_integers() const {
  std::vector<std::int64_t> values;
  for (std::string_view rest = usual.value_or(""); !rest.empty();)
    values.push_back(parsed<std::int64_t>(cut(rest, ',')));
  return values;
}

}  // namespace whet
