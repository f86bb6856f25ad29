#include "tensor/compare.h"

namespace whet {

Difference compare(const Tensor& got, const Tensor& want, double tolerance) {
  WHET_CHECK(got.size() == want.size());
  return difference([&](std::int64_t i) { return got.get(i); }, [&](std::int64_t i) { return want.get(i); },
                    want.size(), tolerance);
}

}  // namespace whet
