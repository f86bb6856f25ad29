#include "import_tf/tflite/sparse.h"

#include <cstring>

namespace whet::tflite {
namespace {

/// A level of the traversal: every place of a dimension, or those that a list names.
struct Level {
  bool is_dense = true;
  std::int64_t extent = 0;                 ///< of a dense one
  std::vector<std::int64_t> ends, places;  ///< of a list: where each row ends, and its places
  std::size_t dimension = 0;               ///< of the tensor
  std::int64_t step = 1;                   ///< of a place in that dimension
};

std::vector<std::int64_t> numbers_of(const FlatTable& level, int type_field) {
  const FlatTable table = level.table(type_field + 1);
  std::vector<std::int64_t> values;
  switch (level.number<std::uint8_t>(type_field)) {
    case 1:
      for (const std::int32_t v : table.numbers<std::int32_t>(0)) values.push_back(v);
      break;
    case 2:
      for (const std::uint16_t v : table.numbers<std::uint16_t>(0)) values.push_back(v);
      break;
    case 3:
      for (const std::uint8_t v : table.numbers<std::uint8_t>(0)) values.push_back(v);
      break;
    default:
      break;
  }
  return values;
}

/// Writes the elements that the levels name, in order.
class Expander {
 public:
  Expander(const std::vector<Level>& levels, Tensor& dense, std::string_view data)
      : levels_(levels),
        dense_(dense),
        data_(data),
        at_(dense.shape().size(), 0),
        size_(static_cast<std::size_t>(size_of(dense.dtype()))) {}

  /// Whether everything lay inside.
  bool run() { return visit(0, 0); }

 private:
  bool visit(std::size_t level, std::int64_t row) {
    if (level == levels_.size()) return write(row);
    const Level& own = levels_[level];
    if (own.is_dense) {
      for (std::int64_t i = 0; i < own.extent; ++i)
        if (!enter(level, i, row * own.extent + i)) return false;
      return true;
    }
    if (row + 1 >= static_cast<std::int64_t>(own.ends.size())) return false;
    const std::int64_t first = own.ends[static_cast<std::size_t>(row)],
                       end = own.ends[static_cast<std::size_t>(row) + 1];
    if (first < 0 || end > static_cast<std::int64_t>(own.places.size())) return false;
    for (std::int64_t j = first; j < end; ++j)
      if (!enter(level, own.places[static_cast<std::size_t>(j)], j)) return false;
    return true;
  }
  bool enter(std::size_t level, std::int64_t place, std::int64_t row) {
    std::int64_t& at = at_[levels_[level].dimension];
    const std::int64_t before = at;
    // Rows that hold nothing are walked over too, but not for ever.
    const bool few = ++visited_ <= (dense_.size() + 64) * static_cast<std::int64_t>(levels_.size());
    const bool near = place >= 0 && place <= dense_.size();
    at += near ? place * levels_[level].step : 0;
    const bool fits = few && near && visit(level + 1, row);
    at = before;
    return fits;
  }
  bool write(std::int64_t row) {
    // Each element is written once: a file cannot make more work than it has data.
    const auto from = static_cast<std::size_t>(row) * size_;
    if (from >= data_.size() || size_ > data_.size() - from || ++written_ > dense_.size()) return false;
    std::int64_t flat = 0;
    for (std::size_t d = 0; d < at_.size(); ++d) {
      if (at_[d] >= dense_.shape()[d]) return false;
      flat = flat * dense_.shape()[d] + at_[d];
    }
    std::memcpy(static_cast<char*>(dense_.data()) + static_cast<std::size_t>(flat) * size_, data_.data() + from, size_);
    return true;
  }

  const std::vector<Level>& levels_;
  Tensor& dense_;
  std::string_view data_;
  std::vector<std::int64_t> at_;
  std::size_t size_;
  std::int64_t written_ = 0, visited_ = 0;
};

}  // namespace

Result<Tensor> densified(DType dtype, const Shape& shape, std::string_view data, const FlatTable& sparsity,
                         const std::string& what) {
  const Error damaged{what + ": its list of non-zero elements is damaged"};
  const std::vector<std::int32_t> order = sparsity.numbers<std::int32_t>(0), blocks = sparsity.numbers<std::int32_t>(1);
  const std::vector<FlatTable> tables = sparsity.tables(2);
  const std::size_t rank = shape.size();
  if (order.size() != rank + blocks.size() || tables.size() != order.size() || rank == 0 || order.size() > 16)
    return damaged;
  // A dense tensor cannot be much larger than what the file has for it.
  constexpr std::int64_t kMostOfOne = 4096;
  if (num_elements(shape) > static_cast<std::int64_t>(data.size()) * kMostOfOne + kMostOfOne) return damaged;
  std::vector<std::int64_t> block_extents(rank, 1);
  std::vector<Level> levels(order.size());
  for (std::size_t i = 0; i < levels.size(); ++i) {
    Level& level = levels[i];
    level.is_dense = tables[i].number<std::int8_t>(0) == 0;
    level.extent = tables[i].number<std::int32_t>(1);
    level.ends = numbers_of(tables[i], 2);
    level.places = numbers_of(tables[i], 4);
    if (order[i] < 0 || static_cast<std::size_t>(order[i]) >= order.size() ||
        (level.is_dense && (level.extent < 1 || level.extent > num_elements(shape))))
      return damaged;
    level.dimension = static_cast<std::size_t>(order[i]);
    if (level.dimension < rank) continue;
    const std::int32_t blocked = blocks[level.dimension - rank];
    if (blocked < 0 || static_cast<std::size_t>(blocked) >= rank || !level.is_dense) return damaged;
    level.dimension = static_cast<std::size_t>(blocked);
    block_extents[level.dimension] = level.extent;
  }
  for (std::size_t i = 0; i < levels.size(); ++i)
    if (static_cast<std::size_t>(order[i]) < rank) levels[i].step = block_extents[levels[i].dimension];
  Tensor dense(dtype, shape);
  if (!Expander(levels, dense, data).run()) return damaged;
  return dense;
}

}  // namespace whet::tflite
