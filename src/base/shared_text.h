#pragma once

#include <compare>
#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace whet {

/// A text that never changes and that many hold: a copy is a pointer, and equal ones of one origin are told by it.
/// Several threads may hold and read one.
class SharedText {
 public:
  SharedText() = default;
  SharedText(std::string text) : text_(text.empty() ? nullptr : std::make_shared<const std::string>(std::move(text))) {}
  SharedText(const char* text) : SharedText(std::string(text)) {}

  const std::string& text() const { return text_ ? *text_ : kEmpty; }
  bool empty() const { return text_ == nullptr; }
  operator const std::string&() const { return text(); }
  operator std::string_view() const { return text(); }

  friend bool operator==(const SharedText& a, const SharedText& b) {
    return a.text_ == b.text_ || a.text() == b.text();
  }
  friend auto operator<=>(const SharedText& a, const SharedText& b) {
    return a.text_ == b.text_ ? std::strong_ordering::equal : a.text() <=> b.text();
  }
  template <typename Text>
    requires(std::convertible_to<Text, std::string_view> && !std::same_as<Text, SharedText>)
  friend bool operator==(const SharedText& a, const Text& b) {
    return a.text() == std::string_view(b);
  }
  template <typename Text>
    requires(std::convertible_to<Text, std::string_view> && !std::same_as<Text, SharedText>)
  friend auto operator<=>(const SharedText& a, const Text& b) {
    return std::string_view(a) <=> std::string_view(b);
  }

 private:
  inline static const std::string kEmpty;
  std::shared_ptr<const std::string> text_;  ///< null where it is empty
};

/// Gives equal texts as one. For one thread at a time.
class SharedTexts {
 public:
  SharedText of(std::string_view text) {
    if (text.empty()) return {};
    const auto known = known_.find(text);
    return known != known_.end() ? *known : *known_.insert(SharedText(std::string(text))).first;
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_set<SharedText, Hash, std::equal_to<>> known_;
};

}  // namespace whet
