#pragma once

// Products of matrices by the tensor cores of a GPU: schedules for tests.

#include "base/rng.h"
#include "program/intrinsic.h"
#include "schedule/steps.h"

namespace whet::testing {

/// A block's tile, a warp's tile and a step of the depth.
struct WarpProduct {
  std::int64_t rows = 32, columns = 32, warp_rows = 16, warp_columns = 16, depth = 16;
  std::int64_t stages = 2, pad = 4;
  bool swizzled = false;  ///< both operands' rows, where they can be; without a pad
  Intrinsic intrinsic = Intrinsic::mma_tf32;
  bool rounds_left = false, rounds_right = false;  ///< when it is copied; of mma_tf32 and mma_f16 alone
  bool right_along_depth = false;                  ///< the right operand is [columns, depth]; that of bytes always is
  bool epilogue = true;  ///< max(c + bias, 0) of the sums in registers; else they are stored, through a register cache
};

/// m x n sums of k products, with an epilogue where it has one.
ComputeDag product_dag(const WarpProduct&, std::int64_t m, std::int64_t n, std::int64_t k);
Steps product_steps(const ComputeDag&, const WarpProduct&);

/// A product with a schedule of its own, with axes that tiles divide or not.
struct RandomWarpProduct {
  WarpProduct product;
  ComputeDag dag;
  Steps steps;
};
RandomWarpProduct random_warp_product(Rng&);

}  // namespace whet::testing
