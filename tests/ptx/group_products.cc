// wgmma: 64 rows of four warps, operands in block memory or, the left one, in registers. Source: "Asynchronous Warpgroup Level Matrix
// Instructions" in NVIDIA's PTX ISA.

#include <algorithm>
#include <bit>
#include <cstring>

#include "ptx/block.h"
#include "tensor/dtype.h"

namespace whet::ptx {
namespace {

constexpr int kDepthBytes = 32;  ///< of an instruction's step along the depth

float element(Tile tile, const std::byte* from) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, from, tile == Tile::tf32 ? 4 : 2);
  return tile == Tile::tf32  ? std::bit_cast<float>(bits & ~0x1fffu)
         : tile == Tile::f16 ? half_to_float(static_cast<std::uint16_t>(bits))
                             : std::bit_cast<float>(bits << 16);
}
std::int64_t bytes_of(Tile tile) { return tile == Tile::tf32 ? 4 : 2; }

/// A descriptor of a matrix: where it begins, how far its parts lie apart, and its swizzle.
struct Matrix {
  std::uint64_t start, leading, stride;
  std::int64_t swizzle;  ///< bytes of a row; 0: none

  explicit Matrix(std::uint64_t bits)
      : start((bits & 0x3fff) << 4),
        leading((bits >> 16 & 0x3fff) << 4),
        stride((bits >> 32 & 0x3fff) << 4),
        swizzle(std::int64_t{std::array{0, 128, 64, 32}[bits >> 62]}) {}

  /// Of an element along the depth, of a row of the left operand or a column of the right one. `turned`: neighbours are those.
  std::uint64_t place(int row, int depth, std::int64_t element_bytes, bool turned) const {
    const auto r = static_cast<std::uint64_t>(row), k = static_cast<std::uint64_t>(depth),
               bytes = static_cast<std::uint64_t>(element_bytes), row_bytes = static_cast<std::uint64_t>(swizzle),
               in_row = row_bytes / bytes;
    const std::uint64_t linear =
        turned ? start + r / in_row * leading + k / 8 * stride + k % 8 * row_bytes + r % in_row * bytes
               : start + r / 8 * stride + r % 8 * row_bytes + k * bytes;
    return swizzled(linear, swizzle);
  }
};

}  // namespace

bool Block::begin_group_product(Warp& warp, const Instruction& in) {
  const bool from_registers = in.number != 0;
  const std::size_t right_at = from_registers ? 4 : 1;
  const auto operand = [&](std::size_t i) { return warp.slot(in.operands[i])[0]; };
  const bool has_turns = in.operands.size() > right_at + 4;
  if (operand(right_at + 2) != 1 || operand(right_at + 3) != 1) return fail(warp, in, "operands that are negated");
  GroupProduct product;
  product.in = &in, product.group = warp.committed_products, product.adds = operand(right_at + 1) != 0;
  const std::int64_t bytes = bytes_of(in.tile);
  const int depth = static_cast<int>(kDepthBytes / bytes), first_row = static_cast<int>(warp.number % 4) * 16;
  const auto collect = [&](std::uint64_t descriptor, int first, int count, bool turned,
                           std::vector<std::vector<std::uint64_t>>& places) {
    const Matrix matrix(descriptor);
    if (matrix.swizzle == 0 || (turned && bytes != 2))
      return fail(warp, in, "a descriptor without a swizzle, or turned words");
    for (int row = first; row < first + count; ++row) {
      std::vector<std::uint64_t>& of_row = places.emplace_back();
      for (int k = 0; k < depth; ++k) {
        of_row.push_back(matrix.place(row, k, bytes, turned));
        const auto at = static_cast<std::int64_t>(of_row.back() - kSharedWindow);
        if (of_row.back() < kSharedWindow || at + bytes > std::ssize(memory_))
          return fail(warp, in, "reads outside of block memory");
        const std::string met = shadow_ ? shadow_->begin_read(warp.number, warp.clock, at, bytes) : "";
        if (!met.empty()) return fail(warp, in, met);
      }
    }
    return true;
  };
  const bool left_turned = has_turns && !from_registers && operand(right_at + 4) != 0,
             right_turned = has_turns && operand(in.operands.size() - 1) != 0;
  if (from_registers) {
    for (std::size_t w = 0; w < 4; ++w)
      std::memcpy(product.words.emplace_back().data(), warp.slot(in.operands[w]), sizeof(std::uint64_t) * kLanes);
  } else if (!collect(operand(0), first_row, 16, left_turned, product.left)) {
    return false;
  }
  if (!collect(operand(right_at), 0, in.columns, right_turned, product.right)) return false;
  warp.products.push_back(std::move(product));
  hide_sums(warp);
  return true;
}

