#include "json/document.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "json/json.h"
#include "json/utf8.h"

namespace whet {
namespace {

/// Recursive descent over `text_`; `error_` holds the first mistake. docs/decisions/json.md compares its speed with that
/// of libraries; the tests compare its results with those of nlohmann-json.
class Parser {
 public:
  Parser(std::string_view text, std::vector<JsonNode>& nodes, std::string& unescaped)
      : text_(text), nodes_(nodes), unescaped_(unescaped) {}

  Status document() {
    if (!value(0)) return failure();
    skip_space();
    if (at_ != text_.size()) return fail("nothing more was expected after the value"), failure();
    return ok_status();
  }

 private:
  bool fail(const char* what) {
    if (error_.empty()) error_ = what;
    return false;
  }
  Error failure() const {
    const std::string_view before = text_.substr(0, at_);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::size_t start = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
    return Error{"not valid JSON: line " + std::to_string(line) + ", column " + std::to_string(at_ - start + 1) + ": " +
                 error_};
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  bool accept(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    return ++at_, true;
  }
  JsonNode& add(JsonNode::Kind kind) {
    JsonNode& node = nodes_.emplace_back();
    node.kind = kind;
    return node;
  }
  bool word(std::string_view name, JsonNode::Kind kind, bool value = false) {
    if (text_.substr(at_, name.size()) != name) return fail("expected a value");
    at_ += name.size();
    add(kind).is.boolean = value;
    return true;
  }

  bool value(int depth) {
    skip_space();
    if (at_ == text_.size()) return fail("the text ends where a value was expected");
    switch (peek()) {
      case '{':
        return object(depth + 1);
      case '[':
        return array(depth + 1);
      case '"':
        return string();
      case 't':
        return word("true", JsonNode::Kind::boolean, true);
      case 'f':
        return word("false", JsonNode::Kind::boolean);
      case 'n':
        return word("null", JsonNode::Kind::null);
      default:
        return number();
    }
  }

  bool array(int depth) {
    if (depth > kMaxJsonDepth) return too_deep();
    const std::size_t place = begin(JsonNode::Kind::array);
    std::size_t count = 0;
    skip_space();
    if (!accept(']')) {
      do {
        if (!value(depth)) return false;
        ++count;
        skip_space();
      } while (accept(','));
      if (!accept(']')) return fail("expected ',' or ']'");
    }
    return end(place, count);
  }

  bool object(int depth) {
    if (depth > kMaxJsonDepth) return too_deep();
    const std::size_t place = begin(JsonNode::Kind::object);
    std::size_t count = 0;
    skip_space();
    if (!accept('}')) {
      do {
        skip_space();
        if (peek() != '"') return fail("expected a member's name in quotes");
        if (!string()) return false;
        skip_space();
        if (!accept(':')) return fail("expected ':' after a member's name");
        if (!value(depth)) return false;
        ++count;
        skip_space();
      } while (accept(','));
      if (!accept('}')) return fail("expected ',' or '}'");
    }
    return end(place, count);
  }
  std::size_t begin(JsonNode::Kind kind) {
    ++at_;
    add(kind);
    return nodes_.size() - 1;
  }
  bool end(std::size_t place, std::size_t count) {
    nodes_[place].size = nodes_.size() - place;
    nodes_[place].count = count;
    return true;
  }
  bool too_deep() {
    error_ = "nested deeper than " + std::to_string(kMaxJsonDepth) + " levels";
    return false;
  }

  bool string() {
    const std::size_t start = ++at_;
    if (!plain_text()) return false;
    if (text_[at_] == '"') return add_string(text_.data() + start, at_++ - start);
    // Texts that have escapes never become longer than they are written: what lies in `unescaped_` stays in its place.
    if (unescaped_.empty()) unescaped_.reserve(text_.size());
    const std::size_t from = unescaped_.size();
    unescaped_.append(text_, start, at_ - start);
    while (text_[at_] != '"') {
      if (!escape(unescaped_)) return false;
      const std::size_t next = at_;
      if (!plain_text()) return false;
      unescaped_.append(text_, next, at_ - next);
    }
    ++at_;
    return add_string(unescaped_.data() + from, unescaped_.size() - from);
  }
  bool add_string(const char* text, std::size_t size) {
    JsonNode& node = add(JsonNode::Kind::string);
    node.is.text = text, node.count = size;
    return true;
  }
  /// Goes to the next quote or backslash.
  bool plain_text() {
    for (;;) {
      while (at_ + 8 <= text_.size() && are_plain(text_.data() + at_)) at_ += 8;
      while (at_ < text_.size() && is_plain(text_[at_])) ++at_;
      if (at_ == text_.size()) return fail("the text ends inside a string");
      if (text_[at_] == '"' || text_[at_] == '\\') return true;
      if (static_cast<unsigned char>(text_[at_]) < 0x20) return fail("a string has a control character");
      const std::size_t length = utf8_length(text_, at_);
      if (length == 0) return fail("a string holds bytes that are not UTF-8");
      at_ += length;
    }
  }
  static bool is_plain(char c) { return static_cast<signed char>(c) >= 0x20 && c != '"' && c != '\\'; }
  /// Whether the next eight bytes are so, by the bit that each of them would set.
  static bool are_plain(const char* bytes) {
    constexpr std::uint64_t kOnes = 0x0101010101010101u, kHigh = 0x80 * kOnes;
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    const std::uint64_t quote = word ^ ('"' * kOnes), backslash = word ^ ('\\' * kOnes);
    return ((word | (word - 0x20 * kOnes) | (quote - kOnes) | (backslash - kOnes)) & kHigh) == 0;
  }

  bool escape(std::string& out) {
    ++at_;
    const char c = peek();
    static constexpr std::string_view kNames = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    if (const auto i = kNames.find(c); i != kNames.npos && at_ < text_.size()) return ++at_, out += kMeanings[i], true;
    if (!accept('u')) return fail("unknown escape in a string");
    unsigned code = 0, low = 0;
    if (!four_digits(code)) return false;
    if (code >= 0xdc00 && code < 0xe000) return fail("a string has half a surrogate pair");
    if (code >= 0xd800 && code < 0xdc00) {
      if (!accept('\\') || !accept('u') || !four_digits(low) || low < 0xdc00 || low >= 0xe000)
        return fail("a string has half a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    append_utf8(out, code);
    return true;
  }
  bool four_digits(unsigned& code) {
    const char* begin = text_.data() + at_;
    if (text_.size() - at_ < 4 || std::from_chars(begin, begin + 4, code, 16).ptr != begin + 4)
      return fail("\\u needs four hexadecimal digits");
    at_ += 4;
    return true;
  }
  static void append_utf8(std::string& out, unsigned code) {
    const auto put = [&](unsigned byte) { out += static_cast<char>(byte); };
    if (code < 0x80) return put(code);
    if (code < 0x800)
      put(0xc0 | code >> 6);
    else if (code < 0x10000)
      put(0xe0 | code >> 12), put(0x80 | (code >> 6 & 0x3f));
    else
      put(0xf0 | code >> 18), put(0x80 | (code >> 12 & 0x3f)), put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }

  bool digits() {
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return at_ > start;
  }
  bool number() {
    const std::size_t start = at_;
    bool whole = true;
    accept('-');
    if (!accept('0') && !digits()) return fail("expected a value");
    if (accept('.')) {
      whole = false;
      if (!digits()) return fail("a number ends in its point");
    }
    if (peek() == 'e' || peek() == 'E') {
      whole = false;
      ++at_;
      if (!accept('+')) accept('-');
      if (!digits()) return fail("a number has an empty exponent");
    }
    const char *first = text_.data() + start, *last = text_.data() + at_;
    std::int64_t integer = 0;
    if (whole && std::from_chars(first, last, integer).ec == std::errc()) {
      add(JsonNode::Kind::integer).is.integer = integer;
      return true;
    }
    double real = 0;
    if (std::from_chars(first, last, real).ec == std::errc()) return add_real(real);
    // Too small for a double is 0, too large is an error, as there is no such number to hand on.
    real = std::strtod(std::string(first, last).c_str(), nullptr);
    if (!std::isfinite(real)) return fail("a number is too large");
    return add_real(real);
  }
  bool add_real(double real) {
    add(JsonNode::Kind::real).is.real = real;
    return true;
  }

  std::string_view text_;
  std::vector<JsonNode>& nodes_;
  std::string& unescaped_;
  std::size_t at_ = 0;
  std::string error_;
};

}  // namespace

bool JsonView::boolean() const { return WHET_CHECK(is_bool()), node_->is.boolean; }
std::int64_t JsonView::integer() const { return WHET_CHECK(is_integer()), node_->is.integer; }
double JsonView::number() const {
  WHET_CHECK(is_number());
  return is_integer() ? static_cast<double>(node_->is.integer) : node_->is.real;
}
std::string_view JsonView::string() const {
  return WHET_CHECK(is_string()), std::string_view(node_->is.text, node_->count);
}
JsonView::Range<JsonView> JsonView::items() const { return WHET_CHECK(is_array()), Range<JsonView>(node_); }
JsonView::Range<JsonView::Member> JsonView::members() const { return WHET_CHECK(is_object()), Range<Member>(node_); }

const JsonNode* JsonView::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  for (const JsonNode *at = node_ + 1, *end = node_ + node_->size; at != end; at += 1 + at[1].size)
    if (key == std::string_view(at->is.text, at->count)) return at + 1;
  return nullptr;
}

JsonView JsonView::operator[](std::string_view key) const {
  static constexpr JsonNode kNull;
  const JsonNode* found = find(key);
  return JsonView(found != nullptr ? found : &kNull);
}

Status JsonDocument::parse(std::string_view text) {
  nodes_.clear(), unescaped_.clear();
  return Parser(text, nodes_, unescaped_).document();
}

}  // namespace whet
