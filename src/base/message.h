#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace whet {

// Messages between processes. One row of fields, in the order of their bytes, is a message's writer and its reader:
//   template <> constexpr auto kRow<SessionOpen> = row<where<is_short_text, &SessionOpen::user>, &SessionOpen::dead_seconds>;
// An item of a row is
//   &M::field               a field by its type (Packer::put)
//   where<check, &M::a...>  fields each of which `check` accepts, and may mend
//   bool (*)(const M&)      no bytes: it holds of what was read so far
//   a row, or any object with write(Packer&, const M&) and read(Unpacker&, M&)
// whet-model, which has no C++ library, uses the parts that make no std::string.

template <typename M>
constexpr auto kRow = nullptr;
template <typename M>
concept HasRow = !std::is_null_pointer_v<std::remove_const_t<decltype(kRow<M>)>>;
/// The last value of an enum; those before it are known too.
template <typename E>
constexpr E kLast = nullptr;

/// A message as bytes, and bytes as a message: nothing where they are no such message. A header has `extern template struct
/// Codec<M>`, the source with the row `template struct Codec<M>`.
template <typename M>
struct Codec {
  static std::string encode(const M&);
  static std::optional<M> decode(std::string_view);
};
template <typename M>
std::string encode(const M& message) {
  return Codec<M>::encode(message);
}
template <typename M>
std::optional<M> decode(std::string_view bytes) {
  return Codec<M>::decode(bytes);
}

/// Writes fields: numbers and enums little endian, a bool as one byte, texts and lists with their length in eight bytes before them, an
/// optional behind a bool, a variant as the place of its alternative and that one's message as a text. `Bytes` derives from it and has
/// add(std::string_view).
template <typename Bytes>
class Puts {
 private:
  friend Bytes;
  Puts() = default;

 public:
  template <std::integral N>
  void put(N value) {
    char bytes[sizeof value];
    for (std::size_t i = 0; i < sizeof value; ++i)
      bytes[i] = static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
    add(std::string_view(bytes, sizeof bytes));
  }
  void put(double value) { put(std::bit_cast<std::uint64_t>(value)); }
  void put(std::string_view text) {
    put(std::uint64_t{text.size()});
    add(text);
  }
  template <typename E>
    requires std::is_enum_v<E>
  void put(E value) {
    put(static_cast<std::underlying_type_t<E>>(value));
  }
  template <typename T>
  void put(const std::vector<T>& list) {
    put(std::uint64_t{list.size()});
    for (const T& item : list) put(item);
  }
  template <typename A, typename B>
  void put(const std::pair<A, B>& pair) {
    put(pair.first);
    put(pair.second);
  }
  template <typename T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <typename... Ts>
  void put(const std::variant<Ts...>& value) {
    put(static_cast<std::uint8_t>(value.index()));
    put(std::visit([](const auto& alternative) { return encode(alternative); }, value));
  }
  template <HasRow M>
  void put(const M& message) {
    kRow<M>.write(static_cast<Bytes&>(*this), message);
  }

 private:
  void add(std::string_view bytes) { static_cast<Bytes&>(*this).add(bytes); }
};

class Packer : public Puts<Packer> {
 public:
  void add(std::string_view bytes) { out_ += bytes; }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

/// Reads what a Packer wrote. After the first thing that does not fit, everything reads as zero and `ok()` is false.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : left_(bytes) {}

  template <typename T>
  T get() {
    T value{};
    get(value);
    return value;
  }
  template <std::integral N>
  void get(N& value) {
    std::uint64_t bits = 0;
    const std::string_view bytes = take(sizeof value);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bits |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    if constexpr (std::same_as<N, bool>) require(bits <= 1);
    value = static_cast<N>(bits);
  }
  void get(double& value) { value = std::bit_cast<double>(get<std::uint64_t>()); }
  void get(std::string_view& text) { text = take(get<std::uint64_t>()); }
  void get(std::string& text) { text = get<std::string_view>(); }
  template <typename E>
    requires std::is_enum_v<E>
  void get(E& value) {
    const auto number = get<std::underlying_type_t<E>>();
    require(number <= static_cast<std::underlying_type_t<E>>(kLast<E>));
    value = static_cast<E>(ok_ ? number : 0);
  }
  /// A list of `most` items at most. It grows as its items come, so that a lying length costs no memory.
  template <typename T>
  void get(std::vector<T>& list, std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
    const auto count = get<std::uint64_t>();
    require(count <= most);
    for (std::uint64_t i = 0; i < count && ok_; ++i) get(list.emplace_back());
  }
  template <typename A, typename B>
  void get(std::pair<A, B>& pair) {
    get(pair.first);
    get(pair.second);
  }
  template <typename T>
  void get(std::optional<T>& value) {
    if (get<bool>()) get(value.emplace());
  }
  template <typename... Ts>
  void get(std::variant<Ts...>& value) {
    const auto place = get<std::uint8_t>();
    const auto bytes = get<std::string_view>();
    std::uint8_t at = 0;
    require(((at++ == place && accept(decode<Ts>(bytes), value)) || ...));
  }
  template <HasRow M>
  void get(M& message) {
    kRow<M>.read(*this, message);
  }
  /// Puts what was decoded in its place; nothing there is no message.
  template <typename Decoded, typename Place>
  bool accept(Decoded decoded, Place& place) {
    require(decoded.has_value());
    if (decoded) place = std::move(*decoded);
    return decoded.has_value();
  }

