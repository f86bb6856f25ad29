// Copies by TMA. Source: "Tensors" and cp.async.bulk.tensor in NVIDIA's PTX ISA.

#include <algorithm>
#include <cstring>

#include "ptx/block.h"

namespace whet::ptx {

bool Block::begin_bulk_copies(Warp& warp, const Instruction& in, std::uint32_t lanes) {
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    BulkCopy copy{warp.number, warp.clock, address(warp, in.addresses[2], lane), {}, {}};
    if (memory_barriers_.find(copy.barrier) == memory_barriers_.end())
      return fail(warp, in, "there is no memory barrier here");
    const bool collected = in.op == Op::bulk_copy     ? collect_bytes(warp, in, lane, copy)
                           : in.op == Op::tensor_copy ? collect_tile(warp, in, lane, copy)
                                                      : collect_pixels(warp, in, lane, copy);
    if (!collected) return false;
    for (const std::uint64_t place : copy.places) {
      const auto at = static_cast<std::int64_t>(place - kSharedWindow);
      if (place < kSharedWindow || place >= kSharedBytes || at + kChunkBytes > std::ssize(memory_))
        return fail(warp, in, "copies to bytes outside of block memory");
      const std::string met = shadow_ ? shadow_->begin_copy(warp.number, warp.clock, at, kChunkBytes) : "";
      if (!met.empty()) return fail(warp, in, met);
      std::memset(memory_.data() + at, 0xff, static_cast<std::size_t>(kChunkBytes));
    }
    bulk_copies_.push_back(std::move(copy));
  }
  ++warp.clock[warp.number];
  return true;
}

bool Block::collect_bytes(Warp& warp, const Instruction& in, int lane, BulkCopy& copy) {
  const std::int64_t bytes = static_cast<std::uint32_t>(warp.slot(in.operands[0])[lane]);
  const std::uint64_t to = address(warp, in.addresses[0], lane), from = address(warp, in.addresses[1], lane);
  if (bytes == 0 || bytes % kChunkBytes != 0 || to % kChunkBytes != 0 || from % kChunkBytes != 0)
    return fail(warp, in, "a bulk copy of " + std::to_string(bytes) + " bytes, which are or lie at no multiple of 16");
  std::string why;
  const std::byte* const source = global_.at(from, bytes, why);
  if (source == nullptr) return fail(warp, in, "copies " + why);
  copy.data.assign(source, source + bytes);
  for (std::int64_t i = 0; i < bytes; i += kChunkBytes) copy.places.push_back(to + static_cast<std::uint64_t>(i));
  return true;
}

const TensorMap* Block::map_of(std::uint64_t address) const {
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    if (address == kParamWindow + static_cast<std::uint64_t>(entry_.parameters[i].offset))
      return std::get_if<TensorMap>(&arguments_[i]);
  return nullptr;
}

/// `elements` along the innermost dimension; what is outside of the tensor is 0.
bool Block::collect_row(Warp& warp, const Instruction& in, const TensorMap& map, std::vector<std::int64_t> at,
                        std::int64_t elements, std::uint64_t to, BulkCopy& copy) {
  for (std::int64_t k = 0; k < elements; ++k, ++at[0]) {
    const auto byte = static_cast<std::uint64_t>(k * map.element_bytes);
    if (byte % kChunkBytes == 0) copy.places.push_back(swizzled(to + byte, map.swizzle));
    std::int64_t offset = at[0] * map.element_bytes;
    bool inside = at[0] >= 0 && at[0] < map.extents[0];
    for (std::size_t d = 1; d < at.size(); ++d) {
      offset += at[d] * map.strides[d - 1];
      inside &= at[d] >= 0 && at[d] < map.extents[d];
    }
    if (inside && offset + map.element_bytes > map.memory.bytes)
      return fail(warp, in, "the tensor map reaches behind the end of `" + map.memory.name + "`");
    const std::size_t end = copy.data.size();
    copy.data.resize(end + static_cast<std::size_t>(map.element_bytes));
    if (inside)
      std::memcpy(copy.data.data() + end, map.memory.data + offset, static_cast<std::size_t>(map.element_bytes));
  }
  return true;
}

