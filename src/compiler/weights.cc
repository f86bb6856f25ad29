#include "compiler/weights.h"

#include <algorithm>
#include <cstring>

#include "artifact/made_weights.h"
#include "whet/model_file.h"

namespace whet {
namespace {

constexpr std::uint64_t kWeightLine = 64, kWeightPage = 4096;

}  // namespace

std::uint64_t WeightTable::add(const Tensor& tensor) {
  const std::uint64_t size = static_cast<std::uint64_t>(tensor.bytes());
  const std::uint64_t hash = whet_checksum(tensor.data(), size);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const Stored& other = stored_[it->second];
    if (other.tensor.bytes() != tensor.bytes()) continue;
    const bool same = other.tensor.data() == tensor.data();
    if (same || (!apart_ && std::memcmp(other.tensor.data(), tensor.data(), size) == 0)) return other.offset;
  }
  // Large tensors begin at different places of a page, so that two that are read together do not share cache sets.
  std::uint64_t offset = (bytes_ + kWeightLine - 1) / kWeightLine * kWeightLine;
  if (size >= kWeightPage && offset % kWeightPage == 0 && offset != 0) offset += stored_.size() % 32 * kWeightLine;
  by_hash_.emplace(hash, stored_.size());
  stored_.push_back({offset, tensor});
  bytes_ = offset + (size + kWeightLine - 1) / kWeightLine * kWeightLine;
  return offset;
}

void WeightTable::make_up() {
  const auto page = made_weights();
  for (Stored& stored : stored_) {
    const auto size = static_cast<std::size_t>(stored.tensor.bytes());
    if (!is_float(stored.tensor.dtype()) || size < kMadePage) continue;
    stored.tensor = Tensor(stored.tensor.dtype(), stored.tensor.shape());
    auto* const bytes = static_cast<char*>(stored.tensor.data());
    for (std::size_t at = 0; at < size; at += kMadePage)
      std::memcpy(bytes + at, page.data() + stored.offset % kMadePage, std::min(kMadePage, size - at));
  }
}

std::vector<WeightPiece> WeightTable::pieces() const {
  std::vector<WeightPiece> pieces;
  for (const Stored& s : stored_) {
    pieces.push_back({s.offset, s.tensor.data(), static_cast<std::uint64_t>(s.tensor.bytes())});
  }
  return pieces;
}

}  // namespace whet
