#include "import_tf/tflite/flat.h"

namespace whet::tflite {
namespace {

std::uint64_t unsigned_at(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i)
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return value;
}

}  // namespace

bool FlatTable::inside(std::size_t place, std::size_t size) const {
  const bool fits = !file_->is_broken && place <= file_->bytes.size() && size <= file_->bytes.size() - place;
  if (!fits) file_->is_broken = true;
  return fits;
}

FlatTable::FlatTable(FlatBytes& file, std::size_t at) : file_(&file), at_(at) {
  if (!inside(at, 4)) return;
  const auto back = static_cast<std::int32_t>(unsigned_at(file.bytes, at, 4));
  const std::int64_t fields = static_cast<std::int64_t>(at) - back;
  if (fields < 0 || !inside(static_cast<std::size_t>(fields), 4)) {
    file.is_broken = true;
    return;
  }
  const std::size_t size = unsigned_at(file.bytes, static_cast<std::size_t>(fields), 2);
  if (!inside(static_cast<std::size_t>(fields), size)) return;
  fields_ = static_cast<std::size_t>(fields);
  fields_size_ = size;
}

FlatTable FlatTable::root(FlatBytes& file) {
  if (file.bytes.size() < 8) {
    file.is_broken = true;
    return {};
  }
  return {file, unsigned_at(file.bytes, 0, 4)};
}

std::size_t FlatTable::place_of(int field) const {
  const std::size_t entry = 4 + 2 * static_cast<std::size_t>(field);
  if (file_ == nullptr || file_->is_broken || entry + 2 > fields_size_) return 0;
  const std::size_t offset = unsigned_at(file_->bytes, fields_ + entry, 2);
  return offset == 0 ? 0 : at_ + offset;
}

std::size_t FlatTable::target_of(int field) const {
  const std::size_t place = place_of(field);
  if (place == 0 || !inside(place, 4)) return 0;
  return place + unsigned_at(file_->bytes, place, 4);
}

FlatTable FlatTable::table(int field) const {
  const std::size_t target = target_of(field);
  return target == 0 ? FlatTable() : FlatTable(*file_, target);
}

std::string_view FlatTable::content(int field, std::size_t size) const {
  const std::size_t target = target_of(field);
  if (target == 0 || !inside(target, 4)) return {};
  const std::uint64_t count = unsigned_at(file_->bytes, target, 4);
  if (!inside(target + 4, count * size)) return {};
  return file_->bytes.substr(target + 4, count * size);
}

std::vector<FlatTable> FlatTable::tables(int field) const {
  const std::string_view offsets = content(field, 4);
  std::vector<FlatTable> tables;
  const std::size_t begin = offsets.empty() ? 0 : static_cast<std::size_t>(offsets.data() - file_->bytes.data());
  for (std::size_t i = 0; i < offsets.size() && !file_->is_broken; i += 4)
    tables.emplace_back(*file_, begin + i + unsigned_at(file_->bytes, begin + i, 4));
  return tables;
}

}  // namespace whet::tflite
