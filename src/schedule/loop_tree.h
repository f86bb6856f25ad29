#pragma once

#include <string>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "compute/dag.h"
#include "program/program.h"

namespace whet {

using LoopId = Id<struct LoopTag>;
/// A part of one axis; the same number as its VarId in the expressions of `regions.h`.
using DigitId = Id<struct DigitTag>;

/// How the last tile of a split is computed where the factor does not divide the extent.
/// overlap: the last tile starts at extent - factor and computes some elements twice; spatial axes only.
/// guard:   the iterations beyond the extent do nothing; `lower` peels or masks them.
enum class Tail : std::uint8_t { overlap, guard };

/// An axis is a tree of digits: its root digit is the whole axis; a split digit has an outer and an inner one.
/// value = leaf variable, or outer * factor + inner, or (overlap) min(outer * factor, extent - factor) + inner.
struct Digit {
  OpId op;
  AxisId axis;
  std::int64_t extent = 1;  ///< of a digit with a size the largest
  std::int64_t factor = 0;  ///< 0: a leaf, which one loop runs over
  Tail tail = Tail::guard;
  DigitId outer, inner;
  Expr size = {};             ///< `extent` as a function of the DAG's sizes; undefined: the same at all sizes
  bool ragged = false;        ///< `factor` does not divide the extent at all sizes
  bool counts_tiles = false;  ///< of the one tile that all sizes have, and some do not fill: a variable, though it is 0
  bool leaf() const { return factor == 0; }
  bool divides() const { return factor != 0 && extent % factor == 0 && !ragged; }
};

/// An item under a loop: another loop, or the leaf of an op (exactly one of the two is valid).
struct Item {
  LoopId loop;
  OpId leaf;
  friend bool operator==(const Item&, const Item&) = default;
};

/// A loop runs over the product of its digits' extents, the first digit slowest. It belongs to one op.
struct TreeLoop {
  OpId op;
  std::vector<DigitId> digits;
  LoopKind kind = LoopKind::serial;
  LoopId parent;  ///< invalid: a root
  std::vector<Item> children;
  bool alive = true;
  std::int64_t min_blocks = 0;  ///< of a launch's first block loop (min_blocks.h); 0: nothing is asked for
};

/// What an op's buffer is asked to be.
///   memory     what lowering finds: memory of a worker or thread, or of all
///   registers  every index must become a constant after unrolling, or code generation keeps it on the stack
///   block      memory that the threads of a GPU's block share, filled by all of them together
enum class StoredIn : std::uint8_t { memory, registers, block };

/// root: own nest at the top. at: computed under a consumer's loop, for the region that the consumers need there.
/// reverse_at: computed under its producer's loop, for the region that is finished there. inlined: gone into its
/// consumers' bodies. ahead: of constants alone, computed when constants are packed.
enum class PlaceKind : std::uint8_t { placeholder, root, at, reverse_at, inlined, ahead };
struct Placement {
  PlaceKind kind = PlaceKind::root;
  LoopId at;  ///< for at and reverse_at
  StoredIn stored_in = StoredIn::memory;
  std::int64_t padding = 0;   ///< elements behind each row of the op's buffer
  std::int64_t swizzle = 0;   ///< bytes of the pieces of its rows in which parts change places (swizzle_storage.h)
  LoopId rolled;              ///< what is computed stays for the next iteration of this loop; invalid: it does not
  std::vector<DigitId> axes;  ///< root digit of each axis (spatial, then reduce)
  std::vector<Expr> base;  ///< where the root digit starts within the axis, one an axis; 0 except for at and reverse_at
};

/// While `loop` (a loop of `op`) runs once, the elements of `op` that it touches are kept in registers: identity or the
/// values so far before, stored after.
struct RegisterCache {
  OpId op;
  LoopId loop;
};
/// The iterations of `loop`, a reduce loop of `op`, accumulate into partial results of their own, combined after the
/// op's reduction.
struct Rfactored {
  OpId op;
  LoopId loop;
};
/// `reader` reads the constant `tensor` re-indexed by its own leaf digits, outermost first.
struct PackedRead {
  OpId tensor, reader;
};

/// Each iteration of `loop` begins by prefetching the elements of `tensor` that `reader` reads `ahead` iterations later.
struct PrefetchedRead {
  OpId tensor, reader;
  LoopId loop;
  std::int64_t ahead = 1;
};

/// The ops computed at `loop` are computed `stages` - 1 iterations ahead, into `stages` buffers alternately.
struct Pipelined {
  LoopId loop;
  std::int64_t stages = 1;
};

/// A softmax and a product with it that are computed in one pass over their terms (online.h).
struct OnlineSum {
  OpId mix = {}, top = {}, exp = {}, sum = {};  ///< the product; the largest score, the exponentials and their sum
  LoopId loop = {};                             ///< over steps of terms
  std::vector<std::int64_t> row = {};           ///< the axes of `mix` that are those of `top`, in their order
};

/// `loop` and the loops inside it are a tile of the intrinsic.
struct TensorTile {
  LoopId loop;
  Intrinsic intrinsic = Intrinsic::none;
};

/// A schedule applied to a DAG: an ordered forest of loops with ops at its leaves. Changed only by the primitives (one
/// file each).
struct LoopTree {
  /// Bodies change by `inline`, ids never. Where it has sizes, its numbers are the largest, so that what is made of them has room at
  /// every size, and overlapping tiles leave out the sizes that are smaller than a tile.
  ComputeDag dag;
  std::vector<Digit> digits;
  std::vector<TreeLoop> loops;
  std::vector<Item> roots;
  std::vector<Placement> places;  ///< one an op
  std::vector<RegisterCache> caches;
  std::vector<PackedRead> packs;
  std::vector<Rfactored> rfactors;
  std::vector<PrefetchedRead> prefetches;
  std::vector<Pipelined> pipelines;
  std::vector<OnlineSum> onlines;
  std::vector<TensorTile> tiles;

