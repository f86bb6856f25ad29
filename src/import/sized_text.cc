#include "import/sized_text.h"

#include <algorithm>

namespace whet {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool is_line(const std::vector<DagToken>& tokens, std::string_view word) {
  return tokens.size() > 2 && tokens[1].text == "=" && tokens[2].kind == DagToken::Kind::word && tokens[2].text == word;
}

bool is_sign(const DagToken& token, std::string_view sign) {
  return token.kind == DagToken::Kind::sign && token.text == sign;
}

/// The words of each extent of a placeholder: x = PLACEHOLDER [n, c, 4]
std::vector<std::vector<DagToken>> extents_of(const std::vector<DagToken>& tokens) {
  std::vector<std::vector<DagToken>> extents;
  int depth = 0;
  for (std::size_t t = 4; t < tokens.size() && !is_sign(tokens[t], "]"); ++t) {
    if (is_sign(tokens[t], "(")) ++depth;
    if (is_sign(tokens[t], ")")) --depth;
    const bool is_next = depth == 0 && is_sign(tokens[t], ",");
    if (is_next || extents.empty()) extents.emplace_back();
    if (!is_next) extents.back().push_back(tokens[t]);
  }
  return extents;
}

SizedText::Input input_of(const std::vector<DagToken>& tokens) {
  SizedText::Input input{tokens[0].text};
  for (const std::vector<DagToken>& words : extents_of(tokens)) {
    const bool is_name = words.size() == 1 && words[0].kind == DagToken::Kind::word;
    input.extents.push_back(is_name ? words[0].text : "");
  }
  input.is_scalar = input.extents.empty();
  return input;
}

}  // namespace

SizedText::SizedText(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // as some editors begin a text
  for (const std::string_view line : lines_of(text)) {
    auto tokens = tokenize_dag(line);
    readable_ = readable_ && tokens.ok();
    lines_.push_back({std::string(line), tokens.ok() ? std::move(*tokens) : std::vector<DagToken>()});
  }
  if (!readable_) return;
  for (const Line& line : lines_) {
    if (is_line(line.tokens, "SIZE")) declared_.insert(line.tokens[0].text);
    if (is_line(line.tokens, "PLACEHOLDER")) inputs_.push_back(input_of(line.tokens));
  }
}

std::set<std::string> SizedText::undeclared() const {
  std::set<std::string> names;
  for (const Input& input : inputs_)
    for (const std::string& name : input.extents)
      if (!name.empty() && !declared_.contains(name)) names.insert(name);
  return names;
}

Status SizedText::bind(std::size_t input, const Shape& shape) {
  const Input& own = inputs_.at(input);
  for (std::size_t d = 0; d < std::min(own.extents.size(), shape.size()); ++d) {
    if (own.extents[d].empty()) continue;
    const auto [known, is_new] = values_.emplace(own.extents[d], shape[d]);
    if (!is_new && known->second != shape[d])
      return Error{own.extents[d] + " is " + std::to_string(known->second) + ", and " + std::to_string(shape[d]) +
                   " in " + own.name + "; a size has one value"};
  }
  return ok_status();
}

const std::int64_t* SizedText::value(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

std::string SizedText::numbers() const {
  std::string all;
  for (const Line& line : lines_) {
    std::size_t behind = 0;
    for (const DagToken& token : line.tokens) {
      const bool is_word = token.kind == DagToken::Kind::word && !declared_.contains(token.text);
      const std::int64_t* const size = is_word ? value(token.text) : nullptr;
      if (size == nullptr) continue;
      all += line.text.substr(behind, token.column - 1 - behind) + std::to_string(*size);
      behind = token.column - 1 + token.text.size();
    }
    all += line.text.substr(behind) + "\n";
  }
  return all;
}

Result<SizeValues> SizedText::sizes(const ComputeDag& read) const {
  SizeValues values = read.at;
  for (std::size_t k = 0; k < values.size(); ++k)
    if (const std::int64_t* const bound = value(read.sizes[k].name)) values[k] = *bound;
  WHET_RETURN_IF_ERROR(check_values(read.sizes, values));
  return values;
}

}  // namespace whet
