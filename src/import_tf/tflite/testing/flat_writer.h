#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "import/testing/imported.h"
#include "import_tf/tflite/import_tflite.h"

/// Flatbuffers and TensorFlow Lite models, written by test code.
namespace whet::tflite {

/// What a reader makes of a file's bytes, or of a file; `what` begins messages.
inline Result<Graph> imported(const std::string& bytes, const std::string& what, const ImportOptions& options = {}) {
  return whet::imported(read_tflite_model, {what, "", bytes}, options);
}
inline Result<Graph> imported_file(const std::string& path, const ImportOptions& options = {}) {
  return whet::imported_file(read_tflite_model, path, options);
}

/// A table to be written: fields by their numbers.
struct FlatRecord {
  struct List {
    std::string bytes;
    std::size_t count = 0;
  };
  using Field = std::variant<std::string, List, FlatRecord,
                             std::vector<FlatRecord>>;  ///< a number's bytes, numbers, a table, tables
  std::map<int, Field> fields;

  template <typename T>
  FlatRecord& number(int field, T value) {
    std::string bytes(sizeof(T), '\0');
    std::memcpy(bytes.data(), &value, sizeof(T));
    fields[field] = bytes;
    return *this;
  }
  template <typename T>
  FlatRecord& numbers(int field, const std::vector<T>& values) {
    List list{std::string(values.size() * sizeof(T), '\0'), values.size()};
    if (!values.empty()) std::memcpy(list.bytes.data(), values.data(), list.bytes.size());
    fields[field] = list;
    return *this;
  }
  FlatRecord& text(int field, const std::string& value) {
    fields[field] = List{value, value.size()};
    return *this;
  }
  FlatRecord& table(int field, const FlatRecord& value) {
    fields[field] = value;
    return *this;
  }
  FlatRecord& tables(int field, const std::vector<FlatRecord>& values) {
    fields[field] = values;
    return *this;
  }
};

/// Writes parents before their children, so that offsets lead forward.
class FlatWriter {
 public:
  std::string file(const FlatRecord& root) {
    bytes_ = std::string(4, '\0') + "TFL3";
    const std::size_t at = write(root);
    patch(0, at);
    return bytes_;
  }

 private:
  void put(std::uint64_t value, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) bytes_ += static_cast<char>(value >> (8 * i));
  }
  void patch(std::size_t place, std::size_t target) {
    const std::uint64_t distance = target - place;
    for (std::size_t i = 0; i < 4; ++i) bytes_[place + i] = static_cast<char>(distance >> (8 * i));
  }
  void align() { bytes_.resize((bytes_.size() + 7) / 8 * 8, '\0'); }
  std::size_t write(const FlatRecord& table) {
    align();
    const int last = table.fields.empty() ? -1 : table.fields.rbegin()->first;
    const std::size_t places = bytes_.size(), places_size = 4 + 2 * static_cast<std::size_t>(last + 1);
    bytes_.resize(places + (places_size + 7) / 8 * 8, '\0');
    const std::size_t at = bytes_.size();
    put(at - places, 4);
    std::vector<std::pair<std::size_t, const FlatRecord::Field*>> children;
    for (const auto& [field, value] : table.fields) {
      const std::size_t offset = bytes_.size() - at;
      bytes_[places + 4 + 2 * static_cast<std::size_t>(field)] = static_cast<char>(offset);
      bytes_[places + 5 + 2 * static_cast<std::size_t>(field)] = static_cast<char>(offset >> 8);
      if (const auto* number = std::get_if<std::string>(&value)) {
        bytes_ += *number;
      } else {
        children.emplace_back(bytes_.size(), &value);
        put(0, 4);
      }
    }
    bytes_[places] = static_cast<char>(places_size);
    bytes_[places + 1] = static_cast<char>(places_size >> 8);
    const std::size_t size = bytes_.size() - at;
    bytes_[places + 2] = static_cast<char>(size);
    bytes_[places + 3] = static_cast<char>(size >> 8);
    for (const auto& [place, value] : children) patch(place, write(*value));
    return at;
  }
  std::size_t write(const FlatRecord::Field& value) {
    if (const auto* table = std::get_if<FlatRecord>(&value)) return write(*table);
    align();
    bytes_.resize(bytes_.size() + 4, '\0');  // elements of 8 bytes are at multiples of 8
    const std::size_t at = bytes_.size();
    if (const auto* list = std::get_if<FlatRecord::List>(&value)) {
      put(list->count, 4);
      bytes_ += list->bytes;
      return at;
    }
    const auto& tables = std::get<std::vector<FlatRecord>>(value);
    put(tables.size(), 4);
    const std::size_t first = bytes_.size();
    bytes_.resize(first + 4 * tables.size(), '\0');
    for (std::size_t i = 0; i < tables.size(); ++i) patch(first + 4 * i, write(tables[i]));
    return at;
  }

