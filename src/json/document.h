#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace whet {

/// A value of a JsonDocument, and one of its nodes. Values of the same document lie one behind the other: those of an
/// array or object follow it, a member's name before its value.
struct JsonNode {
  enum class Kind : std::uint8_t { null, boolean, integer, real, string, array, object };
  Kind kind = Kind::null;
  std::size_t size = 1;   ///< nodes, itself included
  std::size_t count = 0;  ///< bytes of a string, items or members
  union {
    bool boolean;
    std::int64_t integer;
    double real;
    const char* text;
  } is = {};
};

/// A value that was read, valid as long as the document and the text that it was read from. Its functions are those of
/// Json; texts and names are not copied.
class JsonView {
 public:
  explicit JsonView(const JsonNode* node) : node_(node) {}

  bool is_null() const { return node_->kind == JsonNode::Kind::null; }
  bool is_bool() const { return node_->kind == JsonNode::Kind::boolean; }
  bool is_integer() const { return node_->kind == JsonNode::Kind::integer; }
  bool is_number() const { return is_integer() || node_->kind == JsonNode::Kind::real; }
  bool is_string() const { return node_->kind == JsonNode::Kind::string; }
  bool is_array() const { return node_->kind == JsonNode::Kind::array; }
  bool is_object() const { return node_->kind == JsonNode::Kind::object; }

  // The value. It must be of that kind (WHET_CHECK).
  bool boolean() const;
  std::int64_t integer() const;
  double number() const;
  std::string_view string() const;

  bool bool_or(bool otherwise) const { return is_bool() ? boolean() : otherwise; }
  std::int64_t integer_or(std::int64_t otherwise) const { return is_integer() ? integer() : otherwise; }
  double number_or(double otherwise) const { return is_number() ? number() : otherwise; }
  std::string_view string_or(std::string_view otherwise) const { return is_string() ? string() : otherwise; }

  /// Values one behind the other. A member's name and value are a pair.
  template <typename Element>
  class Range {
   public:
    class Iterator {
     public:
      explicit Iterator(const JsonNode* at) : at_(at) {}
      Element operator*() const { return element(at_, static_cast<Element*>(nullptr)); }
      Iterator& operator++() { return at_ = next(at_, static_cast<Element*>(nullptr)), *this; }
      bool operator!=(const Iterator& other) const { return at_ != other.at_; }

     private:
      const JsonNode* at_;
    };
    explicit Range(const JsonNode* all) : begin_(all + 1), end_(all + all->size), size_(all->count) {}
    Iterator begin() const { return Iterator(begin_); }
    Iterator end() const { return Iterator(end_); }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }

   private:
    const JsonNode *begin_, *end_;
    std::size_t size_;
  };
  using Member = std::pair<std::string_view, JsonView>;
  /// Of an array, of an object (WHET_CHECK).
  Range<JsonView> items() const;
  Range<Member> members() const;

  /// The first member `key` of an object; null (a value) when there is none or this is no object.
  JsonView operator[](std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }

 private:
  static JsonView element(const JsonNode* at, const JsonView*) { return JsonView(at); }
  static Member element(const JsonNode* at, const Member*) { return {{at->is.text, at->count}, JsonView(at + 1)}; }
  static const JsonNode* next(const JsonNode* at, const JsonView*) { return at + at->size; }
  static const JsonNode* next(const JsonNode* at, const Member*) { return at + 1 + at[1].size; }
  const JsonNode* find(std::string_view key) const;

  const JsonNode* node_;
};

/// A JSON text that is read and not changed, in a few pieces of memory: for many small texts, as the lines of a file.
class JsonDocument {
 public:
  JsonDocument() = default;
  JsonDocument(const JsonDocument&) = delete;  // views point into it
  /// As parse_json. `text` outlives what is looked at. A document may be parsed again, and keeps its memory.
  Status parse(std::string_view text);
  /// Of the last text, which was right.
  JsonView root() const { return JsonView(nodes_.data()); }

 private:
  std::vector<JsonNode> nodes_;
  std::string unescaped_;  ///< the texts that have escapes, as they are meant
};

}  // namespace whet
