#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "target/cpu.h"

namespace whet {

/// A register tile: rows x columns x elements of the innermost axis, which is vectorized. (Names as in a convolution.)
struct Tile {
  std::int64_t oc = 1, oh = 1, ow = 1;
};

/// The inputs that neighbours along an axis read. Each reads `taps` inputs that are `dilation` apart; the first inputs of
/// two neighbours are `stride` apart.
struct TapWindow {
  std::int64_t stride = 1, taps = 1, dilation = 1;

  /// Whether the taps stay a loop: more than seven are not unrolled, and each step reads anew.
  bool is_loop() const { return taps > 7; }
  /// The number of different inputs that `count` neighbours read.
  std::int64_t inputs(std::int64_t count) const;
};

/// The op that register tiles are cut from, and the limits that they must fit.
struct Tiling {
  std::int64_t oc = 1, oh = 1, ow = 1;      ///< the op's extents
  std::int64_t lanes = 16, registers = 32;  ///< of a vector; of the machine
  /// Elements that read the same inputs (the output channels of a convolution's group); 0: all.
  std::int64_t group = 0;
  /// The innermost axis is in blocks of this many elements, with the other axes between them; 0: it is whole.
  std::int64_t block = 0;
  /// The inputs of a vector that spans groups lie in one vector, from which they are permuted.
  bool mixes_groups = false;
  /// From an input to that of the next column and the next row; 0: not known.
  std::int64_t column_bytes = 0, row_bytes = 0;
  std::int64_t cache_ways = 12;  ///< of the first level, `pipes.l1_sets` lines of 64 bytes each
  CpuPipes pipes = {};
  std::int64_t input_lanes = 1;  ///< `pipes.input_lanes`, or 1 where that does not divide the steps of the reduction
  bool whole_vectors = false;    ///< no tile has a part of a vector
  /// No reduce axis but taps: cheap tiles whose unrolled taps share their inputs.
  bool depthwise = false;
  bool joins_bytes =
      false;              ///< depthwise, of bytes: those of a column of taps become words, which pixels of a row share
  std::int64_t taps = 9;  ///< where it is depthwise
  TapWindow columns, rows;  ///< as far as known
  /// For each position of the taps along a row: the columns [first, second) at which it reads no padding, which is
  /// skipped; empty: all.
  std::vector<std::pair<std::int64_t, std::int64_t>> read_columns;
  std::int64_t rows_skipped = 0;   ///< the most by one tap, which reads padding there
  std::int64_t channel_bytes = 0;  ///< of weights, an element of the innermost axis; 0: not known
  std::int64_t weights_room = 0;   ///< bytes of the second-level cache that a tile's weights may take

  /// The number of vectors of `elements`; a tail of the vector axis needs one vector for each power of two.
  std::int64_t vectors(std::int64_t elements) const;
  /// The number of accumulators of the tile, one vector each.
  std::int64_t accumulators(const Tile& t) const { return t.oh * t.ow * vectors(t.oc); }
  /// True where the accumulators, a row of weights and one broadcast input stay in registers.
  bool fits(const Tile&) const;
  /// The same where reduction steps are unrolled: LLVM moves their loads up.
  bool fits_unrolled(const Tile&) const;
  bool divides(const Tile&) const;
  /// The largest number of inputs of a tile, read in one reduction step, that share a set of the first-level cache.
  std::int64_t conflicts(const Tile&) const;
  /// Relative time: computed elements (overlap counts twice) times the factor by which the units miss their peak.
  double cost(const Tile&) const;
  /// Cycles of a depthwise tile with all its taps.
  double window_cycles(const Tile&) const;
  /// The same where the bytes of columns of taps are joined.
  double joined_cycles(const Tile&) const;
  /// Cycles of one reduction step of `pixels` of a tile's pixels.
  double step_cycles(const Tile&, std::int64_t pixels) const;
  /// Cycles of one reduction step of all tiles in a row, averaged over the taps.
  double row_cycles(const Tile&) const;
  std::vector<std::int64_t> oc_options() const;
  std::vector<std::int64_t> oh_options() const;
  std::vector<std::int64_t> ow_options() const;
  /// The cheapest tile that fits.
  Tile best() const;
};

}  // namespace whet