  const Digit& digit(DigitId id) const { return digits[id.index()]; }
  const TreeLoop& loop(LoopId id) const { return loops[id.index()]; }
  TreeLoop& loop(LoopId id) { return loops[id.index()]; }
  const Placement& place(OpId id) const { return places[id.index()]; }
};

/// The naive schedule: every element op a root, one serial loop an axis (spatial, then reduce), in topological order.
/// Loop ids count axes in that order.
LoopTree make_loop_tree(ComputeDag);

/// The iterations of a loop; the most that it has where they change with the DAG's sizes.
std::int64_t extent_of(const LoopTree&, LoopId);
/// The iterations as an expression of the DAG's sizes: a constant where they are the same at all sizes.
Expr iterations_of(const LoopTree&, LoopId);
Expr iterations_of(const LoopTree&, DigitId);
Expr iterations_of(const Digit&);
/// The extent of an axis likewise.
Expr iterations_of(const Axis&);
/// Whether the iterations change with the DAG's sizes.
bool is_sized(const LoopTree&, LoopId);
bool is_reduce(const LoopTree&, DigitId);
/// A loop that runs over reduce digits (a loop never mixes reduce and spatial ones).
bool is_reduce(const LoopTree&, LoopId);
/// True when `outer` encloses `inner` (or is it).
bool encloses(const LoopTree&, LoopId outer, LoopId inner);
/// The op is computed by loops of its own.
bool has_loops(const LoopTree&, OpId);
/// The loop directly around the leaf of `op`; invalid when the leaf is at the top or not in the forest.
LoopId loop_of_leaf(const LoopTree&, OpId op);
/// The loops of `op` between its place and its leaf, outermost first.
std::vector<LoopId> own_loops(const LoopTree&, OpId op);
/// All loops around `inner`, outermost first, `inner` included.
std::vector<LoopId> path_to(const LoopTree&, LoopId inner);
/// The loop that runs over a leaf digit.
LoopId loop_of(const LoopTree&, DigitId);
/// The items of `loop`, or the roots.
std::vector<Item>& items_of(LoopTree&, LoopId parent);
/// The op's reduction is factored over this loop.
bool is_rfactored(const LoopTree&, LoopId);
/// The loop belongs to a tile of an intrinsic.
bool is_in_tile(const LoopTree&, LoopId);
/// The op is computed in tiles of a warp-wide intrinsic. They are computed whole: the op's registers and what its tiles read
/// from block memory reach beyond the end of an axis, where operands are zeros.
bool has_warp_tiles(const LoopTree&, OpId);
/// Something that has such tiles reads the op from block memory.
bool feeds_warp_tiles(const LoopTree&, OpId);
/// True when an op was placed under `loop` or one of the loops below it that belong to the same op, or when something
/// speaks of just this loop: it is frozen.
bool is_frozen(const LoopTree&, LoopId loop);

/// `oh.0`, `n·oh`: the axis' name and the position among the axis' leaf digits where it has several.
std::string name_of(const LoopTree&, LoopId);
std::string name_of(const LoopTree&, DigitId);
/// The forest as text, a loop a line (docs/formats/schedule.md).
std::string to_text(const LoopTree&);
/// Agrees for equal texts of equal DAGs: equal programs hash equal.
std::uint64_t hash(const LoopTree&);

}  // namespace whet
