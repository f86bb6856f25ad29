#include "json/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace whet {
namespace {

/// The length of the valid UTF-8 sequence at `text[i]`, or 0.
std::size_t utf8_length(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0u; };
  const unsigned lead = byte(i);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  for (std::size_t k = 1; k < length; ++k)
    if ((byte(i + k) & 0xc0) != 0x80) return 0;
  const unsigned second = byte(i + 1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool surrogate = lead == 0xed && second >= 0xa0;
  const bool beyond = lead == 0xf4 && second >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

/// Recursive descent over `text_`; `error_` holds the first mistake. docs/decisions/json.md compares its speed with that
/// of libraries; the tests compare its results with those of nlohmann-json.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Json> document() {
    Json value;
    if (!this->value(value, 0)) return failure();
    skip_space();
    if (at_ != text_.size()) return fail("nothing more was expected after the value"), failure();
    return value;
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
  bool word(std::string_view name, Json& out, Json value) {
    if (text_.substr(at_, name.size()) != name) return fail("expected a value");
    at_ += name.size();
    return out = std::move(value), true;
  }

  bool value(Json& out, int depth) {
    skip_space();
    if (at_ == text_.size()) return fail("the text ends where a value was expected");
    switch (peek()) {
      case '{':
        return object(out, depth + 1);
      case '[':
        return array(out, depth + 1);
      case '"': {
        std::string text;
        return string(text) && (out = Json(std::move(text)), true);
      }
      case 't':
        return word("true", out, true);
      case 'f':
        return word("false", out, false);
      case 'n':
        return word("null", out, Json());
      default:
        return number(out);
    }
  }

  bool array(Json& out, int depth) {
    if (depth > kMaxJsonDepth) return too_deep();
    ++at_;
    Json::Array items;
    const std::string_view near = text_.substr(at_, 256);  // mostly all of it
    items.reserve(1 + static_cast<std::size_t>(
                          std::count(near.begin(), near.begin() + std::min(near.find(']'), near.size()), ',')));
    skip_space();
    if (!accept(']')) {
      do {
        if (!value(items.emplace_back(), depth)) return false;
        skip_space();
      } while (accept(','));
      if (!accept(']')) return fail("expected ',' or ']'");
    }
    out = Json(std::move(items));
    return true;
  }

  bool object(Json& out, int depth) {
    if (depth > kMaxJsonDepth) return too_deep();
    ++at_;
    Json::Object members;
    members.reserve(depth == 1 ? 24 : 4);
    skip_space();
    if (!accept('}')) {
      do {
        skip_space();
        if (peek() != '"') return fail("expected a member's name in quotes");
        auto& [name, item] = members.emplace_back();
        if (!string(name)) return false;
        skip_space();
        if (!accept(':')) return fail("expected ':' after a member's name");
        if (!value(item, depth)) return false;
        skip_space();
      } while (accept(','));
      if (!accept('}')) return fail("expected ',' or '}'");
    }
    out = Json(std::move(members));
    return true;
  }
  bool too_deep() {
    error_ = "nested deeper than " + std::to_string(kMaxJsonDepth) + " levels";
    return false;
  }

  bool string(std::string& out) {
    ++at_;
    for (;;) {
      const std::size_t start = at_;
      while (at_ < text_.size() && is_plain(text_[at_])) ++at_;
      out.append(text_, start, at_ - start);
      if (at_ == text_.size()) return fail("the text ends inside a string");
      if (accept('"')) return true;
      if (peek() == '\\') {
        if (!escape(out)) return false;
        continue;
      }
      const std::size_t length = utf8_length(text_, at_);
      if (static_cast<unsigned char>(peek()) < 0x20) return fail("a string has a control character");
      if (length == 0) return fail("a string holds bytes that are not UTF-8");
      out.append(text_, at_, length);
      at_ += length;
    }
  }
  static bool is_plain(char c) { return static_cast<signed char>(c) >= 0x20 && c != '"' && c != '\\'; }

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
  bool number(Json& out) {
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
    if (whole && std::from_chars(first, last, integer).ec == std::errc()) return out = Json(integer), true;
    double real = 0;
    if (std::from_chars(first, last, real).ec == std::errc()) return out = Json(real), true;
    // Too small for a double is 0, too large is an error, as there is no such number to hand on.
    real = std::strtod(std::string(first, last).c_str(), nullptr);
    if (!std::isfinite(real)) return fail("a number is too large");
    return out = Json(real), true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string error_;
};

void append_quoted(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const std::size_t length = utf8_length(text, i);
    if (length == 0) {
      out += "\xef\xbf\xbd";
      ++i;
      continue;
    }
    if (length > 1 || (c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20)) {
      out.append(text, i, length);
    } else if (c == '"' || c == '\\') {
      (out += '\\') += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      out += "\\u00";
      (out += kHex[c >> 4]) += kHex[c & 15];
    }
    i += length;
  }
  out += '"';
}

void append_double(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  const std::string_view text(digits, static_cast<std::size_t>(end - digits));
  out += text;
  // A whole number keeps its point, so that it reads back as the same kind.
  if (text.find_first_of(".e") == text.npos) out += ".0";
}

class Writer {
 public:
  explicit Writer(int indent) : indent_(indent) {}
  std::string out;