/// Sums are in nobody's hands before the wait: who reads them gets NaN.
void Block::hide_sums(Warp& warp) {
  for (auto product = warp.products.begin(); product != warp.products.end(); ++product) {
    const auto same = [&](const GroupProduct& other) { return other.in->results == product->in->results; };
    if (!product->sums.empty() || std::any_of(warp.products.begin(), product, same)) continue;
    for (const int slot : product->in->results) {
      std::memcpy(product->sums.emplace_back().data(), warp.slot(slot), sizeof(std::uint64_t) * kLanes);
      std::fill_n(warp.slot(slot), kLanes, ~std::uint64_t{0});
    }
  }
}

void Block::end_group_products(Warp& warp, std::int64_t pending) {
  const auto ends = [&](const GroupProduct& product) { return product.group < warp.committed_products - pending; };
  const auto first_left = std::find_if_not(warp.products.begin(), warp.products.end(), ends);
  for (auto product = warp.products.begin(); product != first_left; ++product) end_group_product(warp, *product);
  warp.products.erase(warp.products.begin(), first_left);
  hide_sums(warp);
}

/// Lane 4g + q has of sums 4j + 2h + p the one of row g + 8h of the warp's 16 and column 8j + 2q + p.
void Block::end_group_product(Warp& warp, const GroupProduct& product) {
  const Instruction& in = *product.in;
  const std::int64_t bytes = bytes_of(in.tile);
  const int depth = static_cast<int>(kDepthBytes / bytes), each = static_cast<int>(4 / bytes);
  const auto gathered = [&](const std::vector<std::vector<std::uint64_t>>& places) {
    std::vector<float> values;
    for (const auto& row : places)
      for (const std::uint64_t place : row) {
        const auto at = static_cast<std::int64_t>(place - kSharedWindow);
        values.push_back(element(in.tile, memory_.data() + at));
        if (shadow_) shadow_->end_read(warp.number, warp.clock, at, bytes);
      }
    return values;
  };
  std::vector<float> left = gathered(product.left);
  const std::vector<float> right = gathered(product.right);
  left.resize(static_cast<std::size_t>(16 * depth));
  for (std::size_t w = 0; w < product.words.size(); ++w)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      for (int part = 0; part < each; ++part) {
        const std::size_t row = lane / 4 + 8 * (w % 2), k = lane % 4 * static_cast<std::size_t>(each) +
                                                            static_cast<std::size_t>(part) +
                                                            w / 2 * static_cast<std::size_t>(depth / 2);
        std::byte word[8];
        std::memcpy(word, &product.words[w][lane], sizeof word);
        left[row * static_cast<std::size_t>(depth) + k] = element(in.tile, word + part * bytes);
      }
  for (std::size_t i = 0; i < product.sums.size(); ++i)
    std::memcpy(warp.slot(in.results[i]), product.sums[i].data(), sizeof(std::uint64_t) * kLanes);
  for (std::size_t i = 0; i < in.results.size(); ++i)
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::size_t row = lane / 4 + 8 * (i / 2 % 2), column = 8 * (i / 4) + 2 * (lane % 4) + i % 2,
                        terms = static_cast<std::size_t>(depth);
      std::uint64_t& word = warp.slot(in.results[i])[lane];
      double sum = product.adds ? std::bit_cast<float>(static_cast<std::uint32_t>(word)) : 0.0;
      for (std::size_t k = 0; k < terms; ++k) sum += double{left[row * terms + k]} * double{right[column * terms + k]};
      word = std::bit_cast<std::uint32_t>(static_cast<float>(sum));
    }
}

}  // namespace whet::ptx
