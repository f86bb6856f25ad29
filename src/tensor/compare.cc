#include "tensor/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace whet {

Difference compare(const Tensor& got, const Tensor& want, double tolerance) {
  WHET_CHECK(got.size() == want.size());
  Difference d;
  for (std::int64_t i = 0; i < want.size(); ++i)
    if (const double w = std::fabs(want.get(i)); std::isfinite(w)) d.largest = std::max(d.largest, w);
  for (std::int64_t i = 0; i < want.size(); ++i) {
    const double g = got.get(i), w = want.get(i);
    double error = 0;
    if (g != w && !(std::isnan(g) && std::isnan(w))) error = std::fabs(g - w);
    if (!std::isfinite(error)) error = std::numeric_limits<double>::infinity();
    if (error > tolerance * d.largest) ++d.mismatches;
    if (error > d.max_abs || d.where < 0) d.max_abs = std::max(d.max_abs, error), d.where = i;
  }
  d.relative = d.max_abs / std::max(d.largest, 1e-30);
  return d;
}

}  // namespace whet
