#pragma once

#include <cstdint>
#include <vector>

#include "space/attention_form.h"
#include "space/gpu/attention_tiles.h"
#include "space/gpu/limits.h"
#include "space/gpu/mma_tile.h"

namespace whet {

// How the warps of a block share an attention on tensor cores, in one pass over the keys (attention_stream.h) or with the scores in block
// memory (attention_mma.h).

struct WarpShare {
  Intrinsic intrinsic = Intrinsic::mma_tf32;
  std::int64_t row_warps = 1, warp_rows = kMmaRows, column_warps = 1;
  std::int64_t keys = 16;  ///< whose values are copied together
  std::int64_t stages = 1, min_blocks = 0;

  std::int64_t queries() const { return row_warps * warp_rows; }
  std::int64_t threads() const { return row_warps * column_warps * kWarp; }
  /// Of the results or keys of a row, those of one warp.
  std::int64_t of_warp(std::int64_t columns) const;
  /// Of a row's results or keys, those that all warps compute: some of them behind the last.
  std::int64_t of_warps(std::int64_t columns) const;
  /// Terms of a sum that are read, some of them behind the last, where `at_once` are taken together.
  std::int64_t terms_read(std::int64_t terms, std::int64_t at_once) const;
  /// The intrinsics that a warp runs in a step, which adds `terms` terms to each of `columns` columns.
  std::int64_t intrinsics(std::int64_t columns, std::int64_t terms) const;
  std::int64_t sums(std::int64_t columns) const { return warp_rows * of_warp(columns) / kWarp; }
  std::int64_t operands(std::int64_t columns) const {
    return warp_rows / kMmaRows * 4 + of_warp(columns) / kMmaColumns * 2;
  }
};

/// Of the decisions `queries`, `columns`, `keys` or `depth`, `stages` and `min_blocks`.
WarpShare share_of(Intrinsic, const Choices&);

/// Terms of the sum of a score, of `depth`, that are unrolled: all of them where a warp runs at most `most_intrinsics` for `keys`.
std::int64_t unrolled_terms(const WarpShare&, std::int64_t depth, std::int64_t keys, std::int64_t most_intrinsics);

/// A tile of keys, whose rows are keys or terms.
OperandTile keys_tile(const WarpShare&, bool by_row, std::int64_t keys, std::int64_t depth, std::int64_t bytes);

/// The rules that do not depend on what is in block memory.
Objection warps_fit(const AttentionForm&, const WarpShare&, std::int64_t most_threads, const GpuLimits&);

/// Warps, and the queries of each: at most `most` together.
std::vector<Choice> query_cuts(std::int64_t rows, const std::vector<std::int64_t>& of_warp, std::int64_t most);

/// The queries of the result's rows: of a block, of a warp, and one.
struct QueryLoops {
  LoopId blocks, warps, inside;
};
QueryLoops cut_queries(Scheduler&, const AttentionForm&, const WarpShare&);
/// Binds heads, blocks and the warps of queries. `inside` is the order of the loops in a block behind those of warps. `loops` are the
/// result's, before they were cut.
void bind_queries(Scheduler&, const AttentionForm&, const WarpShare&, const std::vector<LoopId>& loops,
                  const QueryLoops&, const std::vector<LoopId>& inside);

/// What a warp has of rows and columns: pairs of neighbouring columns are vectors or, of a sum of them, unrolled.
void unroll_tiles(Scheduler&, LoopId rows, LoopId columns);

}  // namespace whet
