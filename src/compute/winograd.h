#pragma once

#include "compute/dag.h"

namespace whet {

/// The ops that `winograd` makes, by their ids in the new DAG. `conv` is the op that was transformed. th counts tiles
/// along rows and tw along columns. With a dilation of d, tile t*d + p holds every d-th row from row t*m*d + p.
struct WinogradOps {
  OpId weights;   ///< [m+2, m+2, ic, oc], constant: G w Gᵀ; of bf16 where the tiles are
  OpId rows;      ///< [n, th, tw, m+2, m+2, ic]: Bᵀ d
  OpId input;     ///< [m+2, m+2, n, th, tw, ic]: Bᵀ d B; of bf16 where the tiles are
  OpId products;  ///< [m+2, m+2, n, th, tw, oc], reduces over ic
  OpId partial;   ///< [n, th, tw, m, m+2, oc]: Aᵀ p
  OpId conv;      ///< Aᵀ p A, at the place of the convolution
};

struct WinogradDag {
  ComputeDag dag;
  WinogradOps ops;
  std::int64_t dilation = 1;  ///< of the convolution, along both axes
};

/// What transformed inputs and weights are rounded to. Of a convolution of bf16 they may be bf16 again, for processors that multiply pairs.
enum class WinogradTiles : std::uint8_t { f32, bf16 };

/// Computes a 3x3 convolution of stride 1, dilated or not, channels last or in blocks of channels, by Winograd's minimal
/// filtering F(m x m, 3 x 3), m = 2 or 4. Transformed tiles are channels last, whatever the activations are.
/// Tiles of m+2 x m+2 inputs, shared by m x m outputs, take (m+2)² multiplications a channel instead of 9 m². Outputs
/// are the same except for rounding, which grows with m (largest errors around 1e-6 and 1e-5 of the largest magnitude).
/// A convolution of bf16 is widened first: its tiles are f32 as those of another. With tiles of bf16, for which m is 2, they are rounded
/// once more: outputs err by 1.4 times what rounding its operands to bf16 did; with m = 4 it would be 8 times.
/// The placeholders keep their order; ops up to the convolution keep their ids.
/// Source: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015.
/// Of a DAG with sizes: the number of pictures may have one (has_one_window).
/// Errors: the op is no such convolution with constant weights; m is neither 2 nor 4; tiles of bf16 of another convolution, or with m = 4.
Result<WinogradDag> winograd(const ComputeDag&, OpId conv, std::int64_t m, WinogradTiles = WinogradTiles::f32);

/// Whether the op is such a convolution whose rows, columns and channels are the same at all sizes.
bool has_one_window(const ComputeDag&, OpId conv);

}  // namespace whet
