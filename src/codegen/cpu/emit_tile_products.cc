#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>

#include "codegen/cpu/emitter.h"

namespace whet {

/// The statement with the sums of its tile products in the unit, from its beginning to its end.
void Emitter::with_tile_sums(const Stmt& s, TileSums sums, bool from_zero) {
  const TileUnit& unit = *architecture_.tile_unit;
  tiles_.emplace(std::move(sums));
  const std::string shapes = unit.shapes(tiles_->shapes());
  auto* const bytes = llvm::ConstantDataArray::getString(context_, shapes, false);
  auto* const global =
      new llvm::GlobalVariable(module_, bytes->getType(), true, llvm::GlobalValue::PrivateLinkage, bytes, "tiles");
  global->setAlignment(llvm::Align(64));
  unit.configure(b_, global);
  const auto move = [&](auto* operation) {
    for (int t = 0; t < tiles_->sums(); ++t) {
      const TileOperand& y = tiles_->sum(t);
      operation(b_, t, address(y.buffer, y.base), i64(y.strides[0] * element_bytes(y.buffer)));
    }
  };
  for (int t = 0; from_zero && t < tiles_->sums(); ++t) unit.zero(b_, t);
  if (!from_zero) move(unit.load);
  stmt(s);
  move(unit.store);
  for (int t = 0; t < tiles_->sums(); ++t) changed(tiles_->sum(t).buffer);
  unit.release(b_);
  tiles_.reset();
}

void Emitter::tile_product(const IntrinsicTile& tile) {
  const int left = tile_of_factor(tile.operands[1], true), right = tile_of_factor(tile.operands[2], false);
  architecture_.tile_unit->multiply(b_, tile.intrinsic, tiles_->sum_of(tile), left, right);
}

int Emitter::tile_of_factor(const TileOperand& factor, bool left) {
  const auto [tile, is_there] = tiles_->tile_of(factor, left);
  const std::int64_t rows = factor.strides[left ? 0 : 2];
  if (!is_there)
    architecture_.tile_unit->load(b_, tile, address(factor.buffer, factor.base),
                                  i64(rows * element_bytes(factor.buffer)));
  return tile;
}

void Emitter::forget_tiles() {
  if (tiles_) tiles_->forget();
}

}  // namespace whet
