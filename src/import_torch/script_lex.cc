#include "import_torch/script_lex.h"

#include <algorithm>
#include <cctype>

#include "base/nearest.h"

namespace whet::torch {
namespace {

using TokenKind = ScriptToken::Kind;

constexpr std::size_t kMostTokens = std::size_t{1} << 22;

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

class ScriptLexer {
 public:
  ScriptLexer(std::string_view text, const std::string& what) : text_(text), what_(what) {}

  Result<std::vector<ScriptToken>> run() {
    while (at_ < text_.size()) {
      if (tokens_.size() > kMostTokens) return fault("has more than " + std::to_string(kMostTokens) + " words");
      if (is_line_start_ && depth_ == 0) {
        WHET_RETURN_IF_ERROR(indentation());
        if (at_ >= text_.size()) break;
      }
      WHET_RETURN_IF_ERROR(token());
    }
    add(TokenKind::line_end, "");
    for (; !indents_.empty(); indents_.pop_back()) add(TokenKind::dedent, "");
    add(TokenKind::end, "");
    return std::move(tokens_);
  }

 private:
  Error fault(const std::string& sentence) const {
    return Error{what_ + ": line " + std::to_string(line_) + ": " + sentence};
  }
  void add(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  Status indentation() {
    while (at_ < text_.size()) {
      std::size_t begin = at_;
      while (peek() == ' ') ++at_;
      const auto width = static_cast<int>(std::min<std::size_t>(at_ - begin, 4096));
      if (peek() == '#')
        while (at_ < text_.size() && peek() != '\n') ++at_;
      if (peek() == '\r') ++at_;
      if (peek() == '\n') {
        ++at_;
        ++line_;
        continue;
      }
      is_line_start_ = false;
      if (at_ >= text_.size()) return ok_status();
      return set_indentation(width);
    }
    return ok_status();
  }
  Status set_indentation(int width) {
    const int now = indents_.empty() ? 0 : indents_.back();
    if (width > now) {
      if (indents_.size() > 200) return fault("is nested more than 200 deep");
      indents_.push_back(width);
      add(TokenKind::indent, "");
      return ok_status();
    }
    while (!indents_.empty() && indents_.back() > width) {
      indents_.pop_back();
      add(TokenKind::dedent, "");
    }
    if ((indents_.empty() ? 0 : indents_.back()) == width) return ok_status();
    return fault("is indented as no line before it");
  }

  Status token() {
    const char c = peek();
    if (c == '\n') {
      if (depth_ == 0) {
        add(TokenKind::line_end, "");
        is_line_start_ = true;
      }
      ++at_;
      ++line_;
      return ok_status();
    }
    if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
      return ok_status();
    }
    if (c == '#') {
      while (at_ < text_.size() && peek() != '\n') ++at_;
      return ok_status();
    }
    if (is_letter(c)) {
      const std::size_t begin = at_;
      while (is_letter(peek()) || is_digit(peek())) ++at_;
      add(TokenKind::name, std::string(text_.substr(begin, at_ - begin)));
      return ok_status();
    }
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (c == '"' || c == '\'') return quoted(c);
    return symbol(c);
  }

  Status number() {
    const std::size_t begin = at_;
    bool fraction = false;
    while (is_digit(peek())) ++at_;
    if (peek() == '.') {
      fraction = true;
      ++at_;
      while (is_digit(peek())) ++at_;
    }
    if (peek() == 'e' || peek() == 'E') {
      const std::size_t sign = peek(1) == '-' || peek(1) == '+' ? 1 : 0;
      if (is_digit(peek(1 + sign))) {
        fraction = true;
        at_ += 1 + sign;
        while (is_digit(peek())) ++at_;
      }
    }
    if (is_letter(peek())) return fault("has the number " + in_quotes(text_.substr(begin, at_ + 1 - begin)));
    add(fraction ? TokenKind::number : TokenKind::integer, std::string(text_.substr(begin, at_ - begin)));
    return ok_status();
  }

  Status quoted(char mark) {
    std::string content;
    for (++at_; peek() != mark; ++at_) {
      if (at_ >= text_.size() || peek() == '\n') return fault("has a text without an end");
      if (peek() != '\\') {
        content += peek();
        continue;
      }
      ++at_;
      content += escaped();
    }
    ++at_;
    add(TokenKind::text, std::move(content));
    return ok_status();
  }
  /// The character behind a backslash; stays on its last digit.
  char escaped() {
    const char c = peek();
    if (c >= '0' && c <= '7') {
      int value = 0, digits = 0;
      for (; digits < 3 && peek() >= '0' && peek() <= '7'; ++digits, ++at_) value = value * 8 + (peek() - '0');
      --at_;
      return static_cast<char>(value);
    }
    switch (c) {
      case 'n':
        return '\n';
      case 't':
        return '\t';
      case 'r':
        return '\r';
      default:
        return c;
    }
  }

  Status symbol(char c) {
    constexpr std::string_view kSingle = "()[]{},:=.-+*/<>@|&~%";
    if (c == '-' && peek(1) == '>') {
      add(TokenKind::symbol, "->");
      at_ += 2;
      return ok_status();
    }
    if (kSingle.find(c) == std::string_view::npos)
      return fault("has the character " + std::to_string(static_cast<unsigned char>(c)) +
                   ", which TorchScript does not write");
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if (c == ')' || c == ']' || c == '}') depth_ = std::max(depth_ - 1, 0);
    add(TokenKind::symbol, std::string(1, c));
    ++at_;
    return ok_status();
  }

  std::string_view text_;
  const std::string& what_;
  std::size_t at_ = 0;
  int line_ = 1, depth_ = 0;
  bool is_line_start_ = true;
  std::vector<int> indents_;
  std::vector<ScriptToken> tokens_;
};

}  // namespace

Result<std::vector<ScriptToken>> script_tokens(std::string_view text, const std::string& what) {
  return ScriptLexer(text, what).run();
}

}  // namespace whet::torch