  void write(const Json& value) {
    if (value.is_null())
      out += "null";
    else if (value.is_bool())
      out += value.boolean() ? "true" : "false";
    else if (value.is_integer())
      out += std::to_string(value.integer());
    else if (value.is_number())
      append_double(out, value.number());
    else if (value.is_string())
      append_quoted(out, value.string());
    else if (value.is_array())
      list('[', ']', value.items(), [&](const Json& item) { write(item); });
    else
      list('{', '}', value.members(), [&](const auto& member) { write_member(member.first, member.second); });
  }

 private:
  void write_member(const std::string& key, const Json& value) {
    append_quoted(out, key);
    out += indent_ ? ": " : ":";
    write(value);
  }
  template <typename List, typename Write>
  void list(char open, char close, const List& items, Write write_item) {
    out += open;
    ++depth_;
    bool first = true;
    for (const auto& item : items) {
      if (!first) out += ',';
      first = false;
      new_line();
      write_item(item);
    }
    --depth_;
    if (!items.empty()) new_line();
    out += close;
  }
  void new_line() {
    if (indent_) (out += '\n').append(static_cast<std::size_t>(indent_) * static_cast<std::size_t>(depth_), ' ');
  }

  int indent_, depth_ = 0;
};

}  // namespace

Json::Json(std::uint64_t value) {
  if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    value_ = static_cast<std::int64_t>(value);
  else
    value_ = static_cast<double>(value);
}

bool Json::boolean() const { return WHET_CHECK(is_bool()), *std::get_if<bool>(&value_); }
std::int64_t Json::integer() const { return WHET_CHECK(is_integer()), *std::get_if<std::int64_t>(&value_); }
double Json::number() const {
  WHET_CHECK(is_number());
  return is_integer() ? static_cast<double>(integer()) : *std::get_if<double>(&value_);
}
const std::string& Json::string() const { return WHET_CHECK(is_string()), *std::get_if<std::string>(&value_); }
const Json::Array& Json::items() const { return WHET_CHECK(is_array()), *std::get_if<Array>(&value_); }
Json::Array& Json::items() { return WHET_CHECK(is_array()), *std::get_if<Array>(&value_); }
const Json::Object& Json::members() const { return WHET_CHECK(is_object()), *std::get_if<Object>(&value_); }
Json::Object& Json::members() { return WHET_CHECK(is_object()), *std::get_if<Object>(&value_); }

const Json* Json::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  for (const auto& [name, value] : members())
    if (name == key) return &value;
  return nullptr;
}

const Json& Json::operator[](std::string_view key) const {
  static const Json kNull;
  const Json* found = find(key);
  return found ? *found : kNull;
}

Json& Json::set(std::string key, Json value) {
  if (is_null()) value_ = Object{};
  if (auto* found = const_cast<Json*>(find(key)))
    *found = std::move(value);
  else
    members().emplace_back(std::move(key), std::move(value));
  return *this;
}

Json& Json::add(Json value) {
  if (is_null()) value_ = Array{};
  items().push_back(std::move(value));
  return *this;
}

Result<Json> parse_json(std::string_view text) { return Parser(text).document(); }

std::string dump(const Json& value, int indent) {
  Writer writer(indent);
  writer.write(value);
  return std::move(writer.out);
}

}  // namespace whet
