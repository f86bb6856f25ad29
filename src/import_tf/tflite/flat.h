#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

/// Flatbuffers without generated code: fields by their numbers. Every access is checked against the file's end.
namespace whet::tflite {

/// The bytes of a file, and whether something pointed outside of them.
struct FlatBytes {
  std::string_view bytes;
  bool is_broken = false;
};

/// A table of the file; one that is absent has no fields. The first access outside of the file breaks it: from then on
/// fields are absent.
class FlatTable {
 public:
  FlatTable() = default;
  FlatTable(FlatBytes& file, std::size_t at);
  static FlatTable root(FlatBytes& file);

  explicit operator bool() const { return file_ != nullptr; }
  template <typename T>
  T number(int field, T otherwise = {}) const {
    const std::size_t place = place_of(field);
    T value = otherwise;
    if (place != 0 && inside(place, sizeof(T))) std::memcpy(&value, file_->bytes.data() + place, sizeof(T));
    return value;
  }
  bool flag(int field) const { return number<std::uint8_t>(field) != 0; }
  FlatTable table(int field) const;
  /// The tables of a list.
  std::vector<FlatTable> tables(int field) const;
  std::string text(int field) const { return std::string(bytes(field)); }
  /// The elements of a list of bytes.
  std::string_view bytes(int field) const { return content(field, 1); }
  template <typename T>
  std::vector<T> numbers(int field) const {
    const std::string_view data = content(field, sizeof(T));
    std::vector<T> values(data.size() / sizeof(T));
    data.copy(reinterpret_cast<char*>(values.data()), values.size() * sizeof(T));
    return values;
  }

 private:
  bool inside(std::size_t place, std::size_t size) const;
  /// Position of a field; 0 where it is absent.
  std::size_t place_of(int field) const;
  /// Where the field's offset leads; 0 where it is absent.
  std::size_t target_of(int field) const;
  std::string_view content(int field, std::size_t size) const;

  FlatBytes* file_ = nullptr;
  std::size_t at_ = 0, fields_ = 0, fields_size_ = 0;
};

}  // namespace whet::tflite