bool Block::collect_tile(Warp& warp, const Instruction& in, int lane, BulkCopy& copy) {
  const TensorMap* const map = map_of(address(warp, in.addresses[1], lane));
  std::vector<std::int64_t> first;
  for (const int slot : in.operands) first.push_back(static_cast<std::int32_t>(warp.slot(slot)[lane]));
  if (map == nullptr || map->box.size() != first.size())
    return fail(warp, in, "there is no tensor map of tiles of these dimensions");
  const std::uint64_t to = address(warp, in.addresses[0], lane);
  const std::int64_t row_bytes = map->box[0] * map->element_bytes;
  if (row_bytes % kChunkBytes != 0 || (map->swizzle > 0 && row_bytes > map->swizzle) ||
      to % static_cast<std::uint64_t>(std::max<std::int64_t>(8 * map->swizzle, 128)) != 0)
    return fail(warp, in,
                "a box whose rows are no whole 16 bytes, longer than the swizzle, or not aligned as it must be");
  std::vector<std::int64_t> step(first.size());
  for (std::int64_t row = 0;; ++row) {
    std::vector<std::int64_t> at = first;
    for (std::size_t d = 1; d < at.size(); ++d) at[d] += step[d];
    if (!collect_row(warp, in, *map, at, map->box[0], to + static_cast<std::uint64_t>(row * row_bytes), copy))
      return false;
    std::size_t d = 1;
    while (d < step.size() && ++step[d] == map->box[d]) step[d++] = 0;
    if (d >= step.size()) return true;
  }
}

/// Windows in the order of pixels, row by row and picture by picture; each copies a pixel, the coordinates' offsets apart from it.
bool Block::collect_pixels(Warp& warp, const Instruction& in, int lane, BulkCopy& copy) {
  const TensorMap* const map = map_of(address(warp, in.addresses[1], lane));
  if (map == nullptr || map->lower.size() != 2 || map->extents.size() != 4)
    return fail(warp, in, "there is no tensor map of pixels");
  const auto operand = [&](std::size_t i) { return warp.slot(in.operands[i])[lane]; };
  const auto coordinate = [&](std::size_t i) { return std::int64_t{static_cast<std::int32_t>(operand(i))}; };
  const std::int64_t taps[] = {static_cast<std::uint16_t>(operand(4)), static_cast<std::uint16_t>(operand(5))};
  std::int64_t column = coordinate(1), row = coordinate(2), picture = coordinate(3);
  const std::uint64_t to = address(warp, in.addresses[0], lane);
  const std::int64_t row_bytes = map->box[0] * map->element_bytes;
  if (row_bytes % kChunkBytes != 0 ||
      to % static_cast<std::uint64_t>(std::max<std::int64_t>(8 * map->swizzle, 128)) != 0)
    return fail(warp, in, "pixels of no whole 16 bytes, or not aligned as they must be");
  for (std::int64_t pixel = 0; pixel < map->box[1]; ++pixel) {
    if (!collect_row(warp, in, *map, {coordinate(0), column + taps[0], row + taps[1], picture}, map->box[0],
                     to + static_cast<std::uint64_t>(pixel * row_bytes), copy))
      return false;
    column += map->steps[0];
    if (column <= map->extents[1] - 1 + map->upper[0]) continue;
    column = map->lower[0], row += map->steps[1];
    if (row > map->extents[2] - 1 + map->upper[1]) row = map->lower[1], ++picture;
  }
  return true;
}

/// Any of the copies under way.
void Block::land_one() {
  const std::ptrdiff_t which = rng_.below(std::ssize(bulk_copies_));
  const BulkCopy copy = std::move(bulk_copies_[static_cast<std::size_t>(which)]);
  bulk_copies_.erase(bulk_copies_.begin() + which);
  for (std::size_t i = 0; i < copy.places.size(); ++i) {
    const auto at = static_cast<std::int64_t>(copy.places[i] - kSharedWindow);
    std::memcpy(memory_.data() + at, copy.data.data() + i * static_cast<std::size_t>(kChunkBytes),
                static_cast<std::size_t>(kChunkBytes));
    if (shadow_) shadow_->land(copy.warp, copy.clock, at, kChunkBytes);
  }
  MemoryBarrier& barrier = memory_barriers_[copy.barrier];
  barrier.bytes -= std::ssize(copy.data);
  hear(barrier.arriving, copy.clock);
  end_phase(barrier);
}

}  // namespace whet::ptx
