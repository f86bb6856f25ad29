#include "import_tf/tflite/flex.h"

#include <algorithm>
#include <cstring>

namespace whet::tflite {
namespace {

/// The numbers of the types in a file that are read here.
enum FlexType : unsigned {
  kInt = 1,
  kUnsigned = 2,
  kFloat = 3,
  kKey = 4,
  kText = 5,
  kIndirectInt = 6,
  kIndirectFloat = 8,
  kMap = 9,
  kList = 10,
  kInts = 11,
  kFloats = 13,
  kPairOfInts = 16,
  kFourFloats = 24,
  kTruth = 26,
  kTruths = 36
};
/// More entries than options have, and more numbers and letters: entries may lead to the same ones again and again.
constexpr std::uint64_t kMostEntries = 4096, kMostTogether = 65536;

}  // namespace

/// Each access is checked against the bytes; the first one outside breaks the whole.
class FlexReader {
 public:
  explicit FlexReader(std::string_view bytes) : bytes_(bytes) {}

  std::optional<FlexMap> read() {
    if (bytes_.size() < 3) return std::nullopt;
    const auto width = static_cast<unsigned char>(bytes_.back());
    const auto packed = static_cast<unsigned char>(bytes_[bytes_.size() - 2]);
    const bool fits = (width == 1 || width == 2 || width == 4 || width == 8) && bytes_.size() >= width + 2U;
    if (!fits || packed >> 2 != kMap) return std::nullopt;
    FlexMap map;
    read_map(target(bytes_.size() - 2 - width, width), std::size_t{1} << (packed & 3U), map);
    return is_broken_ ? std::nullopt : std::optional(std::move(map));
  }

