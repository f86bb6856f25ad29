#pragma once

#include <cstring>
#include <map>
#include <string>
#include <variant>
#include <vector>

/// Options of custom operators, written by test code.
namespace whet::tflite {

/// A map of FlexBuffers whose numbers have 4 or 8 bytes.
class FlexWriter {
 public:
  explicit FlexWriter(std::size_t width = 4) : width_(width) {}

  FlexWriter& integer(const std::string& name, std::int64_t value) {
    values_[name] = value;
    return *this;
  }
  FlexWriter& real(const std::string& name, float value) {
    values_[name] = value;
    return *this;
  }
  FlexWriter& text(const std::string& name, const std::string& value) {
    values_[name] = value;
    return *this;
  }
  FlexWriter& list(const std::string& name, const std::vector<std::int64_t>& value) {
    values_[name] = value;
    return *this;
  }

  std::vector<std::uint8_t> bytes() {
    std::vector<std::size_t> keys, places;
    for (const auto& [name, value] : values_) {
      keys.push_back(bytes_.size());
      bytes_ += name + '\0';
    }
    for (const auto& [name, value] : values_) places.push_back(outside(value));
    align();
    put(keys.size());
    const std::size_t key_list = bytes_.size();
    for (const std::size_t key : keys) put(bytes_.size() - key);
    put(bytes_.size() - key_list);
    put(width_);
    put(keys.size());
    const std::size_t map = bytes_.size();
    std::string types;
    std::size_t k = 0;
    for (const auto& [name, value] : values_) {
      if (places[k] != 0) put(bytes_.size() - places[k]);
      if (const auto* number = std::get_if<std::int64_t>(&value)) put(static_cast<std::uint64_t>(*number));
      if (const auto* number = std::get_if<float>(&value)) put_real(*number);
      constexpr char kTypes[] = {1, 3, 5, 11};
      types += static_cast<char>(kTypes[value.index()] << 2 | size_code());
      ++k;
    }
    bytes_ += types;
    const std::size_t distance = bytes_.size() - map;
    bytes_ += static_cast<char>(distance);
    bytes_ += static_cast<char>(distance >> 8);
    bytes_ += static_cast<char>(9 << 2 | size_code());
    bytes_ += '\2';
    return {bytes_.begin(), bytes_.end()};
  }

 private:
  using Value = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>>;

  int size_code() const { return width_ == 4 ? 2 : 3; }
  void put(std::uint64_t value) {
    for (std::size_t i = 0; i < width_; ++i) bytes_ += static_cast<char>(value >> (8 * i));
  }
  void put_real(float value) {
    std::uint64_t bits = 0;
    const double wide = value;
    if (width_ == 4) {
      std::memcpy(&bits, &value, 4);
    } else {
      std::memcpy(&bits, &wide, 8);
    }
    put(bits);
  }
  void align() { bytes_.resize((bytes_.size() + width_ - 1) / width_ * width_, '\0'); }
  /// Position of the part that a value's place in the map points to; 0 for numbers, which lie in the place.
  std::size_t outside(const Value& value) {
    if (value.index() < 2) return 0;
    align();
    const auto* text = std::get_if<std::string>(&value);
    const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
    put(text != nullptr ? text->size() : list->size());
    const std::size_t at = bytes_.size();
    if (text != nullptr) bytes_ += *text + '\0';
    if (list != nullptr)
      for (const std::int64_t number : *list) put(static_cast<std::uint64_t>(number));
    return at;
  }

  std::size_t width_;
  std::map<std::string, Value> values_;
  std::string bytes_;
};

}  // namespace whet::tflite
