#include "space/gpu/limits.h"

#include <fmt/format.h>

#include <algorithm>

namespace whet {
namespace {

constexpr std::int64_t kMostMultiplyAdds = 2048;  ///< beyond, ptxas takes a fifth of a second and more
constexpr std::int64_t kLeastWorth = 64;          ///< terms; fewer are not worth a launch
constexpr std::int64_t kMostCopies = 32;          ///< each keeps registers and code of its own

}  // namespace

Objection threads_fit(std::int64_t threads, std::int64_t most) {
  if (threads >= kWarp && threads <= most && threads % kWarp == 0) return std::nullopt;
  return fmt::format("a block would have {} threads; expected whole warps of {}, at most {}", threads, kWarp, most);
}

Objection memory_fits(std::int64_t bytes, const GpuLimits& limits) {
  if (bytes <= limits.block_memory_per_block) return std::nullopt;
  return fmt::format("the tiles take {} bytes of block memory; a block has {}", bytes, limits.block_memory_per_block);
}

Objection registers_fit(std::int64_t registers, std::int64_t threads, const GpuLimits& limits,
                        std::int64_t min_blocks) {
  if (registers > limits.registers_per_thread)
    return fmt::format("a thread needs about {} registers; it has {}", registers, limits.registers_per_thread);
  const std::int64_t all = threads * std::max<std::int64_t>(1, min_blocks);
  if (registers * all <= limits.registers_per_sm) return std::nullopt;
  return fmt::format("{} threads need about {} registers each; an SM has {} for all of them", all, registers,
                     limits.registers_per_sm);
}

Objection copies_whole(std::int64_t vectors, std::int64_t threads) {
  if (2 * vectors >= threads) return std::nullopt;
  return fmt::format("{} of {} threads have something to copy; expected at least half of them", vectors, threads);
}

Objection copies_few(std::int64_t times) {
  if (times <= kMostCopies) return std::nullopt;
  return fmt::format("a thread would copy {} times a step; expected at most {}", times, kMostCopies);
}

Objection waste_bounded(std::int64_t extent, std::int64_t tile) {
  const std::int64_t computed = (extent + tile - 1) / tile * tile;
  if (extent < kSmallAxis || 2 * computed <= 3 * extent) return std::nullopt;
  return fmt::format("tiles of {} compute {} elements of an axis of {}; expected at most half more", tile, computed,
                     extent);
}

Objection tile_within(std::int64_t extent, std::int64_t tile) {
  if (tile <= extent) return std::nullopt;
  return fmt::format("a tile of {} elements is longer than an axis of {}", tile, extent);
}

Objection blocks_fit(std::int64_t blocks, std::int64_t threads, const GpuLimits& limits) {
  const std::int64_t warps = (threads + kWarp - 1) / kWarp;
  if (blocks <= limits.blocks_per_sm && blocks * warps <= limits.warps_per_sm) return std::nullopt;
  return fmt::format("{} blocks of {} warps are more than an SM holds: {} blocks, {} warps", blocks, warps,
                     limits.blocks_per_sm, limits.warps_per_sm);
}

Objection terms_enough(std::int64_t terms, std::int64_t at_once) {
  if (at_once <= terms) return std::nullopt;
  return fmt::format("threads would take {} elements at once; a row has {}", at_once, terms);
}

Objection split_fits(std::int64_t terms, std::int64_t parts, std::int64_t slab) {
  const std::int64_t part = terms / parts;
  if (parts == 1 || (terms % parts == 0 && part % slab == 0 && part >= std::max(kLeastWorth, 4 * slab)))
    return std::nullopt;
  return fmt::format("{} parts of {} terms are no whole steps of {}, at least 4 of them and {} terms", parts, terms,
                     slab, kLeastWorth);
}

Objection intrinsics_bounded(std::int64_t intrinsics, std::int64_t most) {
  if (intrinsics <= most) return std::nullopt;
  return fmt::format("a step of a warp would have {} products of tiles; expected at most {}", intrinsics, most);
}

Objection unroll_fits(std::int64_t depth, std::int64_t unroll) {
  if (unroll == 0 || (unroll < depth && depth % unroll == 0)) return std::nullopt;
  return fmt::format("{} steps are no whole bodies of {}", depth, unroll);
}

Objection raster_worth(std::int64_t raster, std::int64_t rows, std::int64_t columns, std::int64_t sms,
                       std::int64_t bytes, std::int64_t l2_bytes) {
  if (rows < 2 * std::max<std::int64_t>(1, raster) || columns < 2)
    return fmt::format("{} by {} blocks have one order alone", rows, columns);
  if (rows * columns < 2 * sms) return fmt::format("{} blocks all run at the same time on {} SMs", rows * columns, sms);
  if (4 * bytes <= l2_bytes) return fmt::format("L2 holds the {} bytes of both operands in any order", bytes);
  return std::nullopt;
}

Objection body_bounded(std::int64_t multiply_adds) {
  if (multiply_adds <= kMostMultiplyAdds) return std::nullopt;
  return fmt::format("an unrolled body would have {} multiply-adds; expected at most {}", multiply_adds,
                     kMostMultiplyAdds);
}

}  // namespace whet
