#pragma once

#include <optional>

#include "base/result.h"
#include "import/site.h"

/// Products of matrices: parts, see arithmetic.h.
namespace whet {

/// The product of a and b as numpy.matmul has it: a vector on the left is a row, on the right a column, and that dimension
/// is dropped again; leading dimensions broadcast. `wide`: that of f16 is f32, not rounded yet.
Result<ValueId> matmul(NodeSite&, ValueId a, ValueId b, bool wide = false);

/// alpha * a * b + beta * c, a and b transposed before where it is said. Needs: two matrices; c broadcasts to the product;
/// whole factors for integers.
struct Gemm {
  bool transpose_a = false, transpose_b = false;
  double alpha = 1, beta = 1;
};
Result<ValueId> gemm(NodeSite&, ValueId a, ValueId b, std::optional<ValueId> c, const Gemm&);

/// The determinants of matrices [..., n, n]. Needs: floats, n of 1 to 8.
Result<ValueId> determinant(NodeSite&, ValueId x);

}  // namespace whet
