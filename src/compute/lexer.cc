#include "compute/lexer.h"

#include <array>
#include <cctype>

namespace whet {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

/// Longest first; `max=` and `min=` are read as a word and a sign by the parser.
constexpr std::array<std::string_view, 28> kSigns = {"&&", "||", "<=", ">=", "==", "!=", "+=", "*=", "..", "(",
                                                     ")",  "[",  "]",  ",",  ":",  "=",  "<",  ">",  "+",  "-",
                                                     "*",  "/",  "!",  "%",  "?",  ";",  "{",  "}"};

class Lexer {
 public:
  explicit Lexer(std::string_view line) : line_(line) {}

  Result<std::vector<DagToken>> run() {
    std::vector<DagToken> tokens;
    for (;;) {
      while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t' || line_[at_] == '\r')) ++at_;
      WHET_TRY(DagToken token, next());
      tokens.push_back(std::move(token));
      if (tokens.back().kind == DagToken::Kind::end) return tokens;
    }
  }

 private:
  DagToken take(DagToken::Kind kind, std::size_t end) {
    DagToken token{kind, std::string(line_.substr(at_, end - at_)), at_ + 1};
    at_ = end;
    return token;
  }

  Result<DagToken> next() {
    if (at_ >= line_.size()) return DagToken{DagToken::Kind::end, "", at_ + 1};
    const char c = line_[at_];
    if (c == '#') return take(DagToken::Kind::comment, line_.size());
    if (c == '"') return quoted();
    if (is_digit(c)) return take(DagToken::Kind::number, number_end());
    if (is_letter(c)) {
      std::size_t end = at_;
      while (end < line_.size() && (is_letter(line_[end]) || is_digit(line_[end]) || line_[end] == '.')) ++end;
      return take(DagToken::Kind::word, end);
    }
    for (std::string_view sign : kSigns) {
      if (line_.substr(at_, sign.size()) == sign) return take(DagToken::Kind::sign, at_ + sign.size());
    }
    return Error{"column " + std::to_string(at_ + 1) + ": a character that the notation does not have"};
  }

  /// Digits, a point, an exponent and a suffix of letters and digits (f, i32). Two points are a sign, as in 2..512.
  std::size_t number_end() const {
    std::size_t end = at_;
    auto digits = [&] {
      while (end < line_.size() && is_digit(line_[end])) ++end;
    };
    digits();
    const bool is_range = line_.substr(end, 2) == "..";
    if (end < line_.size() && line_[end] == '.' && !is_range) ++end, digits();
    if (end < line_.size() && line_[end] == 'e') {
      const bool sign = end + 1 < line_.size() && (line_[end + 1] == '+' || line_[end + 1] == '-');
      const std::size_t first = end + 1 + sign;
      if (first < line_.size() && is_digit(line_[first])) end = first, digits();
    }
    while (end < line_.size() && (is_letter(line_[end]) || is_digit(line_[end]))) ++end;
    return end;
  }

  Result<DagToken> quoted() {
    DagToken token{DagToken::Kind::quoted, "", at_ + 1};
    for (++at_; at_ < line_.size() && line_[at_] != '"'; ++at_) {
      if (line_[at_] != '\\') {
        token.text += line_[at_];
        continue;
      }
      if (++at_ >= line_.size()) break;
      if (line_[at_] != 'x') {
        token.text += line_[at_];
        continue;
      }
      const int high = at_ + 1 < line_.size() ? hex_digit(line_[at_ + 1]) : -1;
      const int low = at_ + 2 < line_.size() ? hex_digit(line_[at_ + 2]) : -1;
      if (high < 0 || low < 0)
        return Error{"column " + std::to_string(at_) + ": \\x is followed by two digits 0-9, a-f"};
      token.text += static_cast<char>(high * 16 + low);
      at_ += 2;
    }
    if (at_ >= line_.size())
      return Error{"column " + std::to_string(token.column) + ": a quoted name that does not end"};
    ++at_;
    return token;
  }

  std::string_view line_;
  std::size_t at_ = 0;
};

}  // namespace

Result<std::vector<DagToken>> tokenize_dag(std::string_view line) { return Lexer(line).run(); }

}  // namespace whet
