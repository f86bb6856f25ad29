#pragma once

#include "compute/winograd.h"
#include "schedule/loop_tree.h"

namespace whet {

/// winograd — a 3x3 convolution of stride 1 becomes products of transformed tiles (see compute/winograd.h).
///   y = conv(x, w)   =>   U = G w Gᵀ;  V = Bᵀ x B;  M = Σ V U;  y = Aᵀ M A
/// The ops of the new DAG have new ids: the convolution's are those of `WinogradOps`, and ops behind it move up. U
/// depends on constants alone, so it can be packed.
///   op      a 3x3 convolution of stride 1, dilated or not, with constant weights
///   tile    2 or 4: outputs of a tile along each axis
///   tiles   bf16: V and U are rounded to it, of a convolution of bf16 with tile = 2; f32 otherwise
///   sizes   the number of pictures may have one; rows, columns and channels may not
///   errors  another op; another tile; anything was scheduled before (the new DAG starts as its naive schedule)
struct Winograd {
  OpId op;
  std::int64_t tile;
  WinogradTiles tiles = WinogradTiles::f32;
};
Status apply(LoopTree&, const Winograd&);

}  // namespace whet