 private:
  std::uint64_t number_at(std::size_t place, std::size_t width) {
    if (is_broken_ || place > bytes_.size() || width > bytes_.size() - place) {
      is_broken_ = true;
      return 0;
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i)
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_[place + i])) << (8 * i);
    return value;
  }
  std::int64_t signed_at(std::size_t place, std::size_t width) {
    const unsigned empty = 64 - 8 * static_cast<unsigned>(width);
    return static_cast<std::int64_t>(number_at(place, width) << empty) >> empty;
  }
  double real_at(std::size_t place, std::size_t width) {
    const std::uint64_t bits = number_at(place, width);
    if (width == 8) {
      double value = 0;
      std::memcpy(&value, &bits, sizeof(value));
      return value;
    }
    if (width != 4) is_broken_ = true;  // halves are not written for options
    const auto low = static_cast<std::uint32_t>(bits);
    float value = 0;
    std::memcpy(&value, &low, sizeof(value));
    return static_cast<double>(value);
  }
  /// Offsets lead backwards.
  std::size_t target(std::size_t place, std::size_t width) { return before(place, number_at(place, width)); }
  std::size_t before(std::size_t place, std::uint64_t distance) {
    if (distance > place) is_broken_ = true;
    return is_broken_ ? 0 : place - static_cast<std::size_t>(distance);
  }
  std::uint64_t count_at(std::size_t place, std::size_t width) {
    const std::uint64_t count = number_at(place, width);
    if (count > kMostEntries) is_broken_ = true;
    spend(count);
    return is_broken_ ? 0 : count;
  }
  void spend(std::uint64_t count) {
    if (count > left_) is_broken_ = true;
    left_ -= std::min(count, left_);
  }
  std::string name_at(std::size_t place) {
    const std::size_t end = bytes_.find('\0', place);
    if (is_broken_ || place >= bytes_.size() || end == std::string_view::npos || end - place > kMostEntries) {
      is_broken_ = true;
      return "";
    }
    spend(end - place);
    return std::string(bytes_.substr(place, end - place));
  }
  /// A number of `type` at the position of the value.
  double plain(unsigned type, std::size_t place, std::size_t width) {
    if (type == kFloat) return real_at(place, width);
    if (type == kInt) return static_cast<double>(signed_at(place, width));
    return static_cast<double>(number_at(place, width));
  }
  std::vector<double> list(unsigned type, std::size_t at, std::size_t width, std::uint64_t count) {
    std::vector<double> values;
    for (std::uint64_t i = 0; i < count && !is_broken_; ++i) values.push_back(plain(type, at + i * width, width));
    return values;
  }

  void read_map(std::size_t at, std::size_t width, FlexMap& map) {
    const std::uint64_t count = count_at(before(at, width), width);
    const std::size_t keys = target(before(at, 3 * width), width);
    const std::uint64_t key_width = number_at(before(at, 2 * width), width);
    if (key_width != 1 && key_width != 2 && key_width != 4 && key_width != 8) is_broken_ = true;
    for (std::uint64_t i = 0; i < count && !is_broken_; ++i) {
      const std::string name = name_at(target(keys + i * key_width, key_width));
      const auto packed = static_cast<unsigned>(number_at(at + count * width + i, 1));
      if (const auto value = value_of(packed, at + i * width, width)) map.values_[name] = *value;
    }
  }
  /// The value at `place`, where numbers have `width` bytes; nothing for kinds that are left out.
  std::optional<FlexMap::Value> value_of(unsigned packed, std::size_t place, std::size_t width) {
    const unsigned type = packed >> 2;
    const std::size_t inner = std::size_t{1} << (packed & 3U);
    FlexMap::Value value;
    if (type == kInt || type == kUnsigned || type == kFloat || type == kTruth) {
      value.numbers = {plain(type, place, width)};
      return value;
    }
    if (type < kKey || type == kMap) return std::nullopt;
    const std::size_t at = target(place, width);
    if (type >= kIndirectInt && type <= kIndirectFloat) {
      value.numbers = {plain(type - kIndirectInt + kInt, at, inner)};
    } else if (type == kText || type == kKey) {
      value.text = name_at(at);
    } else if (type == kList) {
      return numbers_of_list(at, inner);
    } else if ((type >= kInts && type <= kFloats) || type == kTruths) {
      value.is_list = true;
      value.numbers =
          list(type == kTruths ? kTruth : type - kInts + kInt, at, inner, count_at(before(at, inner), inner));
    } else if (type >= kPairOfInts && type <= kFourFloats) {
      value.is_list = true;
      value.numbers = list((type - kPairOfInts) % 3 + kInt, at, inner, (type - kPairOfInts) / 3 + 2);
    } else {
      return std::nullopt;
    }
    return value;
  }
  /// A list whose elements have types of their own; nothing where one is no plain number.
  std::optional<FlexMap::Value> numbers_of_list(std::size_t at, std::size_t width) {
    FlexMap::Value value{true, {}, std::nullopt};
    const std::uint64_t count = count_at(before(at, width), width);
    for (std::uint64_t i = 0; i < count && !is_broken_; ++i) {
      const auto type = static_cast<unsigned>(number_at(at + count * width + i, 1)) >> 2;
      if (type != kInt && type != kUnsigned && type != kFloat && type != kTruth) return std::nullopt;
      value.numbers.push_back(plain(type, at + i * width, width));
    }
    return value;
  }

  std::string_view bytes_;
  std::uint64_t left_ = kMostTogether;
  bool is_broken_ = false;
};

std::optional<FlexMap> FlexMap::read(std::string_view bytes) { return FlexReader(bytes).read(); }

std::optional<double> FlexMap::number(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end() || found->second.is_list || found->second.numbers.size() != 1) return std::nullopt;
  return found->second.numbers[0];
}

std::optional<std::vector<double>> FlexMap::numbers(const std::string& name) const {
  const auto found = values_.find(name);
  return found != values_.end() && found->second.is_list ? std::optional(found->second.numbers) : std::nullopt;
}

std::optional<std::string> FlexMap::text(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : found->second.text;
}

std::map<std::string, std::vector<double>> FlexMap::all_numbers() const {
  std::map<std::string, std::vector<double>> all;
  for (const auto& [name, value] : values_)
    if (!value.numbers.empty()) all.emplace(name, value.numbers);
  return all;
}

}  // namespace whet::tflite