  std::string bytes_;
};

/// A model that grows tensor by tensor and operator by operator.
class ModelWriter {
 public:
  /// `type`: the file's number (0 f32, 9 i8, 2 i32, ...). Gives the tensor's number.
  int tensor(const std::string& name, const std::vector<std::int32_t>& shape, int type = 0) {
    tensors_.push_back(
        FlatRecord().numbers(0, shape).number<std::int8_t>(1, static_cast<std::int8_t>(type)).text(3, name));
    return static_cast<int>(tensors_.size()) - 1;
  }
  template <typename T>
  int constant(const std::string& name, const std::vector<std::int32_t>& shape, int type,
               const std::vector<T>& values) {
    const int number = tensor(name, shape, type);
    std::string bytes(values.size() * sizeof(T), '\0');
    std::memcpy(bytes.data(), values.data(), bytes.size());
    tensors_.back().number<std::uint32_t>(2, static_cast<std::uint32_t>(buffers_.size()));
    buffers_.push_back(FlatRecord().text(0, bytes));
    return number;
  }
  void quantize(int tensor, const std::vector<float>& scales, const std::vector<std::int64_t>& zeros,
                int dimension = 0) {
    FlatRecord form;
    form.numbers(2, scales).numbers(3, zeros).number<std::int32_t>(6, dimension);
    tensors_[static_cast<std::size_t>(tensor)].table(4, form);
  }
  FlatRecord& info(int tensor) { return tensors_[static_cast<std::size_t>(tensor)]; }
  void operation(int code, const std::vector<std::int32_t>& inputs, const std::vector<std::int32_t>& outputs,
                 const FlatRecord& options = {}) {
    codes_.push_back(FlatRecord()
                         .number<std::int8_t>(0, static_cast<std::int8_t>(code < 127 ? code : 127))
                         .number<std::int32_t>(3, code));
    operations_.push_back(FlatRecord()
                              .number<std::uint32_t>(0, static_cast<std::uint32_t>(codes_.size() - 1))
                              .numbers(1, inputs)
                              .numbers(2, outputs)
                              .table(4, options));
  }
  /// An operator of somebody's own, with options of its own.
  void custom(const std::string& name, const std::vector<std::int32_t>& inputs,
              const std::vector<std::int32_t>& outputs, const std::vector<std::uint8_t>& options) {
    codes_.push_back(FlatRecord().number<std::int8_t>(0, 32).text(1, name).number<std::int32_t>(3, 32));
    operations_.push_back(FlatRecord()
                              .number<std::uint32_t>(0, static_cast<std::uint32_t>(codes_.size() - 1))
                              .numbers(1, inputs)
                              .numbers(2, outputs)
                              .numbers(5, options));
  }
  /// Graph 1, 2, ... of the file; they have no constants.
  void body(const ModelWriter& other, const std::vector<std::int32_t>& inputs,
            const std::vector<std::int32_t>& outputs) {
    std::vector<FlatRecord> operations = other.operations_;
    for (std::size_t i = 0; i < operations.size(); ++i)
      operations[i].number<std::uint32_t>(0, static_cast<std::uint32_t>(codes_.size() + i));
    codes_.insert(codes_.end(), other.codes_.begin(), other.codes_.end());
    bodies_.push_back(
        FlatRecord().tables(0, other.tensors_).numbers(1, inputs).numbers(2, outputs).tables(3, operations));
  }
  std::string bytes(const std::vector<std::int32_t>& inputs, const std::vector<std::int32_t>& outputs) const {
    FlatRecord graph, root;
    graph.tables(0, tensors_).numbers(1, inputs).numbers(2, outputs).tables(3, operations_);
    std::vector<FlatRecord> graphs = {graph};
    graphs.insert(graphs.end(), bodies_.begin(), bodies_.end());
    root.number<std::uint32_t>(0, 3).tables(1, codes_).tables(2, graphs).tables(4, buffers_);
    return FlatWriter().file(root);
  }

 private:
  std::vector<FlatRecord> tensors_, operations_, codes_, bodies_, buffers_ = {FlatRecord()};
};

}  // namespace whet::tflite
