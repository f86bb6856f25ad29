#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "json/document.h"

namespace whet {

/// A JSON value. Objects keep the order in which their members were added. Integers (64 bit) are distinct from other
/// numbers; `number()` reads both.
class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  Json() = default;                                             ///< null
  Json(bool value) : value_(value) {}                           // NOLINT: implicit, so that `j.set("n", 3)` reads well
  Json(int value) : value_(std::int64_t{value}) {}              // NOLINT
  Json(std::int64_t value) : value_(value) {}                   // NOLINT
  Json(std::uint64_t value);                                    // NOLINT: beyond 2^63-1 as a double
  Json(double value) : value_(value) {}                         // NOLINT
  Json(const char* value) : value_(std::string(value)) {}       // NOLINT
  Json(std::string_view value) : value_(std::string(value)) {}  // NOLINT
  Json(std::string value) : value_(std::move(value)) {}         // NOLINT
  Json(Array value) : value_(std::move(value)) {}               // NOLINT
  Json(Object value) : value_(std::move(value)) {}              // NOLINT
  template <typename T>
  static Json array_of(const std::vector<T>& items) {
    return Json(Array(items.begin(), items.end()));
  }
  static Json array() { return Json(Array{}); }
  static Json object() { return Json(Object{}); }

  bool is_null() const { return value_.index() == 0; }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_integer() const { return std::holds_alternative<std::int64_t>(value_); }
  bool is_number() const { return is_integer() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }

  // The value. It must be of that kind (WHET_CHECK): ask `is_...` first, or use the `..._or` forms.
  bool boolean() const;
  std::int64_t integer() const;
  double number() const;
  const std::string& string() const;
  const Array& items() const;
  Array& items();
  const Object& members() const;
  Object& members();

  bool bool_or(bool otherwise) const { return is_bool() ? boolean() : otherwise; }
  std::int64_t integer_or(std::int64_t otherwise) const { return is_integer() ? integer() : otherwise; }
  double number_or(double otherwise) const { return is_number() ? number() : otherwise; }
  std::string string_or(const std::string& otherwise) const { return is_string() ? string() : otherwise; }

  /// The member `key` of an object; null (a value) when there is none or this is no object.
  const Json& operator[](std::string_view key) const;
  const Json* find(std::string_view key) const;
  /// Sets or replaces a member of an object (a null becomes one); returns *this so that calls can be chained.
  Json& set(std::string key, Json value);
  /// Appends to an array (a null becomes one).
  Json& add(Json value);

  friend bool operator==(const Json&, const Json&) = default;

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
};

/// Parses one JSON document. An error gives the place and the fault; nothing is thrown. Nesting is limited to
/// `kMaxJsonDepth`, and the input must be UTF-8.
Result<Json> parse_json(std::string_view text);
constexpr int kMaxJsonDepth = 200;

/// The text of a value: compact, on one line, when `indent` is 0. Doubles are written in the shortest form that reads
/// back equal. Numbers that JSON cannot express (nan, infinities) become null. Invalid UTF-8 is replaced by U+FFFD.
std::string dump(const Json&, int indent = 0);
std::string dump(JsonView);

}  // namespace whet