  /// The next bytes, as they lie.
  std::string_view take(std::uint64_t bytes) {
    if (!ok_ || left_.size() < bytes) return ok_ = false, std::string_view();
    const std::string_view taken = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return taken;
  }
  std::size_t left() const { return left_.size(); }
  void require(bool holds) { ok_ = ok_ && holds; }
  bool ok() const { return ok_; }
  /// True when all bytes were read and each thing fitted.
  bool done() const { return ok_ && left_.empty(); }

 private:
  std::string_view left_;
  bool ok_ = true;
};

template <auto... items>
struct Row {
  template <typename P, typename M>
  static void write(P& p, const M& message) {
    (write_item<items>(p, message), ...);
  }
  template <typename M>
  static void read(Unpacker& u, M& message) {
    (read_item<items>(u, message), ...);
  }

 private:
  template <auto item, typename P, typename M>
  static void write_item(P& p, const M& message) {
    if constexpr (std::is_member_object_pointer_v<decltype(item)>)
      p.put(message.*item);
    else if constexpr (!std::is_pointer_v<decltype(item)>)
      item.write(p, message);
  }
  template <auto item, typename M>
  static void read_item(Unpacker& u, M& message) {
    if constexpr (std::is_member_object_pointer_v<decltype(item)>)
      u.get(message.*item);
    else if constexpr (std::is_pointer_v<decltype(item)>)
      u.require(u.ok() && item(message));
    else
      item.read(u, message);
  }
};
template <auto... items>
constexpr Row<items...> row{};

template <auto check, auto... members>
struct Where {
  template <typename P, typename M>
  static void write(P& p, const M& message) {
    (p.put(message.*members), ...);
  }
  template <typename M>
  static void read(Unpacker& u, M& message) {
    ((u.get(message.*members), u.require(check(message.*members))), ...);
  }
};
template <auto check, auto... members>
constexpr Where<check, members...> where{};

/// A list of a bounded length.
template <std::uint64_t most, auto member>
struct AtMost : Row<member> {
  template <typename M>
  static void read(Unpacker& u, M& message) {
    u.get(message.*member, most);
  }
};
template <std::uint64_t most, auto member>
constexpr AtMost<most, member> at_most{};

/// Numbers that travel as another type, which has room for more.
template <typename Wide, auto... members>
struct Widened {
  template <typename P, typename M>
  static void write(P& p, const M& message) {
    (p.put(static_cast<Wide>(message.*members)), ...);
  }
  template <typename M>
  static void read(Unpacker& u, M& message) {
    (read_one(u, message.*members), ...);
  }

 private:
  template <typename N>
  static void read_one(Unpacker& u, N& value) {
    const auto wide = u.get<Wide>();
    value = static_cast<N>(wide);
    u.require(static_cast<Wide>(value) == wide);
  }
};
template <typename Wide, auto... members>
constexpr Widened<Wide, members...> widened{};

/// A message of its own inside of this one, as a text; an optional one that is not there is an empty text.
template <auto member>
struct AsText {
  template <typename P, typename M>
  static void write(P& p, const M& message) {
    p.put(text_of(message.*member));
  }
  template <typename M>
  static void read(Unpacker& u, M& message) {
    read_one(u, u.get<std::string_view>(), message.*member);
  }

 private:
  template <typename T>
  static std::string text_of(const T& value) {
    return encode(value);
  }
  template <typename T>
  static std::string text_of(const std::optional<T>& value) {
    return value ? encode(*value) : "";
  }
  template <typename T>
  static void read_one(Unpacker& u, std::string_view text, T& value) {
    u.accept(decode<T>(text), value);
  }
  template <typename T>
  static void read_one(Unpacker& u, std::string_view text, std::optional<T>& value) {
    if (!text.empty()) u.accept(decode<T>(text), value);
  }
};
template <auto member>
constexpr AsText<member> as_text{};

template <typename M>
std::string Codec<M>::encode(const M& message) {
  Packer p;
  p.put(message);
  return p.take();
}
template <typename M>
std::optional<M> Codec<M>::decode(std::string_view bytes) {
  Unpacker u(bytes);
  std::optional<M> message(std::in_place);
  u.get(*message);
  if (!u.done()) message.reset();
  return message;
}

}  // namespace whet
