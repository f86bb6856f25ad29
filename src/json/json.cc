#include "json/json.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace whet {
namespace {

/// Builds a Json from nlohmann's parser events. `open_` is the path from the root to the container being filled; a
/// container does not grow while one inside it is open, so the pointers stay valid.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return put({}); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(std::int64_t{value}); }
  bool number_unsigned(number_unsigned_t value) override { return put(std::uint64_t{value}); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) override {
    error = e.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..." -> without the library's own tag
    if (auto end = error.find("] "); end != std::string::npos) error.erase(0, end + 2);
    return false;
  }

  Json root;
  std::string error;

 private:
  bool put(Json value) { return place(std::move(value)), true; }
  Json* place(Json value) {
    if (open_.empty()) return &(root = std::move(value));
    Json& parent = *open_.back();
    if (parent.is_array()) return &parent.items().emplace_back(std::move(value));
    return &parent.members().emplace_back(std::move(key_), std::move(value)).second;
  }
  bool open(Json container) {
    if (open_.size() >= kMaxJsonDepth) {
      error = "nested deeper than " + std::to_string(kMaxJsonDepth) + " levels";
      return false;
    }
    open_.push_back(place(std::move(container)));
    return true;
  }
  bool close() { return open_.pop_back(), true; }

  std::vector<Json*> open_;
  std::string key_;
};

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
    if (indent_) (out += '\n').append(static_cast<std::size_t>(indent_ * depth_), ' ');
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

Result<Json> parse_json(std::string_view text) {
  Builder builder;
  bool complete = false;
  try {
    complete = nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  } catch (const std::exception& e) {
    builder.error = e.what();
  }
  if (!complete) return Error{"not valid JSON: " + builder.error};
  return std::move(builder.root);
}

std::string dump(const Json& value, int indent) {
  Writer writer(indent);
  writer.write(value);
  return std::move(writer.out);
}

std::string quote_json(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

}  // namespace whet
