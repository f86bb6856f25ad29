#pragma once

#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "codegen/cpu/analysis.h"
#include "codegen/llvm/architecture.h"

namespace whet {

/// The sums of tile products that a statement adds to, which stay in the unit of tiles while it runs: the sums of each product
/// are one of them or share no element with any. All products have the same extents.
struct TileSums {
  std::vector<const IntrinsicTile*> distinct;  ///< a product of each, in the order in which they are met
  std::vector<std::int64_t> extents;           ///< of every product, by the intrinsic's axes
};

/// Most sums that stay: two tiles are left for the factors.
inline constexpr std::size_t kMostTileSums = 6;

/// Nothing where the statement does anything but tile products, loops and prefetches, where sums move while it runs, or where
/// there are too many. A condition may leave out a product whose sums another worker has: it stays outside.
std::optional<TileSums> find_tile_sums(const Stmt&, Analysis&);

/// From `first` on: statements that fill the buffer of all sums of the statement behind them with zeros, and which that is. Nothing
/// where they are other statements, or where the buffer has other elements beside these sums.
struct ZeroedSums {
  std::size_t statement = 0;  ///< its place in the list
  TileSums sums;
};
std::optional<ZeroedSums> find_zeroed_sums(std::span<const Stmt* const> list, std::size_t first, const Program&,
                                           Analysis&);

/// The tiles of the unit while such a statement is emitted: 0 and up hold the sums; the first half of the others is for left
/// factors, which have other shapes than right ones.
class TilesInUse {
 public:
  static constexpr int kTiles = TileUnit::kTiles;
  explicit TilesInUse(TileSums);

  int sums() const { return static_cast<int>(sums_.distinct.size()); }
  const TileOperand& sum(int tile) const { return sums_.distinct[static_cast<std::size_t>(tile)]->operands[0]; }
  int sum_of(const IntrinsicTile&) const;
  /// The tile for the factor, which is then in it, and whether it was before: else it takes that which was used longest ago.
  std::pair<int, bool> tile_of(const TileOperand& factor, bool left);
  /// No factor is in a tile any more.
  void forget() { held_ = {}; }
  std::vector<TileShape> shapes() const;

 private:
  struct Held {
    const TileOperand* factor = nullptr;
    std::int64_t used = 0;
  };
  int first_of(bool left) const { return sums() + (left ? 0 : (kTiles - sums()) / 2); }
  int end_of(bool left) const { return left ? first_of(false) : kTiles; }

  TileSums sums_;
  std::array<Held, kTiles> held_ = {};
  std::int64_t uses_ = 0;
};

/// Whether the boxes are one, wherever the intrinsics put them.
bool same_place(const TileOperand&, const TileOperand&);

}  // namespace whet
