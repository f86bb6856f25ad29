#include "json/json.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "json/utf8.h"

namespace whet {
namespace {

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

void append_integer(std::string& out, std::int64_t value) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
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

  /// A Json or a JsonView.
  template <typename Value>
  void write(const Value& value) {
    if (value.is_null())
      out += "null";
    else if (value.is_bool())
      out += value.boolean() ? "true" : "false";
    else if (value.is_integer())
      append_integer(out, value.integer());
    else if (value.is_number())
      append_double(out, value.number());
    else if (value.is_string())
      append_quoted(out, value.string());
    else if (value.is_array())
      list('[', ']', value.items(), [&](const Value& item) { write(item); });
    else
      list('{', '}', value.members(), [&](const auto& member) { write_member(member.first, member.second); });
  }

 private:
  template <typename Value>
  void write_member(std::string_view key, const Value& value) {
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

Json value_of(JsonView view) {
  if (view.is_bool()) return view.boolean();
  if (view.is_integer()) return view.integer();
  if (view.is_number()) return view.number();
  if (view.is_string()) return view.string();
  if (view.is_array()) {
    Json::Array items;
    items.reserve(view.items().size());
    for (const JsonView item : view.items()) items.push_back(value_of(item));
    return items;
  }
  if (!view.is_object()) return {};
  Json::Object members;
  members.reserve(view.members().size());
  for (const auto& [name, value] : view.members()) members.emplace_back(name, value_of(value));
  return members;
}

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
  JsonDocument document;
  WHET_RETURN_IF_ERROR(document.parse(text));
  return value_of(document.root());
}

std::string dump(const Json& value, int indent) {
  Writer writer(indent);
  writer.write(value);
  return std::move(writer.out);
}
std::string dump(JsonView value) {
  Writer writer(0);
  writer.write(value);
  return std::move(writer.out);
}

}  // namespace whet
