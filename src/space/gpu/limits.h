#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "target/gpu.h"

namespace whet {

/// The rules that bound the schedules of a GPU, one rule a function. Each returns nothing where the figures are legal, else a
/// sentence that `whet space --why` shows.
using Objection = std::optional<std::string>;

/// Whole warps, at least one and at most `most` threads.
Objection threads_fit(std::int64_t threads, std::int64_t most);
/// `bytes` of block memory, as lowering places it.
Objection memory_fits(std::int64_t bytes, const GpuLimits&);
/// The registers that ptxas is expected to give each of a block's threads, of which an SM is to hold `min_blocks` (0: one);
/// more would be kept in memory.
Objection registers_fit(std::int64_t registers, std::int64_t threads, const GpuLimits&, std::int64_t min_blocks = 0);
/// `vectors` that a block copies at once: at least half of its threads have one.
Objection copies_whole(std::int64_t vectors, std::int64_t threads);
/// Times that a thread copies a vector, one after the other.
Objection copies_few(std::int64_t times);
/// Tiles of `tile` compute at most half more than the `extent` elements of an axis; of a small axis any number.
Objection waste_bounded(std::int64_t extent, std::int64_t tile);
/// A tile is no longer than its axis.
Objection tile_within(std::int64_t extent, std::int64_t tile);
constexpr std::int64_t kSmallAxis = 16;
/// `blocks` that an SM is to hold at once, 0: any number.
Objection blocks_fit(std::int64_t blocks, std::int64_t threads, const GpuLimits&);
/// Terms of a sum that threads take at once.
Objection terms_enough(std::int64_t terms, std::int64_t at_once);
/// A sum of `terms` in `parts`: a part has whole steps of `slab` terms, at least four, and enough terms to be worth a launch.
Objection split_fits(std::int64_t terms, std::int64_t parts, std::int64_t slab);
/// Of `depth` steps of a sum `unroll` are unrolled, 0: all of them; whole bodies, and fewer steps than there are.
Objection unroll_fits(std::int64_t depth, std::int64_t unroll);
/// An order of `rows` by `columns` blocks other than that of rows (`raster`: 1 or the rows of a group): the blocks are two waves
/// and more, and operands of `bytes` take more than a quarter of L2.
Objection raster_worth(std::int64_t raster, std::int64_t rows, std::int64_t columns, std::int64_t sms,
                       std::int64_t bytes, std::int64_t l2_bytes);
/// Multiply-adds of one unrolled body.
Objection body_bounded(std::int64_t multiply_adds);

/// Warp-wide intrinsics of one unrolled step of a warp.
Objection intrinsics_bounded(std::int64_t intrinsics, std::int64_t most);

/// Registers of a thread that has `sums` of a warp's tiles, and `operands` of one step of them. Source: ptxas gave 124 for 64
/// sums and 24 operands.
constexpr std::int64_t mma_registers(std::int64_t sums, std::int64_t operands) { return sums + operands + 60; }
/// The same of one that holds what it copies, and finds its operands rounded. Source: ptxas gave 204 for 128 sums, 32 operands
/// and 24 elements, and 206 for 32 of them.
constexpr std::int64_t mma_registers_beside(std::int64_t held, std::int64_t sums, std::int64_t operands) {
  return sums + operands + held + 40;
}
/// Registers of a thread that holds `sums` and reads its operands from block memory. Source: what ptxas gave such tiles.
constexpr std::int64_t tile_registers(std::int64_t sums) { return sums * 5 / 4 + 60; }
/// Registers of a thread whose unrolled body holds or loads `elements` elements. Source: as above; ptxas orders loads by use.
constexpr std::int64_t loading_registers(std::int64_t elements) { return elements * 7 / 10 + 20; }

}  // namespace whet
