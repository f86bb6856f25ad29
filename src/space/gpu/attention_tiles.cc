#include "space/gpu/attention_tiles.h"

#include <algorithm>
#include <numeric>

#include "space/gpu/attention_launch.h"

namespace whet {
namespace {

/// Elements behind a row of `columns`, so that it is `rest` beyond whole units.
std::int64_t pad_behind(std::int64_t columns, std::int64_t unit, std::int64_t rest) {
  return ((rest - columns) % unit + unit) % unit;
}

}  // namespace

OperandTile left_tile(Intrinsic i, std::int64_t rows, std::int64_t columns, std::int64_t bytes) {
  const std::int64_t pad = i == Intrinsic::mma_tf32 ? pad_behind(columns, 8, 4) : pad_behind(columns, 16, 8);
  return {rows, columns, pad, bytes};
}

OperandTile right_tile(Intrinsic i, std::int64_t rows, std::int64_t columns, std::int64_t bytes) {
  const bool words = i == Intrinsic::mma_f16 || i == Intrinsic::mma_bf16;
  return {rows, columns, words ? pad_behind(columns, 8, 4) : pad_behind(columns, 16, 8), bytes};
}

std::int64_t largest_divisor(std::int64_t of, std::int64_t most) {
  std::int64_t divisor = std::min(of, most);
  while (of % divisor != 0) --divisor;
  return divisor;
}

TileCopy whole_copy(const OperandTile& tile, std::int64_t lanes, std::int64_t threads) {
  const std::int64_t across = largest_divisor(tile.columns / lanes, threads);
  const std::int64_t down = largest_divisor(tile.rows, std::max<std::int64_t>(1, threads / across));
  return {lanes, across, down, tile.rows / down * (tile.columns / lanes / across)};
}

void fill_operand(Scheduler& s, OpId op, LoopId rows, LoopId columns, const OperandTile& tile, std::int64_t threads) {
  const std::int64_t lanes = std::gcd(tile.columns, 16 / tile.element_bytes);
  const TileCopy copy = whole_copy(tile, lanes, threads);
  copy_tile(s, rows, columns, copy, largest_divisor(tile.rows / copy.down, kRowsOfATrip));
  if (tile.pad > 0) s.pad_storage(op, tile.pad);
}

}  // namespace whet
